"""Waves of the root wait for the rules of health, by Argo CD's own gitops-engine and Lua on a real
API server (tests/kit/argocd). The child Applications' statuses are written by hand, in place of
Argo CD's application controller."""

import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from components.engines import argocd
from components.making.dump import dump_all
from components.making.manifest import Json
from controlplane import Client, ControlPlane
from controlplane.trial import serve
from tests.components.engines.test_argocd_health import CASES, RULES, TABLES, edited, timed
from tests.kit.engine_fleets import MANAGEMENT, fleet, site
from tests.kit.go_programs import program
from tests.kit.repository import ROOT
from tests.kit.trial import count

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]
KINDS = {
    "application": ("argoproj.io/v1alpha1", "Application"),
    "machines": ("cluster.x-k8s.io/v1beta2", "MachineDeployment"),
    "cluster": ("cluster.x-k8s.io/v1beta2", "Cluster"),
    "ready": ("operator.cluster.x-k8s.io/v1alpha2", "CoreProvider"),
    "calm": ("cluster.x-k8s.io/v1beta2", "MachineHealthCheck"),
}
APP = KINDS["application"]
PATIENCE_SECONDS, WATCH_SECONDS = 60.0, 2.0
RING = ("management.mgmt", "a", "held")


def written(folder: Path, tag: str) -> Path:
    """The fleet's files: a management cluster, and sites in rings 0 (one of two is held), 1 (two)
    and 2."""
    members = [
        site("a", 0), site("held", 0, waited=False), site("b", 1), site("bad", 1), site("c", 2)
    ]  # fmt: skip
    members = [each._replace(context=None) for each in members]
    for path, bodies in argocd.files(fleet(MANAGEMENT, *members, tag=tag)).items():
        (folder / tag / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / tag / path).write_text(dump_all(bodies))
    return folder / tag


class Root:
    """The root's sync of a tag, and the Applications that it makes."""

    def __init__(self, client: Client, process: subprocess.Popen[str], tag: str) -> None:
        self._client, self._process, self._tag = client, process, f"refs/tags/{tag}"

    def given(self) -> set[str]:
        """The names of the Applications that have the tag."""
        if not count(self._client, *APP, "argocd"):  # or the kind is new to the server
            return set()
        at, found = self._tag, self._client.items(*APP, "argocd")
        return {e["metadata"]["name"] for e in found if e["spec"]["source"]["targetRevision"] == at}

    def has_given(self, *names: str) -> None:
        """Wait until these Applications and no others have the tag, and see that it stays so."""
        self._wait(lambda: self.given() >= set(names))
        time.sleep(WATCH_SECONDS)
        assert self.given() == set(names)

    def says(
        self, name: str, phase: str = "Succeeded", tag: str = "", health: str = "Healthy"
    ) -> None:
        """Write an Application's status, as Argo CD does once it was synced (to an older tag)."""
        (body,) = (e for e in self._client.items(*APP, "argocd") if e["metadata"]["name"] == name)
        source = {**body["spec"]["source"], "targetRevision": tag or self._tag}
        now = timed("-1")
        state = {"phase": phase, "message": "x", "startedAt": now, "finishedAt": now}
        state |= {"operation": {}, "syncResult": {"revision": "1", "source": source}}
        compared = {"source": source, "destination": {}}
        sync = {"status": "Synced" if phase == "Succeeded" else "OutOfSync", "comparedTo": compared}
        status = {"sync": sync, "operationState": state, "health": {"status": health}}
        self._client.apply({**body, "status": status, "metadata": _named(body)})

    def ends(self) -> list[Json]:
        """Wait for the end of the sync; its states."""
        out, error = self._process.communicate(timeout=PATIENCE_SECONDS)
        assert self._process.returncode == 0, error
        return [json.loads(line) for line in out.splitlines()]

    def _wait(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not done():
            assert self._process.poll() is None, self._process.communicate()
            assert time.monotonic() < end, self.given()
            time.sleep(0.1)


def _named(body: Json) -> Json:
    found = body["metadata"]
    return {key: found[key] for key in ("name", "namespace", "labels", "annotations")}


def engine(top: Path) -> list[str | Path]:
    """The command of Argo CD's engine with the rules of a fleet."""
    return [program(ROOT / "tests" / "kit" / "argocd"), top / "install/argocd-cm.yaml"]


@contextlib.contextmanager
def syncing(api: ControlPlane, client: Client, folder: Path, tag: str) -> Iterator[Root]:
    """The root, while it syncs a tag. A soak is of no minutes here."""
    top = written(folder, tag)
    command = [*engine(top), api.kubeconfig(), top / "fleet", "1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Root(client, process, tag)
        finally:
            process.kill()


def test_rings_wait_stop_and_go_on_with_the_next_tag(api: ControlPlane, tmp_path: Path) -> None:
    place = {"name": "x", "namespace": "argocd"}
    serve(api, [{"apiVersion": APP[0], "kind": APP[1], "metadata": place}])
    with api.client() as client:
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argocd"}})
        with syncing(api, client, tmp_path, "fleet-1") as root:
            root.has_given("management.mgmt")
            root.says("management.mgmt")
            root.has_given(*RING)
            root.says("a", health="Progressing")
            root.has_given(*RING)
            root.says("a")
            ring = (*RING, "b", "bad")
            root.has_given(*ring)
            root.says("b")
            root.has_given(*ring)
            root.says("bad", phase="Failed")
            assert root.ends()[-1]["phase"] == "Failed"
            assert root.given() == set(ring)
        with syncing(api, client, tmp_path, "fleet-2") as root:
            root.has_given("management.mgmt")
            # Healthy, synced and soaked, and all of it at the older tag.
            root.says("management.mgmt", tag="refs/tags/fleet-1")
            root.has_given("management.mgmt")
            root.says("management.mgmt")
            root.has_given(*RING)
            root.says("a", phase="Failed", tag="refs/tags/fleet-1")
            root.has_given(*RING)
            root.says("a")
            root.has_given(*ring)
            root.says("b")
            root.says("bad")
            assert root.ends()[-1]["phase"] == "Succeeded"
            assert root.given() == {*ring, "c"}


def test_argo_cds_own_lua_says_what_lupa_says(tmp_path: Path) -> None:
    """Every case of argocd_health.yaml."""
    top = written(tmp_path, "fleet-1")
    lines = []
    for rule, status, name in CASES:
        api_version, kind = KINDS[rule]
        body: Any = timed(edited(TABLES[rule]["well"], TABLES[rule][status][name]))
        lines.append(json.dumps({"apiVersion": api_version, "kind": kind, **body}))
    (tmp_path / "objects").write_text("\n".join(lines))
    command = [*engine(top), tmp_path / "objects"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said = [json.loads(line)["status"] for line in done.stdout.splitlines()]
    assert list(zip(CASES, said, strict=True)) == [(each, each[1]) for each in CASES]
    assert RULES.keys() == KINDS.keys()
