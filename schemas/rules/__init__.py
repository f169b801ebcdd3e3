"""Rules between fields: each looks at a site, or at one zone or pool of it, and yields findings.

None raises and none stops another: where a file has faults its data has holes, and a rule that
looks into one ends there (``attempt``). ``site_findings`` runs all rules of one site, ``clashes``
those between sites.
"""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from schemas.facts.site import Site
from schemas.rules import (
    accelerators,
    accelerators_programs,
    accelerators_requests,
    access,
    addresses,
    cni,
    control_plane,
    data_disks,
    extra,
    files,
    firmware,
    host_addresses,
    host_networks,
    host_settings,
    hosts,
    identity,
    kubelet,
    kubelet_managers,
    monitoring,
    namespaces,
    network_devices,
    networks,
    nvlink,
    object_cache,
    object_cache_endpoints,
    object_cache_server,
    policies,
    pools,
    remediation,
    remediation_detector,
    remediation_repairs,
    rollouts,
    schedulers,
    secrets,
    teams,
    teams_quotas,
    versions,
)
from schemas.rules.finding import Finding, HostCell, TextPlace, attempt
from schemas.rules.scope import InPool, InZone
from schemas.rules.sites import Footprint, clashes, footprint

__all__ = ["Finding", "Footprint", "HostCell", "TextPlace", "attempt", "clashes", "footprint"]
MODULES = (
    identity, data_disks, networks, addresses, hosts, host_networks, host_addresses, pools,
    versions, files, control_plane, accelerators, accelerators_programs, accelerators_requests,
    nvlink, schedulers, rollouts, kubelet, kubelet_managers, host_settings, firmware,
    network_devices, teams, namespaces, access, teams_quotas, object_cache, object_cache_endpoints,
    object_cache_server, remediation, remediation_repairs, remediation_detector, monitoring,
    policies, secrets, extra, cni,
)  # fmt: skip
"""Where the rules are, in the order in which they run. A rule is a public function of such a module
that takes a site, or a zone or a pool in it, and nothing else."""
Rule = Callable[[Any], Iterator[Finding]]


def _rules_of(part: type) -> tuple[Rule, ...]:
    """The rules that look at a whole site, at a zone or at a pool."""
    return tuple(
        function
        for module in MODULES
        for name, function in vars(module).items()
        if isinstance(function, FunctionType)
        and function.__module__ == module.__name__
        and not name.startswith("_")
        and [*function.__annotations__.values()] == [part, Iterator[Finding]]
    )


SITE_RULES, ZONE_RULES, POOL_RULES = map(_rules_of, (Site, InZone, InPool))


def site_findings(site: Site, *, holes: bool = False) -> Iterator[Finding]:
    """Every finding of every rule on one site; ``holes``: the site may have some."""
    for rule in SITE_RULES:
        yield from attempt(rule(site), holes=holes)
    for index, zone in enumerate(getattr(site.file, "zones", ())):
        for rule in ZONE_RULES:
            yield from attempt(rule(InZone(site, index, zone)), holes=holes)
    for index, pool in enumerate(getattr(site.file, "pools", ())):
        for rule in POOL_RULES:
            yield from attempt(rule(InPool(site, index, pool)), holes=holes)
