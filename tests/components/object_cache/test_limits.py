"""The limit of requests by namespace in the real Envoy, with a real API server."""

import contextlib
import http.client
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from pfio.cache import HTTPConnector  # type: ignore[import-untyped]

from components.object_cache.bootstrap import bootstrap
from components.object_cache.limits import limits
from components.object_cache.names import ENDPOINTS
from components.object_cache.service import FILE, endpoint_text
from controlplane import ControlPlane
from controlplane.access import read_kubeconfig
from tests.kit.cache_tokens import Pod, new_pod
from tests.kit.envoy import NEEDS_ENVOY, Envoy, Upstreams, run
from tests.kit.object_cache_site import FOLDER, PREFIX, Mount, cache_of, of_hosts, on_loopback
from tests.kit.web import Handler

pytestmark = [pytest.mark.controlplane, pytest.mark.cache, NEEDS_ENVOY]
LIMIT = 10
MADE = of_hosts(["node"], envoy={"requests_per_second": LIMIT})
TRIES = 5000
"""Requests that are sent at most: a second lets LIMIT of them through."""
AUDIENCE = "https://kubernetes.default.svc"
"""The API server's own."""
API = "kubernetes"
"""The cluster of the API server."""
FETCHED, FAILED = (f"http.objects.jwt_authn.jwks_fetch_{each}" for each in ("success", "failed"))
ELSEWHERE = "127.0.0.2"


@pytest.fixture(scope="module")
def pods(api: ControlPlane) -> Iterator[tuple[Pod, Pod]]:
    """Pods of two namespaces."""
    spec = {"containers": [{"name": "worker", "image": "registry.example/train:1"}]}
    with contextlib.closing(api.client()) as client:
        yield new_pod(client, "limits-busy", spec), new_pod(client, "limits-quiet", spec)


def answer(name: str, method: str, _path: str) -> tuple[int, bytes]:
    """As a cache server: PFIO takes nothing but 201 for kept."""
    return 201 if method == "PUT" else 200, name.encode()


@contextmanager
def limited(
    folder: Path, api: ControlPlane, port: int, token: str
) -> Iterator[tuple[Envoy, Mount]]:
    """An Envoy with a limit, whose API server is at a port, and which asks it often; and the volume
    of its own token."""
    cache = cache_of(MADE)
    text = json.dumps(bootstrap(cache))
    for slow in ("300s", "10s"):
        text = text.replace(f'_duration": "{slow}"', '_duration": "1s"')
    body = json.loads(text)
    (cluster,) = (each for each in body["static_resources"]["clusters"] if each["name"] == API)
    endpoint = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"][0]["endpoint"]
    endpoint["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": port}
    authority = read_kubeconfig(api.kubeconfig()).authority
    volume = Mount(folder / "token")
    volume.write({"token": token, "ca.crt": authority})
    files = {
        f"bootstrap/{name}": text.replace(FOLDER, str(folder))
        for name, text in limits(cache).files.items()
    }
    with Upstreams(["node"], answer) as nodes:
        endpoints = on_loopback(endpoint_text(MADE, cache), nodes.ports)
        Mount(folder / ENDPOINTS).write({FILE: endpoints})
        paths = {f"{FOLDER}/endpoints": str(folder / ENDPOINTS), FOLDER: str(folder)}
        with run(body, folder, files=files, paths=paths) as envoy:
            yield envoy, volume


def ask(envoy: Envoy, token: str = "", own: str = "127.0.0.1") -> Iterator[int]:
    """The statuses of one request after the other."""
    link = http.client.HTTPConnection("127.0.0.1", envoy.ports["objects"], 60, (own, 0))
    with contextlib.closing(link):
        while True:
            fields = {"Authorization": f"Bearer {token}"} if token else {}
            link.request("GET", f"{PREFIX}vision/a", headers=fields)
            answer = link.getresponse()
            answer.read()
            assert answer.headers["retry-after"] == ("1" if answer.status == 429 else None)
            yield answer.status


def floods(envoy: Envoy, token: str = "", own: str = "127.0.0.1") -> bool:
    """Ask until the limit is reached; True if it was."""
    return 429 in islice(ask(envoy, token, own), TRIES)


def passes(envoy: Envoy, token: str = "", own: str = "127.0.0.1") -> bool:
    """True if as many requests at once pass as may."""
    return list(islice(ask(envoy, token, own), LIMIT)) == [200] * LIMIT


def test_a_namespace_that_floods_takes_nothing_from_others(
    api: ControlPlane, pods: tuple[Pod, Pod], tmp_path: Path
) -> None:
    """With the real API server's keys, which a token of any ServiceAccount may read."""
    port = urlsplit(read_kubeconfig(api.kubeconfig()).server).port
    assert port is not None
    busy, quiet = (pod.token("cache") for pod in pods)
    forged = f"{quiet.rpartition('.')[0]}.{busy.rpartition('.')[2]}"
    with limited(tmp_path, api, port, pods[0].token(AUDIENCE)) as (envoy, _):
        more(envoy, FETCHED)
        assert floods(envoy, busy)
        assert floods(envoy, forged), "as any client without a good token"
        assert floods(envoy, pods[1].token("another")), "for another audience"
        assert passes(envoy, quiet)
        assert floods(envoy)
        assert passes(envoy, own=ELSEWHERE), "an address has a limit of its own"
        assert floods(envoy, quiet, ELSEWHERE)
        connector = HTTPConnector(f"http://127.0.0.1:{envoy.ports['objects']}{PREFIX}vision")
        body = bytes(2**20)
        assert any(floods(envoy) and not connector.put("a", body) for _ in range(TRIES))
        assert any(connector.put("a", body) for _ in range(TRIES)), "PFIO goes on"


class Keys(ThreadingHTTPServer):
    """The API server's endpoint of keys, which tests turn off and on; it asks for this token."""

    daemon_threads = True
    keys: bytes | None = None
    token = "first"

    def __init__(self, api: ControlPlane) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificates = api.directory / "certs"
        context.load_cert_chain(certificates / "apiserver.crt", certificates / "apiserver.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(Handler):
    server: Keys

    def do_GET(self) -> None:
        good = self.headers["authorization"] == f"Bearer {self.server.token}"
        found = self.server.keys if good and self.path == "/openid/v1/jwks" else None
        self.answer(200 if found else 503, found or b"")


def keys(api: ControlPlane) -> str:
    """The keys as the API server gives them: its client asks for another content type."""
    access = read_kubeconfig(api.kubeconfig())
    context = ssl.create_default_context(cadata=access.authority)
    url, headers = f"{access.server}/openid/v1/jwks", {"Authorization": f"Bearer {access.token}"}
    with urlopen(Request(url, headers=headers), context=context) as answer:
        return str(answer.read().decode())


def more(envoy: Envoy, name: str) -> None:
    """Wait until a counter has grown by two: the first may have been under way before."""
    aim, end = envoy.stats()[name] + 2, time.monotonic() + 120
    while envoy.stats()[name] < aim:
        assert time.monotonic() < end, name
        time.sleep(0.1)


def test_without_keys_each_address_has_a_limit_until_keys_come(
    api: ControlPlane, pods: tuple[Pod, Pod], tmp_path: Path
) -> None:
    busy, quiet = (pod.token("cache") for pod in pods)
    good = keys(api)
    server = Keys(api)
    with limited(tmp_path, api, server.server_address[1], "first") as (envoy, volume):
        more(envoy, FAILED)  # the API server is away
        assert floods(envoy, busy)
        assert passes(envoy, busy, ELSEWHERE)
        server.keys = good.replace('"kid":"', '"kid":"old-').encode()
        more(envoy, FETCHED)
        assert floods(envoy, busy)
        assert passes(envoy, busy, "127.0.0.3")
        server.keys = good.encode()
        more(envoy, FETCHED)
        assert floods(envoy, busy)
        assert passes(envoy, quiet)
        server.token = "second"  # the kubelet writes another one
        more(envoy, FAILED)
        assert floods(envoy, busy)
        assert passes(envoy, quiet), "the keys that it has hold meanwhile"
        volume.write({"token": server.token, "ca.crt": (volume.folder / "ca.crt").read_text()})
        more(envoy, FETCHED)
    server.shutdown()
