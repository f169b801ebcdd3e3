"""One state of a repository: which files it has, and what stands in them.

A state is a commit, or the work tree with all that lies in it. Read from Git's objects, so nothing
is checked out, and files that are the same on both sides are known to be without being read.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

DATA = ("sites", "schemas/catalogue")
"""Folders with the data of sites; everything else in a repository is code or prose."""
_LINK = "120000"
_FILES = ("100644", "100755", _LINK)
MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where a change is compared to by default; the first that there is."""


MOST_KEPT, KEPT_BYTES = 64, 1 << 18
"""Contents that are kept in memory, and the largest of them; a host list has some 50 KB."""
_kept: dict[str, bytes] = {}


class GitError(Exception):
    """Git cannot say; the message is for a person."""


class Blob(NamedTuple):
    """A file of a state: the id of its content, and whether it is a link."""

    id: str
    link: bool


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the repository at ``root``.

    ``label`` names it for a person; ``commit`` is None for the work tree. ``files`` are those of
    DATA by path from ``root``; ``here`` are paths whose content is in the work tree alone.
    """

    root: Path
    label: str
    commit: str | None
    files: Mapping[str, Blob]
    here: frozenset[str] = field(default=frozenset())

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The contents of files (of a link, where it leads), by path."""
        wanted = list(paths)
        found = {path: _content(self.root / path) for path in wanted if path in self.here}
        stored = {path: self.files[path].id for path in wanted if path not in self.here}
        contents = _blobs(self.root, dict.fromkeys(stored.values()))
        return found | {path: contents[blob] for path, blob in stored.items()}

    def holding(self, words: Iterable[str], pattern: str) -> set[str]:
        """The files, of those that fit a pathspec, that hold one of some words; found by Git."""
        where = [self.commit] if self.commit else ["--untracked", "--no-exclude-standard"]
        options = ["-l", "-z", "-a", "-w", "-F", "-f", "-", *where, "--", pattern]
        text = "".join(f"{word}\n" for word in words).encode()
        output = _git(self.root, "grep", *options, stdin=text, fine=(0, 1))
        prefix = f"{self.commit}:" if self.commit else ""
        return {line.removeprefix(prefix) for line in _lines(output)}

    def write(self, paths: Iterable[str], folder: Path) -> None:
        """Put files below a folder, as they are in this state; links only below sites/."""
        found = self.read(paths)
        for parent in {(folder / path).parent for path in found}:
            parent.mkdir(parents=True, exist_ok=True)
        for path, data in found.items():
            target = folder / path
            if not self.files[path].link:
                target.write_bytes(data)
            elif path.startswith("sites/"):
                target.symlink_to(os.fsdecode(data))


def work_tree(root: Path) -> Snapshot:
    """The files of the work tree, committed or not."""
    listed = _git(root, "ls-files", "--stage", "-z", "--", *DATA)
    files = {
        path: blob for path, blob in map(_parse_index_line, _lines(listed)) if blob is not None
    }
    changed = _lines(_git(root, "diff-files", "--name-only", "-z", "--relative", "--", *DATA))
    # Ignored files count: whoever checks or applies from here reads them too.
    other = _lines(_git(root, "ls-files", "--others", "-z", "--", *DATA))
    here = set()
    for path in {*changed, *other}:
        target = root / path
        if target.is_symlink() or target.is_file():
            here.add(path)
            files[path] = Blob(_id(_content(target)), target.is_symlink())
        else:
            files.pop(path, None)
    return Snapshot(root, "work tree", None, files, frozenset(here))


def at(root: Path, revision: str, name: str = "") -> Snapshot:
    """The files of a commit; ``name`` is a person's word for it, where that is not the revision.

    Raises GitError where there is no such commit.
    """
    commit = commit_of(root, revision)
    listed = _git(root, "ls-tree", "-r", "-z", commit, "--", *DATA)
    files = {path: blob for path, blob in map(_parse_tree_line, _lines(listed)) if blob is not None}
    name = name or ("" if commit.startswith(revision) else revision)
    return Snapshot(root, f"{name} ({commit[:10]})" if name else commit[:10], commit, files)


def commit_of(root: Path, revision: str) -> str:
    """The commit that a revision names. Raises GitError."""
    if revision.startswith("-") or not revision.isprintable():
        raise GitError(f"{revision!r} names no commit")
    try:
        found = _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except GitError:
        hint = "fetch it first, or name another; a shallow clone has only its last commits"
        raise GitError(f"there is no commit {revision} here: {hint}") from None
    return found.decode().strip()


def base_of(root: Path, head: str | None) -> tuple[str, str]:
    """The commit where a change began, and the branch it began at: the merge base of its head and
    the main branch.

    Raises GitError where there is no main branch, or nothing in common with it.
    """
    for name in MAIN:
        try:
            main = commit_of(root, name)
        except GitError:
            continue
        try:
            found = _git(root, "merge-base", main, head or "HEAD").decode().strip()
            return found, _git(root, "rev-parse", "--abbrev-ref", name).decode().strip()
        except GitError:
            raise GitError(f"{head or 'HEAD'} and {name} have no commit in common") from None
    raise GitError(f"there is none of {', '.join(MAIN)} to compare with; give --base")


def changed_files(root: Path, base: str, head: str | None, folders: Iterable[str]) -> list[str]:
    """The files below ``folders`` that differ between a commit and another (or the work tree)."""
    sides = [base, head] if head else [base]
    found = _git(
        root, "diff", "--name-only", "-z", "--relative", "--no-renames", *sides, "--", *folders
    )
    other = [] if head else _lines(
        _git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *folders)
    )  # fmt: skip
    return sorted({*_lines(found), *other})


def _git(root: Path, *arguments: str, stdin: bytes = b"", fine: Iterable[int] = (0,)) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], input=stdin, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise GitError("git is not installed, and the two states are read from it") from None
    if done.returncode not in fine:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(said[-1].removeprefix("fatal: ") if said else f"git {arguments[0]} failed")
    return done.stdout


def _lines(output: bytes) -> list[str]:
    return [os.fsdecode(line) for line in output.split(b"\0") if line]


def _parse_index_line(line: str) -> tuple[str, Blob | None]:
    about, _, path = line.partition("\t")
    mode, blob, stage = about.split(" ")
    return path, Blob(blob, mode == _LINK) if mode in _FILES and stage in "02" else None


def _parse_tree_line(line: str) -> tuple[str, Blob | None]:
    about, _, path = line.partition("\t")
    mode, _kind, blob = about.split(" ")
    return path, Blob(blob, mode == _LINK) if mode in _FILES else None


def _content(path: Path) -> bytes:
    return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()


def _id(data: bytes) -> str:
    """Git's id of a content, so that a file put back to what it was is no change."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _blobs(root: Path, ids: Iterable[str]) -> dict[str, bytes]:
    """Contents by id, in one call. An id stands for one content, and both states have most alike,
    so some are kept."""
    asked = list(ids)
    wanted = [blob for blob in asked if blob not in _kept]
    found = _stored_blobs(root, wanted) if wanted else {}
    every = {blob: found[blob] if blob in found else _kept[blob] for blob in asked}
    if len(_kept) > MOST_KEPT:
        _kept.clear()
    small = ((blob, data) for blob, data in found.items() if len(data) <= KEPT_BYTES)
    _kept.update(islice(small, MOST_KEPT))
    return every


def _stored_blobs(root: Path, wanted: list[str]) -> dict[str, bytes]:
    output = memoryview(
        _git(root, "cat-file", "--batch", stdin="".join(f"{i}\n" for i in wanted).encode())
    )
    found: dict[str, bytes] = {}
    start = 0
    for blob in wanted:
        end = start + bytes(output[start : start + 200]).index(b"\n")
        about = bytes(output[start:end]).split(b" ")
        if len(about) != 3:
            raise GitError(f"this clone lacks the content {blob}; fetch it (git fetch --refetch)")
        size = int(about[2])
        found[blob] = bytes(output[end + 1 : end + 1 + size])
        start = end + 1 + size + 1
    return found
