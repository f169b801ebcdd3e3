"""Rules on nodes: what the kubelet of a pool accepts, and what leaves room for pods."""

import re
from collections.abc import Iterator

from schemas.kubernetes import node_labels
from schemas.kubernetes.quantities import amount
from schemas.model.codes import Code
from schemas.rules.finding import Finding, Path
from schemas.rules.scope import InPool

PROCESSES, MAX_PROCESSES = 2**13, 2**22
"""Processes and threads that Linux allows in a GiB of memory (threads-max), and that systemd allows
in all (pid_max)."""


def images(at: InPool) -> Iterator[Finding]:
    """Deleting unused images ends below where it starts (the kubelet refuses anything else)."""
    kubelet = at.site.kubelet(at.pool)
    low, high = kubelet.image_gc_low_percent, kubelet.image_gc_high_percent
    if low < high:
        return
    message = f"image_gc_low_percent: {low} is not below image_gc_high_percent: {high}"
    settings: Path = at.kubelet_path()
    if "image_gc_low_percent" in kubelet.model_fields_set and high > 1:
        place = (*settings, "image_gc_low_percent")
        yield Finding(Code.KUBELET_EVICTION, place, message, f"write {max(1, high - 10)}")
    else:
        place = (*settings, "image_gc_high_percent")
        fix = f"write {min(85, low + 10)}, or image_gc_low_percent below it"
        yield Finding(Code.KUBELET_EVICTION, place, message, fix)


def eviction(at: InPool) -> Iterator[Finding]:
    """Unused images are deleted before pods are evicted for the space."""
    kubelet = at.site.kubelet(at.pool)
    free, high = kubelet.eviction_hard.imagefs_percent, kubelet.image_gc_high_percent
    if high < 100 - free:
        return
    message = (
        f"images are deleted from {high} % used on, but pods are evicted at {100 - free} % used "
        f"(imagefs_percent: {free})"
    )
    settings: Path = at.kubelet_path()
    explicit = "image_gc_high_percent" in kubelet.model_fields_set
    if explicit and free < 90:
        place, fix = (*settings, "image_gc_high_percent"), f"write {95 - free} or less"
        if kubelet.image_gc_low_percent >= 95 - free:
            fix += ", with image_gc_low_percent below it"
    else:
        place = (*settings, "eviction_hard", "imagefs_percent")
        fix = f"write {max(1, 95 - high)}" + ("" if high < 99 else " and image_gc_high_percent: 80")
    yield Finding(Code.KUBELET_EVICTION, place, message, fix)


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
            message, place = f"{text} is {what}, so no pod would run", at.kubelet_path(*steps)
            yield Finding(Code.OUT_OF_BOUNDS, place, message, f"write a part of {fix}")


def labels(at: InPool) -> Iterator[Finding]:
    """No label that the kubelet refuses or that someone else sets, and all fit its argument."""
    site, pool = at.site, at.pool
    every = [("labels", key) for key in pool.labels]
    for field, key in (*every, *(("labels_in_place", key) for key in pool.labels_in_place)):
        place, here = at.path(field, key), field == "labels_in_place"
        if node_labels.is_system_label(key):
            message = f"label {key} is set by the system"
        elif node_labels.stops_kubelet(key):
            message = f"the domain of {key} belongs to Kubernetes"
        elif here and node_labels.is_of_machines(key):
            message = f"Cluster API or Metal3 finds Machines by the domain of {key}"
        elif here and key in pool.labels:
            message = f"label {key} is in labels too, where the kubelet sets it"
        else:
            continue
        fix = "remove it, or use a domain of your own"
        yield Finding(Code.LABEL_RESERVED, place, message, fix, key=True)
    length = len(node_labels.kubelet_argument(site.file.region, pool.labels))
    if length > node_labels.MAX_ARGUMENT:
        yield Finding(
            Code.LABELS_TOO_LONG,
            at.path("labels"),
            f"with Foresite's own the labels take {length} characters, the kubelet's argument "
            f"takes {node_labels.MAX_ARGUMENT}",
            "remove labels, or use the domain node-restriction.kubernetes.io, which is no argument",
            key=True,
            also=tuple(at.path("labels", key) for key in pool.labels),
        )


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
                message = f"taint {taint.key} with effect {taint.effect.value} stands twice"
                yield Finding(Code.DUPLICATE_NAME, place, message, "remove one of them")
            seen.add((taint.key, taint.effect))
            if field == "taints_in_place" and _TAINTS_OF_OTHERS.fullmatch(taint.key):
                message = f"taint {taint.key} is set by the system, so Cluster API refuses it"
                fix = "write a key of your own"
                yield Finding(Code.LABEL_RESERVED, (*place, "key"), message, fix)
