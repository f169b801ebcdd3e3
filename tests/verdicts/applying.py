"""One repository for all rows: each starts from the example sites again."""

from pathlib import Path

from preview.result import Preview
from tests.kit.preview_repository import Repository
from tests.kit.preview_sides import shared_sides
from tests.verdicts.row import Row


class Table(Repository):
    """The example sites, ready to be edited. What was committed last is known without Git."""

    committed: dict[str, bytes]

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.git("tag", "start")
        self._first = self.committed

    def commit(self, message: str) -> str:
        """Commit everything; the commit's id."""
        self.committed = self._contents()
        return super().commit(message)

    def preview(self, *sites: str, base: str = "HEAD", head: str | None = None) -> Preview:
        """The effect of the change since ``base``."""
        with shared_sides():
            return super().preview(*sites, base=base, head=head)

    def edited(self) -> dict[str, tuple[str | None, str | None]]:
        """The files that differ from the last commit: their texts then and now, None where there
        is none."""
        now = self._contents()
        sides = {file: (self.committed.get(file), now.get(file)) for file in self.committed | now}
        return {
            file: (_text(before), _text(after))
            for file, (before, after) in sides.items()
            if before != after
        }

    def restore(self) -> None:
        """Make it what it was at first."""
        self.git("reset", "-q", "--hard", "start")
        if self._contents() != self._first:
            self.git("clean", "-fdq")
        self.committed = self._first

    def _contents(self) -> dict[str, bytes]:
        files = (path for part in ("sites", "schemas") for path in (self.root / part).rglob("*"))
        return {str(f.relative_to(self.root)): f.read_bytes() for f in files if f.is_file()}


class Folder(Table):
    """The same without Git, for who looks at the edits alone."""

    def git(self, *_: str) -> str:
        """Nothing is kept but what the table itself knows."""
        return ""

    def restore(self) -> None:
        """Make it what it was at first."""
        for file in self.edited():
            (self.root / file).unlink(missing_ok=True)
        now = self._contents()
        for file, data in self._first.items():
            if now.get(file) != data:
                (self.root / file).write_bytes(data)
        self.committed = self._first


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8")


def apply(row: Row, repository: Repository) -> None:
    """Commit a row's base, if it has one, and make its edits."""
    for edit in row.base:
        edit(repository)
    if row.base:
        repository.commit("base")
    for edit in row.edits:
        edit(repository)
