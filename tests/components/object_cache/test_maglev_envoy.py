"""The real Envoy sends each object where the prediction says, whatever happens to its hosts."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.object_cache.maglev import Maglev, compare_tables
from tests.kit.envoy import NEEDS_ENVOY, Envoy, Upstreams, ask, run, validate
from tests.kit.envoy.cluster import (
    FILE,
    LISTENER,
    PREFIX,
    bootstrap,
    endpoints,
    keys,
    maglev,
    replace,
)

pytestmark = [NEEDS_ENVOY, pytest.mark.cache, pytest.mark.proof]

KEYS = keys(2_000)
FORTY = [f"node-{number}" for number in range(40)]
"""Not of one length: their order is that of text, node-10 before node-2."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two Envoys before the same servers; the second has them in another order."""

    nodes: Upstreams
    one: Envoy
    other: Envoy
    size: int

    def update(self, hosts: list[str]) -> None:
        """Give both these endpoints, each in an order of its own."""
        replace(self.one, {host: self.nodes.ports[host] for host in hosts})
        shuffled = random.Random(7).sample(hosts, len(hosts))
        replace(self.other, {host: self.nodes.ports[host] for host in shuffled})

    def agreed(self) -> list[str]:
        """The server of each key, the same by both Envoys."""
        found = asked(self.one)
        assert asked(self.other) == found
        return found


def asked(envoy: Envoy) -> list[str]:
    return ask(envoy.ports[LISTENER], [PREFIX + key for key in KEYS])


def predicted(hosts: list[str], size: int) -> list[str]:
    spec = Maglev(tuple(hosts), size)
    return [spec.host_of(key) for key in KEYS]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Upstreams]:
    with Upstreams(FORTY) as here:
        yield here


@pytest.fixture(scope="module", params=[65_537, 1_048_573])
def pair(
    request: pytest.FixtureRequest, nodes: Upstreams, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    size: int = request.param
    with ExitStack() as stack:

        def started(hosts: list[str]) -> Envoy:
            folder = tmp_path_factory.mktemp("envoy")
            text = endpoints({host: nodes.ports[host] for host in hosts})
            return stack.enter_context(
                run(bootstrap(maglev(size), folder), folder, files={FILE: text})
            )

        yield Pair(nodes, started(FORTY), started(FORTY[::-1]), size)


def test_the_table_is_predicted(pair: Pair) -> None:
    pair.update(FORTY)
    found = pair.agreed()
    assert found == predicted(FORTY, pair.size)
    assert set(found) == set(FORTY)


@pytest.mark.parametrize(
    "hosts",
    [
        pytest.param(FORTY[:13] + FORTY[14:], id="one leaves"),
        pytest.param(FORTY[8:], id="eight leave"),
    ],
)
def test_what_moves_when_hosts_leave_and_return_is_predicted(pair: Pair, hosts: list[str]) -> None:
    pair.update(FORTY)
    before = pair.agreed()
    pair.update(hosts)
    after = pair.agreed()
    assert after == predicted(hosts, pair.size)
    share = sum(one != other for one, other in zip(before, after, strict=True)) / len(KEYS)
    change = compare_tables(Maglev(tuple(FORTY), pair.size), Maglev(tuple(hosts), pair.size))
    # 2,000 keys are a sample: five standard deviations are 5 * sqrt(p * (1 - p) / 2,000).
    assert share == pytest.approx(change.share, abs=5 * (change.share / len(KEYS)) ** 0.5)
    pair.update(FORTY)
    assert pair.agreed() == before


def test_a_server_that_restarts_at_another_port_moves_no_key(pair: Pair) -> None:
    pair.update(FORTY)
    before = pair.agreed()
    port = pair.nodes.ports["node-3"]
    pair.nodes.stop("node-3")
    assert pair.nodes.start("node-3") != port
    pair.update(FORTY)
    assert pair.agreed() == before


def test_another_size_moves_the_predicted_share(nodes: Upstreams) -> None:
    sizes = (65_537, 1_048_573)
    one, other = (predicted(FORTY, size) for size in sizes)
    share = sum(a != b for a, b in zip(one, other, strict=True)) / len(KEYS)
    change = compare_tables(*(Maglev(tuple(FORTY), size) for size in sizes))
    assert share == pytest.approx(change.share, abs=5 * ((1 - change.share) / len(KEYS)) ** 0.5)


@pytest.mark.parametrize("size", [65_537, 1_048_573])
def test_four_hundred_servers_are_predicted(tmp_path: Path, size: int) -> None:
    hosts = [f"tokyo-1-{number:03d}" for number in range(400)]
    with Upstreams(hosts) as many:
        files = {FILE: endpoints(many.ports)}
        with run(bootstrap(maglev(size), tmp_path), tmp_path, files=files) as envoy:
            assert asked(envoy) == predicted(hosts, size)
            del hosts[123]
            replace(envoy, {host: many.ports[host] for host in hosts})
            assert asked(envoy) == predicted(hosts, size)


@pytest.mark.parametrize(("count", "size"), [(1, 2), (3, 2), (10, 7), (7, 7)])
def test_tables_of_few_entries_are_predicted(
    tmp_path: Path, nodes: Upstreams, count: int, size: int
) -> None:
    hosts = FORTY[:count]
    files = {FILE: endpoints({host: nodes.ports[host] for host in hosts})}
    with run(bootstrap(maglev(size), tmp_path), tmp_path, files=files) as envoy:
        assert asked(envoy) == predicted(hosts, size)


@pytest.mark.parametrize("size", [65_536, 1, 5_000_077])
def test_envoy_refuses_the_sizes_that_the_prediction_refuses(tmp_path: Path, size: int) -> None:
    files = {FILE: endpoints({"node-0": 20_000})}
    assert validate(bootstrap(maglev(size), tmp_path), tmp_path, files=files) != ""
    with pytest.raises(ValueError, match="prime number up to"):
        Maglev(("node-0",), size)
