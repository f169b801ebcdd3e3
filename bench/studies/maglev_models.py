"""Figures of hashing computed without Envoy: rings, and the cost of one lost host for a table.

The ring is Envoy's, for endpoints of equal weight (envoyproxy/envoy v1.39,
source/extensions/load_balancing_policies/ring_hash/ring_hash_lb.cc); tests hold it against Envoy.
"""

import random
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt
from statistics import mean

from xxhash import xxh64_intdigest

from components.object_cache.maglev import Maglev, compare_tables

SMALLEST_RING = 1024
"""Envoy's default of minimum_ring_size."""
_ALL = 2**64
SIZES = (16_381, 65_537, 262_147, 1_048_573, 5_000_011)
"""Of tables: prime numbers, each about four times the one before; the last is Envoy's largest."""
HOSTS = (10, 20, 40, 100, 200, 400, 800, 1_600)


@dataclass(frozen=True)
class Ring:
    """A ring with as many points for each host as Envoy gives it."""

    hosts: tuple[str, ...]
    points: tuple[tuple[int, str], ...]

    def host_of(self, key: str) -> str:
        """The host of the first point at or after the key."""
        return self.after(xxh64_intdigest(key.encode()))

    def after(self, place: int) -> str:
        """The host of the first point at or after a place."""
        number = bisect_left(self.points, (place, ""))
        return self.points[number % len(self.points)][1]

    def shares(self) -> dict[str, float]:
        """The share of all keys that each host has: the arcs before its points."""
        found = dict.fromkeys(self.hosts, 0)
        places = [self.points[-1][0] - _ALL, *(place for place, _ in self.points)]
        for (before, place), (_, host) in zip(pairwise(places), self.points, strict=True):
            found[host] += place - before
        return {host: arcs / _ALL for host, arcs in found.items()}

    def moved_share(self, other: "Ring") -> float:
        """The share of all keys that have another host in ``other``."""
        places = sorted({place for ring in (self, other) for place, _ in ring.points})
        arcs = 0
        for before, place in pairwise([places[-1] - _ALL, *places]):
            if self.after(place) != other.after(place):
                arcs += place - before
        return arcs / _ALL


def ring(hosts: Sequence[str], smallest: int = SMALLEST_RING) -> Ring:
    """The ring of these hosts."""
    each = ceil(smallest / len(hosts))
    points = (
        (xxh64_intdigest(f"{host}_{n}".encode()), host) for host in hosts for n in range(each)
    )
    return Ring(tuple(hosts), tuple(sorted(points)))


def names(count: int, prefix: str = "node") -> list[str]:
    """Hosts as sites call them."""
    return [f"{prefix}-{number:03d}" for number in range(count)]


def uneven(count: int, sets: int = 20) -> list[float]:
    """The busiest host against the mean on a ring, for sets of hosts with other names."""
    return sorted(
        max(ring(names(count, f"site{number}")).shares().values()) * count for number in range(sets)
    )


def cost(count: int, size: int, sets: int) -> float:
    """How many times its own share one lost host moves, as a mean over sets of hosts."""
    chance = random.Random(f"{count} {size}")
    found = []
    for number in range(sets):
        hosts = tuple(names(count, f"site{number}"))
        lost = chance.randrange(count)
        change = compare_tables(Maglev(hosts, size), Maglev(hosts[:lost] + hosts[lost + 1 :], size))
        found.append(change.share / change.least)
    return mean(found)


def costs() -> dict[int, dict[int, float]]:
    """``cost`` by size and number of hosts."""
    return {
        size: {count: cost(count, size, 10 if size < 1_000_000 else 3) for count in HOSTS}
        for size in SIZES
    }


def enough(size: int) -> int:
    """The number of hosts up to which one lost host moves no more than twice its share."""
    low, high = 10.0, 3_000.0
    sets = max(3, min(40, 6_000_000 // size))
    while high / low > 1.01:
        middle = sqrt(low * high)
        if cost(round(middle), size, sets) > 2:
            high = middle
        else:
            low = middle
    return round(sqrt(low * high))


def rule(count: int, size: int) -> float:
    """An estimate of ``cost`` where that is below 5: the formula of docs/hashing.md."""
    return 1.0 + float((count**2.2 / size) ** 0.65)


def seconds(count: int, size: int) -> tuple[float, float]:
    """How long the prediction of one lost host takes: wall clock, and processor time."""
    hosts = tuple(names(count))
    wall, processor = time.perf_counter(), time.process_time()
    compare_tables(Maglev(hosts, size), Maglev(hosts[1:], size))
    return time.perf_counter() - wall, time.process_time() - processor
