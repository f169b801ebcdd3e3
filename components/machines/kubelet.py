"""The settings of a kubelet that a site says beyond those that every pool has.

Source: Kubernetes 1.34 to 1.37, staging/src/k8s.io/kubelet/config/v1beta1/types.go.
"""

from typing import Any

from pydantic.alias_generators import to_camel

from components.making.manifest import Json
from schemas.model.kubelet import EvictionSoft, Kubelet, KubeletAsIs, MemoryManagerPolicy

_SPELLED = {"reserved_system_cpus": "reservedSystemCPUs", "registry_pull_qps": "registryPullQPS"}
_DURATIONS = (
    ("image_minimum_gc_age_minutes", "imageMinimumGCAge", "m"),
    ("image_maximum_gc_age_minutes", "imageMaximumGCAge", "m"),
    ("shutdown_grace_period_seconds", "shutdownGracePeriod", "s"),
    ("shutdown_grace_period_critical_pods_seconds", "shutdownGracePeriodCriticalPods", "s"),
)


def further_settings(settings: Kubelet) -> Json:
    """Fields of a KubeletConfiguration; None for what the site does not say."""
    as_is = ((name, getattr(settings, name)) for name in KubeletAsIs.model_fields)
    options = {each.value: "true" for each in settings.cpu_manager_policy_options}
    return {
        **{_SPELLED.get(name, to_camel(name)): _plain(value) for name, value in as_is},
        **{key: _duration(getattr(settings, name), unit) for name, key, unit in _DURATIONS},
        "cpuManagerPolicyOptions": options,
        "topologyManagerPolicyOptions": _topology(settings),
        "reservedMemory": _reserved_memory(settings),
        **(_eviction_soft(settings.eviction_soft) if settings.eviction_soft else {}),
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list) else getattr(value, "value", value)


def _duration(value: int | None, unit: str) -> str | None:
    return None if value is None else f"{value}{unit}"


def _topology(settings: Kubelet) -> Json:
    most = settings.max_allowable_numa_nodes
    return {
        "prefer-closest-numa-nodes": "true" if settings.prefer_closest_numa_nodes else None,
        "max-allowable-numa-nodes": str(most) if most else None,
    }


def _reserved_memory(settings: Kubelet) -> list[Json] | None:
    """All that no pod gets, by NUMA node: the kubelet refuses any other sum
    (pkg/kubelet/cm/memorymanager/memory_manager.go, validateReservedMemory)."""
    if settings.memory_manager_policy is not MemoryManagerPolicy.STATIC:
        return None
    sizes = settings.reserved_memory_by_numa_node or [str(settings.kept_bytes)]
    return [
        {"numaNode": node, "limits": {"memory": size}}
        for node, size in enumerate(sizes)
        if size.strip("0kMGTi")  # the kubelet refuses a limit of zero
    ]


def _eviction_soft(soft: EvictionSoft) -> Json:
    """The kubelet refuses a signal without its time (pkg/kubelet/eviction/helpers.go)."""
    signals = {
        "memory.available": soft.memory,
        "nodefs.available": soft.nodefs_percent and f"{soft.nodefs_percent}%",
        "imagefs.available": soft.imagefs_percent and f"{soft.imagefs_percent}%",
    }
    said = {signal: value for signal, value in signals.items() if value}
    return {
        "evictionSoft": said,
        "evictionSoftGracePeriod": dict.fromkeys(said, f"{soft.grace_seconds}s"),
        "evictionMaxPodGracePeriod": soft.max_pod_grace_seconds,
    }
