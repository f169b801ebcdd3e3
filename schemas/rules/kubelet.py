"""Rules on nodes: what the kubelet of a pool accepts, and what leaves room for pods.

Sources on its managers of processors, memory and topology: Kubernetes 1.34 to 1.37, pkg/kubelet:
apis/config/validation/validation.go, cm/cpumanager/policy_options.go and policy_none.go,
cm/topologymanager/topology_manager.go, cm/memorymanager/memory_manager.go (validateReservedMemory),
and cmd/kubelet/app/server.go (getReservedCPUs).
"""

from collections.abc import Iterator

from schemas.kubernetes import node_labels
from schemas.kubernetes.quantities import MIB, amount, in_bytes
from schemas.model.hardware import Arch
from schemas.model.kubelet import Kubelet
from schemas.rules.finding import Finding, InPool, say

PROCESSES, MAX_PROCESSES = 2**13, 2**22
"""Threads that Linux allows in a GiB of memory (threads-max), and systemd in all (pid_max)."""
USUAL_NUMA_NODES = 8
"""NUMA nodes that the topology manager takes by itself."""
THREADS = {Arch.AMD64: 2, Arch.ARM64: 1}
"""Processors of a physical core at most: hyper-threading, which no Neoverse has."""
_NUMA, _CPUS = "reserved_memory_by_numa_node", "reserved_system_cpus"
_POLICY, _OPTIONS = "topology_manager_policy", "cpu_manager_policy_options"
_TOPOLOGY = ("prefer_closest_numa_nodes", "max_allowable_numa_nodes", "topology_manager_scope")


def images(at: InPool) -> Iterator[Finding]:
    """Deleting unused images ends below where it starts (the kubelet refuses anything else)."""
    kubelet = at.site.kubelet(at.pool)
    low, high = kubelet.image_gc_low_percent, kubelet.image_gc_high_percent
    if low < high:
        return
    field, fix = "image_gc_high_percent", f"{min(85, low + 10)}, or image_gc_low_percent below it"
    if "image_gc_low_percent" in kubelet.model_fields_set and high > 1:
        field, fix = "image_gc_low_percent", str(max(1, high - 10))
    yield say("image-gc-low-too-high", at.kubelet_path(field), kubelet, fix)


def eviction(at: InPool) -> Iterator[Finding]:
    """Unused images are deleted before pods are evicted for the space."""
    kubelet = at.site.kubelet(at.pool)
    free, high = kubelet.eviction_hard.imagefs_percent, kubelet.image_gc_high_percent
    if high < 100 - free:
        return
    place = at.kubelet_path("eviction_hard", "imagefs_percent")
    fix = f"{max(1, 95 - high)}" + ("" if high < 99 else " and image_gc_high_percent: 80")
    if "image_gc_high_percent" in kubelet.model_fields_set and free < 90:
        place, fix = at.kubelet_path("image_gc_high_percent"), f"{95 - free} or less"
        if kubelet.image_gc_low_percent >= 95 - free:
            fix += ", with image_gc_low_percent below it"
    yield say("image-gc-after-eviction", place, kubelet, 100 - free, fix)


def reserves(at: InPool) -> Iterator[Finding]:
    """What is reserved is less than the host has, with what evicts pods: else the kubelet does not
    start (Kubernetes 1.34, node_container_manager_linux.go, validateNodeAllocatable)."""
    kubelet, profile = at.site.kubelet(at.pool), at.site.hardware.get(at.pool.hardware)
    if profile is None:
        return
    kind, gib, cores = at.pool.hardware, profile.memory_gib, profile.cpu_cores
    memory, size = f"all of the {gib} GiB of {kind}", gib * 2**30
    evicting, pids = kubelet.eviction_hard.memory, min(gib * PROCESSES, MAX_PROCESSES)
    whole = f"{kubelet.kept_bytes / 2**30:.6g}Gi"
    both = whole if max(amount(kubelet.reserved_memory), amount(evicting)) < size else "0"
    for steps, text, most, what, fix in (
        (("reserved_memory",), kubelet.reserved_memory, size, memory, f"{gib}Gi; 2Gi is usual"),
        (("eviction_hard", "memory"), evicting, size, memory, f"{gib}Gi; 500Mi is usual"),
        (("reserved_cpu",), kubelet.reserved_cpu, cores, f"all of the {cores} cores of {kind}",
         f"{cores}; 1 is usual, 500m is half a core"),
        (("reserved_memory",), both, size, f"with eviction_hard.memory {memory}",
         f"{gib}Gi; 2Gi is usual"),
        (("reserved_pids",), str(kubelet.reserved_pids or 0), pids,
         f"all that Linux allows in the {gib} GiB of {kind}", f"{pids}; 4096 is usual"),
    ):  # fmt: skip
        if amount(text) >= most:
            yield say("reserved-whole-host", at.kubelet_path(*steps), text, what, fix)


def labels(at: InPool) -> Iterator[Finding]:
    """No label that the kubelet refuses or that someone else sets, and all fit its argument."""
    site, pool = at.site, at.pool
    every = [("labels", key) for key in pool.labels]
    for field, key in (*every, *(("labels_in_place", key) for key in pool.labels_in_place)):
        here = field == "labels_in_place"
        for row, wrong in (
            ("label-of-system", node_labels.is_system_label(key)),
            ("label-of-kubernetes", node_labels.stops_kubelet(key)),
            ("label-of-machines", here and node_labels.is_of_machines(key)),
            ("label-in-place-too", here and key in pool.labels),
        ):
            if wrong:
                yield say(row, at.path(field, key), key)
                break
    length = len(node_labels.kubelet_argument(site.file.region, pool.labels))
    if length > (most := node_labels.MAX_ARGUMENT):
        also = tuple(at.path("labels", key) for key in pool.labels)
        yield say("labels-beyond-argument", at.path("labels"), length, most, also=also)


def managers(at: InPool) -> Iterator[Finding]:
    """Settings of the kubelet's managers fit each other and the hosts, and each has an effect: with
    some combinations it does not start, so that no host of the pool joins."""
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
