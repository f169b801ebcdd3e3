"""A site file's settings of the cache on one side of a change."""

from components.effects import Side
from components.source import site_of
from schemas.model.object_cache import Cache
from schemas.reading.host_list import Host


def cache_of(side: Side | None) -> Cache | None:
    """The settings of the cache; None where there is none."""
    return site_of(side).file.cache if side else None


def hosts_of(side: Side) -> tuple[Host, ...]:
    """The hosts that may keep objects, by name."""
    return site_of(side).cache_hosts()


def pools_of(side: Side) -> set[str]:
    """The pools whose hosts may keep objects."""
    return {pool.name for pool in site_of(side).cache_pools()}
