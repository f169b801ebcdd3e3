"""Rules on the kubelet's managers of processors, memory and topology: combinations with which it
does not start, so that no host of the pool joins, and settings that do nothing.

Sources: Kubernetes 1.34 to 1.37, pkg/kubelet: apis/config/validation/validation.go,
cm/cpumanager/policy_options.go and policy_none.go, cm/topologymanager/topology_manager.go,
cm/memorymanager/memory_manager.go (validateReservedMemory), and cmd/kubelet/app/server.go
(getReservedCPUs).
"""

from collections.abc import Iterator

from schemas.kubernetes.quantities import MIB, in_bytes
from schemas.model.codes import Code
from schemas.model.kubelet import Kubelet
from schemas.rules.finding import Finding
from schemas.rules.scope import InPool

USUAL_NUMA_NODES = 8
"""NUMA nodes that the topology manager takes by itself."""
THREADS = 2
"""Processors of a physical core at most (hyper-threading)."""
_NUMA = "reserved_memory_by_numa_node"
_CPUS = "reserved_system_cpus"
_POLICY = "topology_manager_policy"


def starts(at: InPool) -> Iterator[Finding]:
    """No combination of settings that a kubelet refuses."""
    for field, message, fix in (*_refused(at.site.kubelet(at.pool)), *_on_host(at)):
        yield Finding(Code.KUBELET_REFUSES, at.kubelet_path(field), message, fix)


def effects(at: InPool) -> Iterator[Finding]:
    """No setting that another one leaves without effect."""
    for field, message, fix in _unused(at.site.kubelet(at.pool)):
        yield Finding(Code.KUBELET_UNUSED, at.kubelet_path(field), message, fix)


def admission(at: InPool) -> Iterator[Finding]:
    """A pod that asks for a whole host is not refused for its NUMA nodes."""
    profile = at.site.hardware.get(at.pool.hardware)
    nodes = (profile.numa_nodes if profile else None) or 1
    count = profile.accelerators.count if profile and profile.accelerators else 0
    single = at.site.kubelet(at.pool).topology_manager_policy == "single-numa-node"
    if single and nodes > 1 and count > 1:
        message = (
            f"a pod that asks for more accelerators than one of {nodes} NUMA nodes has, such as "
            f"all {count} of a host, fails with TopologyAffinityError"
        )
        fix = "write restricted where jobs take whole hosts"
        yield Finding(Code.NUMA_ADMISSION, at.kubelet_path(_POLICY), message, fix)


def _on_host(at: InPool) -> Iterator[tuple[str, str, str]]:
    """What the pool's hosts do not have."""
    kubelet, profile = at.site.kubelet(at.pool), at.site.hardware.get(at.pool.hardware)
    if profile is None:
        return
    has = f"hosts of {at.pool.hardware} have"
    if kubelet.cpus and max(max(kubelet.cpus) // THREADS, len(kubelet.cpus)) >= profile.cpu_cores:
        most = THREADS * profile.cpu_cores - 1
        message = f"{has} {profile.cpu_cores} cores, so processors 0 to {most}, and pods need some"
        yield _CPUS, message, "write the numbers that lscpu shows"
    nodes, kept = profile.numa_nodes or 1, kubelet.reserved_memory_by_numa_node or ()
    if profile.numa_nodes and len(kept) > nodes:
        message = f"{has} {nodes} NUMA nodes, and {len(kept)} sizes are written"
        yield _NUMA, message, f"write {nodes} sizes or fewer"
    most = kubelet.max_allowable_numa_nodes or USUAL_NUMA_NODES
    if nodes > most and kubelet.topology_manager_policy not in (None, "none"):
        message = f"{has} {nodes} NUMA nodes, and {most} are allowed"
        fix = f"write max_allowable_numa_nodes: {nodes}, or topology_manager_policy: none"
        yield _POLICY, message, fix


def _refused(kubelet: Kubelet) -> Iterator[tuple[str, str, str]]:
    options, field = kubelet.cpu_manager_policy_options, "cpu_manager_policy_options"
    if options and kubelet.cpu_manager_policy != "static":
        message = "options are for the static CPU manager alone"
        yield field, message, "write cpu_manager_policy: static, or remove them"
    if {"prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"} <= set(options):
        message = "no processors are both spread over NUMA nodes and kept at one cache"
        yield field, message, "remove one of the two options"
    for part in (kubelet.reserved_system_cpus or "").split(","):
        first, _, last = part.partition("-")
        if last and int(first) > int(last):
            yield _CPUS, f"{part} ends before it begins", f"write {last}-{first}"
    named, whole = kubelet.reserved_memory_by_numa_node, f"{kubelet.kept_bytes / MIB:.12g}Mi"
    if named and sum(map(in_bytes, named)) != kubelet.kept_bytes:
        message = f"{' + '.join(named)} is not reserved_memory and eviction_hard.memory, {whole}"
        yield _NUMA, message, f"write sizes that are {whole} together"


def _unused(kubelet: Kubelet) -> Iterator[tuple[str, str, str]]:
    if kubelet.topology_manager_policy in (None, "none"):
        fields = (
            "prefer_closest_numa_nodes", "max_allowable_numa_nodes", "topology_manager_scope"
        )  # fmt: skip
        for field in (each for each in fields if getattr(kubelet, each)):
            message = "the topology manager does nothing without topology_manager_policy"
            yield field, message, "write topology_manager_policy: restricted, or remove it"
    if kubelet.reserved_memory_by_numa_node and kubelet.memory_manager_policy != "Static":
        message = "only the static memory manager keeps memory on NUMA nodes"
        yield _NUMA, message, "write memory_manager_policy: Static, or remove it"
    if kubelet.cpus and "reserved_cpu" in kubelet.model_fields_set:
        message = "reserved_system_cpus takes the place of reserved_cpu"
        yield "reserved_cpu", message, "remove one of them"
