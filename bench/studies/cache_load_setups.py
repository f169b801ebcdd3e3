"""The ways to read an object that are compared: nginx, the cache server, and Envoy before each.

All serve the very same files: nginx has links to those that the cache server keeps.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cache_server.names import target
from cache_server_kit.process import OBJECTS, CacheServer, bucket
from cache_server_kit.reviews import fake_token, fake_token_reviews

from bench.studies.cache_load_client import Load
from components.object_cache.bootstrap import bootstrap
from components.object_cache.endpoints import FILE, endpoint_text
from controlplane.ports import free_port
from schemas.facts.site import Site
from schemas.load import load_site
from tests.kit.envoy import Envoy, run
from tests.kit.object_cache_site import FOLDER, Mount, cache_of, on_loopback

ROOT = Path(__file__).resolve().parents[2]
SITE = "tokyo-1"
OPEN, PRIVATE = "open", "private"
WORKERS = 2
NGINX, SERVER, TOKEN = "nginx", "cache server", "cache server, with a token"
ENVOY_SERVER, ENVOY_NGINX = "Envoy, cache server", "Envoy, nginx"
TWO_NGINX = "nginx as a proxy, nginx"
_NGINX = """
worker_processes {workers};
worker_rlimit_nofile 4096;
pid nginx.pid;
error_log error.log;
{user}
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000000;
  default_type application/octet-stream;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
  uwsgi_temp_path t4; scgi_temp_path t5;
  server {{
    listen 127.0.0.1:{port} backlog=1024;
    root files;
    location = /healthz {{ return 200; }}
  }}
  upstream servers {{
    hash $uri consistent;
    server 127.0.0.1:{port};
    keepalive 128;
    keepalive_requests 1000000000;
  }}
  server {{
    listen 127.0.0.1:{proxy} backlog=1024;
    location / {{
      proxy_pass http://servers;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffer_size 32k;
      proxy_buffers 8 32k;
      proxy_max_temp_file_size 0;
    }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Way:
    """The way of requests, and the processes that carry them."""

    name: str
    port: int
    bucket: str
    processes: Mapping[str, list[int]]
    token: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def base(self, load: Load) -> str:
        """The path of the objects of a load, up to their numbers."""
        return _base(self.bucket, load.size)


@contextmanager
def ways(folder: Path, loads: Sequence[Load]) -> Iterator[list[Way]]:
    """Everything that runs, with the objects in place; all of it ends with the block.

    TokenReviews are a fake: the server asks once and remembers, so it is no part of the load.
    """
    with ExitStack() as stack:
        token = fake_token("team-a")
        server = CacheServer(folder / "server", stack.enter_context(fake_token_reviews()).url)
        server.configure(
            bucket(OPEN, quota="2Gi", public=True),
            bucket(PRIVATE, quota="2Gi", namespaces=["team-a"]),
        )
        stack.enter_context(server)
        root = folder / "nginx"
        _fill(server, token, root / "files", loads)
        (nginx, proxy), workers = stack.enter_context(_nginx(root))
        own = _pid(server)
        to_server = stack.enter_context(_envoy(server.port, folder / "envoy-server"))
        to_nginx = stack.enter_context(_envoy(nginx, folder / "envoy-nginx"))
        yield [
            Way(NGINX, nginx, OPEN, {"nginx": workers}),
            Way(SERVER, server.port, OPEN, {"server": own}),
            Way(TOKEN, server.port, PRIVATE, {"server": own}, token),
            _before(ENVOY_SERVER, to_server, {"server": own}),
            _before(ENVOY_NGINX, to_nginx, {"nginx": workers}),
            Way(TWO_NGINX, proxy, OPEN, {"nginx": workers}),
        ]


def _before(name: str, envoy: Envoy, behind: Mapping[str, list[int]]) -> Way:
    return Way(name, envoy.ports["objects"], OPEN, {"Envoy": [envoy.pid], **behind})


def _pid(server: CacheServer) -> list[int]:
    assert server.process is not None
    return [server.process.pid]


def _base(name: str, size: int) -> str:
    return f"{OBJECTS}/{name}/{size}/"


def _fill(server: CacheServer, token: str, files: Path, loads: Sequence[Load]) -> None:
    """Put the objects, and link those that anybody may read to where nginx looks."""
    for size, count in {load.size: load.objects for load in loads}.items():
        for path in (f"{_base(name, size)}{n}" for name in (OPEN, PRIVATE) for n in range(count)):
            answer = server.put(path, os.urandom(size), token)
            assert answer.status == 201, answer
            found = target(path)
            assert found is not None
            (kept,) = (server.data / "objects").glob(f"*/{found.key.hex()}.*")
            if found.bucket == OPEN:
                link = files / path.removeprefix("/")
                link.parent.mkdir(parents=True, exist_ok=True)
                link.hardlink_to(kept)


@contextmanager
def _nginx(root: Path) -> Iterator[tuple[tuple[int, int], list[int]]]:
    """An nginx of its own: its port for files, that of a proxy to it, the ids of its workers.

    The proxy holds as much of an answer as Envoy does, and keeps nothing on disk.
    """
    port = free_port()
    proxy = next(each for each in iter(free_port, None) if each != port)
    # The files are for their owner alone, and a master that is root makes workers that are not.
    user = "user root;" if os.geteuid() == 0 else ""
    config = _NGINX.format(port=port, proxy=proxy, workers=WORKERS, user=user)
    (root / "nginx.conf").write_text(config, encoding="utf-8")
    command = ["nginx", "-p", f"{root}/", "-c", "nginx.conf", "-e", f"{root}/error.log"]
    process = subprocess.Popen([*command, "-g", "daemon off;"])
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 20
        while len(found := children.read_text("ascii").split()) < WORKERS:
            assert process.poll() is None and time.monotonic() < deadline, "nginx does not start"
            time.sleep(0.02)
        yield (port, proxy), [int(each) for each in found]
    finally:
        process.terminate()
        process.wait(timeout=20)


@contextmanager
def _envoy(port: int, folder: Path) -> Iterator[Envoy]:
    """An Envoy as a site has it, whose only server is at ``port``."""
    made = _site()
    (host,) = made.hosts
    mount = Mount(folder / "endpoints")
    mount.write({FILE: on_loopback(endpoint_text(made, cache_of(made)), {host.name: port})})
    paths = {f"{FOLDER}/endpoints": str(mount.folder), FOLDER: str(folder)}
    args = ("--service-node", "node", "--concurrency", str(WORKERS), "--log-level", "warning")
    with run(bootstrap(cache_of(made)), folder, paths=paths, args=args) as envoy:
        envoy.until("cluster.cache.membership_healthy", 1)
        yield envoy


def _site() -> Site:
    """The example site with one of the hosts that keep objects, and no other."""
    found = load_site(ROOT, SITE).site
    assert found is not None, f"sites/{SITE}.yaml has problems"
    return replace(found, hosts=tuple(found.cache_hosts()[:1]))
