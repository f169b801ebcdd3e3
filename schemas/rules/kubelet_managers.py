"""Rules on the kubelet's managers of processors, memory and topology: combinations with which it
does not start, so that no host of the pool joins, and settings that do nothing.

Sources: Kubernetes 1.34 to 1.37, pkg/kubelet: apis/config/validation/validation.go,
cm/cpumanager/policy_options.go and policy_none.go, cm/topologymanager/topology_manager.go,
cm/memorymanager/memory_manager.go (validateReservedMemory), eviction/helpers.go, and
cmd/kubelet/app/server.go (getReservedCPUs).
"""

from collections.abc import Iterator

from schemas.kubernetes.quantities import MIB, in_bytes
from schemas.model.codes import Code
from schemas.model.kubelet import (
    CpuManagerOption,
    CpuManagerPolicy,
    Kubelet,
    MemoryManagerPolicy,
    TopologyManagerPolicy,
)
from schemas.rules.finding import Finding, Path
from schemas.rules.scope import InPool

USUAL_NUMA_NODES = 8
"""NUMA nodes that the topology manager takes by itself."""
THREADS = 2
"""Processors of a physical core at most (hyper-threading)."""
Said = tuple[str, str, str]
"""A field, what is wrong with it, and what to write instead."""


def starts(at: InPool) -> Iterator[Finding]:
    """No combination of settings that a kubelet refuses, whatever host it runs on."""
    yield from _each(at, Code.KUBELET_REFUSES, _refused(at.site.kubelet(at.pool)))


def effects(at: InPool) -> Iterator[Finding]:
    """No setting that another one leaves without effect."""
    yield from _each(at, Code.KUBELET_UNUSED, _unused(at.site.kubelet(at.pool)))


def processors(at: InPool) -> Iterator[Finding]:
    """The reserved processors are some of those that the host has."""
    kubelet, profile = at.site.kubelet(at.pool), at.site.hardware.get(at.pool.hardware)
    if profile is None or not kubelet.cpus:
        return
    most = THREADS * profile.cpu_cores
    if max(kubelet.cpus) >= most or len(kubelet.cpus) >= profile.cpu_cores:
        message = (
            f"hosts of {at.pool.hardware} have {profile.cpu_cores} cores, so at most the "
            f"processors 0 to {most - 1}, and pods need some"
        )
        place = at.kubelet_path("reserved_system_cpus")
        yield Finding(Code.KUBELET_REFUSES, place, message, "write the numbers that lscpu shows")


def numa_nodes(at: InPool) -> Iterator[Finding]:
    """The host has the NUMA nodes that memory is kept on, and no more than are allowed."""
    kubelet, profile = at.site.kubelet(at.pool), at.site.hardware.get(at.pool.hardware)
    nodes = profile.numa_nodes if profile else None
    if profile is None or nodes is None:
        return
    kept, policy = kubelet.reserved_memory_by_numa_node or (), kubelet.topology_manager_policy
    if len(kept) > nodes:
        message = f"{len(kept)} NUMA nodes are named, and hosts of {at.pool.hardware} have {nodes}"
        place = at.kubelet_path("reserved_memory_by_numa_node")
        yield Finding(Code.KUBELET_REFUSES, place, message, f"write {nodes} sizes or fewer")
    most = kubelet.max_allowable_numa_nodes or USUAL_NUMA_NODES
    if nodes > most and policy not in (None, TopologyManagerPolicy.NONE):
        message = f"hosts of {at.pool.hardware} have {nodes} NUMA nodes, and {most} are allowed"
        fix = f"write max_allowable_numa_nodes: {nodes}, or topology_manager_policy: none"
        place = at.kubelet_path("topology_manager_policy")
        yield Finding(Code.KUBELET_REFUSES, place, message, fix)
    count = profile.accelerators.count if profile.accelerators else 0
    if policy is TopologyManagerPolicy.SINGLE and nodes > 1 and count > 1:
        message = (
            f"a pod that asks for more accelerators than one of {nodes} NUMA nodes has, such as "
            f"all {count} of a host, fails with TopologyAffinityError"
        )
        place = at.kubelet_path("topology_manager_policy")
        fix = "write restricted where jobs take whole hosts"
        yield Finding(Code.NUMA_ADMISSION, place, message, fix)


def _each(at: InPool, code: Code, said: Iterator[Said]) -> Iterator[Finding]:
    for field, message, fix in said:
        place: Path = at.kubelet_path(field)
        yield Finding(code, place, message, fix)


def _refused(kubelet: Kubelet) -> Iterator[Said]:
    options = kubelet.cpu_manager_policy_options
    if options and kubelet.cpu_manager_policy is not CpuManagerPolicy.STATIC:
        yield (
            "cpu_manager_policy_options",
            "options are for the static CPU manager alone",
            "write cpu_manager_policy: static, or remove them",
        )
    if {CpuManagerOption.CACHE, CpuManagerOption.ACROSS_NUMA} <= set(options):
        message = "no processors are both spread over NUMA nodes and kept at one cache"
        yield "cpu_manager_policy_options", message, "remove one of the two options"
    if kubelet.serialize_image_pulls and (kubelet.max_parallel_image_pulls or 1) > 1:
        message = "images that are pulled one at a time are not pulled in parallel"
        yield "max_parallel_image_pulls", message, "write serialize_image_pulls: false"
    for part in (kubelet.reserved_system_cpus or "").split(","):
        first, _, last = part.partition("-")
        if last and int(first) > int(last):
            message = f"{part} ends before it begins"
            yield "reserved_system_cpus", message, f"write {last}-{first}"
    least, most = kubelet.image_minimum_gc_age_minutes or 2, kubelet.image_maximum_gc_age_minutes
    if most is not None and most <= least:
        message = f"images would be deleted after {most} minutes and kept for {least}"
        yield "image_maximum_gc_age_minutes", message, f"write more than {least}"
    whole = kubelet.shutdown_grace_period_seconds or 0
    critical = kubelet.shutdown_grace_period_critical_pods_seconds or 0
    if critical > whole:
        message = f"critical pods would have {critical} of {whole} seconds"
        fix = f"write shutdown_grace_period_seconds: {critical * 2}"
        yield "shutdown_grace_period_critical_pods_seconds", message, fix
    yield from _memory(kubelet)


def _memory(kubelet: Kubelet) -> Iterator[Said]:
    """The kubelet refuses other sums than what Node Allocatable leaves out."""
    named = kubelet.reserved_memory_by_numa_node
    if named is None:
        return
    total, kept = sum(map(in_bytes, named)), kubelet.kept_bytes
    if total != kept:
        whole = f"{kept / MIB:.12g}Mi"
        message = (
            f"{' + '.join(named)} is {total / MIB:.12g}Mi, and reserved_memory with "
            f"eviction_hard.memory is {whole}"
        )
        yield "reserved_memory_by_numa_node", message, f"write sizes that are {whole} together"


def _unused(kubelet: Kubelet) -> Iterator[Said]:
    if kubelet.topology_manager_policy in (None, TopologyManagerPolicy.NONE):
        for field in ("prefer_closest_numa_nodes", "max_allowable_numa_nodes",
                      "topology_manager_scope"):  # fmt: skip
            if getattr(kubelet, field):
                message = "the topology manager does nothing without topology_manager_policy"
                yield field, message, "write topology_manager_policy: restricted, or remove it"
    static = kubelet.memory_manager_policy is MemoryManagerPolicy.STATIC
    if kubelet.reserved_memory_by_numa_node and not static:
        message = "only the static memory manager keeps memory on NUMA nodes"
        fix = "write memory_manager_policy: Static, or remove it"
        yield "reserved_memory_by_numa_node", message, fix
    if kubelet.cpus and "reserved_cpu" in kubelet.model_fields_set:
        message = "reserved_system_cpus takes the place of reserved_cpu"
        yield "reserved_cpu", message, "remove one of them"
    soft, hard = kubelet.eviction_soft, kubelet.eviction_hard
    if soft is None:
        return
    pairs = (
        ("memory", soft.memory and in_bytes(soft.memory), in_bytes(hard.memory)),
        ("nodefs_percent", soft.nodefs_percent, hard.nodefs_percent),
        ("imagefs_percent", soft.imagefs_percent, hard.imagefs_percent),
    )
    if not any(here for _, here, _ in pairs):
        yield "eviction_soft", "it says no shortage", "write memory: 1Gi, or remove it"
    for name, here, there in pairs:
        if here is not None and here <= there:
            message = f"eviction_hard.{name} evicts pods before eviction_soft does"
            yield "eviction_soft", message, f"write more than eviction_hard.{name}"
