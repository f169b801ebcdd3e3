"""The facts that a person would give another tool to make a site's objects: its hosts as data.

Taken from the objects that Foresite makes: what all hosts of a pool have in common is said once,
for the pool; what differs is a line for each host. Objects that no host list goes into are
ready-made, so that other tools need not compute what Foresite does (hashes, versions, defaults).
"""

from collections.abc import Iterable

from components.machines.names import (
    BOOT_MAC_ANNOTATION,
    FAILURE_DOMAIN_LABEL,
    RACK_LABEL,
    SERIAL_ANNOTATION,
    ZONE_LABEL,
)
from components.making.manifest import Json
from components.site import site_objects
from schemas.facts.site import Site

HOST, ADDRESSES = "BareMetalHost", "IPPool"
OF_A_HOST = {
    "labels": (RACK_LABEL, ZONE_LABEL, FAILURE_DOMAIN_LABEL),
    "annotations": (BOOT_MAC_ANNOTATION, SERIAL_ANNOTATION),
    "spec": ("bmc", "bootMACAddress"),
    "bmc": ("address", "credentialsName"),
}
"""Fields that differ from host to host, by the map that they are in."""
_COLUMNS = ("name", "zone", "rack", "bmc", "mac", "ip", "serial")


def objects_of(site: Site) -> list[Json]:
    """Every object of a site, as Foresite makes it."""
    return [manifest.body for made in site_objects(site).values() for manifest in made]


def facts_of(site: Site) -> Json:
    """A site's pools with their hosts, its addresses without hosts, and all its other objects."""
    bodies = objects_of(site)
    by_name = {body["metadata"]["name"]: body for body in bodies if body["kind"] == HOST}
    (addresses,) = (body for body in bodies if body["kind"] == ADDRESSES)
    pools = []
    for pool in site.file.pools:
        hosts = site.hosts_of(pool)
        rows = [{column: getattr(host, column) for column in _COLUMNS} for host in hosts]
        common = _common(by_name[hosts[0].name], hosts[0].bmc)
        pools.append({"name": pool.name, **common, "hosts": rows})
    return {
        "name": site.name,
        "pools": pools,
        "addresses": {**addresses, "spec": without(addresses["spec"], ["preAllocations"])},
        "objects": [body for body in bodies if body["kind"] not in (HOST, ADDRESSES)],
    }


def without(fields: Json, names: Iterable[str]) -> Json:
    """``fields`` but for those of ``names``."""
    dropped = set(names)
    return {key: value for key, value in fields.items() if key not in dropped}


def _common(body: Json, bmc: str) -> Json:
    """The common part of a host and the others of its pool."""
    parts = {**body["metadata"], "spec": body["spec"], "bmc": body["spec"]["bmc"]}
    scheme, _, rest = parts["bmc"]["address"].partition("://")
    common: Json = {name: without(parts[name], fields) for name, fields in OF_A_HOST.items()}
    return {**common, "scheme": scheme, "path": rest.removeprefix(bmc)}
