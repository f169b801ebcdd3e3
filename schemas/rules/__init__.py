"""Rules between fields: each looks at a whole site and yields findings; none raises, none stops.

``site_findings`` runs all rules of one site, ``clashes`` those between sites.
"""

from collections.abc import Iterator

from schemas.rules.files import files
from schemas.rules.finding import Finding, HostCell
from schemas.rules.fleet import Footprint, clashes, footprint
from schemas.rules.hosts import host_duplicates, host_places
from schemas.rules.machines import control_plane, eviction, health_checks, labels, pools, rollouts
from schemas.rules.networks import endpoint, hosts_in_networks, networks, sizes
from schemas.rules.versions import versions
from schemas.site import Site

SITE_RULES = (
    networks,
    sizes,
    endpoint,
    host_places,
    host_duplicates,
    hosts_in_networks,
    pools,
    control_plane,
    versions,
    rollouts,
    health_checks,
    eviction,
    labels,
    files,
)


def site_findings(site: Site) -> Iterator[Finding]:
    """Every finding of every rule on one site."""
    for rule in SITE_RULES:
        yield from rule(site)


__all__ = [
    "SITE_RULES",
    "Finding",
    "Footprint",
    "HostCell",
    "clashes",
    "footprint",
    "site_findings",
]
