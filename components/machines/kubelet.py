"""The KubeletConfiguration of a pool (Kubernetes 1.34 to 1.37,
staging/src/k8s.io/kubelet/config/v1beta1/types.go)."""

from pydantic.alias_generators import to_camel

from components.making.manifest import Json, filled, prune
from schemas.facts.feature_gates import kubelet_gates
from schemas.facts.site import Site
from schemas.model.kubelet import Kubelet, KubeletAsIs
from schemas.model.site_file import Pool

DROP_INS = "/etc/kubernetes/kubelet.conf.d"
"""The folder of further configuration files, which the kubelet reads in the order of their names
after its own (cmd/kubelet/app/server.go, --config-dir)."""
_IN_PLACE = """containerLogMaxSize imageGCHighThresholdPercent imageGCLowThresholdPercent
    imageMaximumGCAge maxParallelImagePulls maxPods podPidsLimit seccompDefault"""
IN_PLACE = frozenset(_IN_PLACE.split())
"""Settings that a kubelet may start with anew while pods run. Others change what running pods may
have, or it refuses to start with the state of before (docs/decisions/0030)."""


def configuration(site: Site, pool: Pool) -> Json:
    """The pool's KubeletConfiguration."""
    settings = site.kubelet(pool)
    (found,) = filled(
        __file__,
        logs=settings.container_log_max_size,
        images=f"{settings.eviction_hard.imagefs_percent}%",
        memory=settings.eviction_hard.memory,
        nodes=f"{settings.eviction_hard.nodefs_percent}%",
        high=settings.image_gc_high_percent,
        low=settings.image_gc_low_percent,
        pods=settings.max_pods,
        reserved_cpu=settings.kept_cpu,
        reserved_memory=settings.reserved_memory,
        reserved_storage=settings.reserved_storage,
        reserved_pids=settings.reserved_pids and str(settings.reserved_pids),
        pids=settings.max_pids or None,
        gates=kubelet_gates(site, pool),
        others=_further_settings(settings),
    )
    return prune(found)


def _further_settings(settings: Kubelet) -> Json:
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
