"""The places where a host's containerd looks for images: its hosts.toml files, a folder a registry.

containerd reads the folder of the registry that an image's reference names, or else ``_default``,
never both. It asks the hosts of the file in their order, and ``server`` last; on any error, a 404
too, it asks the next one. To each it sends the path of the registry's API without ``/v2`` where
``override_path`` is set. It checks the digest of what it gets. So the cache of a site may hold
layers: they are asked for by digest. It never tells which digest a tag has (``capabilities``).

Source: containerd 2.4.2, core/remotes/docker/config/hosts.go, resolver.go and fetcher.go.
"""

from schemas.facts.site import Site
from schemas.model.object_cache import Cache

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
    found = {f"{FOLDER}/_default/hosts.toml": _mirror(mirror)} if mirror else {}
    cache = site.file.cache
    layers = cache.image_layers if cache else None
    for registry in sorted(layers.registries) if layers else ():
        found[f"{FOLDER}/{registry}/hosts.toml"] = _registry_hosts(site, registry)
    return found


def _mirror(mirror: str) -> str:
    return f'[host."{mirror}"]\ncapabilities = ["pull", "resolve"]\n'


def _registry_hosts(site: Site, registry: str) -> str:
    """The file of a registry: first the cache, then the mirror unless it is the registry itself."""
    server = f"https://{_DOCKER_HUB.get(registry, registry)}"
    mirror = site.file.sources.registry_mirror
    parts = [f'server = "{server}"\n']
    if site.file.cache:
        parts.append(_cache(site.file.cache, registry))
    if mirror and mirror != server:
        parts.append(_mirror(mirror))
    return "\n".join(parts)


def _cache(cache: Cache, registry: str) -> str:
    if cache.image_layers is None or cache.address is None:
        raise ValueError("hosts find no layers in a cache without an address")
    url = f"http://{cache.address}/v1/objects/{cache.image_layers.bucket}/{registry}"
    return (
        f'[host."{url}"]\n'
        'capabilities = ["pull"]\n'
        "override_path = true\n"
        f'dial_timeout = "{DIAL_TIMEOUT}"\n'
    )
