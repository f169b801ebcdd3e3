"""One repository for all rows: each starts from the example sites again."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from preview.result import Preview
from tests.kit.preview_repository import Repository
from tests.kit.preview_sides import shared_sides
from tests.verdicts.row import Row


class Table(Repository):
    """The example sites, ready to be edited. What was committed last is known without Git."""

    committed: dict[str, bytes]

    def __init__(self, root: Path) -> None:
        self._commits: dict[bytes, str] = {}
        super().__init__(root)
        self.git("tag", "start")
        self._first = self.committed

    def commit(self, message: str = "x") -> str:
        """Commit everything; the commit's id. A state that was committed before is taken again."""
        self.committed = self._contents()
        key = _digest(self.committed)
        if key in self._commits:
            self.git("reset", "-q", self._commits[key])
        else:
            self._commits[key] = super().commit(message)
        return self._commits[key]

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
        now = self._contents()
        for file in now.keys() - self._first:
            (self.root / file).unlink()
        for file, data in self._first.items():
            if now.get(file) != data:
                (self.root / file).write_bytes(data)
        if self.committed != self._first:
            self.commit("as at first")

    def _contents(self) -> dict[str, bytes]:
        files = (
            path
            for part in ("sites", "regions", "schemas")
            for path in (self.root / part).rglob("*")
        )
        return {str(f.relative_to(self.root)): f.read_bytes() for f in files if f.is_file()}


class Folder(Table):
    """The same without Git, for who looks at the edits alone."""

    def git(self, *_: str) -> str:
        """Nothing is kept but what the table itself knows."""
        return ""


def _digest(contents: Mapping[str, bytes]) -> bytes:
    found = hashlib.sha256()
    for file, data in sorted(contents.items()):
        found.update(b"%s\0%d\0" % (file.encode(), len(data)))
        found.update(data)
    return found.digest()


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
