"""Which server an object has in the real Envoy, and what happens when servers go and come."""

import functools
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.making.manifest import Json
from components.object_cache.bootstrap import bootstrap
from components.object_cache.maglev import Maglev
from components.object_cache.service import FILE, endpoint_text
from schemas.facts.site import Site
from tests.kit.envoy import NEEDS_ENVOY, Envoy, Upstreams, answers, ask
from tests.kit.object_cache_site import PREFIX, Mount, cache_of, of_hosts, on_loopback, routed, site

pytestmark = [NEEDS_ENVOY, pytest.mark.cache, pytest.mark.proof]

NODES = [f"node-{n:02}" for n in range(20)]
KEYS = [f"vision/s3://store/bucket/train/{n:05}.jpg" for n in range(2000)]
QUICK = {
    "interval": "0.5s",
    "no_traffic_interval": "0.5s",
    "unhealthy_interval": "0.5s",
    "initial_jitter": "0.1s",
    "unhealthy_edge_interval": "0.2s",
    "healthy_edge_interval": "0.2s",
}
"""Health checks that wait less; thresholds stay."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Envoy, Mount, Upstreams]]:
    """An Envoy before twenty servers, which answer with their names."""
    folder = tmp_path_factory.mktemp("many")
    with Upstreams(NODES) as nodes, routed(of_hosts(NODES), nodes.ports, folder) as (envoy, mount):
        yield envoy, mount, nodes


def paths(keys: list[str]) -> list[str]:
    return [PREFIX + key for key in keys]


def predicted(names: list[str]) -> list[str]:
    return _predicted(tuple(names))


@functools.cache
def _predicted(names: tuple[str, ...]) -> list[str]:
    table = Maglev(names, cache_of(site()).table_size)
    return [table.host_of(key) for key in KEYS]


def settles(envoy: Envoy, names: list[str]) -> None:
    """Wait until every key has the server that the table of these names says: changes of health
    reach Envoy's threads up to a second after its statistics."""
    end = time.monotonic() + 60
    while ask(envoy.ports["objects"], paths(KEYS)) != predicted(names):
        assert time.monotonic() < end, f"no table of {len(names)} servers"


def test_a_key_has_one_server_whatever_the_method_and_the_query(
    many: tuple[Envoy, Mount, Upstreams],
) -> None:
    port = many[0].ports["objects"]
    assert ask(port, paths(KEYS)) == predicted(NODES)
    assert ask(port, paths(KEYS), "PUT") == predicted(NODES)
    assert ask(port, [f"{each}?trace={n}" for n, each in enumerate(paths(KEYS))]) == predicted(
        NODES
    )


def test_an_exchange_of_the_endpoints_moves_the_predicted_keys(
    many: tuple[Envoy, Mount, Upstreams],
) -> None:
    """Also a server that answers its health check leaves at once when it leaves Git."""
    envoy, mount, nodes = many
    fewer = of_hosts(NODES[1:])
    try:
        mount.write({FILE: on_loopback(endpoint_text(fewer, cache_of(fewer)), nodes.ports)})
        settles(envoy, NODES[1:])
    finally:
        every = of_hosts(NODES)
        mount.write({FILE: on_loopback(endpoint_text(every, cache_of(every)), nodes.ports)})
    settles(envoy, NODES)


def quick(made: Site) -> Json:
    (check,) = bootstrap(cache_of(made))["static_resources"]["clusters"][0]["health_checks"]
    return {"health_checks": [{**check, **QUICK}]}


def test_objects_of_a_dead_server_are_asked_of_another(tmp_path: Path) -> None:
    """Before any health check notices: each of its keys has one other server, always the same, so
    that what is put there is found there."""
    made = of_hosts(NODES)
    with (
        Upstreams(NODES) as nodes,
        routed(made, nodes.ports, tmp_path, {"outlier_detection": None}) as (envoy, _),
    ):
        nodes.stop(NODES[3])
        port = envoy.ports["objects"]
        got, again = ask(port, paths(KEYS)), ask(port, paths(KEYS), "PUT")
        before = predicted(NODES)
        assert [one for one, old in zip(got, before, strict=True) if old != NODES[3]] == [
            old for old in before if old != NODES[3]
        ]
        assert NODES[3] not in got
        assert got == again
        assert envoy.stats()["cluster.cache.membership_healthy"] == 20


def test_a_server_that_fails_its_health_check_leaves_the_table_and_comes_back(
    tmp_path: Path,
) -> None:
    made = of_hosts(NODES)
    with Upstreams(NODES) as nodes, routed(made, nodes.ports, tmp_path, quick(made)) as (envoy, _):
        port = nodes.ports[NODES[3]]
        nodes.stop(NODES[3])
        envoy.until("cluster.cache.membership_healthy", 19)
        rest = [each for each in NODES if each != NODES[3]]
        settles(envoy, rest)
        nodes.start(NODES[3], port)
        settles(envoy, NODES)


def test_failed_connections_take_out_a_tenth_of_the_servers_at_most(tmp_path: Path) -> None:
    made = of_hosts(NODES)
    with Upstreams(NODES) as nodes, routed(made, nodes.ports, tmp_path) as (envoy, _):
        dead = NODES[:12]
        for name in dead:
            nodes.stop(name)
        found = Counter(each.status for each in answers(envoy.ports["objects"], paths(KEYS)))
        assert found.keys() <= {200, 503}
        # Four tries among 20 servers of which 12 are dead: all fail in 10 % of the cases.
        assert found[200] > 0.8 * len(KEYS)
        stats = envoy.stats()
        assert stats["cluster.cache.outlier_detection.ejections_active"] == 2
        assert stats["cluster.cache.membership_healthy"] == 18


def test_with_most_servers_down_all_are_used_again(tmp_path: Path) -> None:
    """12 of 20 fail their health check. Envoy then uses the whole table, so what the others keep
    stays where it is."""
    made = of_hosts(NODES)
    with Upstreams(NODES) as nodes, routed(made, nodes.ports, tmp_path, quick(made)) as (envoy, _):
        for name in NODES[:12]:
            nodes.stop(name)
        envoy.until("cluster.cache.membership_healthy", 8)
        end = time.monotonic() + 60
        while not envoy.stats()["cluster.cache.lb_healthy_panic"]:
            assert time.monotonic() < end, "no panic"
            answers(envoy.ports["objects"], paths(KEYS[:50]))
        found = answers(envoy.ports["objects"], paths(KEYS))
        alive = [
            (each, old)
            for each, old in zip(found, predicted(NODES), strict=True)
            if old in NODES[12:]
        ]
        assert all(each == (200, old) for each, old in alive)
        assert len(alive) > 600
        assert sum(each.status == 200 for each in found) > 0.8 * len(KEYS)


def test_a_server_that_says_500_keeps_its_place(tmp_path: Path) -> None:
    """One bucket may be broken, and the others work."""

    def answer(name: str, _method: str, path: str) -> tuple[int, bytes]:
        return (500 if path.startswith(PREFIX) and name == NODES[0] else 200), name.encode()

    with (
        Upstreams(NODES, answer) as nodes,
        routed(of_hosts(NODES), nodes.ports, tmp_path) as (envoy, _),
    ):
        found = answers(envoy.ports["objects"], paths(KEYS))
        assert [each.body for each in found] == predicted(NODES)
        assert {each.status for each in found if each.body == NODES[0]} == {500}
        assert envoy.stats()["cluster.cache.membership_healthy"] == 20
