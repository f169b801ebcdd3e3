"""Settings that an agent applies to running workers, and those that it does not."""

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import Edit, applied, site
from tests.verdicts.row import (
    ANY,
    CONTROL,
    MD_ROLLS,
    PROTECTED,
    TOKYO_WORKERS,
    Expected,
    Row,
    Verdict,
)

_KEPT = (
    "Cluster API v1.13.6, internal/controllers/machinedeployment/mdutil/util.go: a template is "
    "compared by its name; controlplane/kubeadm/internal/filters.go: a control plane's by content"
)
_PODS = f"{_KEPT}; Kubernetes 1.34, pkg/kubelet/kubelet.go: containers go on without their kubelet"
_ON = "host_agent: {applies: [registries, proxy, time_servers, certificates, kubelet]}\n"
_AGENT = site("tokyo-1", "sources:\n", f"{_ON}sources:\n")
_BASE = (applied("tokyo-1"), _AGENT)
_IN_PLACE = {pool: Verdict(Impact.IN_PLACE, None, ANY) for pool in TOKYO_WORKERS}
_UNKNOWN = {pool: Verdict(Impact.UNKNOWN, None, ANY) for pool in TOKYO_WORKERS}


def _row(name: str, edit: Edit, says: str, *base: Edit) -> Row:
    expected = Expected({**CONTROL, **_IN_PLACE}, says=(says,))
    return Row(f"host agent: {name}", (edit,), {"tokyo-1": expected}, _PODS, (*_BASE, *base))


_MIRROR = "https://registry.tokyo-1.example"
_RESERVED = site("tokyo-1", "sources:\n", "kubelet: {reserved_memory: 3Gi}\nsources:\n")
_MORE = site("tokyo-1", "sources:\n", "kubelet: {max_pods: 120}\nsources:\n")
_PULLS = "kubelet: {max_parallel_image_pulls: 4}\n"
ROWS = (
    _row("another time server", site("tokyo-1", "ntp: [", "ntp: [10.16.0.9, "),
         "in place, a tenth of the pool at a time: the time service restarts"),
    _row("another mirror", site("tokyo-1", f"mirror: {_MIRROR}", "mirror: https://mirror.example"),
         "containerd finds images as it says from the next pull on"),
    _row("no certificates", site("tokyo-1", "[certificates/example-ca.pem]", "[]"),
         "containerd restarts; pods stay"),
    _row("more pods on a node", _MORE, "the kubelet restarts, pods stay"),
    Row("host agent: fewer pods on a node", (site("tokyo-1", "max_pods: 120", "max_pods: 100"),),
        {"tokyo-1": Expected({**CONTROL, **_UNKNOWN}, says=("rejects pods beyond its max_pods",))},
        _PODS, (*_BASE, _MORE)),
    Row("host agent: more memory for the system", (_RESERVED,),
        {"tokyo-1": Expected({**CONTROL, **TOKYO_WORKERS})}, MD_ROLLS, _BASE),
    _row("more images at a time", site("tokyo-1", "sources:\n", f"{_PULLS}sources:\n"),
         "the kubelet restarts, pods stay"),
    Row("host agent: no more", (site("tokyo-1", f"{_ON}sources:\n", "sources:\n"),),
        {"tokyo-1": Expected(TOKYO_WORKERS, {"DaemonSet/host-agent/*": Action.DELETED,
                             "ConfigMap/host-agent/*": Action.DELETED,
                             "Namespace/host-agent": Action.REFUSED}, {"Namespace": 1})},
        f"{MD_ROLLS}; {PROTECTED}", _BASE),
    Row("host agent: from now on", (_AGENT,),
        {"tokyo-1": Expected(TOKYO_WORKERS, {"DaemonSet/host-agent/*": Action.ADDED})},
        MD_ROLLS, (applied("tokyo-1"),)),
)  # fmt: skip
