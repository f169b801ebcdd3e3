"""Feature gates and APIs that are off in the site's Kubernetes, and that accelerators need. With
them pods request devices by model, and single devices can be tainted.

Sources: Kubernetes 1.34.3, 1.35.4, 1.36.1 and 1.37.1, pkg/features/kube_features.go (gates),
pkg/controlplane/instance.go (beta APIs are off), and who reads DRAExtendedResource:
pkg/registry/resource/deviceclass and pkg/api/pod (API server), pkg/scheduler, pkg/kubelet/cm/dra.
"""

from collections.abc import Mapping

from schemas.facts.site import Site
from schemas.model.primitives import KubernetesVersion, minor
from schemas.model.site_file import Pool
from schemas.model.vocabulary import BackendKind, ModelBy

OLDEST = 34
"""The first minor with MutatingAdmissionPolicy in a beta API, and with resource.k8s.io/v1."""
OLDEST_DRA = 35
"""The first minor in which pods that have ended give back devices that they had by an extended
resource (kubernetes/kubernetes#134312, pkg/controller/resourceclaim/controller.go)."""
_ON_BY_DEFAULT = {
    "MutatingAdmissionPolicy": 36,
    "DRAExtendedResource": 36,
    "DRADeviceTaints": 36,
    "DRADeviceTaintRules": 37,
}
"""Minor versions from which the gates are on by themselves."""
_SINCE = {"DRADeviceTaintRules": 35}
"""Minor versions from which there are gates that the oldest one does not know: it would not start.
In 1.34 DRADeviceTaints alone is for rules too."""
_TAINTS = ("DRADeviceTaints", "DRADeviceTaintRules")
_BETA_ADMISSION = "admissionregistration.k8s.io/v1beta1"


def api_server_gates(site: Site) -> dict[str, bool]:
    """Feature gates of the site's API server."""
    version = site.file.cluster.kubernetes
    found = _gate_setting("MutatingAdmissionPolicy", version) if completed_models(site) else {}
    return found | scheduler_gates(site)


def runtime_config(site: Site) -> tuple[str, ...]:
    """APIs that the site's API server has to serve besides the usual ones, as ``api=true``."""
    apis = [mutating_api(site)] if completed_models(site) else []
    apis += [device_taint_api(site)] if taints_devices(site) else []
    return tuple(f"{each}=true" for each in apis if not each.endswith("/v1"))


def scheduler_gates(site: Site) -> dict[str, bool]:
    """Feature gates of the site's default kube-scheduler."""
    if not _by_dra(site):
        return {}
    found = _gate_setting("DRAExtendedResource", site.file.cluster.kubernetes)
    return found | device_taint_gates(site)


def device_taint_gates(site: Site) -> dict[str, bool]:
    """Feature gates by which the API server and the default kube-scheduler know taints of devices;
    the controller manager acts on NoExecute alone, which Foresite does not write (Kubernetes 1.34,
    pkg/controller/devicetainteviction)."""
    if not taints_devices(site):
        return {}
    version = site.file.cluster.kubernetes
    return {name: True for gate in _TAINTS for name in _gate_setting(gate, version)}


def device_taint_api(site: Site) -> str:
    """The API that serves DeviceTaintRule in the site's Kubernetes version, and that its scheduler
    reads (k8s.io/api resource, pkg/scheduler/scheduler.go)."""
    number = minor(site.file.cluster.kubernetes)
    if number >= _ON_BY_DEFAULT["DRADeviceTaintRules"]:
        return "resource.k8s.io/v1"
    beta = number >= _ON_BY_DEFAULT["DRADeviceTaints"]
    return f"resource.k8s.io/{'v1beta2' if beta else 'v1alpha3'}"


def taints_devices(site: Site) -> bool:
    """True if rules taint single devices of some pool."""
    return any(site.taints_devices(pool) for pool in site.file.pools)


def kubelet_gates(site: Site, pool: Pool) -> dict[str, bool]:
    """Feature gates of the kubelets of a pool: those with accelerators hand them to pods."""
    model = site.model(pool)
    by_dra = model is not None and site.uses_dra(model)
    return _gate_setting("DRAExtendedResource", site.version(pool)) if by_dra else {}


def gate_list(gates: Mapping[str, bool]) -> str:
    """Feature gates as the ``feature-gates`` argument of a component takes them."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))


def mutating_api(site: Site) -> str:
    """The API that serves MutatingAdmissionPolicy in the site's Kubernetes version."""
    stable = minor(site.file.cluster.kubernetes) >= _ON_BY_DEFAULT["MutatingAdmissionPolicy"]
    return "admissionregistration.k8s.io/v1" if stable else _BETA_ADMISSION


def completed_models(site: Site) -> tuple[str, ...]:
    """The models whose pods admission completes. It adds the plugin's resource where the model's
    own is another, and the container runtime where the model needs one."""
    settings = site.file.accelerators
    if settings is None or settings.model_by is not ModelBy.ADMISSION:
        return ()
    records, models = site.accelerators, site.models()
    other = {each for each in models if records[each].plugin.resource != site.resource(each)}
    return tuple(each for each in models if each in other or pod_runtime(site, each))


def counted_models(site: Site) -> tuple[str, ...]:
    """The models that Kueue counts on nodes by a resource of node feature discovery's."""
    backends = {model: site.backend_of(model) for model in completed_models(site)}
    return tuple(
        model
        for model, each in backends.items()
        if each and each.kind is BackendKind.KUEUE and each.topology
        if site.accelerators[model].plugin.resource != site.resource(model)
    )


def pod_runtime(site: Site, model: str) -> str | None:
    """The RuntimeClass of a model's pods; None where devices come by CDI (operator, DRA)."""
    settings = site.file.accelerators
    by_cdi = settings is None or settings.model_by is ModelBy.DRA or uses_gpu_operator(site, model)
    return None if by_cdi else site.accelerators[model].runtime_class


def uses_gpu_operator(site: Site, model: str) -> bool:
    """True if the GPU operator serves a model, in place of plain DaemonSets."""
    settings = site.file.accelerators
    there = settings is not None and settings.gpu_operator is not None
    return there and site.accelerators[model].vendor == "nvidia"


def _by_dra(site: Site) -> bool:
    return any(site.uses_dra(model) for model in site.models())


def _gate_setting(gate: str, version: KubernetesVersion) -> dict[str, bool]:
    since = _SINCE.get(gate, OLDEST)
    return {gate: True} if since <= minor(version) < _ON_BY_DEFAULT[gate] else {}
