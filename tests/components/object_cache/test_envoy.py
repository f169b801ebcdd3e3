"""The behaviour of the made configuration in the real Envoy, whose servers are on the loopback."""

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pfio.cache import HTTPConnector  # type: ignore[import-untyped]

from components.object_cache.bootstrap import DRAIN, METRICS, SCRAPERS, bootstrap, bootstrap_text
from components.object_cache.service import FILE, endpoint_text
from schemas.facts.site import Site
from schemas.load import load_site, site_names
from tests.kit.envoy import NEEDS_ENVOY, Envoy, validate
from tests.kit.object_cache_site import FOLDER, PREFIX, cache_of, of_hosts, routed, site
from tests.kit.object_cache_upstream import Upstream, upstream
from tests.kit.repository import FLEET

pytestmark = [NEEDS_ENVOY, pytest.mark.cache]

ASK = f"GET {METRICS} HTTP/1.1\r\nhost: a\r\n\r\n".encode()
TOKEN = "Bearer header.claims.signature"
ODD = [
    "vision//a//b",
    "vision/s3://host/bucket/a.jpg",
    "vision/a/../b",
    "vision/./a/.",
    "vision/a%2Fb%2f%20%00",
    "vision/file://data/x.zip/pfio-zipfs/in/zip",
    "vision/a:b;c=d,e&f+g!$'()*@~|\\^{}\"<>`[]",
    "vision/%E3%82%AD%E3%83%BC",
    "vision/a/",
    "vision/" + "n" * 20_000,
]


def test_envoy_takes_the_bootstrap_of_every_site(tmp_path: Path) -> None:
    loaded = {name: load_site(FLEET, name).site for name in site_names(FLEET)}
    made = {name: each for name, each in loaded.items() if each and each.file.cache}
    assert made
    assert {name: refusal(each, tmp_path / name) for name, each in made.items()} == dict.fromkeys(
        made, ""
    )


@pytest.mark.parametrize(
    "made",
    [
        site(),
        site(discovery="dns"),
        site(service="c", namespace="a-rather-long-name-of-a-namespace"),
        site(table_size=5_000_011),
        site(table_size=65537),
        site(envoy={"port": 10080, "workers": 64, "cpu": "1", "memory": "512Mi"}),
        site(server={"health_path": "/a/b.c~d", "port": 19999}),
    ],
    ids=["plain", "dns", "names", "largest table", "Envoy's own table", "envoy", "server"],
)
def test_envoy_takes_the_bootstrap_of_variations(made: Site, tmp_path: Path) -> None:
    assert refusal(made, tmp_path) == ""


def test_envoy_refuses_a_table_that_is_not_prime(tmp_path: Path) -> None:
    """Else a passing validation would say nothing."""
    body = bootstrap(cache_of(site()))
    body["static_resources"]["clusters"][0]["maglev_lb_config"]["table_size"] = 65536
    assert "prime" in validate(body, tmp_path, files=files(site()), paths=here(tmp_path))


def refusal(made: Site, folder: Path) -> str:
    return validate(bootstrap_text(cache_of(made)), folder, files=files(made), paths=here(folder))


def files(made: Site) -> dict[str, str]:
    return {f"endpoints/{FILE}": endpoint_text(made, cache_of(made))}


def here(folder: Path) -> dict[str, str]:
    return {FOLDER: str(folder)}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Envoy, Upstream]]:
    """An Envoy before a single server, which tells what it was asked."""
    folder = tmp_path_factory.mktemp("one")
    with (
        upstream() as server,
        routed(of_hosts(["node"]), {"node": server.port}, folder) as (envoy, _),
    ):
        yield envoy, server


def call(
    envoy: Envoy, method: str, path: str, fields: dict[str, str] | None = None
) -> http.client.HTTPResponse:
    """The answer to a request whose path goes out as it stands."""
    link = http.client.HTTPConnection("127.0.0.1", envoy.ports["objects"], timeout=60)
    link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in {"host": "cache.cache-service.svc", **(fields or {})}.items():
        link.putheader(name, value)
    link.endheaders()
    answer = link.getresponse()
    answer.read()
    return answer


@pytest.mark.parametrize("path", ODD)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_name_reaches_the_server_byte_for_byte(
    one: tuple[Envoy, Upstream], method: str, path: str
) -> None:
    envoy, server = one
    assert call(envoy, method, PREFIX + path).status == 200
    assert (server.seen[-1].method, server.seen[-1].target) == (method, PREFIX + path)


def test_the_token_and_the_host_reach_the_server(one: tuple[Envoy, Upstream]) -> None:
    envoy, server = one
    call(envoy, "GET", f"{PREFIX}vision/a", {"authorization": TOKEN})
    fields = server.seen[-1].fields
    assert fields["authorization"] == TOKEN
    assert fields["host"] == "cache.cache-service.svc"


def test_a_client_does_not_steer_envoy(one: tuple[Envoy, Upstream]) -> None:
    """Else one client could ask for a thousand tries of each request."""
    envoy, server = one
    steering = {"x-envoy-max-retries": "1000", "x-envoy-upstream-rq-timeout-ms": "1"}
    assert call(envoy, "GET", f"{PREFIX}vision/a?seconds=0.2", steering).status == 200
    assert not steering.keys() & server.seen[-1].fields.keys()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/metrics", 404),
        ("GET", "/healthz", 404),
        ("GET", "/v1/objects", 404),
        ("PUT", "/v1/other/vision/a", 404),
        ("POST", "/v1/objects/vision/a", 405),
        ("DELETE", "/v1/objects/vision/a", 405),
        ("OPTIONS", "/v1/objects/vision/a", 405),
    ],
)
def test_what_is_no_object_reaches_no_server(
    one: tuple[Envoy, Upstream], method: str, path: str, status: int
) -> None:
    envoy, server = one
    before = len(server.seen)
    answer = call(envoy, method, path, {"content-length": "0"})
    assert answer.status == status
    assert answer.headers["allow"] == ("GET, HEAD, PUT" if status == 405 else None)
    assert len(server.seen) == before


@pytest.mark.parametrize(
    ("port", "method", "path", "status"),
    [
        ("probes", "GET", "/ready", 200),
        ("probes", "POST", "/ready", 404),
        ("probes", "GET", "/stats/prometheus", 404),
        ("metrics", "GET", "/stats/prometheus", 200),
        ("metrics", "GET", "/ready", 404),
        ("metrics", "GET", "/stats", 404),
        ("metrics", "GET", "/config_dump", 404),
        ("metrics", "POST", "/quitquitquit", 404),
        ("metrics", "POST", "/drain_listeners?graceful&skip_exit", 404),
    ],
)
def test_the_pods_own_address_has_probes_and_metrics_alone(
    one: tuple[Envoy, Upstream], port: str, method: str, path: str, status: int
) -> None:
    assert ask(one[0], port, method, path) == status


def ask(envoy: Envoy, port: str, method: str, path: str) -> int:
    """The status of an answer at one of the listeners."""
    link = http.client.HTTPConnection("127.0.0.1", envoy.ports[port], timeout=60)
    with contextlib.closing(link):
        link.request(method, path)
        return link.getresponse().status


@pytest.mark.parametrize("said", [b"", ASK, ASK[:9]], ids=["silent", "asking", "half"])
def test_who_floods_the_metrics_makes_no_envoy_unready(
    one: tuple[Envoy, Upstream], said: bytes
) -> None:
    """Those who flood leave before the next test, which needs metrics too."""
    envoy = one[0]
    with contextlib.ExitStack() as flood:
        for _ in range(600):
            link = socket.create_connection(("127.0.0.1", envoy.ports["metrics"]), timeout=60)
            flood.enter_context(contextlib.closing(link))
            with contextlib.suppress(OSError):  # Envoy closed it
                link.sendall(said)
        assert [ask(envoy, "probes", "GET", "/ready") for _ in range(20)] == [200] * 20
        stats = envoy.stats()
        assert stats["connection_limit.metrics.limited_connections"] > 0
        assert stats["connection_limit.metrics.active_connections"] <= SCRAPERS
    envoy.until("connection_limit.metrics.active_connections", 0)


def test_connections_that_are_not_used_are_closed_and_pfio_opens_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first moment on, so that nobody holds one without a word."""
    monkeypatch.setattr("components.object_cache.bootstrap.IDLE_SECONDS", 1)
    with (
        upstream() as server,
        routed(of_hosts(["node"]), {"node": server.port}, tmp_path) as (envoy, _),
    ):
        address = ("127.0.0.1", envoy.ports["objects"])
        connector = HTTPConnector(f"http://{address[0]}:{address[1]}{PREFIX}vision")
        assert connector.get("a") is not None
        with contextlib.closing(socket.create_connection(address, timeout=60)) as silent:
            assert silent.recv(1) == b""
        envoy.until("http.objects.downstream_cx_active", 0)
        assert connector.get("a") is None
        assert connector.get("a") is not None


def test_a_drain_leaves_probes_as_they_are(tmp_path: Path) -> None:
    """Kubernetes takes a pod that stops out of its Services by itself; a probe that fails would
    only restart it before its time."""
    with routed(of_hosts(["node"]), {"node": 1}, tmp_path) as (envoy, _):
        assert envoy.admin(DRAIN, "POST")[0] == 200
        assert ask(envoy, "probes", "GET", "/ready") == 200


def test_the_administration_can_not_end_envoy(one: tuple[Envoy, Upstream]) -> None:
    assert one[0].admin("/quitquitquit", "POST")[0] == 403
    assert one[0].admin("/runtime_modify?a=b", "POST")[0] == 403


def test_the_log_has_some_failures_alone_and_no_token(tmp_path: Path) -> None:
    with (
        upstream() as server,
        routed(of_hosts(["node"]), {"node": server.port}, tmp_path) as (envoy, _),
    ):
        port = server.port
        for _ in range(20):
            call(envoy, "GET", f"{PREFIX}vision/kept", {"authorization": TOKEN})
    with routed(of_hosts(["node"]), {"node": port}, tmp_path / "dead") as (envoy, _):
        path = f"{PREFIX}vision/lost?part=a-query"
        for _ in range(FAILURES):
            assert call(envoy, "GET", path, {"authorization": TOKEN}).status == 503
    before, after = ((tmp_path / f"{part}envoy.log").read_text() for part in ("", "dead/"))
    assert "kept" not in before
    lines = [json.loads(each) for each in after.splitlines() if each.startswith("{")]
    assert {each["path"] for each in lines} == {f"{PREFIX}vision/lost"}
    assert 0 < len(lines) < FAILURES // 2
    assert TOKEN not in after
    assert "a-query" not in after


FAILURES = 200
"""One in ten is logged: that none or half of so many are has a chance of less than 1e-9."""
