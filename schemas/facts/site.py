"""A whole site: its file, its hosts, and the data that it names, resolved and ready to use. Owns
what follows from other fields (replicas, versions, operating systems), so that no component
computes it twice. A ``Site`` is only made of parts that were each valid."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from operator import itemgetter
from typing import Any

from schemas.facts.management import Managed
from schemas.facts.sharing import operator_labels, share_name, with_shares
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, POOL_LABEL, RAILS_LABEL, SRIOV_LABEL
from schemas.model.accelerators import AcceleratorModel
from schemas.model.first_boot import FirstBoot
from schemas.model.hardware import Arch, HardwareProfile
from schemas.model.host_settings import HostSettings
from schemas.model.kubelet import Kubelet
from schemas.model.primitives import KubernetesVersion
from schemas.model.release import OperatingSystem, OsFile, Release
from schemas.model.remediation import Remediator
from schemas.model.scheduling import Backend, Scheduling
from schemas.model.site_file import Pool, SiteFile
from schemas.model.vocabulary import Fault, ModelBy, RemediatorKind, Role
from schemas.reading.host_list import SPARE, Host

_unsaid = cache(Scheduling)


@dataclass(frozen=True, slots=True)
class Site:
    """One site, as components and rules see it. ``texts`` holds the content of each file below
    sites/ that the site names, by its path; ``returned`` are lines of hosts that are gone, of which
    only serial numbers count; ``managed`` is the management cluster that it names, where that has a
    file."""

    file: SiteFile
    hosts: tuple[Host, ...]
    release: Release
    hardware: Mapping[str, HardwareProfile]
    texts: Mapping[str, str] = field(default_factory=dict)
    accelerators: Mapping[str, AcceleratorModel] = field(default_factory=dict)
    returned: tuple[Host, ...] = ()
    managed: Managed | None = None
    by_pool: Mapping[str, tuple[Host, ...]] = field(init=False)
    in_zone: Mapping[tuple[str, str], tuple[Host, ...]] = field(init=False)
    out: Mapping[str, tuple[Host, ...]] = field(init=False)

    def __post_init__(self) -> None:
        away, there = ([h for h in self.hosts if h.out is out] for out in (True, False))
        groups: dict[str, Any] = {
            "by_pool": group_by_key((host.pool, host) for host in there),
            "in_zone": group_by_key(((host.pool, host.zone), host) for host in there),
            "out": group_by_key((host.pool, host) for host in away),
        }
        for name, each in groups.items():
            # A frozen dataclass has no other way to set what follows from its fields.
            object.__setattr__(self, name, {key: tuple(hosts) for key, hosts in each.items()})
        records = with_shares(self.file, self.hardware, self.accelerators)
        object.__setattr__(self, "accelerators", records)

    @property
    def name(self) -> str:
        """The site's name."""
        return self.file.site

    @property
    def control_plane(self) -> Pool:
        """The pool of control planes; the first where a faulty file has several."""
        return next(pool for pool in self.file.pools if pool.role is Role.CONTROL_PLANE)

    @property
    def worker_pools(self) -> tuple[Pool, ...]:
        """The pools of workers, in the order of the file."""
        return tuple(pool for pool in self.file.pools if pool.role is Role.WORKER)

    def cells(self, column: str) -> Iterator[str]:
        """The cells of a column of the host list, in its order."""
        return map(itemgetter(Host._fields.index(column)), self.hosts)

    def hosts_of(self, pool: Pool, zone: str | None = None) -> tuple[Host, ...]:
        """The hosts of a pool (in one zone) that may have a machine, in the order of the list."""
        hosts = self.by_pool.get(pool.name, ())
        return hosts if zone is None else self.in_zone.get((pool.name, zone), ())

    def out_of(self, pool: Pool, zone: str | None = None) -> tuple[Host, ...]:
        """The hosts of a pool (in one zone) that are out."""
        return tuple(h for h in self.out.get(pool.name, ()) if zone in (None, h.zone))

    def zones_of(self, pool: Pool) -> tuple[str, ...]:
        """The zones that a pool has hosts in, in the order of the site file."""
        used = {host.zone for host in (*self.hosts_of(pool), *self.out_of(pool))}
        return tuple(zone.name for zone in self.file.zones if zone.name in used)

    def replicas(self, pool: Pool, zone: str | None = None) -> int:
        """Machines of a pool (in one zone): its hosts less those that are free. Spares of a pool
        that keeps its zones apart are kept in each zone."""
        if pool.rollout.by_zone and zone is None:
            return sum(self.replicas(pool, each) for each in self.zones_of(pool))
        return max(0, len(self.hosts_of(pool, zone)) - self.free(pool, zone))

    def free(self, pool: Pool, zone: str | None = None) -> int:
        """Hosts of a pool (in one zone) that may have a machine and have none. Lines that are out
        or spare count towards ``spares``, so that a spare steps in for a host that goes out."""
        named = sum(host.state == SPARE for host in self.hosts_of(pool, zone))
        return max(pool.spares - len(self.out_of(pool, zone)), named)

    def version(self, pool: Pool) -> KubernetesVersion:
        """The Kubernetes version of a pool's machines."""
        cluster = self.file.cluster
        held = cluster.workers if pool.role is Role.WORKER else None
        return held or cluster.kubernetes

    def os_name(self, pool: Pool) -> str:
        """The name of a pool's operating system."""
        return pool.os or self.release.default_os

    def operating_system(self, pool: Pool) -> OperatingSystem:
        """A pool's operating system. Raises KeyError where the release has none of that name."""
        return self.release.operating_systems[self.os_name(pool)]

    def os_image(self, pool: Pool) -> OsFile:
        """A pool's OS image. Raises KeyError where the release has none for it."""
        image = self.operating_system(pool).images[self.version(pool)]
        if self.profile(pool).arch is Arch.AMD64:
            return image
        if image.arm64 is None:
            raise KeyError(pool.name)
        return image.arm64

    @property
    def images(self) -> dict[str, str]:
        """Images of programs by their names: the release's, and those that only the site has."""
        return {**self.file.sources.images, **self.release.images}

    def first_boot(self, pool: Pool) -> FirstBoot:
        """The needs of a pool's hosts at their first boot."""
        return pool.first_boot or self.file.first_boot

    def kubelet(self, pool: Pool) -> Kubelet:
        """The settings of the kubelet on a pool's nodes: its own, or all of the site's."""
        return pool.kubelet or self.file.kubelet

    def host_settings(self, pool: Pool) -> HostSettings:
        """Files, commands and kernel settings of a pool's hosts: its own, or all of the site's."""
        return pool.host_settings or self.file.host_settings

    def profile(self, pool: Pool) -> HardwareProfile:
        """A pool's hardware profile. Raises KeyError where there is none of that name."""
        return self.hardware[pool.hardware]

    def model(self, pool: Pool) -> str | None:
        """The model of a pool's accelerators, or of their shares; None where it has none, Foresite
        serves none, or the pool's profile is not known."""
        profile = self.hardware.get(pool.hardware) if self.file.accelerators else None
        if profile is None or profile.accelerators is None:
            return None
        model = profile.accelerators.model
        shares = share_name(model, pool.sharing) if pool.sharing else model
        return shares if shares in self.accelerators else model

    def devices(self, pool: Pool) -> int:
        """What a host of a pool offers to pods: its cards, or the shares of them."""
        cards = self.profile(pool).accelerators
        if cards is None:
            return 0
        record = self.accelerators.get(cards.model)
        sharing = pool.sharing if self.model(pool) not in (None, cards.model) else None
        return cards.count * (sharing.shares(record) if sharing and record else 1)

    def placing_labels(self, pool: Pool) -> dict[str, str]:
        """The labels of a pool's nodes by which pods are placed; a change re-images no host."""
        accelerators = self.profile(pool).accelerators
        rails = pool.network_devices.rails()
        found = {POOL_LABEL: pool.name}
        if accelerators:
            found[ACCELERATOR_LABEL] = self.model(pool) or accelerators.model
            found |= operator_labels(self.file, pool)
        if rails:
            found[RAILS_LABEL] = str(rails)
        if pool.network_devices.sriov:
            found[SRIOV_LABEL] = self.file.network_devices.sriov_by.value
        return found

    def pools_with(self, model: str) -> tuple[Pool, ...]:
        """The pools whose hosts have accelerators of a model, in the order of the file."""
        return tuple(pool for pool in self.file.pools if self.model(pool) == model)

    def models(self) -> tuple[str, ...]:
        """The models that the site has, in the order of its pools."""
        return tuple(dict.fromkeys(filter(None, map(self.model, self.file.pools))))

    def resource(self, model: str) -> str:
        """The resource that researchers request: the site's prefix and its name for a model."""
        settings = self.file.accelerators
        if settings is None:
            raise LookupError(f"{self.name} serves no accelerators")
        return f"{settings.prefix}/{settings.names.get(model, model)}"

    @property
    def scheduling(self) -> Scheduling:
        """How pods are scheduled; nothing is said where the file says nothing."""
        return self.file.scheduling or _unsaid()

    def backend(self, pool: Pool) -> Backend | None:
        """The backend that schedules a pool's pods; None for the default scheduler."""
        return next((each for each in self.scheduling.backends if pool.name in each.pools), None)

    def backend_of(self, model: str) -> Backend | None:
        """The backend that schedules pods that request a model: all its pools have the same one."""
        return next((self.backend(pool) for pool in self.pools_with(model)), None)

    def cache_pools(self) -> tuple[Pool, ...]:
        """The pools whose hosts keep objects of the cache; none where the site has no cache."""
        cache = self.file.cache
        if cache is None:
            return ()
        return tuple(p for p in self.file.pools if cache.pools is None or p.name in cache.pools)

    def cache_hosts(self) -> tuple[Host, ...]:
        """The hosts that may keep objects of the cache, also those that are free, by name."""
        found = [host for pool in self.cache_pools() for host in self.hosts_of(pool)]
        return tuple(sorted(found, key=lambda host: host.name))

    def cache_servers(self) -> int:
        """The number of servers of the cache: one on each machine of its pools, none on spares."""
        return sum(self.replicas(pool) for pool in self.cache_pools())

    def nominal_resources(self) -> tuple[str, ...]:
        """The models' resources that no node has: admission adds the plugin's beside them, so a
        scheduler must not look for them on nodes. Sorted."""
        settings = self.file.accelerators
        if settings is None or settings.model_by is not ModelBy.ADMISSION:
            return ()
        known = [each for each in self.models() if each in self.accelerators]
        pairs = ((self.resource(e), self.accelerators[e].plugin.resource) for e in known)
        return tuple(sorted({mine for mine, plugins in pairs if mine != plugins}))

    def faults(self, pool: Pool) -> tuple[str, ...]:
        """The faults looked for on a pool's hosts: Foresite's own in the vocabulary's order, of
        devices only where there are some and a record says how; then the site's own checks'."""
        if self.file.remediation is None:
            return ()
        model = self.model(pool)
        record = self.accelerators.get(model) if model else None
        cards = self.profile(pool).accelerators if record else None
        links, detector = pool.network_devices.links(), self.file.remediation.detector
        there = {
            Fault.ACCELERATOR_MISSING: record,
            Fault.ACCELERATOR_ERROR: record and (record.vendor == "nvidia" or record.kernel_log),
            Fault.PCIE_LINK_DEGRADED: record and record.pci.link_width,
            Fault.FABRIC_DOWN: record and cards and cards.fabric and record.fabric,
            Fault.NETWORK_LINK_DOWN: links,
            Fault.NETWORK_LINK_ERRORS: links and detector.link_errors,
        }
        own = (e.name for e in detector.checks if not e.pools or pool.name in e.pools)
        return (*(fault for fault in Fault if there.get(fault, True)), *own)

    def remediators_of(self, pool: Pool) -> tuple[Remediator, ...]:
        """The remediators that repair the faults of a pool's hosts, in the order of the file."""
        found = self.file.remediation.healers if self.file.remediation else []
        return tuple(each for each in found if pool.name in each.pools)

    def repairs(self, pool: Pool, remediator: Remediator) -> tuple[str, ...]:
        """The faults of a pool's hosts that a remediator repairs, in its order. Where single
        devices can be tainted, no host is rebooted for one with too few lanes, but for many."""
        there = set(self.faults(pool))
        counted = self.file.remediation.bad_devices if self.file.remediation else None
        # Only our own program counts the devices that are bad.
        by_count = remediator.kind is RemediatorKind.NODE_OPERATION_CONTROLLER
        if self.taints_devices(pool) and not (by_count and counted and counted.repair_beyond):
            there.discard(Fault.PCIE_LINK_DEGRADED)
        return tuple(each for each in remediator.faults if each in there)

    def uses_dra(self, model: str) -> bool:
        """True if a DRA driver allocates the devices of a model. Else its device plugin does, also
        where the site's way is DRA and the model has no driver for it."""
        settings = self.file.accelerators
        chosen = settings is not None and settings.model_by is ModelBy.DRA
        return chosen and model in self.accelerators and self.accelerators[model].dra is not None

    def taints_devices(self, pool: Pool) -> bool:
        """True if a device with a faulty link is tainted by itself on a pool's hosts."""
        settings, model = self.file.remediation, self.model(pool)
        if settings is None or not settings.device_taints or model is None or pool.sharing:
            return False
        return self.uses_dra(model) and Fault.PCIE_LINK_DEGRADED in self.faults(pool)
