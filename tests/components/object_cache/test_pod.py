"""A pod's Envoy as the kubelet would start it: ports, arguments and hook as they stand."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.making.manifest import Json
from components.object_cache.maglev import Maglev
from schemas.facts.site import Site
from tests.kit.envoy import NEEDS_ENVOY
from tests.kit.object_cache_pod import POD
from tests.kit.object_cache_site import FOLDER, PREFIX, bodies, cache_of, of_hosts
from tests.kit.repository import ROOT
from tests.real.live.namespace import inside, why_not

pytestmark = [
    pytest.mark.cache,
    NEEDS_ENVOY,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is one"),
]

HOSTS = {"node-1": "127.0.1.1", "node-2": "127.0.1.2", "node-3": "127.0.1.3"}
KEY = "vision/s3://host/bucket/a//b.jpg"
ASKED = [
    (POD, 8080, "GET", PREFIX + KEY),
    (POD, 8080, "GET", "/metrics"),
    (POD, 9902, "GET", "/ready"),
    (POD, 9903, "GET", "/stats/prometheus"),
    (POD, 9903, "GET", "/stats/prometheus?filter=a"),
    (POD, 9903, "POST", "/quitquitquit"),
    (POD, 9903, "GET", "/ready"),
    (POD, 9902, "GET", "/stats/prometheus"),
    (POD, 9902, "GET", "/config_dump"),
    ("127.0.0.1", 9901, "GET", "/ready"),
    ("127.0.0.1", 9901, "GET", "/config_dump"),
    ("127.0.0.1", 9901, "POST", "/quitquitquit"),
    ("127.0.0.1", 9901, "POST", "/drain_listeners"),
    (POD, 9901, "GET", "/ready"),
]
STATUSES = [200, 404, 200, 200, 403, 404, 404, 404, 404, 200, 403, 403, 403, None]
"""The last: nobody listens for administration at the pod's own address."""


Said = tuple[list[Any], list[Any]]
"""Answers of the pod's Envoy before the hook, and after it."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """With the servers from the file."""
    return _asked(tmp_path_factory.mktemp("pod"), of_hosts(list(HOSTS)), "")


@pytest.fixture(scope="module")
def said_by_dns(tmp_path_factory: pytest.TempPathFactory) -> Said:
    """With the servers from DNS, by the name that their Service has."""
    made = of_hosts(list(HOSTS), discovery="dns")
    metadata = bodies(made)["Service/servers"]["metadata"]
    name = f"{metadata['name']}.{metadata['namespace']}.svc.cluster.local."
    return _asked(tmp_path_factory.mktemp("dns"), made, name)


def _asked(folder: Path, made: Site, name: str) -> Said:
    made = replace(made, hosts=tuple(each._replace(ip=HOSTS[each.name]) for each in made.hosts))
    found = bodies(made)
    spec = found["DaemonSet/envoy/cpu"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    _mounted(found, spec, container, folder)
    plan = {
        "servers": [(address, cache_of(made).server.port) for address in HOSTS.values()],
        "arguments": [_filled_in(word, folder) for word in container["args"]],
        "hook": container["lifecycle"]["preStop"]["exec"]["command"],
        "ready": _probe(container),
        "asked": ASKED,
        "name": name,
    }
    (folder / "plan.json").write_text(json.dumps(plan))
    command = inside([sys.executable, "-m", "tests.kit.object_cache_pod", str(folder)])
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout)
    return before, after


def _mounted(found: dict[str, Json], spec: Json, container: Json, folder: Path) -> None:
    """Write what the pod mounts."""
    of_volume = {each["name"]: each["configMap"]["name"] for each in spec["volumes"]}
    for mount in container["volumeMounts"]:
        at = Path(_filled_in(mount["mountPath"], folder))
        at.mkdir(parents=True)
        for name, text in found[f"ConfigMap/{of_volume[mount['name']]}"]["data"].items():
            (at / name).write_text(text.replace(FOLDER, f"{folder}/etc"))


def _filled_in(word: str, folder: Path) -> str:
    return word.replace(FOLDER, f"{folder}/etc").replace("$(NODE_NAME)", "node-1")


def _probe(container: Json) -> tuple[int, str, str]:
    """The kubelet's request."""
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}
    asked = container["readinessProbe"]["httpGet"]
    return ports[asked["port"]], "GET", asked["path"]


def test_each_address_answers_what_it_is_for(said: Said) -> None:
    assert dict(zip(ASKED, (each[0] for each in said[0]), strict=True)) == dict(
        zip(ASKED, STATUSES, strict=True)
    )


def test_an_object_is_at_the_server_that_the_table_says(said: Said) -> None:
    table = Maglev(tuple(HOSTS), cache_of(of_hosts(["a"])).table_size)
    _, connection, body = said[0][0]
    assert (connection, body) == (None, HOSTS[table.host_of(KEY)])


def test_after_the_hook_answers_ask_to_close(said: Said) -> None:
    line, status, connection, _ = said[1]
    assert line == "HTTP/1.1 200 OK"
    assert (status, connection) == (200, "close")


def test_servers_from_dns_are_keyed_by_address_and_port(said_by_dns: Said) -> None:
    made = of_hosts(["a"])
    keys = {f"{address}:{cache_of(made).server.port}": address for address in HOSTS.values()}
    table = Maglev(tuple(keys), cache_of(made).table_size)
    status, _, body = said_by_dns[0][0]
    assert (status, body) == (200, keys[table.host_of(KEY)])
