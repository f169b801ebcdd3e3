"""The server that keeps an object, and the number of objects that another set of servers moves:
Envoy's Maglev.

The table is Envoy's, entry for entry (envoyproxy/envoy v1.39,
source/extensions/load_balancing_policies/maglev/maglev_lb.cc), for endpoints of equal weight:

- The hosts stand in the order of their keys' bytes. XXH64 of a key, seed 0, modulo the size is
  where the host's permutation of the entries starts; XXH64 with seed 1, modulo size - 1, plus 1,
  is its step.
- In turn each host takes the next entry of its permutation that is free, until none is.
- An object is kept by the host in the entry XXH64(key of the object, seed 0) modulo size.

Filling a table of 1,048,573 entries for 400 hosts is 17 million probes, which take pure Python
seconds; they run as WebAssembly (docs/decisions/0019-maglev.md).
"""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import fsum, isqrt
from pathlib import Path
from typing import TYPE_CHECKING, cast

from schemas.model.object_cache import LARGEST_TABLE

if TYPE_CHECKING:
    from wasmtime import Func, Memory

MOST_HOSTS = 32_767
"""An entry has 16 bits here, for the hosts before and after a change."""

_PAGE, _RECORD, _ENTRY = 65_536, 12, 2
"""Bytes of a page of WebAssembly's memory, of a host's record, of an entry of the table."""
_PROGRAM = Path(__file__).with_suffix(".wat")


@dataclass(frozen=True)
class Maglev:
    """The servers of a cache, by the keys that Envoy has for them, and the size of its table."""

    hosts: tuple[str, ...]
    """Each host's ``hash_key``; their order has no effect."""
    size: int
    """Entries of the table, a prime number."""

    def __post_init__(self) -> None:
        """Refuse what has no table: ``ValueError``."""
        if self.size > LARGEST_TABLE or not _is_prime(self.size):
            allowed = f"a prime number up to {LARGEST_TABLE}"
            raise ValueError(f"{self.size} entries: the size of a Maglev table is {allowed}")
        if len(self.hosts) > MOST_HOSTS:
            raise ValueError(f"{len(self.hosts)} hosts: no more than {MOST_HOSTS} are possible")
        for one, other in pairwise(self.host_order):
            if one == other:  # how two share their entries depends on the order of Envoy's file
                raise ValueError(f"{one} is there twice: a host has one place in a Maglev table")

    @cached_property
    def host_order(self) -> list[str]:
        """The hosts in the order in which they take turns: UTF-8 keeps the order of code points."""
        return sorted(self.hosts)

    @cached_property
    def entries(self) -> "array[int]":
        """The table: the host of each entry, as its place in ``hosts``; empty without hosts."""
        found: array[int] = array("H")
        if self.hosts:
            filled = _Filled(self.size, 1)
            filled.put(0, self, {host: number for number, host in enumerate(self.hosts)})
            found.frombytes(filled.read(0))
        return found

    def host_of(self, key: str) -> str:
        """The host that keeps an object; ValueError where there are none. ``key`` is what Envoy
        hashes: the path as the hash policy's expression leaves it, ``<bucket>/<object>``."""
        if not self.hosts:
            raise ValueError("a cache without hosts keeps nothing")
        return self.hosts[self.entries[_hash(key) % self.size]]

    def shares(self) -> dict[str, float]:
        """The share of all keys that each host has: by turns, so that none gets two entries more
        than another. With more hosts than entries, those that come last get none."""
        if not self.hosts:
            return {}
        each, more = divmod(self.size, len(self.hosts))
        order = enumerate(self.host_order)
        return {host: (each + (number < more)) / self.size for number, host in order}


@dataclass(frozen=True, slots=True)
class Moved:
    """The moves of a cache's objects by a change, as shares of all keys, from 0 to 1.

    Keys are as good as random, so the share of the objects differs from that of the keys only by
    chance. An object that moved is fetched and stored anew by its new host.
    """

    share: float
    """Keys that have another host after the change, or had none before it."""
    least: float
    """The share that the best way to spread keys would have to move: the keys of hosts that left,
    or those that new hosts must get to have their share."""


def compare_tables(before: Maglev, after: Maglev) -> Moved:
    """The share of keys to which a change of the hosts, or of the table's size, gives another host.

    Of tables of one size the entries are compared. Tables of two sizes, both prime, have nothing
    in common: where a key stands in one says nothing of where it stands in the other, so it stays
    only by chance.
    """
    old, new = before.shares(), after.shares()
    common = old.keys() & new.keys()
    # fsum: a plain sum depends on the order, which sets do not keep from one process to the next.
    least = max(0.0, 1.0 - fsum(min(old[host], new[host]) for host in common))
    if before.size != after.size:
        return Moved(1.0 - fsum(old[host] * new[host] for host in common), least)
    if not common:
        return Moved(1.0, 1.0)
    if old.keys() == new.keys():
        return Moved(0.0, 0.0)
    filled = _Filled(before.size, 2)
    numbers = {host: number for number, host in enumerate(old.keys() | new.keys())}
    filled.put(0, before, numbers)
    filled.put(1, after, numbers)
    return Moved(filled.differing() / before.size, least)


class _Filled:
    """Tables of one size in WebAssembly's memory: records, bitmap, then the tables."""

    def __init__(self, size: int, tables: int) -> None:
        from wasmtime import Engine, Instance, Module, Store  # only where a table is needed

        # Compiled each time, in milliseconds: what is kept until Python ends, wasmtime cannot free.
        engine = Engine()
        self.store, program = Store(engine), Module(engine, _PROGRAM.read_text("utf-8"))
        found = Instance(self.store, program, []).exports(self.store)
        self.memory = cast("Memory", found["memory"])
        self._fill, self._differing = cast("Func", found["fill"]), cast("Func", found["differing"])
        self.size = size
        self.taken = MOST_HOSTS * _RECORD
        self.first = self.taken + (size // 32 + 1) * 4
        self.memory.grow(self.store, (self.first + tables * size * _ENTRY) // _PAGE)

    def put(self, number: int, spec: Maglev, labels: Mapping[str, int]) -> None:
        """Fill the table of a number; an entry holds the label of its host."""
        records = array("I")
        for host in spec.host_order:
            place, step = _hash(host) % self.size, _hash(host, 1) % (self.size - 1) + 1
            records.extend((place, step, labels[host]))
        self.memory.write(self.store, records.tobytes())
        self.memory.write(self.store, bytes(self.first - self.taken), self.taken)
        end = len(records) * records.itemsize
        self._fill(self.store, 0, end, self.taken, self._start(number), self.size)

    def read(self, number: int) -> bytes:
        """The entries of a table, 16 bits each, in the byte order of WebAssembly and of all
        machines that wasmtime has wheels for."""
        start = self._start(number)
        return bytes(self.memory.read(self.store, start, start + self.size * _ENTRY))

    def differing(self) -> int:
        """How many entries differ between the first table and the second."""
        return cast("int", self._differing(self.store, *map(self._start, (0, 1)), self.size))

    def _start(self, number: int) -> int:
        return self.first + number * self.size * _ENTRY


def _hash(text: str, seed: int = 0) -> int:
    from xxhash import xxh64_intdigest

    return int(xxh64_intdigest(text.encode(), seed))


def _is_prime(number: int) -> bool:
    return number >= 2 and all(number % factor for factor in range(2, isqrt(number) + 1))
