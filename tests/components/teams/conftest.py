"""The server with a site's teams."""

from collections.abc import Iterator

import pytest

from controlplane import Client
from tests.kit.teams_server import serving


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("teams")) as found:
        yield found
