"""The pod network: what a change of its manifests does to the pods on every node."""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import DIRECT, FLANNEL, OWN_NETWORK, Edit, copied, manifest, site, swap
from tests.verdicts.row import ANY, PROTECTED, Expected, Row, Verdict, restarted

_DAEMONS = (
    "Kubernetes 1.34.3, pkg/controller/daemon/update.go: another pod template replaces every pod "
    "under RollingUpdate, and nothing else does"
)
_SET = (
    "Cluster API 1.13.6, clusterresourceset_scope.go, reconcileStrategyScope: each object is "
    "patched to what the ConfigMap says, and none is deleted"
)
_MOUNTED = (
    "Kubernetes 1.34.3, pkg/controller/daemon/update.go: a ConfigMap is no part of the pod "
    "template; flannel 0.28, pkg/subnet/kube/kube.go, newKubeSubnetManager reads it at its start"
)
_DATA = (
    "pulumi-kubernetes 4.25.0, provider/pkg/provider/diff.go, forceNewProperties: with "
    "enableConfigMapMutable (components/shell.py) data of a ConfigMap changes in place"
)
_DIRECTLY = "Pulumi applies each object as it stands (components/shell.py)"
_TSUKUBA = {"control": restarted(), "cpu": restarted(), "mncore2": restarted()}
_TOKYO = {"control": restarted(), "cpu": restarted(), "v100": restarted(), "a100": restarted(),
          "h100": restarted()}  # fmt: skip
_MAIN = "- name: flannel\n          image: ghcr.io/flannel-io/flannel:v0.28.4@sha256:cc44"
_NEXT = _MAIN.replace("v0.28.4@sha256:cc44", "v0.28.5@sha256:cc45")
_SET_HEAD = "kind: DaemonSet\nmetadata:\n  name: flannel\n"
_NOTES = """\
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: notes
  namespace: kube-flannel
data: {about: vxlan}
"""
_LAST = "        - {name: xtables-lock, hostPath: {path: /run/xtables.lock, type: FileOrCreate}}\n"
_WITH_NOTES = manifest(_LAST, _LAST + _NOTES)
_ON_DELETE = manifest(
    "  selector:\n    matchLabels",
    "  updateStrategy: {type: OnDelete}\n  selector:\n    matchLabels",
)
_SELECTOR = (
    manifest("matchLabels: {app.kubernetes.io/name: flannel}",
             "matchLabels: {app.kubernetes.io/name: net}"),
    manifest("labels: {app.kubernetes.io/name: flannel}\n    spec",
             "labels: {app.kubernetes.io/name: net}\n    spec"),
)  # fmt: skip
_IMMUTABLE = (
    "Kubernetes 1.34.3, pkg/apis/apps/validation/validation.go, ValidateDaemonSetSpecUpdate: the "
    "selector is immutable"
)
_BACKEND = manifest('"Type": "vxlan"}}', '"Type": "vxlan", "VNI": 2}}')


def _both(
    name: str,
    edit: Edit,
    pools: Mapping[str, Verdict],
    source: str,
    directly: Mapping[str, Action] | None = None,
    *more: Edit,
) -> tuple[Row, Row]:
    """A row for each way into the cluster; ``directly`` are actions where objects are our own."""
    through = Expected(pools, {"ConfigMap/pod-network": Action.CHANGED})
    return (
        Row(f"{name}, through a ClusterResourceSet", (edit,), {"tsukuba-1": through},
            f"{_SET}; {source}", (*OWN_NETWORK, *more)),
        Row(f"{name}, directly", (edit,), {"tsukuba-1": Expected(pools, directly or {})},
            f"{_DIRECTLY}; {source}", (*DIRECT, *more)),
    )  # fmt: skip


_SHARED = (
    Row(
        "the image of the pod network of every site",
        (swap(FLANNEL, _MAIN, _NEXT),),
        {
            "tokyo-1": Expected(_TOKYO),
            "tsukuba-1": Expected(_TSUKUBA),
            "lab-1": Expected({"lab": restarted()}),
            "sapporo-1": Expected({pool: restarted() for pool in ("control", "cpu", "gb200")}),
        },
        f"{_SET}; {_DAEMONS}",
        entries=(("tokyo-1", "tsukuba-1", "lab-1", "sapporo-1"),),
    ),
    Row(
        "a comment in the manifests of every site",
        (swap(FLANNEL, "kind: DaemonSet\n", "kind: DaemonSet  # on every node\n"),),
        {name: Expected() for name in ("lab-1", "sapporo-1", "tokyo-1", "tsukuba-1")},
        f"{_SET}: the objects are the same",
        entries=(("lab-1", "sapporo-1", "tokyo-1", "tsukuba-1"),),
    ),
    Row(
        "other manifests",
        (site("lab-1", "pod-network/flannel.yaml", "pod-network/next.yaml"),),
        {"lab-1": Expected({"lab": restarted()})},
        f"{_SET}; {_DAEMONS}",
        (copied(FLANNEL, "sites/pod-network/next.yaml", (_MAIN, _NEXT)),),
    ),
)
_OBJECTS = (
    *_both("an image", manifest(_MAIN, _NEXT), _TSUKUBA, _DAEMONS),
    *_both("the image of an init container",
           manifest("v1.9.1-flannel1@sha256:7c33", "v1.9.2-flannel1@sha256:7c34"),
           _TSUKUBA, f"{_DAEMONS}; init containers are in the template"),
    *_both("a memory limit", manifest("memory: 200Mi", "memory: 300Mi"), _TSUKUBA, _DAEMONS),
    *_both("a label of the DaemonSet itself",
           manifest(_SET_HEAD, f"{_SET_HEAD}  labels: {{example.com/a: b}}\n"), {}, _DAEMONS),
    *_both("an image under OnDelete", manifest(_MAIN, _NEXT), {}, _DAEMONS, None, _ON_DELETE),
    *_both("how pods are replaced", _ON_DELETE, {}, _DAEMONS),
    *_both("a configuration that is read at the start", _BACKEND, {}, f"{_MOUNTED}; {_DATA}",
           {"ConfigMap/kube-flannel/flannel": Action.CHANGED}),
    *_both("a right less", manifest("  - {apiGroups: [\"\"], resources: [nodes/status], "
                                    "verbs: [patch]}\n", ""),
           {pool: Verdict(Impact.NONE, None, ANY, (Impact.UNKNOWN,)) for pool in _TSUKUBA},
           "Kubernetes RBAC: no pod restarts; whether one needs the right is not in Git"),
    *_both("an object more", _WITH_NOTES, {}, "no pod mounts it"),
)  # fmt: skip
_GOING = (
    Row(
        "an object less, through a ClusterResourceSet",
        (manifest(_NOTES, ""),),
        {"tsukuba-1": Expected(actions={"ConfigMap/pod-network": Action.CHANGED})},
        f"{_SET}: it stays",
        (*OWN_NETWORK, _WITH_NOTES),
    ),
    Row(
        "an object less, directly",
        (manifest(_NOTES, ""),),
        {
            "tsukuba-1": Expected(
                actions={"ConfigMap/kube-flannel/notes": Action.REFUSED},
                deletions={"ConfigMap": 1},
            )
        },
        PROTECTED,
        (*DIRECT, _WITH_NOTES),
    ),
    Row(
        "the selector of a DaemonSet, directly",
        _SELECTOR,
        {
            "tsukuba-1": Expected(
                {pool: Verdict(Impact.NONE, None, ANY, (Impact.POD_RESTART, Impact.UNKNOWN))
                 for pool in _TSUKUBA},
                {"DaemonSet/kube-flannel/flannel": Action.REFUSED},
            )
        },
        f"{_IMMUTABLE}; {PROTECTED}, also to replace it",
        DIRECT,
    ),
    Row(
        "the selector of a DaemonSet, through a ClusterResourceSet",
        _SELECTOR,
        {
            "tsukuba-1": Expected(
                {pool: Verdict(Impact.NONE, None, ANY, (Impact.UNKNOWN,)) for pool in _TSUKUBA}
            )
        },
        f"{_IMMUTABLE}, so the patch is refused as a whole; {_SET}",
        OWN_NETWORK,
    ),
    Row(
        "the role of a binding, directly",
        (manifest("kind: ClusterRole, name: flannel}", "kind: ClusterRole, name: view}"),),
        {
            "tsukuba-1": Expected(
                {pool: Verdict(Impact.NONE, None, ANY, (Impact.UNKNOWN,)) for pool in _TSUKUBA},
                {"ClusterRoleBinding/*": Action.REFUSED},
            )
        },
        "Kubernetes 1.34.3, pkg/apis/rbac/validation/validation.go: roleRef is immutable; "
        f"{PROTECTED}, also to replace it",
        DIRECT,
    ),
    Row(
        "two edits of one file of manifests, directly",
        (_BACKEND, manifest(_MAIN, _NEXT)),
        {
            "tsukuba-1": Expected(
                _TSUKUBA,
                {"ConfigMap/kube-flannel/flannel": Action.CHANGED},
                lines={
                    "ConfigMap/kube-flannel/flannel": "VNI",
                    "DaemonSet/kube-flannel/flannel": "v0.28.5",
                },
            )
        },
        f"{_DAEMONS}; {_DATA}",
        DIRECT,
    ),
    Row(
        "from a ClusterResourceSet to direct",
        (
            site(
                "tsukuba-1",
                "{manifests: pod-network/flannel.yaml}",
                "{manifests: pod-network/flannel.yaml, install: direct}",
            ),
        ),
        {
            "tsukuba-1": Expected(
                actions={
                    "ConfigMap/pod-network": Action.DELETED,
                    "ClusterResourceSet/pod-network": Action.DELETED,
                    "DaemonSet/*": Action.ADDED,
                }
            )
        },
        "Cluster API 1.13.6, clusterresourceset_controller.go: nothing that was applied goes with "
        "the set; the objects are the same, so no pod restarts",
        (site("tsukuba-1", "  services:", "  context: tsukuba-1\n  services:"),),
    ),
    Row(
        "from direct to a ClusterResourceSet",
        (site("tsukuba-1", ", install: direct", ""),),
        {
            "tsukuba-1": Expected(
                {pool: Verdict(Impact.NONE, None, ANY, (Impact.POD_RESTART, Impact.UNKNOWN))
                 for pool in _TSUKUBA},
                {
                    "DaemonSet/*": Action.REFUSED,
                    "Namespace/*": Action.REFUSED,
                    "ConfigMap/kube-flannel/flannel": Action.REFUSED,
                    "ClusterRole*": Action.REFUSED,
                    "ServiceAccount/*": Action.REFUSED,
                    "ClusterResourceSet/pod-network": Action.ADDED,
                },
                dict.fromkeys(("ClusterRole", "ClusterRoleBinding", "ConfigMap", "DaemonSet",
                               "Namespace", "ServiceAccount"), 1),
            )
        },
        PROTECTED,
        DIRECT,
    ),
)  # fmt: skip
ROWS = (*_SHARED, *_OBJECTS, *_GOING)
