"""How the Envoys of one side find the host of a key, by the files that they read, also as another
version of the code made them: nothing is taken from the site that an object says."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from components.effects import Side
from components.making.manifest import Json
from components.object_cache.effects.section import cache_of, hosts_of
from components.object_cache.names import CLUSTER, COMPONENT
from schemas.kubernetes.bodies import items, mapping
from schemas.model.vocabulary import CacheDiscovery
from schemas.reading.bounded import parse_json

DEFAULT_TABLE = 65_537
"""Envoy 1.39, api/envoy/config/cluster/v3/cluster.proto, MaglevLbConfig.table_size."""


class Routing(NamedTuple):
    """The hosts, each with the key that Envoy hashes it by (its name, or ``address:port`` where DNS
    tells of it), and the size of the table. Sorted by key."""

    hosts: tuple[tuple[str, str], ...]
    table: int
    discovery: CacheDiscovery


def routing(side: Side | None) -> Routing | None:
    """How Envoys of a side find hosts; None where it has no cache, or none that can be read."""
    if side is None or cache_of(side) is None:
        return None
    table, names = _read(_texts(side))
    if table is None:
        return None
    if names is None:
        return Routing(_dns_hosts(side), table, CacheDiscovery.DNS)
    hosts = tuple((name, name) for name in names)
    return Routing(hosts, table, CacheDiscovery.HOSTS) if hosts else None


def _texts(side: Side) -> tuple[str, ...]:
    """The files in the component's ConfigMaps."""
    return tuple(
        text
        for (component, _), manifest in side.objects.items()
        if component == COMPONENT and manifest.group_kind == "ConfigMap"
        for text in mapping(manifest.body, "data").values()
        if isinstance(text, str)
    )


@lru_cache(maxsize=4)
def _read(texts: tuple[str, ...]) -> tuple[int | None, tuple[str, ...] | None]:
    """The size of the table, None where there is none; and the names of the hosts in the file that
    Envoy watches, None where it watches none."""
    documents = _documents(texts)
    for document in documents:
        for cluster in items(mapping(document, "static_resources"), "clusters"):
            if cluster.get("name") == CLUSTER and cluster.get("lb_policy") == "MAGLEV":
                size = mapping(cluster, "maglev_lb_config").get("table_size", DEFAULT_TABLE)
                table = size if isinstance(size, int) else None
                watches = cluster.get("type") == "EDS"
                return table, tuple(sorted(dict(_file_hosts(documents)))) if watches else None
    return None, None


def addresses(side: Side | None) -> Mapping[str, str]:
    """The address of each host in the file that Envoys watch, by its key."""
    return _addresses(_texts(side)) if side else {}


@lru_cache(maxsize=4)
def _addresses(texts: tuple[str, ...]) -> Mapping[str, str]:
    return dict(_file_hosts(_documents(texts)))


def _documents(texts: tuple[str, ...]) -> list[Json]:
    """The texts that Envoy reads as JSON: others say nothing of hosts."""
    found = []
    for text in texts:
        with suppress(ValueError):
            found.append(parse_json(text))
    return [each for each in found if isinstance(each, dict)]


def _file_hosts(documents: list[Json]) -> Iterator[tuple[str, str]]:
    """The keys of the hosts that the files list, which are their names, and their addresses."""
    for document in documents:
        for resource in items(document, "resources"):
            for group in items(resource, "endpoints"):
                for each in items(group, "lb_endpoints"):
                    key = mapping(each, "metadata", "filter_metadata", "envoy.lb").get("hash_key")
                    if isinstance(key, str):
                        address = mapping(each, "endpoint", "address", "socket_address")
                        yield key, str(address.get("address", ""))


def _dns_hosts(side: Side) -> tuple[tuple[str, str], ...]:
    """The hosts that DNS reports: the key is a server's address, its node's, and port."""
    cache = cache_of(side)
    port = cache.server.port if cache else 0
    return tuple(sorted((f"{host.ip}:{port}", host.name) for host in hosts_of(side)))
