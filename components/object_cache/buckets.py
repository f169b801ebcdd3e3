"""The buckets as a server reads them: JSON, one a line, so that a diff shows the one that changed.

The form is the operator's own: top key ``Bucket``, a list of maps with ``Name``, ``Public``,
``BucketQuota`` and ``AllowNamespaces``. The site file says what a bucket may take at the whole
site; a server counts what it keeps itself, so it is told its share. Spares have no server, so the
shares are those of the machines; which hosts these are has no effect, and a few more or fewer of a
hundred seldom change a share (schemas/model/object_cache.py, counted).
"""

import json

from components.making.manifest import Manifest, config_map
from components.object_cache.names import BUCKETS, SERVER, of_program
from schemas.facts.site import Site
from schemas.kubernetes.quantities import MIB
from schemas.model.object_cache import Cache, share


def bucket_config(site: Site, cache: Cache) -> Manifest:
    """The ConfigMap with the buckets, under the name of the file that the server reads."""
    data = {cache.server.config_path.rpartition("/")[2]: bucket_text(site, cache)}
    return config_map(BUCKETS, of_program(site, cache, BUCKETS, SERVER), data)


def bucket_text(site: Site, cache: Cache) -> str:
    """The file with the buckets, by name: their order in the site file means nothing."""
    servers = site.cache_servers()
    if not servers:
        raise ValueError(f"{site.name}: no host keeps objects, so no bucket has a place")
    rows = [
        {
            "Name": each.name,
            "Public": each.public,
            "BucketQuota": quota_of_server(each.quota, servers),
            "AllowNamespaces": sorted(each.namespaces),
        }
        for each in sorted(cache.buckets, key=lambda each: each.name)
    ]
    return '{"Bucket": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]}\n"


def quota_of_server(quota: str, servers: int) -> str:
    """One server's share of a bucket's quota, as the server reads it, among so many servers."""
    return f"{share(quota, servers) // MIB}Mi"
