"""The fixture ``world``: one site with its schedulers on the twin, for the whole test session."""

from collections.abc import Iterator

import pytest

from tests.kit.repository import all_sites
from tests.kit.twin.cluster.run import GROUPS
from tests.kit.twin.world import World
from tests.kit.twin.world import world as running
from tools.toolchain import ToolchainError, locate

SITE = "tokyo-1"


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The site of 400 hosts, shared: a test has namespaces of its own, and clears them."""
    try:
        tools = locate(GROUPS)
    except ToolchainError as error:
        pytest.fail(str(error), pytrace=False)
    with running(tmp_path_factory.mktemp("twin"), all_sites()[SITE], tools=tools) as here:
        yield here
        # None of its programs may have ended meanwhile, such as a scheduler that checks itself.
        here.t.check()
