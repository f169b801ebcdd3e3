"""One repository for all rows: each starts from the example sites again."""

from pathlib import Path

from tests.kit.preview_repository import Repository
from tests.verdicts.row import Row


def start(folder: Path) -> Repository:
    """The example sites, ready to be edited."""
    made = Repository(folder)
    made.git("tag", "start")
    return made


def restored(repository: Repository) -> Repository:
    """The repository as it was at first."""
    repository.git("reset", "-q", "--hard", "start")
    repository.git("clean", "-fdq")
    return repository


def apply(row: Row, repository: Repository) -> None:
    """Commit a row's base, if it has one, and make its edits."""
    for edit in row.base:
        edit(repository)
    if row.base:
        repository.commit("base")
    for edit in row.edits:
        edit(repository)
