"""The files of one state of a repository, in memory: nothing is written to read them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from schemas.model.texts import Words

LINK = "is a link, and no link is followed"
SUBMODULE = "is a submodule, and nothing is read of another repository"


class Refused(Words):
    """The reason why a file cannot be had, and what to do about it."""


class Tree:
    """A folder in memory, as much of ``pathlib.Path`` as reading takes. ``files``: what is in each,
    or why it cannot be had, by path from its root. Paths are taken as they are: none leads out."""

    __slots__ = ("_folders", "_path", "files")

    def __init__(self, files: Mapping[str, bytes | Refused]) -> None:
        self.files, self._path = files, ""
        self._folders: dict[str, set[str]] = {}
        for path in files:
            while path and path not in self._folders.get(folder := path.rpartition("/")[0], ()):
                self._folders.setdefault(folder, set()).add(path)
                path = folder

    def __truediv__(self, name: str) -> "Tree":
        found = Tree.__new__(Tree)
        found.files, found._folders = self.files, self._folders
        found._path = f"{self._path}/{name}" if self._path else name
        return found

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._path.rpartition("/")[2]

    def is_dir(self) -> bool:
        """True if a file is below."""
        return self._path in self._folders

    def iterdir(self) -> Iterator["Tree"]:
        """What is in the folder, sorted. Raises FileNotFoundError where there is no such folder."""
        if not self.is_dir():
            raise FileNotFoundError(self._path)
        for path in sorted(self._folders[self._path]):
            yield self / path.rpartition("/")[2]

    def read(self) -> bytes | Refused | None:
        """What stands in the file, or why that cannot be had; None where there is no such file."""
        return self.files.get(self._path)


Folder = Path | Tree
"""Where a repository is read from."""
