"""The command line on a real API server behind a proxy that misbehaves, for the tests of survival.

The fixture ``survival``; its API server belongs to these tests alone, as they restart and empty it.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from components.making.manifest import SITE_LABEL
from controlplane import ControlPlane
from controlplane.trial import bring_up
from foresite.cli import main
from foresite.command import OK
from foresite.delivery.differences import differences
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.engines import engine_for
from foresite.delivery.stack.live import expected_objects
from schemas.facts.site import Site
from schemas.load import load_site
from tests.kit.faulty_api import FaultyApi, faulty_api
from tests.kit.trial_repository import small_sites

CONTEXT = "mgmt-lab"
SITES = ("atami-1", "bizen-1", "choshi-1", "date-1", "esashi-1", "fukui-1")
"""Six are as many as have addresses of their own (tests/kit/trial_repository.py)."""


@pytest.fixture(scope="session")
def survival_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server of their own."""
    plane = bring_up(tmp_path_factory.mktemp("survival"), [CONTEXT])
    try:
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def survival_sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sites; each test applies one of its own."""
    root = tmp_path_factory.mktemp("sites")
    small_sites(root, dict.fromkeys(SITES, 0))
    return root


@dataclass
class World:
    """The command line, on an API server behind a proxy."""

    root: Path
    plane: ControlPlane
    proxy: FaultyApi
    capfd: pytest.CaptureFixture[str]

    def run(self, *words: str) -> tuple[int, str]:
        """A command; its exit code, and all that it said."""
        code = main(["--root", str(self.root), *words])
        out, err = self.capfd.readouterr()
        said = out + err
        assert "Traceback" not in said and "goroutine" not in said
        return code, said

    def up(self, site: str, *flags: str) -> tuple[int, str]:
        return self.run("up", "--trial", site, *flags)

    def applies(self, site: str, *flags: str) -> str:
        """An ``up`` that must go well; what it said."""
        code, said = self.up(site, *flags)
        assert code == OK, said
        return said

    def loaded(self, name: str) -> Site:
        site = load_site(self.root, name).site
        assert site is not None
        return site

    def engine(self, name: str) -> Engine:
        return engine_for(self.root, self.loaded(name), trial=True)

    def apart(self, name: str) -> list[str]:
        """The objects of the API server that are not exactly as the site says."""
        wanted = expected_objects(self.loaded(name))
        with self.plane.client() as client:
            live = {
                key: client.get(*each.key[:2], each.key[3], each.key[2] or None)
                for key, each in wanted.items()
            }
            there = {
                (api, kind, each["metadata"].get("namespace", ""), each["metadata"]["name"])
                for api, kind in {each.key[:2] for each in wanted.values()}
                for each in client.items(api, kind)
                if (each["metadata"].get("labels") or {}).get(SITE_LABEL) == name
            }
        extra = there - {each.key for each in wanted.values()}
        gone = {key: body for key, body in live.items() if body is not None}
        return [f"{e.object} {e}" for e in differences(wanted, gone)] + sorted(map(str, extra))

    def untouched(self, name: str) -> bool:
        """True if neither the API server nor the state knows of a site."""
        with self.plane.client() as client:
            there = client.get("v1", "Namespace", name)
        return there is None and self.engine(name).last_record() is None


@pytest.fixture
def survival(
    survival_sites: Path,
    survival_plane: ControlPlane,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Iterator[World]:
    monkeypatch.setenv("FORESITE_TRIAL", str(survival_plane.directory))
    with faulty_api(survival_plane) as proxy:
        config = proxy.kubeconfig(tmp_path / "kubeconfig", CONTEXT)
        through(monkeypatch, config)
        yield World(survival_sites, survival_plane, proxy, capfd)


def through(monkeypatch: pytest.MonkeyPatch, kubeconfig: Path) -> None:
    """Let ``up`` use another kubeconfig than the trial's own."""

    def engine(*given: Any, **named: Any) -> Engine:
        own = engine_for(*given, **named)
        return replace(own, environment={**own.environment, "KUBECONFIG": str(kubeconfig)})

    monkeypatch.setattr("foresite.commands.up.engine_for", engine)


def wait(until: Callable[[], bool]) -> None:
    """At most two minutes."""
    event = threading.Event()
    for _ in range(2400):
        if until():
            return
        event.wait(0.05)
    pytest.fail("it did not come to that in two minutes")
