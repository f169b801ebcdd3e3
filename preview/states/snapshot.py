"""One state of a repository: which files it has, and what stands in them.

A state is a commit, or the work tree with all that lies in it. Read from Git's objects into memory,
so nothing is checked out, and files that are the same on both sides are known to be without being
read. A commit is untrusted: whoever makes a tree by hand can give its entries any name and mode.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from preview.states.git import GitError, blobs, commit_of, git, lines
from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.model.management import FOLDER
from schemas.reading.catalogue import OWN, SHOWN
from schemas.reading.site_files import read
from schemas.reading.tree import LINK, SUBMODULE, Refused

DATA = ("sites", "regions", FOLDER, SHOWN, OWN)
"""Folders with the data of sites; everything else in a repository is code or prose."""
_PLAIN = ("100644", "100755")
_REFUSED = {"120000": LINK, "160000": SUBMODULE}
"""Modes of entries whose content is not read, and why."""
MOST_FILES = 65_536
"""Files of a state, at most: 30,000 sites with what they share."""


class Blob(NamedTuple):
    """A file of a state: the id of its content, and why that is not read where it is not."""

    id: str
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the repository at ``root``. ``label`` names it for a person; ``commit`` is None
    for the work tree. ``files`` are those of DATA by path from ``root``; ``here`` are paths whose
    content is in the work tree alone."""

    root: Path
    label: str
    commit: str | None
    files: Mapping[str, Blob]
    here: frozenset[str] = field(default=frozenset())

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The contents of files, by path, without those that cannot be had."""
        found = self.contents(paths)
        return {path: data for path, data in found.items() if not isinstance(data, Refused)}

    def contents(self, paths: Iterable[str]) -> dict[str, bytes | Refused]:
        """The contents of files, or why one cannot be had, by path."""
        found: dict[str, bytes | Refused] = {}
        stored: dict[str, str] = {}
        for path in paths:
            blob = self.files[path]
            if blob.refused:
                fix = "put the file itself there"
                found[path] = Refused(Code.FILE_UNREADABLE, f"{path} {blob.refused}", fix)
            elif path in self.here:
                found[path] = _read_here(self.root, path)
            else:
                stored[path] = blob.id
        contents = blobs(self.root, stored)
        return found | {path: contents[blob] for path, blob in stored.items()}

    def holding(self, words: Iterable[str], pattern: str) -> set[str]:
        """The files, of those that fit a pathspec, that hold one of some words; found by Git."""
        where = [self.commit] if self.commit else ["--untracked", "--no-exclude-standard"]
        options = ["-l", "-z", "-a", "-w", "-F", "-f", "-", *where, "--", pattern]
        text = "".join(f"{word}\n" for word in words).encode()
        output = git(self.root, "grep", *options, stdin=text, fine=(0, 1))
        prefix = f"{self.commit}:" if self.commit else ""
        return {line.removeprefix(prefix) for line in lines(output)}

    def write(self, paths: Iterable[str], folder: Path) -> None:
        """Put files below a new folder, for code that reads from nowhere else; no links. Raises
        GitError where two of them would be one on a disk that ignores case."""
        found = self.read(paths)
        if len({path.casefold() for path in found}) < len(found):
            raise GitError(f"{self.label} has files whose names differ in case alone")
        for parent in {(folder / path).parent for path in found}:
            parent.mkdir(parents=True, exist_ok=True)
        for path, data in found.items():
            (folder / path).write_bytes(data)


def work_tree(root: Path) -> Snapshot:
    """The files of the work tree, committed or not. Raises GitError."""
    listed = lines(git(root, "ls-files", "--stage", "-v", "-z", "--", *DATA))
    # "H " of what Git compares; of what it was told not to look at, nobody knows the content.
    unseen = [_parse_line(line[2:])[0] for line in listed if not line.startswith("H")]
    staged = (_parse_line(line[2:]) for line in listed)
    # A file of another stage waits to be merged.
    files = {path: _blob(mode, blob) for path, (mode, blob, stage) in staged if stage in "02"}
    changed = lines(git(root, "diff-files", "--name-only", "-z", "--relative", "--", *DATA))
    # Ignored files count: whoever checks or applies from here reads them too.
    other = lines(git(root, "ls-files", "--others", "-z", "--", *DATA))
    here = set()
    for path in {*changed, *other, *unseen}:
        target = root / path
        if not os.path.lexists(target) or target.is_dir():
            files.pop(path, None)
        else:
            here.add(path)
            data = _read_here(root, path)
            files[path] = Blob(repr(data) if isinstance(data, Refused) else _id(data))
    return Snapshot(root, "work tree", None, _checked("the work tree", files), frozenset(here))


def at(root: Path, revision: str, name: str = "") -> Snapshot:
    """The files of a commit; ``name`` is a person's word for it, where that is not the revision.
    Raises GitError where there is no such commit, or it has what no Git makes of a folder."""
    commit = commit_of(root, revision)
    listed = lines(git(root, "ls-tree", "-r", "-z", commit, "--", *DATA))
    entries = map(_parse_line, listed)
    files = {path: _blob(mode, blob) for path, (mode, _kind, blob) in entries}
    if len(files) < len(listed):
        raise GitError(f"{commit[:10]} has an entry twice in one folder: it is no state of files")
    name = name or ("" if commit.startswith(revision) else revision)
    label = f"{name} ({commit[:10]})" if name else commit[:10]
    return Snapshot(root, label, commit, _checked(commit[:10], files))


def _checked(state: str, files: dict[str, Blob]) -> dict[str, Blob]:
    """The files of a state. Raises GitError where one is not where a folder could have it."""
    if other := {"sites", "regions", FOLDER, OWN} & files.keys():
        raise GitError(f"{state} has {min(other)} as a file or a link, and it has to be a folder")
    if len(files) > MOST_FILES:
        raise GitError(f"{state} has {len(files)} files of sites, more than {MOST_FILES}")
    for path in files:
        if not all(map(_plain, path.split("/"))):
            raise GitError(
                f"{state} has a file {shorten(repr(path), 200)}: no name of a file below "
                f"{', '.join(DATA)}; rename it"
            )
        folder = path
        while folder := folder.rpartition("/")[0]:
            if folder in files:
                raise GitError(f"{state} has {shorten(folder, 200)} as a file and as a folder")
    return files


def _plain(name: str) -> bool:
    """True if a name is one of a file in the folder that it stands in, on every system."""
    return (
        0 < len(name) < 256
        and name.isprintable()
        and name.strip(". ") != ""
        and "\\" not in name
        and name.casefold().rstrip(". ") not in (".git", "git~1")
    )


def _parse_line(line: str) -> tuple[str, list[str]]:
    """The path of an entry of the index or of a tree, and the three words before it."""
    about, _, path = line.partition("\t")
    return path, about.split(" ")


def _blob(mode: str, blob: str) -> Blob:
    if mode in _PLAIN:
        return Blob(blob)
    return Blob(f"{mode} {blob}", _REFUSED.get(mode, f"has the mode {mode}, which no file has"))


def _read_here(root: Path, path: str) -> bytes | Refused:
    folder = next((each for each in DATA if path.startswith(f"{each}/")), "")
    return read(root / folder, path.removeprefix(f"{folder}/"), folder)


def _id(data: bytes) -> str:
    """Git's id of a content, so that a file put back to what it was is no change."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
