"""Rules on machines: pools that have hosts, rollouts that make progress, healers that do not loop.

Sources: the webhooks and controllers of Cluster API 1.13 (KubeadmControlPlane validation, the
MachineDeployment rollout planner, MachineHealthCheck targets), and of the kubelet where named.
"""

import difflib
from collections import Counter
from collections.abc import Iterator

from schemas.codes import Code
from schemas.rules.finding import Finding
from schemas.site import Site
from schemas.sitefile import Pool, Remedy, Role, Rollout, RolloutStrategy

SYNCED_LABEL_DOMAINS = (
    "node-role.kubernetes.io",
    "node-restriction.kubernetes.io",
    "node.cluster.x-k8s.io",
)
"""Label domains that Cluster API copies from a Machine to its node, without a re-image."""
KUBELET_LABELS = frozenset(
    f"{domain}/{name}"
    for domain, names in {
        "topology.kubernetes.io": ("zone", "region"),
        "node.kubernetes.io": ("instance-type",),
        "kubernetes.io": ("hostname", "os", "arch"),
    }.items()
    for name in names
)
"""Labels that Foresite, the kubelet or a cloud provider sets itself."""
STARTUP_MARGIN_SECONDS = 600
"""What a start takes besides the re-image: waiting for a host, power-on, joining."""


def pools(site: Site) -> Iterator[Finding]:
    """Pools and zones have names of their own, known hardware, and hosts."""
    for field, names in (
        ("pools", [pool.name for pool in site.file.pools]),
        ("zones", [zone.name for zone in site.file.zones]),
    ):
        for index, name in enumerate(names):
            if name in names[:index]:
                yield Finding(
                    Code.DUPLICATE_NAME,
                    (field, index, "name"),
                    f"there are two {field} named {name}",
                    "give this one another name, or remove it",
                )
    for index, pool in enumerate(site.file.pools):
        if pool.hardware not in site.hardware:
            near = difflib.get_close_matches(pool.hardware, site.hardware, 1)
            yield Finding(
                Code.UNKNOWN_HARDWARE,
                ("pools", index, "hardware"),
                f"there is no hardware profile {pool.hardware}",
                f"write {near[0]}"
                if near
                else f"write one of {', '.join(sorted(site.hardware))}, or add a profile under "
                "hardware",
            )
        yield from _size(site, pool, index)


def _size(site: Site, pool: Pool, index: int) -> Iterator[Finding]:
    count = len(site.hosts_of(pool))
    if count == 0:
        yield Finding(
            Code.POOL_EMPTY,
            ("pools", index, "name"),
            f"pool {pool.name} has no host",
            "add its hosts to the host list, or remove the pool",
        )
        return
    zones = site.zones_of(pool) if pool.rollout.by_zone else (None,)
    for zone in zones:
        hosts = len(site.hosts_of(pool, zone))
        if pool.spares >= hosts:
            where = f" in zone {zone}" if zone else ""
            yield Finding(
                Code.SPARES_TOO_MANY,
                ("pools", index, "spares"),
                f"{pool.spares} spares leave no machine of the {hosts} hosts{where}",
                f"write {hosts - 1} or less",
            )


def control_plane(site: Site) -> Iterator[Finding]:
    """One pool of control planes, of odd size, that can be rolled (KubeadmControlPlane webhook)."""
    found = [(i, pool) for i, pool in enumerate(site.file.pools) if pool.role is Role.CONTROL_PLANE]
    if not found:
        yield Finding(
            Code.CONTROL_PLANE_MISSING,
            ("pools",),
            "no pool has the role control-plane",
            "write role: control-plane in the pool of 3 or 5 hosts that runs the Kubernetes API",
        )
        return
    for index, pool in found[1:]:
        yield Finding(
            Code.CONTROL_PLANE_MISSING,
            ("pools", index, "role"),
            f"pool {pool.name} is a second control plane, besides {found[0][1].name}",
            "join the two pools, or make this one a worker",
        )
    index, pool = found[0]
    replicas = site.replicas(pool)
    if replicas and replicas % 2 == 0:
        yield Finding(
            Code.CONTROL_PLANE_EVEN,
            ("pools", index, "name"),
            f"the control plane has {replicas} machines",
            f"make it {replicas - 1} or {replicas + 1}: take a host out, add one, or keep one as "
            "a spare (spares: 1)",
        )
    if 0 < replicas < 3 and pool.spares == 0:
        yield Finding(
            Code.ROLLOUT_STUCK,
            ("pools", index, "name"),
            f"a control plane of {replicas} without a spare host can never be rolled: its machine "
            "cannot go before another has come",
            "add a host and write spares: 1, or make it 3 hosts",
        )
    yield from _meaningless(pool, index)


def _meaningless(pool: Pool, index: int) -> Iterator[Finding]:
    for name in sorted(pool.rollout.model_fields_set - {"drain_timeout_seconds"}):
        yield Finding(
            Code.ROLLOUT_MEANINGLESS,
            ("pools", index, "rollout", name),
            f"a control plane is always rolled one machine at a time, so {name} has no effect",
            "remove it; spares: 1 lets a new machine come before an old one goes",
            key=True,
        )


def rollouts(site: Site) -> Iterator[Finding]:
    """A pool's rollout can make progress, and never takes the whole pool at once.

    A surge needs a free BareMetalHost: without one the new Machine stays in Provisioning for ever
    (MachineDeployment rollout planner: old machines go only when new ones are available).
    """
    for index, pool in enumerate(site.file.pools):
        if pool.role is not Role.WORKER:
            continue
        rollout = pool.rollout
        if rollout.strategy is RolloutStrategy.ON_DELETE:
            continue
        if rollout.max_surge > pool.spares:
            yield Finding(
                Code.ROLLOUT_STUCK,
                ("pools", index, "rollout", "max_surge"),
                f"max_surge: {rollout.max_surge} needs as many spare hosts, the pool has "
                f"{pool.spares}",
                f"write spares: {rollout.max_surge} (and have the hosts), or max_surge: 0 with "
                "max_unavailable: 1",
            )
        yield from _progress(site, pool, rollout, index)


def _progress(site: Site, pool: Pool, rollout: Rollout, index: int) -> Iterator[Finding]:
    if rollout.max_unavailable == 0 and rollout.max_surge == 0:
        yield Finding(
            Code.ROLLOUT_STUCK,
            ("pools", index, "rollout", "max_unavailable"),
            "with max_unavailable: 0 and no surge no machine may ever go",
            "write max_unavailable: 1",
        )
    for zone in site.zones_of(pool) if rollout.by_zone else (None,):
        replicas = site.replicas(pool, zone)
        if replicas > 1 and rollout.max_unavailable >= replicas:
            where = f" in zone {zone}" if zone else ""
            yield Finding(
                Code.ROLLOUT_ALL_AT_ONCE,
                ("pools", index, "rollout", "max_unavailable"),
                f"max_unavailable: {rollout.max_unavailable} takes all {replicas} machines{where} "
                "at once",
                f"write {max(1, replicas // 10)}, or at most {replicas - 1}",
            )


def health_checks(site: Site) -> Iterator[Finding]:
    """A machine is not given up while it still installs or boots.

    MachineHealthCheck counts nodeStartupTimeout from the Machine's creation, so cleaning, writing
    the image, booting and joining all count; each expiry deletes the Machine and starts over.
    """
    for index, pool in enumerate(site.file.pools):
        check = pool.health_check
        limit = check.node_startup_timeout_seconds
        place = ("pools", index, "health_check", "node_startup_timeout_seconds")
        if limit is None or pool.hardware not in site.hardware:
            continue
        minutes = site.profile(pool).reimage_minutes
        need = minutes * 60 + STARTUP_MARGIN_SECONDS
        if check.remedy is Remedy.REBOOT:
            yield Finding(
                Code.HEALTH_CHECK_LOOP,
                place,
                "a machine that never became a node cannot be power-cycled, and the attempt "
                "blocks the health check of the others",
                "remove it, or write remedy: replace",
                key=True,
            )
        elif limit < need:
            yield Finding(
                Code.HEALTH_CHECK_LOOP,
                place,
                f"{limit} seconds are shorter than a re-image of {pool.hardware} "
                f"({minutes} minutes) and {STARTUP_MARGIN_SECONDS} seconds to join",
                f"write {need} or more, or leave it out for {2 * minutes * 60}",
            )


def eviction(site: Site) -> Iterator[Finding]:
    """Unused images are deleted before pods are evicted for the space."""
    for index, pool in enumerate(site.file.pools):
        kubelet = pool.kubelet
        place = ("pools", index, "kubelet", "image_gc_high_percent")
        if kubelet.image_gc_low_percent >= kubelet.image_gc_high_percent:
            yield Finding(
                Code.KUBELET_EVICTION,
                ("pools", index, "kubelet", "image_gc_low_percent"),
                f"image_gc_low_percent: {kubelet.image_gc_low_percent} is not below "
                f"image_gc_high_percent: {kubelet.image_gc_high_percent}; the kubelet refuses it",
                f"write {max(1, kubelet.image_gc_high_percent - 10)}",
            )
        free = kubelet.eviction_hard.imagefs_percent
        if kubelet.image_gc_high_percent >= 100 - free:
            yield Finding(
                Code.KUBELET_EVICTION,
                place,
                f"images are deleted from {kubelet.image_gc_high_percent} % used on, but pods are "
                f"evicted at {100 - free} % used (imagefs_percent: {free})",
                f"write {max(2, 95 - free)} or less",
            )


def labels(site: Site) -> Iterator[Finding]:
    """No label that the kubelet refuses (kubelet --node-labels, NodeRestriction), none twice."""
    for index, pool in enumerate(site.file.pools):
        for key in pool.labels:
            domain = key.partition("/")[0] if "/" in key else ""
            reserved = domain.endswith(("kubernetes.io", "k8s.io")) and not domain.endswith(
                "x-k8s.io"
            )
            computed = key in KUBELET_LABELS or key == "node.cluster.x-k8s.io/pool"
            if computed or (reserved and domain not in SYNCED_LABEL_DOMAINS):
                yield Finding(
                    Code.LABEL_RESERVED,
                    ("pools", index, "labels", key),
                    f"label {key} is set by the system"
                    if computed
                    else f"the domain {domain} belongs to Kubernetes",
                    "remove it, or use a domain of your own",
                    key=True,
                )
        taints = Counter((taint.key, taint.effect) for taint in pool.taints or ())
        for number, taint in enumerate(pool.taints or ()):
            if taints[taint.key, taint.effect] > 1 and number:
                yield Finding(
                    Code.DUPLICATE_NAME,
                    ("pools", index, "taints", number),
                    f"taint {taint.key} with effect {taint.effect.value} stands twice",
                    "remove one of them",
                )
