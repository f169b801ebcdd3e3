"""What a team brings: manifests and charts, with and without rules of their owners."""

import hashlib

from components.effects.vocabulary import Action, Impact
from tests.kit.preview_repository import Repository
from tests.verdicts.edits import FLANNEL, Edit, applied, site, swap
from tests.verdicts.row import ANY, PROTECTED, Expected, Row, Verdict

_SITE = "sites/lab-1.yaml"
_FILE = "sites/extra/pools/all.yaml"
_ENTRY = """
extra:
  - name: pools
    manifests: [extra/pools/*.yaml]
    cluster: site
    protect: false
    why: services of the lab need addresses
    owner: net-team
"""
_ALLOW = """\
    allow:
      - danger: host-access
        what: ["Namespace pools: namespace-level privileged"]
        reason: its agents announce addresses
        owner: net-team
        until: "2027-06-30"
"""
_RULES = """\
    rules:
      - kind: AddressPool
        path: spec.addresses
        effect: EFFECT
        why: addresses that are in use stay in use
        source: pools 1.2, controller
        owner: net-team
        until: "2027-06-30"
"""
_OBJECTS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: addresspools.pools.example}
spec:
  group: pools.example
  names: {kind: AddressPool, plural: addresspools, singular: addresspool, listKind: AddressPoolList}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {addresses: {type: array, items: {type: string}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: pools, labels: {pod-security.kubernetes.io/enforce: privileged}}
---
apiVersion: pools.example/v1
kind: AddressPool
metadata: {name: a, namespace: pools}
spec: {addresses: [10.0.0.0/24]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: cilium-config, namespace: kube-system}
data: {ipam: kubernetes, debug: "false"}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: pools}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "registry.example.com/agent:1.0"}]}
"""
_POOL = _OBJECTS.split("---\n")[2]
_OWNER = "the site file: the owner of the kind says so, and the report names them"
_NOBODY = "no rule of Foresite and none of an owner"
_UNKNOWN = {"lab": Verdict(Impact.UNKNOWN)}
_CILIUM = "Cilium 1.18, Documentation/configuration: agents read the ConfigMap at their start"


def write(file: str, text: str) -> Edit:
    """A new file."""
    return lambda repository: repository.write(file, text)


def append(text: str) -> Edit:
    """More text at the end of the site file."""

    def edit(repository: Repository) -> None:
        repository.write(_SITE, repository.text(_SITE) + text)

    return edit


def _brought(rules: str = "") -> tuple[Edit, ...]:
    return applied("lab-1"), write(_FILE, _OBJECTS), append(_ENTRY + _ALLOW + rules)


def _rule(effect: str) -> str:
    return _RULES.replace("EFFECT", effect)


_NOTES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: notes, namespace: lab-1}
data: {about: pools}
"""


def _chart(folder: str, rendered: str = "") -> tuple[Edit, ...]:
    """A chart that was rendered; the pod network of the example sites, where nothing is said."""

    def edit(repository: Repository) -> None:
        text, values = rendered or repository.text(FLANNEL), "backend: vxlan\n"
        digests = ["sha256:" + hashlib.sha256(each.encode()).hexdigest() for each in (values, text)]
        repository.write(f"{folder}/values.yaml", values)
        repository.write(f"{folder}/rendered.yaml", text)
        repository.write(
            f"{folder}/chart.lock.yaml",
            "chart: oci://registry.example.com/flannel\nversion: 0.28.4\nrelease: flannel\n"
            "namespace: kube-flannel\nhelm: v4.2.2\nkube_version: 1.34.3\n"
            f"digest: {digests[0]}\nvalues: {digests[0]}\nrendered: {digests[1]}\n",
        )

    return (edit,)


_MORE = swap(_FILE, "[10.0.0.0/24]", "[10.0.0.0/24, 10.0.1.0/24]")
_NETWORK = "pod_network: {manifests: pod-network/flannel.yaml}"
_AS_CHART = """\
pod_network:
    chart: charts/flannel
    allow:
      - danger: images
        what: ["DaemonSet kube-flannel/flannel: image-version flannel"]
        reason: the image has no version yet
        owner: net-team
        until: "2027-06-30"
"""

ROWS = (
    Row(
        "a team brings objects",
        (write(_FILE, _OBJECTS), append(_ENTRY + _ALLOW + _rule("none"))),
        {"lab-1": Expected({"lab": Verdict(Impact.UNKNOWN)},
                           {"pools/*": Action.ADDED})},
        _NOBODY,
        (applied("lab-1"),),
    ),
    Row(
        "fields of an entry that no machine notices",
        (
            swap(_SITE, "lab need addresses", "lab want addresses"),
            swap(_SITE, "    owner: net-team\n    allow", "    owner: net\n    allow"),
            swap(_SITE, "its agents announce", "agents announce"),
            swap(_SITE, "        owner: net-team\n        until: \"2027-06-30\"\n    rules",
                 "        owner: net\n        until: \"2027-05-31\"\n    rules"),
        ),
        {},
        "components/extra: no object carries them",
        _brought(_rule("none")),
    ),
    Row("a custom resource that nobody knows", (_MORE,), {"lab-1": Expected(_UNKNOWN)}, _NOBODY,
        _brought()),
    Row(
        "a custom resource whose owner says that nothing happens",
        (_MORE,),
        {"lab-1": Expected(says=("net-team says (not Foresite, until 2027-06-30)",))},
        _OWNER,
        _brought(_rule("none")),
    ),
    Row(
        "a custom resource, and its owner's rule in the same change",
        (_MORE, append(_rule("none"))),
        {"lab-1": Expected(_UNKNOWN, says=("that of net-team counts from the next change on",))},
        "components/extra: who writes a change does not lift the verdict on it",
        _brought(),
    ),
    Row(
        "a custom resource, and another effect in its owner's rule",
        (_MORE, swap(_SITE, "effect: reboot", "effect: none")),
        {"lab-1": Expected(_UNKNOWN)},
        "components/extra: who writes a change does not lift the verdict on it",
        _brought(_rule("reboot")),
    ),
    Row(
        "a custom resource whose owner says that hosts are power-cycled",
        (_MORE,),
        {"lab-1": Expected({"lab": Verdict(Impact.REBOOT)})},
        _OWNER,
        _brought(_rule("reboot")),
    ),
    Row(
        "an image of a DaemonSet that a team brings",
        (swap(_FILE, "agent:1.0", "agent:1.1"),),
        {"lab-1": Expected({"lab": Verdict(Impact.POD_RESTART, None, ANY)})},
        "Kubernetes 1.34.3, pkg/controller/daemon/update.go",
        _brought(),
    ),
    Row(
        "a custom resource that is dropped",
        (swap(_FILE, f"---\n{_POOL}", ""),),
        {"lab-1": Expected(_UNKNOWN, {"pools/AddressPool/pools/a": Action.DELETED})},
        f"Pulumi deletes what is no longer registered; {_NOBODY}",
        _brought(),
    ),
    Row(
        "a namespace that is dropped",
        (swap(_FILE, "---\n" + _OBJECTS.split("---\n")[1], ""),),
        {"lab-1": Expected(actions={"pools/Namespace/pools": Action.REFUSED},
                           deletions={"Namespace": 1})},
        PROTECTED,
        _brought(),
    ),
    Row("a setting that Cilium's agents read at their start",
        (swap(_FILE, 'debug: "false"', 'debug: "true"'),),
        {"lab-1": Expected(says=("running agents do not read it again",))}, _CILIUM, _brought()),
    Row("what Cilium lets through where no policy is",
        (swap(_FILE, 'debug: "false"', 'debug: "false", enable-policy: always'),),
        {"lab-1": Expected(_UNKNOWN)}, f"{_CILIUM}; always refuses what no policy allows",
        _brought()),
    Row("the mode in which Cilium gives addresses",
        (swap(_FILE, "ipam: kubernetes",
              "ipam: cluster-pool, cluster-pool-ipv4-cidr: 10.64.0.0/12"),
         swap(_FILE, 'debug: "false"', 'debug: "true"')),
        {"lab-1": Expected(_UNKNOWN)}, f"{_CILIUM}; its mode is never changed", _brought()),
    Row(
        "the same pod network as a chart",
        (site("lab-1", _NETWORK, _AS_CHART.rstrip()),),
        {},
        "the objects are the same",
        _chart("sites/charts/flannel"),
    ),
    Row(
        "kube-proxy left out",
        (site("lab-1", "  services:", "  kube_proxy: false\n  services:"),),
        {"lab-1": Expected(says=("kubeadm init alone reads it",))},
        "Cluster API 1.13.6, controlplane/kubeadm/internal/filters.go: the machine that ran "
        "kubeadm init is up to date while what it was made with equals the joinConfiguration",
    ),
    Row(
        "a chart in place of manifests, for the management cluster",
        (
            swap(_SITE, "    manifests: [extra/pools/*.yaml]\n", "    chart: charts/other\n"),
            swap(_SITE, "name: pools", "name: other"),
            swap(_SITE, "cluster: site", "cluster: management"),
            swap(_SITE, "protect: false", "protect: true"),
        ),
        {
            "lab-1": Expected(
                _UNKNOWN,
                {
                    "other/ConfigMap/lab-1/notes": Action.ADDED,
                    "pools/Namespace/pools": Action.REFUSED,
                    "pools/CustomResourceDefinition/*": Action.REFUSED,
                    "pools/*": Action.DELETED,
                },
                {"CustomResourceDefinition": 1, "Namespace": 1},
            )
        },
        f"{PROTECTED}; Pulumi deletes what is no longer registered; {_NOBODY}",
        (*_brought(), *_chart("sites/charts/other", _NOTES)),
    ),
)  # fmt: skip
