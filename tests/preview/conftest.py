"""The repository in which rows of the proof table are tried."""

from collections.abc import Iterator

import pytest

from tests.kit.preview_sides import unchanged
from tests.verdicts.applying import Table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    yield Table(tmp_path_factory.mktemp("repository"))
    assert unchanged()


@pytest.fixture
def repository(table: Table) -> Table:
    """The same repository for every row, as it was at first."""
    table.restore()
    return table
