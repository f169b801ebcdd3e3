"""The places where a host's containerd looks for images: its hosts.toml files, a folder a registry.

containerd reads the folder of the registry that an image's reference names, or else ``_default``,
never both. It asks the hosts of the file in their order, and ``server`` last; on any error, a 404
too, it asks the next one. To each it sends the path of the registry's API without ``/v2`` where
``override_path`` is set. It checks the digest of what it gets. So the cache of a site may hold
layers: they are asked for by digest. It never tells which digest a tag has (``capabilities``).

Source: containerd 2.4.2, core/remotes/docker/config/hosts.go, resolver.go and fetcher.go.
"""

from components.making.told import Told
from schemas.facts.site import Site
from schemas.model.object_cache import Cache

TOLD = Told(__file__)
FOLDER = "/etc/containerd/certs.d"
DIAL_TIMEOUT = "1s"
"""Time that a host waits for a connection to the cache. Until kube-proxy runs on a new host nobody
answers: containerd would wait 30 s for each layer, kube-proxy's among them. containerd knows the
setting from 2.1 on; older versions ignore it."""
_DOCKER_HUB = {"docker.io": "registry-1.docker.io"}
"""Registries whose server has another name (containerd 2.4.2, hosts.go, ConfigureHosts)."""


def registry_files(site: Site) -> dict[str, str]:
    """The hosts.toml files of a site's hosts by their paths: none where nothing is said."""
    mirror = site.file.sources.registry_mirror
    usual = {f"{FOLDER}/_default/hosts.toml": TOLD.say("mirror", mirror=mirror)} if mirror else {}
    cache = site.file.cache
    layers = cache.image_layers if cache else None
    named = sorted(layers.registries) if layers else ()
    return usual | {f"{FOLDER}/{each}/hosts.toml": _registry_hosts(site, each) for each in named}


def _registry_hosts(site: Site, registry: str) -> str:
    """The file of a registry: first the cache, then the mirror unless it is the registry itself."""
    server = f"https://{_DOCKER_HUB.get(registry, registry)}"
    mirror = site.file.sources.registry_mirror
    parts = [TOLD.say("server", server=server)]
    parts += [_cache(site.file.cache, registry)] if site.file.cache else []
    parts += [TOLD.say("mirror", mirror=mirror)] if mirror and mirror != server else []
    return "\n".join(parts)


def _cache(cache: Cache, registry: str) -> str:
    if cache.image_layers is None or cache.address is None:
        raise ValueError("hosts find no layers in a cache without an address")
    url = f"http://{cache.address}/v1/objects/{cache.image_layers.bucket}/{registry}"
    return TOLD.say("cache", url=url, timeout=DIAL_TIMEOUT)
