"""Rules on nodes: what the kubelet of a pool accepts, and what leaves room for pods."""

import re
from collections.abc import Iterator

from schemas.kubernetes import node_labels
from schemas.kubernetes.quantities import amount
from schemas.rules.finding import Finding, InPool, say

PROCESSES, MAX_PROCESSES = 2**13, 2**22
"""Processes and threads that Linux allows in a GiB of memory (threads-max), and that systemd allows
in all (pid_max)."""


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


_TAINTS_OF_OTHERS = re.compile(
    r"node\.cluster\.x-k8s\.io/(uninitialized|outdated-revision)|node-role\.kubernetes\.io/master|"
    r"node\.kubernetes\.io/(?!out-of-service$).*|node\.cloudprovider\.kubernetes\.io/.*"
)
"""Keys that Cluster API refuses (v1.13.6, internal/util/taints/validation.go)."""


def taints(at: InPool) -> Iterator[Finding]:
    """No taint stands twice, as nodes have one of a key and an effect, or is somebody else's."""
    seen = set()
    for field in ("taints", "taints_in_place"):
        for number, taint in enumerate(getattr(at.pool, field) or ()):
            place = at.path(field, number)
            if (taint.key, taint.effect) in seen:
                yield say("taint-twice", place, taint)
            seen.add((taint.key, taint.effect))
            if field == "taints_in_place" and _TAINTS_OF_OTHERS.fullmatch(taint.key):
                yield say("taint-of-system", (*place, "key"), taint)
