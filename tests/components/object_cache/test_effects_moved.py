"""The share of keys that a change moves, as the preview states it: counted another way."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import xxhash

from components.effects.vocabulary import SiteChange
from components.object_cache.effects.moved import CacheMove, cache_move, percent
from preview.differences.compare import compare
from schemas.facts.site import Site
from schemas.model.vocabulary import CacheDiscovery
from schemas.reading.host_list import Host
from tests.kit.object_cache_changes import side
from tests.kit.object_cache_site import cache_of, of_hosts

TEN = [f"node-{n}" for n in range(10)]
SMALL, OTHER = 1009, 2003
"""Tables of which each entry can be looked at; both prime."""
KEYS = 20_000


def cached(names: list[str], size: int = SMALL, **changed: Any) -> Site:
    """A site of hosts that keep objects, with fields of its cache that no rule has judged."""
    made = of_hosts(names)
    cache = cache_of(made).model_copy(update={"table_size": size, **changed})
    return replace(made, file=made.file.model_copy(update={"cache": cache}))


def change(before: Site, after: Site) -> SiteChange:
    return compare(after.name, side(before), side(after))


def stated(before: Site, after: Site) -> CacheMove:
    found = cache_move(change(before, after))
    assert found is not None
    return found


def table(keys: list[str], size: int) -> list[str]:
    """Envoy's table as its documentation tells it, written once more for these tests: each host in
    turn takes the next free entry of its own permutation."""
    hosts = sorted(keys)
    at = [xxhash.xxh64_intdigest(key.encode(), 0) % size for key in hosts]
    step = [xxhash.xxh64_intdigest(key.encode(), 1) % (size - 1) + 1 for key in hosts]
    found = [""] * size
    for turn in range(size):
        host = turn % len(hosts)
        while found[at[host]]:
            at[host] = (at[host] + step[host]) % size
        found[at[host]] = hosts[host]
    return found


def differing(one: list[str], other: list[str]) -> float:
    return sum(a != b for a, b in zip(one, other, strict=True)) / len(one)


def named(of: Site, keys: list[str]) -> list[str]:
    """The hosts of a site behind keys that are addresses and ports."""
    port = cache_of(of).server.port
    hosts = {f"{host.ip}:{port}": host.name for host in of.hosts}
    return [hosts[key] for key in keys]


def addresses(of: Site) -> list[str]:
    return [f"{host.ip}:{cache_of(of).server.port}" for host in of.hosts]


@pytest.mark.parametrize(
    ("before", "after", "least"),
    [
        (TEN, TEN[:-1], 1 / 10),
        (TEN, TEN[3:], 3 / 10),
        (TEN[:-1], TEN, 1 / 10),
        (TEN, [*TEN[1:], "node-new"], 1 / 10),
        (TEN, ["other-1", "other-2"], 1),
    ],
)
def test_what_hosts_move_is_counted_entry_by_entry(
    before: list[str], after: list[str], least: float
) -> None:
    found = stated(cached(before), cached(after))
    assert found.moved == pytest.approx(differing(table(before, SMALL), table(after, SMALL)))
    # Hosts differ by an entry, of which there are 1,009.
    assert found.unavoidable == pytest.approx(least, abs=10 / SMALL)
    assert found.moved >= found.unavoidable
    assert (found.hosts_before, found.hosts_after) == (len(before), len(after))


def test_a_key_stays_by_chance_in_a_table_of_another_size() -> None:
    found = stated(cached(TEN), cached(TEN, OTHER))
    tables = table(TEN, SMALL), table(TEN, OTHER)
    hashes = [xxhash.xxh64_intdigest(f"vision/{n}".encode()) for n in range(KEYS)]
    kept = sum(tables[0][each % SMALL] == tables[1][each % OTHER] for each in hashes) / KEYS
    # Five standard deviations of a sample: sqrt(p * (1 - p) / n) each.
    assert 1 - kept == pytest.approx(found.moved, abs=5 * (0.09 / KEYS) ** 0.5)
    assert found.unavoidable == pytest.approx(0, abs=10 / SMALL)


def test_by_dns_a_host_is_hashed_by_its_address() -> None:
    hosts, dns = cached(TEN), cached(TEN, discovery=CacheDiscovery.DNS)
    by_address = named(dns, table(addresses(dns), SMALL))
    for found in (stated(hosts, dns), stated(dns, hosts)):
        assert found.moved == pytest.approx(differing(table(TEN, SMALL), by_address))
    server = cache_of(dns).server.model_copy(update={"port": 9000})
    other = cached(TEN, discovery=CacheDiscovery.DNS, server=server)
    ports = named(other, table(addresses(other), SMALL))
    assert stated(dns, other).moved == pytest.approx(differing(by_address, ports))
    assert stated(hosts, dns).discovery_after is CacheDiscovery.DNS


def readdressed(host: Host) -> Host:
    return host._replace(ip=f"10.32.9.{int(host.ip.rpartition('.')[2])}")


@pytest.mark.parametrize(
    "edit",
    [
        readdressed,
        lambda host: host._replace(zone="a"),
        lambda host: host._replace(rack="r2"),
        lambda host: host._replace(line=host.line + 7),
    ],
)
def test_what_no_key_depends_on_moves_none(edit: Callable[[Host], Host]) -> None:
    before = of_hosts(TEN)
    found = stated(before, replace(before, hosts=tuple(map(edit, before.hosts))))
    assert found.moved == found.unavoidable == 0
    assert not found.changes_routing


def test_the_order_of_hosts_moves_none() -> None:
    before = of_hosts(TEN)
    assert stated(before, replace(before, hosts=before.hosts[::-1])).moved == 0


def test_of_a_cache_that_comes_or_goes_no_key_moves() -> None:
    with_it = of_hosts(TEN)
    without = replace(with_it, file=with_it.file.model_copy(update={"cache": None}))
    assert cache_move(change(without, with_it)) is None
    assert cache_move(change(with_it, without)) is None


def test_four_hundred_hosts_and_the_default_table() -> None:
    """The real Envoy moves 0.4 % of 100,000 keys, 1.6 times what one of 400 hosts keeps
    (docs/hashing.md); which of them leaves is of little weight."""
    hosts = [f"tokyo-1-{n:03}" for n in range(400)]
    found = stated(of_hosts(hosts), of_hosts(hosts[:-1]))
    assert found.unavoidable == pytest.approx(1 / 400, rel=0.01)
    assert 1.3 / 400 < found.moved < 1.9 / 400


def test_a_change_that_moves_no_key_loads_no_webassembly() -> None:
    """A preview of other changes stays as quick as it was."""
    program = (
        "import sys\n"
        "from tests.kit.object_cache_site import of_hosts\n"
        "from tests.components.object_cache.test_effects_moved import stated, TEN\n"
        "stated(of_hosts(TEN), of_hosts(TEN, audience='other'))\n"
        "assert 'wasmtime' not in sys.modules\n"
        "stated(of_hosts(TEN), of_hosts(TEN[1:]))\n"
        "assert 'wasmtime' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (0, "0 %"),
        (0.00004, "under 0.01 %"),
        (0.004321, "0.43 %"),
        (0.125, "12.5 %"),
        (0.25, "25 %"),
        (0.9995, "over 99.9 %"),
        (1, "100 %"),
    ],
)
def test_a_share_is_never_rounded_to_nothing_or_to_all(part: float, words: str) -> None:
    assert percent(part) == words
