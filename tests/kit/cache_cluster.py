"""An object cache on the loopback, of real parts: API server, Envoy, servers, tokens of pods.

Buckets, endpoints, bootstrap, rights and arguments are those that the component makes for a site
with three hosts. Changed is at which addresses things listen, and how long a server remembers an
accepted token. Each server has an address of its own, as hosts do: on a shared one somebody else's
test could take the port of a server that is killed, and answer in its place.
"""

import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from components.making.manifest import Json
from components.object_cache.bootstrap import bootstrap
from components.object_cache.buckets import bucket_text
from components.object_cache.maglev import Maglev
from components.object_cache.server import rights
from components.object_cache.service import endpoint_text
from controlplane import Client, ControlPlane
from controlplane.access import read_kubeconfig
from controlplane.server import Binaries, running
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from tests.kit.accelerator_sites import site as accelerators
from tests.kit.envoy import Envoy, run
from tools.toolchain import locate

LOOPBACK = "127.0.0.1"
SECONDS = 120.0
REMEMBERED = 2
"""Seconds for which a server does not ask about an accepted token again; its default is 300."""
CACHE: Json = {
    "namespace": "caches",
    "pools": ["h100"],
    "data_path": "/srv/nvme/cache",
    "capacity": "2Gi",
    "audience": "objects",
    "server": {
        "image": f"registry.example/cache/server:v1@sha256:{'c' * 64}",
        "args": [
            "--config=/etc/cache/buckets.json",
            "--data=/srv/nvme/cache",
            "--capacity=2Gi",
            "--audience=objects",
            "--port=8081",
        ],
    },
    "buckets": [
        {"name": "pictures", "quota": "2Gi", "namespaces": ["vision"]},
        {"name": "small", "quota": "1Gi", "namespaces": ["vision"]},
        {"name": "everybody", "quota": "1Gi", "namespaces": ["vision"], "public": True},
        {"name": "words", "quota": "1Gi", "namespaces": ["language"]},
    ],
}


SMALL = "3Mi"
"""Quota of the bucket ``small``: less than a site file may say, so that it is full soon."""


class Reply(NamedTuple):
    """The answer to a request."""

    status: int
    body: bytes


Address = tuple[str, int]


class Server:
    """A cache server in a process of its own, as one host runs it."""

    def __init__(self, name: str, folder: Path, command: list[str], address: Address) -> None:
        self.name, self.folder, self.address = name, folder, address
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it is healthy."""
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        end = time.monotonic() + SECONDS
        while True:
            try:
                if ask(self.address, "GET", "/healthz").status == 200:
                    return
            except OSError:
                pass  # it does not listen yet
            assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < end, f"{self.name} does not get healthy"
            time.sleep(0.05)

    def kill(self) -> None:
        """End it at once, in the middle of whatever it does."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


class Cluster(NamedTuple):
    """All parts, and the files of clients in ``folder``."""

    plane: ControlPlane
    client: Client
    site: Site
    cache: Cache
    servers: Mapping[str, Server]
    envoy: Envoy
    folder: Path

    @property
    def address(self) -> Address:
        """The address where Envoy listens for clients."""
        return LOOPBACK, self.envoy.ports["objects"]

    def url(self, bucket: str) -> str:
        """The URL of a bucket that pods get, with Envoy's place here for the Service's name."""
        name = f"{self.cache.service}.{self.cache.namespace}.svc"
        found = self.cache.url(bucket)
        assert found.startswith(f"http://{name}/")
        return found.replace(name, ":".join(map(str, self.address)))

    def owner(self, bucket: str, name: str) -> Server:
        """The server that keeps an object, as the component predicts it."""
        return self.servers[_table(self).host_of(f"{bucket}/{name}")]

    def holders(self, bucket: str, name: str, token: str) -> dict[str, bytes]:
        """Each server's copy of an object, asked past Envoy; servers without it are left out."""
        found = {}
        for server in self.servers.values():
            reply = ask(server.address, "GET", f"/v1/objects/{bucket}/{name}", token)
            assert reply.status in (200, 404), (server.name, reply)
            if reply.status == 200:
                found[server.name] = reply.body
        return found

    def codes(self) -> dict[int, int]:
        """How many answers of each status Envoy has given for the servers since it started."""
        prefix = "cluster.cache.upstream_rq_"
        found = {
            name.removeprefix(prefix): value
            for name, value in self.envoy.stats().items()
            if name.startswith(prefix)
        }
        return {int(code): count for code, count in found.items() if re.fullmatch(r"\d{3}", code)}

    def all_well(self) -> None:
        """Wait until Envoy sends requests to every server: one that failed is left out for 30 s."""
        self.envoy.until("cluster.cache.membership_healthy", len(self.servers), SECONDS)


_TABLES: dict[str, Maglev] = {}


def _table(cluster: Cluster) -> Maglev:
    if cluster.site.name not in _TABLES:
        _TABLES[cluster.site.name] = Maglev(tuple(cluster.servers), cluster.cache.table_size)
    return _TABLES[cluster.site.name]


def ask(
    address: Address, method: str, path: str, token: str | None = None, body: bytes | None = None
) -> Reply:
    """One request on a connection of its own, its path sent as it stands."""
    link = http.client.HTTPConnection(*address, timeout=30)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        link.request(method, path, body, headers)
        answer = link.getresponse()
        return Reply(answer.status, answer.read())
    finally:
        link.close()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """The cache of a site with three hosts, running; what it writes is in ``folder``."""
    tools = locate(["controlplane"])
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    with running(folder / "controlplane", binaries) as plane, _cluster(plane, folder) as found:
        yield found


@contextmanager
def _cluster(plane: ControlPlane, folder: Path) -> Iterator[Cluster]:
    site = _site()
    cache = site.file.cache
    assert cache is not None
    with ExitStack() as stack:
        client = stack.enter_context(plane.client())
        access = _rights(plane, client, site, cache, folder)
        servers: dict[str, Server] = {}
        network = f"127.{random.randint(1, 254)}.{random.randint(0, 255)}"
        for number, host in enumerate(site.cache_hosts(), start=1):
            command = _command(site, cache, folder / host.name, f"{network}.{number}")
            address = f"{network}.{number}", cache.server.port
            server = Server(host.name, folder / host.name, [*command, *access], address)
            servers[host.name] = server
            stack.callback(server.kill)
            server.start()
        text = _moved(endpoint_text(site, cache), servers)
        here = folder / "envoy"
        envoy = stack.enter_context(
            run(
                bootstrap(cache),
                here,
                files={"endpoints/endpoints.json": text},
                paths={"/etc/envoy": str(here)},
            )
        )
        found = Cluster(plane, client, site, cache, servers, envoy, folder)
        found.all_well()
        yield found


def _site() -> Site:
    site = accelerators(cache=CACHE)
    assert site.file.cache is not None
    buckets = [
        each.model_copy(update={"quota": SMALL}) if each.name == "small" else each
        for each in site.file.cache.buckets
    ]
    cache = site.file.cache.model_copy(update={"buckets": buckets})
    return replace(site, file=site.file.model_copy(update={"cache": cache}))


def _rights(
    plane: ControlPlane, client: Client, site: Site, cache: Cache, folder: Path
) -> list[str]:
    """Make the servers' account and role; the flags by which a server reaches the API server."""
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cache.namespace}})
    for manifest in rights(site, cache):
        client.apply(manifest.body)
    path = f"/api/v1/namespaces/{cache.namespace}/serviceaccounts/cache-server/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    (folder / "server-token").write_text(client.request("POST", path, asked)["status"]["token"])
    access = read_kubeconfig(plane.kubeconfig())
    (folder / "ca.crt").write_text(access.authority)
    return [
        f"--api-server={access.server}",
        f"--api-ca={folder / 'ca.crt'}",
        f"--api-token-file={folder / 'server-token'}",
        f"--review-seconds={REMEMBERED}",
    ]


def _command(site: Site, cache: Cache, folder: Path, address: str) -> list[str]:
    """The server with the site's arguments, its files in a folder that is made."""
    (folder / "data").mkdir(parents=True)
    (folder / "buckets.json").write_text(bucket_text(site, cache))
    moved = {
        cache.server.config_path: str(folder / "buckets.json"),
        cache.data_path: str(folder / "data"),
    }
    flags = [each.partition("=") for each in cache.server.args]
    own = [f"{flag}={moved.get(value, value)}" for flag, _, value in flags]
    return [sys.executable, "-m", "cache_server", *own, f"--host={address}"]


def _moved(text: str, servers: Mapping[str, Server]) -> str:
    """The endpoints with the addresses that the servers have here."""
    body = json.loads(text)
    for zone in body["resources"][0]["endpoints"]:
        for each in zone["lb_endpoints"]:
            name = each["metadata"]["filter_metadata"]["envoy.lb"]["hash_key"]
            place = each["endpoint"]["address"]["socket_address"]
            assert place["port_value"] == servers[name].address[1]
            place["address"] = servers[name].address[0]
    return json.dumps(body)
