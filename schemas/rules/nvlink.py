"""Rules on NVLink domains of racks: which hosts may share one, and what ComputeDomains need.

Sources: kubernetes-sigs/dra-driver-nvidia-gpu 0.4.1, cmd/compute-domain-controller
(defaultMaxNodesPerIMEXDomain), docs/prerequisites.md.
"""

from collections import Counter
from collections.abc import Iterator

from schemas.facts.racks import in_two_zones, nvlink_pools
from schemas.facts.site import Site
from schemas.model.accelerators import ComputeDomains
from schemas.model.primitives import version_numbers
from schemas.model.vocabulary import TopologyLevel
from schemas.rules.finding import Finding, HostCell, InPool, Path, say

TRAYS = 18
"""Hosts of an NVL72 rack; an IMEX domain of one NVLink domain has no more."""
KUBERNETES = (1, 34, 2)
"""The first Kubernetes that the driver goes with."""
DRIVER = (570, 158, 1)
"""The first NVIDIA driver that it goes with."""
_PLACE: Path = ("accelerators", "compute_domains")


def racks(site: Site) -> Iterator[Finding]:
    """Where jobs are placed by rack, it is in one zone: nodes have its name alone as a label."""
    placed = {pool.name for pool in nvlink_pools(site)}
    for backend in site.scheduling.backends:
        placed.update(backend.pools if TopologyLevel.RACK in backend.topology else ())
    for host, other in in_two_zones(host for host in site.hosts if host.pool in placed):
        yield say("rack-in-two-zones", HostCell(host.line, "rack"), host, other)


def domains(site: Site) -> Iterator[Finding]:
    """A rack of hosts with an NVLink domain is one: of one pool, and of no more hosts than an NVL72
    has. Every host names its rack (schemas/reading/host_list.py)."""
    linked = {pool.name for pool in nvlink_pools(site)}
    first: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for host in (host for host in site.hosts if host.pool in linked):
        place = HostCell(host.line, "rack")
        counted[host.rack] += 1
        other = first.setdefault(host.rack, host.pool)
        if other != host.pool:
            yield say("nvlink-rack-of-two-pools", place, host, other)
        elif counted[host.rack] == TRAYS + 1:
            yield say("nvlink-rack-too-large", place, host, TRAYS)


def accelerators(at: InPool) -> Iterator[Finding]:
    """A pool with NVLink domains has GPUs of NVIDIA."""
    site = at.site
    if at.pool not in nvlink_pools(site):
        return
    devices = site.profile(at.pool).accelerators
    record = site.accelerators.get(devices.model) if devices else None
    # A model that is not known is a fault of its own.
    if devices is None or (record and record.vendor != "nvidia"):
        yield say("nvlink-without-gpus", at.path("hardware"), at.pool)


def spares(at: InPool) -> Iterator[Finding]:
    """The spares of a pool are in the one rack that it has: any host may be one, and a machine that
    gets one of another rack leaves its own for good."""
    racks = {host.rack for host in at.site.hosts_of(at.pool)}
    if at.pool.spares and at.pool in nvlink_pools(at.site) and len(racks) > 1:
        yield say("nvlink-spares", at.path("spares"), at.pool, len(racks))


def compute_domains(site: Site, _: ComputeDomains) -> Iterator[Finding]:
    """ComputeDomains are for pools with NVLink; Kubernetes and drivers go with their DRA driver."""
    if not nvlink_pools(site):
        yield say("compute-domains-without-nvlink", _PLACE)
    field = "workers" if site.file.cluster.workers else "kubernetes"
    version = site.file.cluster.workers or site.file.cluster.kubernetes
    if version_numbers(version) < KUBERNETES:
        yield say("compute-domains-kubernetes", ("cluster", field), version)
    for pool in nvlink_pools(site):
        model = site.model(pool)
        record = site.accelerators.get(model) if model else None
        if record and record.driver and version_numbers(record.driver) < DRIVER:
            yield say("compute-domains-driver", _PLACE, model, record)
