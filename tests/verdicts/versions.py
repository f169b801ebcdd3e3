"""The software that hosts boot: images, releases, and the versions of Kubernetes."""

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import DIGEST, RELEASE, Edit, at_tsukuba, bare, copied, site, swap
from tests.verdicts.row import (
    CONTROL,
    CPU,
    KCP_ROLLS,
    LAB,
    MD_ROLLS,
    MNCORE2,
    TOKYO,
    TOKYO_PLANS,
    TOKYO_WORKERS,
    TSUKUBA,
    Expected,
    Row,
    Verdict,
    removed,
)

_UBUNTU = "d7fe3a2712446891ae0618d3a4c3c3e36c105b2f6cd9ff60e17a7eea4b7b1da6"
_ROCKY = "c63b06643823934b24d5d730fd47c7f1ec25753057eeabb7e33a88ca4e0f0ec8"
_NEXT = RELEASE.replace("2026.11", "2027.01")
_BOTH = f"{KCP_ROLLS}; {MD_ROLLS}"
_DOWN = (
    "Cluster API 1.13.6, controlplane/kubeadm/internal/webhooks/kubeadmcontrolplane.go, "
    "validateVersion: only an update by two minors or more is refused; filters.go: any other "
    "version rolls"
)
_HOLD = "MachineDeployments keep their version, so their templates stay as they are"


_NO_NEW = (
    "Cluster API 1.13.6, machineset/machineset_preflight.go, kubeadmVersionPreflightCheck: no "
    "machine is made of another minor version than the control plane's, so max_unavailable of them "
    "are deleted and none comes (as in capi-live.md, e2)"
)
_STUCK = {"cpu": removed(147, 10)}
_KUBELET = site(
    "tokyo-1", "{name: cpu, hardware: cpu-1u,", "{name: cpu, hardware: cpu-1u, kubelet: "
    "{max_pods: 50},"
)  # fmt: skip
_KUBE_VIP = swap(RELEASE, "kube-vip:v1.2.1@sha256:49b7", "kube-vip:v1.2.2@sha256:49b8")


def _version(name: str, old: str, new: str, *held: str) -> Edit:
    lines = "".join(f"\n  workers: {each}" for each in held)
    return site(name, f"kubernetes: {old}", f"kubernetes: {new}{lines}")


ROWS = (
    Row(
        "the digest of an OS image, for every site that boots it",
        (swap(RELEASE, _UBUNTU, DIGEST),),
        {
            "tokyo-1": Expected(TOKYO, plans=TOKYO_PLANS),
            "tsukuba-1": Expected({**CONTROL, **MNCORE2}),
            "lab-1": Expected(LAB, {"Metal3MachineTemplate/lab": Action.REPLACED}),
        },
        _BOTH,
    ),
    Row(
        "the digest of an OS image that one pool boots",
        (swap(RELEASE, _ROCKY, DIGEST),),
        {"tsukuba-1": Expected(CPU)},
        MD_ROLLS,
    ),
    Row(
        "the name of an image's file",
        (swap(RELEASE, "file: rocky-9-kubernetes-v1.34.3.qcow2", "file: rocky-9-b2.qcow2"),),
        {"tsukuba-1": Expected(CPU)},
        MD_ROLLS,
    ),
    Row(
        "the format of an image",
        (swap(RELEASE, f"{_ROCKY}}}", f"{_ROCKY}, format: raw}}"),),
        {"tsukuba-1": Expected(CPU)},
        MD_ROLLS,
    ),
    Row(
        "the operating system of a pool",
        (site("tsukuba-1", "os: rocky-9, ", ""),),
        {"tsukuba-1": Expected(CPU)},
        MD_ROLLS,
    ),
    Row(
        "the operating system that a release has for all",
        (swap(RELEASE, "default_os: ubuntu-24.04", "default_os: rocky-9"),),
        {
            "tokyo-1": Expected(TOKYO),
            "tsukuba-1": Expected({**CONTROL, **MNCORE2}),
            "lab-1": Expected(LAB),
        },
        _BOTH,
    ),
    Row(
        "the server of OS images",
        (site("tsukuba-1", "http://images.tsukuba-1.example/os", "http://10.17.0.5/os"),),
        {"tsukuba-1": Expected(TSUKUBA)},
        f"{_BOTH}: the URL is in the template, wherever the image comes from",
    ),
    Row(
        "the image of kube-vip",
        (_KUBE_VIP,),
        {"tokyo-1": Expected(CONTROL), "tsukuba-1": Expected(CONTROL), "lab-1": Expected(LAB)},
        f"{KCP_ROLLS}: the static pod is one of its files",
    ),
    Row(
        "the image of kube-vip, where nobody runs it",
        (_KUBE_VIP,),
        {"tokyo-1": Expected(CONTROL), "tsukuba-1": Expected(CONTROL)},
        f"{KCP_ROLLS}: with virtual_ip: external there is no such file",
        (site("lab-1", "  pods:", "  virtual_ip: external\n  pods:"),),
    ),
    Row(
        "another release with other images",
        (site("lab-1", '"2026.11"', '"2027.01"'),),
        {"lab-1": Expected(LAB)},
        KCP_ROLLS,
        (copied(RELEASE, _NEXT, ("2026.11", "2027.01"), (_UBUNTU, DIGEST)),),
    ),
    Row(
        "a patch release of Kubernetes, control plane and workers at once",
        (_version("tsukuba-1", "v1.34.3", "v1.34.8"),),
        {"tsukuba-1": Expected(TSUKUBA)},
        f"{_BOTH}; machineset_preflight.go lets a patch level ahead through; seen live "
        "(capi-live.md, e)",
    ),
    Row(
        "a patch release, control plane first",
        (_version("tsukuba-1", "v1.34.3", "v1.34.8", "v1.34.3"),),
        {"tsukuba-1": Expected(CONTROL)},
        f"{KCP_ROLLS}; {_HOLD}",
    ),
    Row(
        "a patch release, workers after the control plane",
        (site("tsukuba-1", "\n  workers: v1.34.3", ""),),
        {"tsukuba-1": Expected({**CPU, **MNCORE2})},
        MD_ROLLS,
        (_version("tsukuba-1", "v1.34.3", "v1.34.8", "v1.34.3"),),
    ),
    Row(
        "a patch release, with a pool under OnDelete",
        (_version("tsukuba-1", "v1.34.3", "v1.34.8"),),
        {"tsukuba-1": Expected({**CONTROL, **MNCORE2})},
        f"{_BOTH}; machinedeployment_rollout_ondelete.go: old machines go only when somebody "
        "deletes them",
        (site("tsukuba-1", "rollout: {max_unavailable: 2}}", "rollout: {strategy: OnDelete}}"),),
    ),
    Row(
        "workers held back at the version that they run",
        (_version("tsukuba-1", "v1.34.3", "v1.34.3", "v1.34.3"),),
        {},
        "nothing differs between the two sides",
    ),
    Row(
        "a minor release, control plane and workers at once",
        (_version("tokyo-1", "v1.34.3", "v1.35.5"),),
        {
            "tokyo-1": Expected(
                CONTROL,
                {"MachineDeployment/*": Action.REFUSED},
                plans={("control", ""): (3, 1, 1)},
                out={"": (150, 1), "v100-sxm2-32gb": (118, 0)},
                waiting=395,
            )
        },
        "decision 0006: the site's ValidatingAdmissionPolicy refuses a MachineDeployment a minor "
        "ahead of status.version; applied again when the control plane is done, it rolls; seen "
        "live (docs/predictions.md, minor, all in one step)",
    ),
    Row(
        "a minor release, control plane first",
        (_version("tokyo-1", "v1.34.3", "v1.35.5", "v1.34.3"),),
        {"tokyo-1": Expected(CONTROL)},
        f"{KCP_ROLLS}; {_HOLD}",
    ),
    Row(
        "a minor release, workers after the control plane",
        (site("tokyo-1", "\n  workers: v1.34.3", ""),),
        {"tokyo-1": Expected(TOKYO_WORKERS, {"MachineDeployment/*": Action.CHANGED})},
        f"{MD_ROLLS}; the policy of decision 0006 lets the control plane's own minor through",
        (_version("tokyo-1", "v1.34.3", "v1.35.5", "v1.34.3"),),
    ),
    Row(
        "another kubelet while workers wait for a minor release",
        (_KUBELET,),
        {
            "tokyo-1": Expected(
                _STUCK,
                deletions={"hosts": 10},
                counts={Impact.REMOVE: 10, Impact.REIMAGE: None},
                out={"": (150, 10)},
                stuck=frozenset({"cpu"}),
            )
        },
        _NO_NEW,
        (_version("tokyo-1", "v1.34.3", "v1.35.5", "v1.34.3"),),
    ),
    Row(
        "a minor release, control plane first, and another kubelet at once",
        (_version("tokyo-1", "v1.34.3", "v1.35.5", "v1.34.3"), _KUBELET),
        {
            "tokyo-1": Expected(
                {**CONTROL, **_STUCK}, deletions={"hosts": 10}, stuck=frozenset({"cpu"})
            )
        },
        _NO_NEW,
    ),
    Row(
        "another kubelet while workers wait for a patch release",
        (_KUBELET,),
        {"tokyo-1": Expected({"cpu": TOKYO["cpu"]})},
        f"{MD_ROLLS}; machineset_preflight.go lets a patch level behind through",
        (_version("tokyo-1", "v1.34.3", "v1.34.8", "v1.34.3"),),
    ),
    Row(
        "a host more while workers wait for a minor release",
        (at_tsukuba("cpu", "b"),),
        {
            "tsukuba-1": Expected(
                actions={"BareMetalHost/tsukuba-1-b-250": Action.ADDED}, says=("another minor",)
            )
        },
        _NO_NEW,
        (_version("tsukuba-1", "v1.34.3", "v1.35.5", "v1.34.3"),),
    ),
    Row(
        "a patch release back",
        (_version("lab-1", "v1.34.8", "v1.34.3"),),
        {"lab-1": Expected({"lab": Verdict(Impact.REIMAGE, 3, also=(Impact.UNKNOWN,))})},
        _DOWN,
        (_version("lab-1", "v1.34.3", "v1.34.8"),),
    ),
    Row(
        "a minor release back",
        (_version("lab-1", "v1.35.5", "v1.34.3"),),
        {"lab-1": Expected({"lab": Verdict(Impact.REIMAGE, 3, also=(Impact.UNKNOWN,))})},
        _DOWN,
        (_version("lab-1", "v1.34.3", "v1.35.5"),),
    ),
    Row(
        "two minor releases at once",
        (_version("lab-1", "v1.34.3", "v1.36.1"),),
        {
            "lab-1": Expected(
                {"lab": Verdict(Impact.NONE, 3, also=(Impact.REIMAGE, Impact.UNKNOWN))},
                {"KubeadmControlPlane": Action.REFUSED},
            )
        },
        f"{_DOWN}; seen live (capi-live.md, KubeadmControlPlane)",
        (
            bare("lab-1"),
            swap(RELEASE, "v1.35.5]", "v1.35.5, v1.36.1]"),
            swap(
                RELEASE,
                "  rocky-9:\n",
                f"      v1.36.1: {{file: ubuntu-1.36.qcow2, sha256: {DIGEST}}}\n  rocky-9:\n",
            ),
        ),
    ),
    Row(
        "an upgrade that is taken back before it was applied anywhere: two edits of one value",
        (
            _version("lab-1", "v1.34.3", "v1.34.8"),
            site("lab-1", "kubernetes: v1.34.8", "kubernetes: v1.34.3"),
        ),
        {},
        "nothing differs between the two sides",
    ),
)
