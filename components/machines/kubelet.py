"""The settings of a kubelet that a site says beyond those that every pool has.

Source: Kubernetes 1.34 to 1.37, staging/src/k8s.io/kubelet/config/v1beta1/types.go.
"""

from pydantic.alias_generators import to_camel

from components.making.manifest import Json
from schemas.model.kubelet import Kubelet, KubeletAsIs


def further_settings(settings: Kubelet) -> Json:
    """Fields of a KubeletConfiguration; None for what the site does not say."""
    most, hours = settings.max_allowable_numa_nodes, settings.image_maximum_gc_age_hours
    found = {to_camel(name): getattr(settings, name) for name in KubeletAsIs.model_fields}
    cpus = found.pop("reservedSystemCpus")
    return {
        **found,
        "reservedSystemCPUs": cpus,
        "imageMaximumGCAge": hours and f"{hours}h",
        "cpuManagerPolicyOptions": dict.fromkeys(settings.cpu_manager_policy_options, "true"),
        "topologyManagerPolicyOptions": {
            "prefer-closest-numa-nodes": "true" if settings.prefer_closest_numa_nodes else None,
            "max-allowable-numa-nodes": most and str(most),
        },
        "reservedMemory": _reserved_memory(settings),
    }


def _reserved_memory(settings: Kubelet) -> list[Json] | None:
    """All that no pod gets, by NUMA node: the kubelet refuses any other sum, and a limit of zero
    (pkg/kubelet/cm/memorymanager/memory_manager.go, validateReservedMemory)."""
    if settings.memory_manager_policy != "Static":
        return None
    sizes = settings.reserved_memory_by_numa_node or [str(settings.kept_bytes)]
    pairs = ((node, size) for node, size in enumerate(sizes) if size.strip("0kMGTi"))
    return [{"numaNode": node, "limits": {"memory": size}} for node, size in pairs]
