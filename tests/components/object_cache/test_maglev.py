"""Which server keeps an object, and how many a change moves: against the algorithm, written down.

tests/components/object_cache/test_maglev_envoy.py holds the same against the real Envoy.
"""

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh64_intdigest

from components.object_cache.maglev import MOST_HOSTS, Maglev, compare_tables

PRIMES = (2, 3, 5, 7, 11, 13, 31, 101, 251, 1021, 4093)
SMALL = PRIMES[:7]

host_sets = st.lists(st.text(min_size=1, max_size=12), unique=True, min_size=1, max_size=40)


def reference(hosts: list[str], size: int) -> list[str]:
    """Envoy's table by the words of its source, one probe after the other."""
    ordered = sorted(hosts, key=str.encode)
    place = [xxh64_intdigest(host.encode(), 0) % size for host in ordered]
    step = [xxh64_intdigest(host.encode(), 1) % (size - 1) + 1 for host in ordered]
    table: list[str | None] = [None] * size
    left = size
    while left:
        for number, host in enumerate(ordered):
            while table[place[number]] is not None:
                place[number] = (place[number] + step[number]) % size
            table[place[number]] = host
            left -= 1
            if not left:
                break
    return [host for host in table if host is not None]


def table(spec: Maglev) -> list[str]:
    return [spec.hosts[number] for number in spec.entries]


def nodes(*numbers: int) -> tuple[str, ...]:
    return tuple(f"node-{number}" for number in numbers)


@given(host_sets, st.sampled_from(PRIMES))
def test_the_table_is_that_of_the_algorithm(hosts: list[str], size: int) -> None:
    spec = Maglev(tuple(hosts), size)
    expected = reference(hosts, size)
    assert table(spec) == expected
    counts = Counter(expected)
    assert spec.shares() == {host: counts[host] / size for host in hosts}


@pytest.mark.parametrize("count", [1, 7, 400])
def test_the_table_of_a_site_is_that_of_the_algorithm(count: int) -> None:
    hosts = nodes(*range(count))
    assert table(Maglev(hosts, 65_537)) == reference(list(hosts), 65_537)


def test_an_object_is_kept_by_the_host_of_its_entry() -> None:
    spec = Maglev(nodes(1, 2, 3), 7)
    expected = reference(list(spec.hosts), 7)
    for key in ("a", "vision/s3://store/x y.jpg", "画像/1"):
        assert spec.host_of(key) == expected[xxh64_intdigest(key.encode(), 0) % 7]


@given(host_sets, host_sets, st.integers(0, 20), st.sampled_from(PRIMES))
def test_of_one_size_the_entries_that_differ_move(
    some: list[str], others: list[str], kept: int, size: int
) -> None:
    after = list(dict.fromkeys(some[:kept] + others))
    expected = [one != other for one, other in zip(*_both(some, after, size), strict=True)]
    change = compare_tables(Maglev(tuple(some), size), Maglev(tuple(after), size))
    assert change.share == sum(expected) / size
    assert 0 <= change.least <= change.share + 1e-9


def _both(before: list[str], after: list[str], size: int) -> tuple[list[str], list[str]]:
    return reference(before, size), reference(after, size)


@settings(max_examples=50)
@given(
    host_sets, host_sets, st.integers(0, 20), st.permutations(SMALL).map(lambda sizes: sizes[:2])
)
def test_of_two_sizes_all_pairs_of_entries_are_as_likely(
    some: list[str], others: list[str], kept: int, sizes: list[int]
) -> None:
    one, other = sizes
    after = list(dict.fromkeys(some[:kept] + others))
    old, new = reference(some, one), reference(after, other)
    expected = sum(old[key % one] != new[key % other] for key in range(one * other))
    change = compare_tables(Maglev(tuple(some), one), Maglev(tuple(after), other))
    assert change.share == pytest.approx(expected / (one * other))
    assert change.least <= change.share + 1e-9


HOSTS = nodes(*range(20))


@pytest.mark.parametrize(
    ("after", "least"),
    [
        pytest.param(HOSTS[1:], 1 / 20, id="one leaves: its keys"),
        pytest.param((*HOSTS, "new"), 1 / 21, id="one comes: its share"),
        pytest.param((*HOSTS[1:], "new"), 1 / 20, id="one takes another's place: both in one"),
        pytest.param(HOSTS[10:], 1 / 2, id="half leave"),
        pytest.param(nodes(*range(20, 60)), 1, id="all are others"),
        pytest.param(HOSTS[::-1], 0, id="another order"),
        pytest.param((), 1, id="none is left"),
    ],
)
def test_what_no_way_to_spread_keys_avoids(after: tuple[str, ...], least: float) -> None:
    change = compare_tables(Maglev(HOSTS, 65_537), Maglev(after, 65_537))
    # A host's share is a whole number of entries: 20 of them are one off at the most.
    assert change.least == pytest.approx(least, abs=20 / 65_537)
    assert change.least <= change.share


@pytest.mark.parametrize("after", [HOSTS[1:], (*HOSTS, "new")], ids=["leaves", "comes"])
def test_one_host_of_few_moves_little_more_than_its_share(after: tuple[str, ...]) -> None:
    change = compare_tables(Maglev(HOSTS, 65_537), Maglev(after, 65_537))
    assert change.least < change.share < 1.1 * change.least  # docs/hashing.md: 1.06 times


def test_another_size_moves_all_but_what_stays_by_chance() -> None:
    change = compare_tables(Maglev(HOSTS, 65_537), Maglev(HOSTS, 1_048_573))
    assert change.share == pytest.approx(1 - 1 / 20, abs=1e-4)
    assert change.least == pytest.approx(0, abs=20 / 65_537)


def test_objects_of_a_cache_that_is_new_had_no_host() -> None:
    assert compare_tables(Maglev((), 7), Maglev(HOSTS, 7)).share == 1
    with pytest.raises(ValueError, match="without hosts"):
        Maglev((), 7).host_of("a")


@pytest.mark.parametrize(
    ("hosts", "size", "why"),
    [
        (nodes(1), 65_536, "prime"),
        (nodes(1), 1, "prime"),
        (nodes(1), 5_000_077, "up to 5000011"),
        (nodes(1, 2, 1), 7, "node-1 is there twice"),
        (nodes(*range(MOST_HOSTS + 1)), 7, "no more than"),
    ],
)
def test_what_has_no_table_is_refused(hosts: tuple[str, ...], size: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Maglev(hosts, size)


def test_two_sets_of_most_hosts_are_told_apart() -> None:
    before, others = nodes(*range(MOST_HOSTS)), nodes(*range(MOST_HOSTS, 2 * MOST_HOSTS - 1))
    after, size = (before[0], *others), 65_537
    old, new = _both(list(before), list(after), size)
    expected = sum(one != other for one, other in zip(old, new, strict=True)) / size
    assert compare_tables(Maglev(before, size), Maglev(after, size)).share == expected


def test_wasmtime_is_not_imported_before_a_table_is_filled() -> None:
    code = (
        "import sys; from components.object_cache.maglev import Maglev, compare_tables; "
        "a = Maglev(('a', 'b'), 7); compare_tables(a, a); compare_tables(a, Maglev(a.hosts, 11)); "
        "print('wasmtime' in sys.modules); a.entries; print('wasmtime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    assert done.stderr == ""  # such as of what wasmtime cannot free when Python ends
