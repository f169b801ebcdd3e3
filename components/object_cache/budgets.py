"""How many pods of a program evictions must leave.

A drain leaves pods of DaemonSets alone, and so does Cluster API's; this holds for all else that
evicts (a descheduler, a person). A whole number, as a share cannot be counted: DaemonSets have no
subresource scale, and the controller then allows no eviction at all, of a broken pod neither
(Kubernetes 1.34, pkg/controller/disruption/disruption.go: getExpectedScale, getScaleController,
failSafe). A DaemonSet's own update does not ask a budget.
"""

from collections.abc import Sequence

from components.making.manifest import Manifest, site_object
from components.object_cache.names import NAME_LABEL, of_program
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from schemas.model.site_file import Pool

EVICTED_SHARE = 10
"""One pod of so many may be out at a time, as in an update (components/making/daemons.py)."""


def budget(site: Site, cache: Cache, program: str, pools: Sequence[Pool]) -> Manifest:
    """The budget of a program that runs on every machine of some pools; spares have no pods."""
    pods = sum(site.replicas(pool) for pool in pools)
    spec = {
        "minAvailable": max(0, pods - max(1, pods // EVICTED_SHARE)),
        "selector": {"matchLabels": {NAME_LABEL: program}},
        # One that is not ready serves nobody.
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    named = of_program(site, cache, program, program)
    return site_object(f"PodDisruptionBudget/{program}", "policy/v1", named, spec=spec)
