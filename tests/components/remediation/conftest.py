"""Fixtures of several tests of the remediation: a clean server, each shell, and a sound host."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.kit.remediation_devices import Host, found_shells
from tests.kit.remediation_host import SITE
from tests.kit.remediation_server import Server


@pytest.fixture(scope="module")
def shared(repairs: Server, tmp_path_factory: pytest.TempPathFactory) -> Server:
    for name in (SITE, "other"):
        repairs.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return replace(repairs, folder=tmp_path_factory.mktemp("repairs"))


@pytest.fixture
def server(shared: Server) -> Server:
    shared.clear()
    return shared


@pytest.fixture(params=sorted(found_shells()))
def shell(request: pytest.FixtureRequest) -> list[str]:
    """Each shell of this machine."""
    return found_shells()[request.param]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host without accelerators on which all is well."""
    return Host(tmp_path / "host")
