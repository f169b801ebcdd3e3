"""Commits whose trees are written byte by byte, as no Git makes them of a folder."""

import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.kit.preview_repository import Folder

FILE, LINK, DIRECTORY, SUBMODULE = b"100644", b"120000", b"40000", b"160000"
Entry = tuple[bytes, bytes, str]
"""Mode, name and id of an entry of a tree."""
_WHO = "T <t@example.com> 0 +0000"


class Forge:
    """Makes commits on the branch main of the repository at ``root``; ``sites`` are the entries
    below sites/ by name, which a test may change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.base = self._git("rev-parse", "main").strip()
        self.top = self._entries("main")
        self.sites = self._entries("main:sites")

    def _git(self, *arguments: str, stdin: bytes = b"") -> str:
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout.decode()

    def _entries(self, tree: str) -> dict[bytes, Entry]:
        found = {}
        for line in self._git("ls-tree", tree).splitlines():
            mode, _, rest = line.encode().split(b" ", 2)
            found[rest[41:]] = (mode.lstrip(b"0"), rest[41:], rest[:40].decode())
        return found

    def store(self, kind: str, data: bytes) -> str:
        """The id of an object with this content, whatever it is."""
        how = ("hash-object", "-t", kind, "--literally", "-w", "--stdin")
        return self._git(*how, stdin=data).strip()

    def tree(self, entries: Iterable[Entry]) -> str:
        """The id of a tree with these entries, in this order."""
        rows = (b"%s %s\0%s" % (mode, name, bytes.fromhex(id_)) for mode, name, id_ in entries)
        return self.store("tree", b"".join(rows))

    def file(self, *names: bytes, data: bytes = b"written\n") -> Entry:
        """An entry for a file in folders of these names, the last of which is its own."""
        entry: Entry = (FILE, names[-1], self.store("blob", data))
        for each in reversed(names[:-1]):
            entry = (DIRECTORY, each, self.tree([entry]))
        return entry

    def link(self, name: bytes, target: bytes) -> Entry:
        """An entry for a link."""
        return LINK, name, self.store("blob", target)

    def submodule(self, name: bytes) -> Entry:
        """An entry for another repository's commit."""
        return SUBMODULE, name, self.base

    def folder(self, name: bytes, files: int) -> Entry:
        """An entry for a folder with so many files."""
        blob = self.store("blob", b"x")
        return DIRECTORY, name, self.tree((FILE, b"%06d" % n, blob) for n in range(files))

    def commit(self, *more: Entry) -> str:
        """The id of a commit with more entries below sites/."""
        entry = (DIRECTORY, b"sites", self.tree([*self.sites.values(), *more]))
        top = self.tree({**self.top, b"sites": entry}.values())
        text = f"tree {top}\nparent {self.base}\nauthor {_WHO}\ncommitter {_WHO}\n\nx\n"
        return self.store("commit", text.encode())


def preview_of_commit(make: Callable[[Forge], Iterable[Entry]]) -> Callable[[Path], list[str]]:
    """What makes a repository of a folder, with a commit that has more entries below sites/, and
    gives the arguments of the preview of that commit."""

    def commit(root: Path) -> list[str]:
        Folder(root).commit()
        forge = Forge(root)
        return ["preview", "--base", "main", "--head", forge.commit(*make(forge))]

    return commit
