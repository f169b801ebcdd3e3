"""Rules on what the object cache keeps: space on disks, buckets, pools, and the table of keys. How
it is found, and what its server gets from its host: object_cache_server.py."""

import math
from collections.abc import Iterator
from math import ceil, isqrt

from schemas.facts.site import Site
from schemas.kubernetes.quantities import GIB, MIB, amount
from schemas.model.object_cache import LARGEST_TABLE, TABLE_SIZE, Cache, rounded_servers, share
from schemas.model.site_file import Pool
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, advise, say

FILLED_PERCENT = 95
"""Share of a disk that objects may take: mke2fs keeps the rest for root (e2fsprogs 1.47,
mke2fs(8), -m), and objects that are still being written and the metadata need space too."""
HOSTS_EXPONENT, FEWEST_ENTRIES = 2.2, 1021
"""A table has as many entries as hosts to this power, and no fewer than this: then the loss of one
host moves at most twice its share of the keys (docs/hashing.md, which says how it was measured)."""
_MOVES_EXPONENT, _MOST_TIMES = 0.65, 5.0
"""A lost host moves 1 + (hosts ** 2.2 / entries) ** 0.65 times its share, within 13 % up to 5 times
(docs/hashing.md)."""
SMALLEST_SHARE = 64 * MIB
"""A server keeps no object larger than its share of the bucket: less room than this for the files
of a dataset is a quota mistaken for that of one host."""
_PLACE: Path = ("cache",)


def sizes(site: Site, cache: Cache) -> Iterator[Finding]:
    """Each quota leaves every server a share that objects fit in."""
    count = site.cache_servers()
    for index, bucket in enumerate(cache.buckets):
        least = smallest_quota(count)
        if amount(bucket.quota) < least:
            part, whole = share(bucket.quota, count) // MIB, rounded_servers(count)
            values = bucket.quota, part, count, least // GIB, whole
            yield say("quota-share-too-small", (*_PLACE, "buckets", index, "quota"), *values)


def smallest_quota(count: int) -> int:
    """The least that a bucket of a site with so many servers may take, in bytes."""
    return max(GIB, ceil(rounded_servers(count) * SMALLEST_SHARE / GIB) * GIB)


def quotas(site: Site, cache: Cache) -> Iterator[Finding]:
    """The quotas of buckets fit the site: each server's shares fit its capacity."""
    count = site.cache_servers()
    if count == 0:
        return
    room = int(amount(cache.capacity))
    shares = [share(bucket.quota, count) for bucket in cache.buckets]
    if sum(shares) <= room or room < GIB:
        return
    largest = max(range(len(shares)), key=shares.__getitem__)
    parts = rounded_servers(count)
    left = (room - sum(shares) + shares[largest]) // MIB * MIB * parts
    fix = f"lower the quotas by {_tib((sum(shares) - room) * parts)} in all, or raise capacity"
    if left >= smallest_quota(count):
        name = cache.buckets[largest].name
        of = f" for {name}, the largest" if len(shares) > 1 else ""
        fix = f"write {left // GIB}Gi or less{of}, or raise capacity"
    places = [(*_PLACE, "buckets", index, "quota") for index in range(len(shares))]
    first = places.pop(largest)
    also = (*places, (*_PLACE, "capacity"))
    values = _tib(sum(shares) * count), count, cache, _tib(room * count), fix
    yield say("quotas-beyond-capacity", first, *values, also=also)


def _tib(size: int) -> str:
    return f"{size / 2**40:,.2f} TiB"


def capacity(site: Site, cache: Cache) -> Iterator[Finding]:
    """The disks of every pool that keeps objects have the space that the cache may take."""
    names = {pool.name for pool in site.cache_pools()}
    unknown: set[str] = set()
    smallest: Pool | None = None
    for index, pool in enumerate(site.file.pools):
        profile = site.hardware.get(pool.hardware)
        if pool.name not in names or profile is None:
            continue
        if profile.data_nvme_gb is None and pool.hardware not in unknown:
            unknown.add(pool.hardware)
            own = pool.hardware in site.file.hardware
            row = "cache-disk-of-own-profile-unknown" if own else "cache-disk-unknown"
            place = ("hardware", pool.hardware) if own else ("pools", index, "hardware")
            yield say(row, place, pool)
        elif profile.data_nvme_gb is not None:
            smallest = min(smallest or pool, pool, key=lambda each: _gigabytes(site, each))
    gigabytes = _gigabytes(site, smallest) if smallest else 0
    most, size = gigabytes * 10**9 * FILLED_PERCENT // 100, amount(cache.capacity)
    if smallest and size > most:
        less = f"write {most // GIB}Gi or less, or " * (most >= GIB)
        values = cache, size / 10**9, smallest, gigabytes, FILLED_PERCENT, less
        yield say("cache-disk-too-small", (*_PLACE, "capacity"), *values)


def _gigabytes(site: Site, pool: Pool) -> int:
    return site.profile(pool).data_nvme_gb or 0


def table(site: Site, cache: Cache) -> Iterator[Finding]:
    """Envoy takes the table, and it is so large that a lost host costs little but its own keys."""
    size, needed = cache.table_size, entries(len(site.cache_hosts()))
    place = (*_PLACE, "table_size")
    if size < needed:
        count, least = len(site.cache_hosts()), max(TABLE_SIZE, _prime(needed, 1))
        row = "table-size-uneven" if size < FEWEST_ENTRIES else "table-size-moves-keys"
        yield say(row, place, size, count, _times(count, size), least)
    elif divisor(size) != size:
        near = [each for each in (_prime(size, -1), _prime(size, 1)) if needed <= each]
        best = min(near, key=lambda each: abs(each - size))
        yield say("table-size-not-prime", place, size, divisor(size), size // divisor(size), best)


def entries(hosts: int) -> int:
    """The fewest entries of a table for so many hosts; beyond 1,108 no table has enough."""
    return min(LARGEST_TABLE, max(FEWEST_ENTRIES, ceil(math.pow(hosts, HOSTS_EXPONENT))))


def _times(hosts: int, size: int) -> str:
    """How many times its share one lost host moves, in words."""
    times = 1 + math.pow(math.pow(hosts, HOSTS_EXPONENT) / size, _MOVES_EXPONENT)
    return f"{times:.1f} times its share" if times <= _MOST_TIMES else "over 5 times its share"


def divisor(number: int) -> int:
    """The smallest divisor above 1 of a number: a prime's is the prime."""
    return next((each for each in range(2, isqrt(number) + 1) if number % each == 0), number)


def _prime(number: int, step: int) -> int:
    """The first prime from a number on, upwards or downwards; the largest table ends the search."""
    while divisor(number) != number and 2 < number < LARGEST_TABLE:
        number += step
    return number


def bucket_namespaces(site: Site, cache: Cache) -> Iterator[Finding]:
    """Buckets are for namespaces that the site has: those of teams, and the cache's own."""
    known = sorted(name for team in site.scheduling.teams for name in team.namespaces)
    for place, name in each_at(site.file, "cache.buckets.*.namespaces.*") if known else ():
        if name not in (*known, cache.namespace):
            advice = advise(name, known, "remove it, or give it to a team in scheduling.teams")
            yield say("bucket-namespace-unknown", place, name, advice)
