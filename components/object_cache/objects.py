"""Every object of a site's cache, on its own cluster, in a fixed order."""

from components.making.daemons import namespace
from components.making.manifest import Manifest, annotate
from components.object_cache.bootstrap import bootstrap_config
from components.object_cache.buckets import bucket_config
from components.object_cache.budgets import budget
from components.object_cache.endpoints import endpoint_config
from components.object_cache.envoy import envoys
from components.object_cache.names import COMPONENT, ENVOY, SERVER
from components.object_cache.server import rights, servers
from components.object_cache.service import servers_by_name, service
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from schemas.model.vocabulary import CacheDiscovery


def objects(site: Site) -> list[Manifest]:
    """The objects of the component; none where the site has no cache."""
    cache = site.file.cache
    if cache is None:
        return []
    return annotate(
        [
            # Servers have a folder of their host, and its network.
            namespace(site, cache.namespace, COMPONENT, level="privileged"),
            *rights(site, cache),
            bucket_config(site, cache),
            *servers(site, cache),
            budget(site, cache, SERVER, site.cache_pools()),
            bootstrap_config(site, cache),
            _discovery(site, cache),
            *envoys(site, cache),
            budget(site, cache, ENVOY, site.file.pools),
            service(site, cache),
        ]
    )


def _discovery(site: Site, cache: Cache) -> Manifest:
    """How Envoy finds the servers."""
    if cache.discovery is CacheDiscovery.DNS:
        return servers_by_name(site, cache)
    return endpoint_config(site, cache)
