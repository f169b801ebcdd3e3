"""A small site with an object cache, its variations, and its Envoy on the loopback."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from components.making.manifest import Json
from components.object_cache.bootstrap import bootstrap
from components.object_cache.envoy import arguments
from components.object_cache.names import ENDPOINTS
from components.object_cache.objects import objects
from components.object_cache.service import FILE, endpoint_text
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from schemas.reading.host_list import Host
from tests.kit import accelerator_sites
from tests.kit.envoy import Envoy, run

POOLS = ["v100", "h100"]
"""The pools that keep objects: 7 hosts."""
CACHE: Json = {
    "pools": POOLS,
    "data_path": "/srv/nvme/cache",
    "capacity": "2Ti",
    "server": {
        "image": f"registry.example/cache/cache-server:v1@sha256:{'ab' * 32}",
        "args": ["--port=8081"],
        "env": {"LEVEL": "info", "COLOUR": "no"},
    },
    "buckets": [
        {"name": "vision", "quota": "4Ti", "namespaces": ["vision"]},
        {"name": "open", "quota": "1Ti", "public": True, "namespaces": ["vision", "biology"]},
    ],
}
SCHEDULING: Json = {
    "teams": [
        {"name": name, "namespaces": [name], "accelerators": {}} for name in ("biology", "vision")
    ]
}
PREFIX = "/v1/objects/"
FOLDER = "/etc/envoy"
"""Where all that Envoy reads is in its pod."""


def site(server: Json | None = None, **changed: Any) -> Site:
    """The site with fields of its cache, and of the cache's server, changed."""
    cache = {**CACHE, "server": {**CACHE["server"], **(server or {})}, **changed}
    found = accelerator_sites.loaded(None, scheduling=SCHEDULING, cache=cache)
    assert found.site is not None, [str(each) for each in found.problems]
    return found.site


def cache_of(made: Site) -> Cache:
    """The cache of a site that has one."""
    assert made.file.cache is not None
    return made.file.cache


def of_hosts(names: Sequence[str], **changed: Any) -> Site:
    """The site with these hosts alone, all of which keep objects, in two zones."""
    hosts = tuple(
        Host(name, "v100", "ab"[n % 2], "r1", "", "", f"10.32.{n // 250}.{n % 250 + 1}", "", n + 2)
        for n, name in enumerate(names)
    )
    return replace(site(pools=["v100"], **changed), hosts=hosts)


def bodies(made: Site) -> dict[str, Json]:
    """The objects of the cache by logical name."""
    return {each.name: each.body for each in objects(made)}


def endpoints(made: Site) -> dict[str, Json]:
    """The address of each server in the file, by its key."""
    (assignment,) = json.loads(endpoint_text(made, cache_of(made)))["resources"]
    return {
        each["metadata"]["filter_metadata"]["envoy.lb"]["hash_key"]: each["endpoint"]["address"][
            "socket_address"
        ]
        for group in assignment["endpoints"]
        for each in group["lb_endpoints"]
    }


def on_loopback(text: str, ports: Mapping[str, int]) -> str:
    """The endpoints with each server at 127.0.0.1 and the port of its key, and nothing else
    changed."""
    found = json.loads(text)
    for group in found["resources"][0]["endpoints"]:
        for each in group["lb_endpoints"]:
            key = each["metadata"]["filter_metadata"]["envoy.lb"]["hash_key"]
            address = each["endpoint"]["address"]["socket_address"]
            address |= {"address": "127.0.0.1", "port_value": ports[key]}
    return json.dumps(found)


class Mount:
    """A folder as the kubelet makes one of a ConfigMap: files are links through ``..data``, which
    is exchanged as a whole (Kubernetes 1.34, pkg/volume/util/atomic_writer.go)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = 0
        folder.mkdir(parents=True)

    def write(self, files: Mapping[str, str]) -> None:
        """Exchange what the folder has."""
        self.version += 1
        own = self.folder / f"..{self.version}"
        own.mkdir()
        for name, text in files.items():
            (own / name).write_text(text, encoding="utf-8")
        link = self.folder / "..data_tmp"
        link.symlink_to(own.name)
        link.rename(self.folder / "..data")
        for name in files:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")


@contextmanager
def routed(
    made: Site, ports: Mapping[str, int], folder: Path, changed: Json | None = None
) -> Iterator[tuple[Envoy, Mount]]:
    """An Envoy with the bootstrap and the endpoints of a site, whose servers are on the loopback.

    ``changed`` are fields of its cluster that a test sets, to wait less.
    """
    body = bootstrap(cache_of(made))
    body["static_resources"]["clusters"][0] |= changed or {}
    mount = Mount(folder / ENDPOINTS)
    mount.write({FILE: on_loopback(endpoint_text(made, cache_of(made)), ports)})
    paths = {f"{FOLDER}/endpoints": str(mount.folder), FOLDER: str(folder)}
    with run(body, folder, paths=paths, args=pod_arguments()) as envoy:
        yield envoy, mount


def pod_arguments() -> list[str]:
    """The pods' arguments, but for what the kubelet fills in, and what ``run`` gives itself."""
    found = iter(arguments(workers=1))
    args = []
    for word in found:
        if word == "--config-path":
            next(found)
        elif word != "--disable-hot-restart":
            args.append("node" if word == "$(NODE_NAME)" else word)
    return args
