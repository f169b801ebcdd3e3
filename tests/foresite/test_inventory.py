"""The inventory of a site in a cluster, also where an API of others is broken.

kubectl is a fake: a proxy that answers from a file. Everything before it is real.
"""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from components.making.manifest import SITE_LABEL, Json, Target
from foresite.command import UsageError
from foresite.delivery.servers import inventory, served
from foresite.delivery.servers.apiserver import Kubectl, NoAnswerError
from foresite.delivery.servers.inventory import DENIED, NO_ANSWER, Inventory, take

SITE = "lab-1"
METRICS = "metrics.k8s.io/v1beta1"
_FAKE_KUBECTL = """#!{python}
import http.server, json, pathlib, socketserver, sys
socket = next(each.partition("=")[2] for each in sys.argv if each.startswith("--unix-socket="))
folder = pathlib.Path({folder!r})
answers = json.loads((folder / "answers.json").read_text())

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(folder / "asked", "a+") as asked:
            asked.write(self.path + "\\n")
            asked.seek(0)
            times = asked.read().splitlines().count(self.path)
        status, body, busy = (*answers.get(self.path, (404, {{}})), 0)[:3]
        status = 429 if times <= busy else status
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def address_string(self):
        return "test"

    def log_message(self, *_):
        pass

class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

server = Server(socket, Handler)
print("serving", flush=True)
server.serve_forever()
"""


def kind(name: str, plural: str) -> Json:
    return {"resource": plural, "responseKind": {"kind": name}, "verbs": ["get", "list"]}


def group(api: str, *resources: Json, **more: str) -> Json:
    name, _, version = api.rpartition("/")
    return {"metadata": {"name": name}, "versions": [
        {"version": version, "resources": list(resources), **more}]}  # fmt: skip


def discovery(*groups: Json) -> Json:
    return {"kind": "APIGroupDiscoveryList", "items": list(groups)}


def listing(api: str, plural: str) -> str:
    base = f"/apis/{api}" if "/" in api else f"/api/{api}"
    return f"{base}/{plural}?{urlencode({'labelSelector': f'{SITE_LABEL}={SITE}'})}"


class Cluster:
    """The fake's answers, by path: a status, a body, and how often it is too busy at first. A test
    changes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.groups: list[Json] = []
        item = {"metadata": {"name": "a", "namespace": SITE, "uid": "1"}}
        self.answers: dict[str, tuple[Any, ...]] = {
            "/api": (200, discovery(group("v1", kind("ConfigMap", "configmaps")))),
            listing("v1", "configmaps"): (200, {"items": [item]}),
        }

    def serves(self, api: str, *resources: Json, **more: str) -> None:
        self.groups.append(group(api, *resources, **more))

    def take(self, *needed: tuple[str, str]) -> Inventory:
        """The inventory, where the site has ConfigMaps and the ``needed`` objects (kind by API)."""
        self.answers["/apis"] = (200, discovery(*self.groups))
        (self.folder / "answers.json").write_text(json.dumps(self.answers))
        path = self.folder / "kubectl"
        path.write_text(_FAKE_KUBECTL.format(python=sys.executable, folder=str(self.folder)))
        path.chmod(0o755)
        wanted = {(api.rpartition("/")[0], name): api for api, name in needed}
        wanted["", "ConfigMap"] = "v1"
        return take(Kubectl(path, {}), "mgmt", Target.MANAGEMENT, SITE, wanted)

    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster with one object of the site; nobody waits long for an answer."""
    monkeypatch.setattr(inventory, "_LIMIT", 0.3)
    monkeypatch.setattr(served, "_SETTLE", 0.3)
    monkeypatch.setattr(inventory, "PATIENCE", 5.0)
    return Cluster(tmp_path)


def names(found: Inventory) -> list[str]:
    return [str(each) for each in found.objects]


@pytest.mark.parametrize(
    "resource",
    [
        {"resource": "x", "responseKind": None, "verbs": None},
        {"resource": "x", "subresources": [{"subresource": "y"}]},
        {"resource": "x", "responseKind": {"kind": "X"}, "verbs": None},
    ],
)
def test_a_resource_without_verbs_or_kind_is_nothing_to_list(
    cluster: Cluster, resource: Json
) -> None:
    cluster.serves("example.com/v1", resource)
    cluster.groups.append({"metadata": {"name": "empty.example.com"}})
    assert names(found := cluster.take()) == ["ConfigMap lab-1/a"]
    assert found.unseen == {}


def test_a_list_may_be_null(cluster: Cluster) -> None:
    cluster.serves(METRICS, kind("NodeMetrics", "nodes"))
    cluster.answers[listing(METRICS, "nodes")] = (200, {"items": None})
    assert names(cluster.take()) == ["ConfigMap lab-1/a"]


@pytest.mark.parametrize(
    ("status", "why"), [(503, NO_ANSWER), (500, NO_ANSWER), (403, DENIED), (405, DENIED)]
)
def test_an_api_of_others_that_is_broken_is_named_and_the_rest_is_seen(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, status: int, why: str
) -> None:
    monkeypatch.setattr(inventory, "_THREADS", 1)  # so that what is sound is asked for after it
    cluster.serves(METRICS, kind("NodeMetrics", "nodes"), kind("PodMetrics", "pods"))
    cluster.serves("example.com/v1", kind("Thing", "things"))
    for plural in ("nodes", "pods"):
        cluster.answers[listing(METRICS, plural)] = (status, {"message": "no endpoints"})
    things = {"items": [{"metadata": {"name": "b", "uid": "2"}}]}
    cluster.answers[listing("example.com/v1", "things")] = (200, things)
    found = cluster.take(("example.com/v1", "Thing"))
    assert names(found) == ["ConfigMap lab-1/a", "Thing b"]
    assert found.unseen == {why: ("NodeMetrics of metrics.k8s.io", "PodMetrics of metrics.k8s.io")}


def test_a_server_that_is_busy_is_not_broken(cluster: Cluster) -> None:
    """Right after its start it makes room for each kind: longer than a broken one is waited for."""
    cluster.serves("example.com/v1", kind("Thing", "things"))
    things = {"items": [{"metadata": {"name": "b", "uid": "2"}}]}
    cluster.answers[listing("example.com/v1", "things")] = (200, things, 4)
    found = cluster.take()
    assert names(found) == ["ConfigMap lab-1/a", "Thing b"] and found.unseen == {}


def test_a_stale_group_is_named_and_not_asked(cluster: Cluster) -> None:
    cluster.serves(METRICS, kind("NodeMetrics", "nodes"), freshness="Stale")
    found = cluster.take()
    assert found.unseen == {NO_ANSWER: ("metrics.k8s.io",)}
    assert names(found) == ["ConfigMap lab-1/a"]
    assert not any("metrics" in each for each in cluster.asked())


def test_a_kind_that_the_site_has_is_not_taken_for_lost_where_its_group_is_stale(
    cluster: Cluster,
) -> None:
    cluster.serves("example.com/v1", freshness="Stale")
    with pytest.raises(NoAnswerError, match=r"whether it serves Thing of example\.com"):
        cluster.take(("example.com/v1", "Thing"))


def test_a_server_that_lists_no_kinds_at_once_is_no_empty_one(cluster: Cluster) -> None:
    cluster.answers["/api"] = (200, {"kind": "APIVersions", "versions": ["v1"]})
    with pytest.raises(UsageError, match=r"needs Kubernetes 1\.26"):
        cluster.take()


def test_a_kind_that_the_site_has_is_waited_for_and_not_left_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "PATIENCE", 1.0)
    cluster.answers[listing("v1", "configmaps")] = (503, {"message": "storage is gone"})
    with pytest.raises(NoAnswerError, match="storage is gone"):
        cluster.take()
