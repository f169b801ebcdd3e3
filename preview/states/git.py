"""What Git says of a repository: commits, changed files, and contents by id. Nothing is written."""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from schemas.reading.site_files import too_large
from schemas.reading.tree import Refused
from schemas.refusal import UsageError

MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where a change is compared to by default; the first that there is."""
MOST_BYTES = 2 << 30
"""Bytes of the files that are compared, at most: 30,000 sites of 70 KB."""
TIME_LIMIT = 300
"""Seconds that one call of Git may take."""
_ENVIRONMENT = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1"}
"""No object stands for another one, and none is fetched over the network."""


class GitError(UsageError):
    """Git cannot say; the message is for a person."""


def commit_of(root: Path, revision: str, missing: str = "") -> str:
    """The commit of a revision. Raises GitError, which says ``missing`` where there is none."""
    if revision.startswith("-") or not revision.isprintable():
        raise GitError(f"{revision!r} names no commit")
    try:
        found = git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    except GitError:
        hint = "fetch it first, or name another; a shallow clone has only its last commits"
        raise GitError(missing or f"there is no commit {revision} here: {hint}") from None
    return found.decode().strip()


def base_of(root: Path, head: str | None) -> tuple[str, str]:
    """The commit where a change began, and the branch it began at: the merge base of its head and
    the main branch. Raises GitError where there is no main branch, or nothing in common with it."""
    for name in MAIN:
        try:
            main = commit_of(root, name)
        except GitError:
            continue
        try:
            found = git(root, "merge-base", main, head or "HEAD").decode().strip()
            return found, git(root, "rev-parse", "--abbrev-ref", name).decode().strip()
        except GitError:
            raise GitError(f"{head or 'HEAD'} and {name} have no commit in common") from None
    commit_of(root, "HEAD", "this repository has no commit yet: make one, then change a file")
    raise GitError(f"there is none of {', '.join(MAIN)} to compare with; give --base")


def changed_files(root: Path, base: str, head: str | None, folders: Iterable[str]) -> list[str]:
    """The files below ``folders`` that differ between a commit and another (or the work tree)."""
    sides = [base, head] if head else [base]
    found = git(
        root, "diff", "--name-only", "-z", "--relative", "--no-renames", *sides, "--", *folders
    )
    other = [] if head else lines(
        git(root, "ls-files", "--others", "--exclude-standard", "-z", "--", *folders)
    )  # fmt: skip
    return sorted({*lines(found), *other})


def git(root: Path, *arguments: str, stdin: bytes = b"", fine: Iterable[int] = (0,)) -> bytes:
    """The output of Git in ``root``. Raises GitError where its exit code is none of ``fine``."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env={**os.environ, **_ENVIRONMENT},
            timeout=TIME_LIMIT,
        )
    except subprocess.TimeoutExpired:
        raise GitError(f"git {arguments[0]} took more than {TIME_LIMIT} s") from None
    except FileNotFoundError:
        raise GitError("git is not installed, and the two states are read from it") from None
    if done.returncode not in fine:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(said[-1].removeprefix("fatal: ") if said else f"git {arguments[0]} failed")
    return done.stdout


def lines(output: bytes) -> list[str]:
    """The parts of an output that NUL ends, as paths are handed over."""
    return [os.fsdecode(line) for line in output.split(b"\0") if line]


def blobs(root: Path, ids: Mapping[str, str]) -> dict[str, bytes | Refused]:
    """Contents by id; ``ids`` are those of paths. The sizes are asked first, as Git hands over a
    content of any size."""
    paths = {blob: path for path, blob in ids.items()}
    if not paths:
        return {}
    sizes = _sizes(root, [*paths])
    found: dict[str, bytes | Refused] = {}
    for blob, size in zip(paths, sizes, strict=True):
        if refused := too_large(paths[blob], size):
            found[blob] = refused
    wanted = [(blob, size) for blob, size in zip(paths, sizes, strict=True) if blob not in found]
    if sum(size for _, size in wanted) > MOST_BYTES:
        raise GitError(f"the files to be compared have more than {MOST_BYTES} bytes; name a SITE")
    asked = "".join(f"{blob}\n" for blob, _ in wanted).encode()
    output = memoryview(git(root, "cat-file", "--batch", stdin=asked) if wanted else b"")
    start = 0
    for blob, size in wanted:
        # "<id> blob <size>\n", the content, and a line feed.
        start += len(f"{blob} blob {size}\n")
        found[blob] = bytes(output[start : start + size])
        start += size + 1
    return found


def _sizes(root: Path, ids: Sequence[str]) -> list[int]:
    """The sizes of contents. Raises GitError where one is not there."""
    stdin = "".join(f"{blob}\n" for blob in ids).encode()
    said = git(root, "cat-file", "--batch-check", stdin=stdin).decode().splitlines()
    for blob, line in zip(ids, said, strict=True):
        if line.split(" ")[1:2] != ["blob"]:
            raise GitError(f"this clone lacks the content {blob}; fetch it (git fetch --refetch)")
    return [int(line.rpartition(" ")[2]) for line in said]
