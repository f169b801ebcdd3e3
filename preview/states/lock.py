"""The version of Foresite that a state of a repository locks: ``foresite==1.2.3`` among the
dependencies of its pyproject.toml. A repository that holds Foresite's own code locks none."""

import re
import tomllib
from pathlib import Path

from preview.states.git import GitError, git
from preview.states.snapshot import Snapshot
from schemas.model.codes import Code
from schemas.model.problem import Problem
from schemas.reading.site_files import read
from schemas.reading.tree import Refused

FILE = "pyproject.toml"
FILES = (FILE, "uv.lock")
"""What an environment with the locked version is made from."""
_REQUIREMENT = re.compile(r"(?i)\s*foresite(?![\w.-])\s*(?P<which>[^;]*?)\s*(;.*)?")
_WRITTEN = re.compile(r"(?i)[\"']\s*foresite\s*([=<>~!;@\[]|[\"']\s*[,\]])")
_EXACT = re.compile(r"==\s*(?P<version>\d[^\s*,]*)")


class LockError(GitError):
    """The version cannot be told; ``problem`` says where, and what to write."""

    def __init__(self, message: str, fix: str, line: int = 0) -> None:
        at = (FILE, line, min(line, 1))
        self.problem = Problem(*at, Code.FORESITE_VERSION, "", "", message, fix)
        super().__init__(f"{FILE}: {message}; {fix}")


def locked_version(side: Snapshot) -> str:
    """The version that a state locks; empty where it locks none. Raises LockError."""
    return parse(lock_file(side, FILE))[0]


def lock_file(side: Snapshot, name: str) -> bytes | Refused:
    """One of FILES as it is in a state; no bytes where it is not there."""
    if side.commit is None:
        return _here(side.root, name)
    return git(side.root, "cat-file", "blob", f"{side.commit}:./{name}", fine=(0, 128))


def _here(root: Path, name: str) -> bytes | Refused:
    data = read(root, name, "")
    return b"" if isinstance(data, Refused) and data.code is Code.FILE_MISSING else data


def locked_source(side: Snapshot) -> object:
    """What a state's uv.lock says of Foresite itself: where it is from, and its digests."""
    data = lock_file(side, FILES[1])
    try:
        packages = tomllib.loads(data.decode())["package"]  # type: ignore[union-attr]
        found = [each for each in packages if each["name"] == "foresite"]
        return [[each.get(key) for key in ("source", "sdist", "wheels")] for each in found]
    except (ValueError, AttributeError, LookupError, TypeError, RecursionError):
        return data


def parse(data: bytes | Refused) -> tuple[str, int]:
    """The version that a pyproject.toml locks, and its line. Raises LockError."""
    if isinstance(data, Refused):
        raise LockError(data.message.lstrip("/"), data.fix)
    try:
        text = data.decode("utf-8")
        project = tomllib.loads(text).get("project", {})
        name, wanted = project.get("name"), [*map(str, project.get("dependencies", ()))]
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise LockError(f"it is no project file: {str(error)[:200]}", "correct it") from None
    found = [match["which"] for each in wanted if (match := _REQUIREMENT.fullmatch(each[:300]))]
    if name == "foresite" or not found:
        return "", 0
    lines = (n for n, each in enumerate(text.split("\n"), 1) if _WRITTEN.search(each[:300]))
    exact, line = [_EXACT.fullmatch(each) for each in found], next(lines, 0)
    if len(exact) != 1 or exact[0] is None:
        raise LockError("it locks no single version of Foresite", "write foresite==VERSION", line)
    return exact[0]["version"], line


def lock_problems(root: Path, running: str) -> list[Problem]:
    """The problem of a repository that locks another version than the one that runs."""
    try:
        version, line = parse(_here(root, FILE))
    except LockError as error:
        return [error.problem]
    if version in ("", running):
        return []
    message = f"this is Foresite {running}, and the repository locks {version}"
    fix = f"run `uv run foresite`, or install {version}; to upgrade, lock {running} there"
    return [LockError(message, fix, line).problem]
