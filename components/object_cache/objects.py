"""Every object of a site's cache, on its own cluster, in a fixed order."""

from collections.abc import Sequence

from components.making.daemons import namespace
from components.making.manifest import Manifest, annotate, filled, site_object
from components.object_cache.bootstrap import bootstrap_config
from components.object_cache.buckets import bucket_config
from components.object_cache.envoy import envoys
from components.object_cache.names import COMPONENT, ENVOY, SERVER, of_program
from components.object_cache.server import rights, servers
from components.object_cache.service import endpoint_config, servers_by_name, service
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from schemas.model.site_file import Pool
from schemas.model.vocabulary import CacheDiscovery


def objects(site: Site) -> list[Manifest]:
    """The objects of the component; none where the site has no cache."""
    cache = site.file.cache
    if cache is None:
        return []
    by_dns = cache.discovery is CacheDiscovery.DNS
    return annotate(
        [
            # Servers have a folder of their host, and its network.
            namespace(site, cache.namespace, COMPONENT, level="privileged"),
            *rights(site, cache),
            bucket_config(site, cache),
            *servers(site, cache),
            budget(site, cache, SERVER, site.cache_pools()),
            bootstrap_config(site, cache),
            (servers_by_name if by_dns else endpoint_config)(site, cache),
            *envoys(site, cache),
            budget(site, cache, ENVOY, site.file.pools),
            service(site, cache),
        ]
    )


EVICTED_SHARE = 10
"""One pod of so many may be out at a time, as in an update (components/making/daemons.py)."""


def budget(site: Site, cache: Cache, program: str, pools: Sequence[Pool]) -> Manifest:
    """How many pods of a program on every machine of some pools evictions must leave."""
    pods = sum(site.replicas(pool) for pool in pools)
    least = max(0, pods - max(1, pods // EVICTED_SHARE))
    (spec,) = filled(__file__, least=least, program=program)
    named = of_program(site, cache, program, program)
    return site_object(f"PodDisruptionBudget/{program}", "policy/v1", named, spec=spec)
