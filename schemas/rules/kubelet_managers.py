"""Rules on the kubelet's managers of processors, memory and topology: combinations with which it
does not start, so that no host of the pool joins, and settings that do nothing.

Sources: Kubernetes 1.34 to 1.37, pkg/kubelet: apis/config/validation/validation.go,
cm/cpumanager/policy_options.go and policy_none.go, cm/topologymanager/topology_manager.go,
cm/memorymanager/memory_manager.go (validateReservedMemory), and cmd/kubelet/app/server.go
(getReservedCPUs).
"""

from collections.abc import Iterator

from schemas.kubernetes.quantities import MIB, in_bytes
from schemas.model.hardware import Arch
from schemas.model.kubelet import Kubelet
from schemas.rules.finding import Finding, InPool, say

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
    for faults in (_refused, _on_host, _unused, _admission):
        for field, row, *values in faults(at, kubelet):
            yield say(str(row), at.kubelet_path(str(field)), *values)


_Fault = tuple[object, ...]
"""The field of a fault, its row, and the row's values."""


def _admission(at: InPool, kubelet: Kubelet) -> Iterator[_Fault]:
    profile = at.site.hardware.get(at.pool.hardware)
    nodes = (profile.numa_nodes if profile else None) or 1
    count = profile.accelerators.count if profile and profile.accelerators else 0
    if kubelet.topology_manager_policy == "single-numa-node" and nodes > 1 and count > 1:
        yield _POLICY, "numa-refuses-whole-hosts", nodes, count


def _on_host(at: InPool, kubelet: Kubelet) -> Iterator[_Fault]:
    profile, kept = at.site.hardware.get(at.pool.hardware), kubelet.reserved_memory_by_numa_node
    if profile is None:
        return
    cores, threads = profile.cpu_cores, THREADS[profile.arch]
    if kubelet.cpus and max(max(kubelet.cpus) // threads, len(kubelet.cpus)) >= cores:
        yield _CPUS, "reserved-cpus-not-there", at.pool, cores, threads * cores - 1
    nodes, most = profile.numa_nodes, kubelet.max_allowable_numa_nodes or USUAL_NUMA_NODES
    if nodes and len(kept or ()) > nodes:
        yield _NUMA, "numa-sizes-too-many", at.pool, nodes, len(kept or ())
    if nodes and nodes > most and kubelet.topology_manager_policy not in (None, "none"):
        yield _POLICY, "numa-nodes-too-many", at.pool, nodes, most


def _refused(_: InPool, kubelet: Kubelet) -> Iterator[_Fault]:
    options = kubelet.cpu_manager_policy_options
    if options and kubelet.cpu_manager_policy != "static":
        yield _OPTIONS, "cpu-options-without-static"
    if {"prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"} <= set(options):
        yield _OPTIONS, "cpu-options-exclude-each-other"
    for part in (kubelet.reserved_system_cpus or "").split(","):
        first, dash, last = part.partition("-")
        if dash and int(first) > int(last):
            yield _CPUS, "reserved-cpus-backwards", part, first, last
    named, whole = kubelet.reserved_memory_by_numa_node, f"{kubelet.kept_bytes / MIB:.12g}Mi"
    if named and sum(map(in_bytes, named)) != kubelet.kept_bytes:
        yield _NUMA, "numa-sizes-differ", " + ".join(named), whole


def _unused(_: InPool, kubelet: Kubelet) -> Iterator[_Fault]:
    for field in _TOPOLOGY if kubelet.topology_manager_policy in (None, "none") else ():
        if getattr(kubelet, field):
            yield field, "topology-without-policy"
    if kubelet.reserved_memory_by_numa_node and kubelet.memory_manager_policy != "Static":
        yield _NUMA, "numa-sizes-without-static"
    if kubelet.cpus and "reserved_cpu" in kubelet.model_fields_set:
        yield "reserved_cpu", "reserved-cpu-and-cpus"
