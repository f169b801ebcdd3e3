"""The fixture ``api``: one running control plane with all CRDs, for the whole test session."""

from collections.abc import Iterator

import pytest

from controlplane import ControlPlane
from controlplane.trial import bring_up
from tools.toolchain import ToolchainError


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real API server; tests share it, so each uses names or namespaces of its own."""
    directory = tmp_path_factory.mktemp("controlplane")
    try:
        yield bring_up(directory, ["management"])
    except ToolchainError as error:
        pytest.fail(str(error), pytrace=False)
    finally:
        ControlPlane(directory).stop()
