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
from schemas.model.hardware import Arch
from schemas.model.kubelet import Kubelet
from schemas.rules.finding import Finding
from schemas.rules.scope import InPool

USUAL_NUMA_NODES = 8
"""NUMA nodes that the topology manager takes by itself."""
THREADS = {Arch.AMD64: 2, Arch.ARM64: 1}
"""Processors of a physical core at most: hyper-threading, which no Neoverse has."""
_NUMA, _CPUS = "reserved_memory_by_numa_node", "reserved_system_cpus"
_POLICY, _OPTIONS = "topology_manager_policy", "cpu_manager_policy_options"
_TOPOLOGY = ("prefer_closest_numa_nodes", "max_allowable_numa_nodes", "topology_manager_scope")


def managers(at: InPool) -> Iterator[Finding]:
    """Settings of the managers fit each other and the hosts, and each of them has an effect."""
    kubelet = at.site.kubelet(at.pool)
    for code, found in (
        (Code.KUBELET_REFUSES, (*_refused(kubelet), *_on_host(at, kubelet))),
        (Code.KUBELET_UNUSED, (*_unused(kubelet),)),
        (Code.NUMA_ADMISSION, (*_admission(at, kubelet),)),
    ):
        for field, message, fix in found:
            yield Finding(code, at.kubelet_path(field), message, fix)


def _admission(at: InPool, kubelet: Kubelet) -> Iterator[tuple[str, str, str]]:
    profile = at.site.hardware.get(at.pool.hardware)
    nodes = (profile.numa_nodes if profile else None) or 1
    count = profile.accelerators.count if profile and profile.accelerators else 0
    if kubelet.topology_manager_policy == "single-numa-node" and nodes > 1 and count > 1:
        message = (
            f"a pod that asks for more accelerators than one of {nodes} NUMA nodes has, such as "
            f"all {count} of a host, is refused by the kubelet whenever it is made"
        )
        yield _POLICY, message, "write restricted where jobs take whole hosts"


def _on_host(at: InPool, kubelet: Kubelet) -> Iterator[tuple[str, str, str]]:
    profile, kept = at.site.hardware.get(at.pool.hardware), kubelet.reserved_memory_by_numa_node
    if profile is None:
        return
    has = f"hosts of {at.pool.hardware} have"
    cores, threads = profile.cpu_cores, THREADS[profile.arch]
    if kubelet.cpus and max(max(kubelet.cpus) // threads, len(kubelet.cpus)) >= cores:
        last = threads * cores - 1
        message = f"{has} {cores} cores, so processors 0 to {last}, and pods need some"
        yield _CPUS, message, "write the numbers that lscpu shows"
    nodes, most = profile.numa_nodes, kubelet.max_allowable_numa_nodes or USUAL_NUMA_NODES
    if nodes and len(kept or ()) > nodes:
        message = f"{has} {nodes} NUMA nodes, and {len(kept or ())} sizes are written"
        yield _NUMA, message, f"write {nodes} sizes or fewer"
    if nodes and nodes > most and kubelet.topology_manager_policy not in (None, "none"):
        fix = f"write max_allowable_numa_nodes: {nodes}, or topology_manager_policy: none"
        yield _POLICY, f"{has} {nodes} NUMA nodes, and {most} are allowed", fix


def _refused(kubelet: Kubelet) -> Iterator[tuple[str, str, str]]:
    options = kubelet.cpu_manager_policy_options
    if options and kubelet.cpu_manager_policy != "static":
        message = "options are for the static CPU manager alone"
        yield _OPTIONS, message, "write cpu_manager_policy: static, or remove them"
    if {"prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"} <= set(options):
        message = "no processors are both spread over NUMA nodes and kept at one cache"
        yield _OPTIONS, message, "remove one of the two options"
    for part in (kubelet.reserved_system_cpus or "").split(","):
        first, _, last = part.partition("-")
        if last and int(first) > int(last):
            yield _CPUS, f"{part} ends before it begins", f"write {last}-{first}"
    named, whole = kubelet.reserved_memory_by_numa_node, f"{kubelet.kept_bytes / MIB:.12g}Mi"
    if named and sum(map(in_bytes, named)) != kubelet.kept_bytes:
        message = f"{' + '.join(named)} is not reserved_memory and eviction_hard.memory, {whole}"
        yield _NUMA, message, f"write sizes that are {whole} together"


def _unused(kubelet: Kubelet) -> Iterator[tuple[str, str, str]]:
    for field in _TOPOLOGY if kubelet.topology_manager_policy in (None, "none") else ():
        if getattr(kubelet, field):
            message = "the topology manager does nothing without topology_manager_policy"
            yield field, message, "write topology_manager_policy: restricted, or remove it"
    if kubelet.reserved_memory_by_numa_node and kubelet.memory_manager_policy != "Static":
        message = "only the static memory manager keeps memory on NUMA nodes"
        yield _NUMA, message, "write memory_manager_policy: Static, or remove it"
    if kubelet.cpus and "reserved_cpu" in kubelet.model_fields_set:
        message = "reserved_system_cpus takes the place of reserved_cpu"
        yield "reserved_cpu", message, "remove one of them"
