"""The version of Foresite that a state of a repository locks: ``foresite==1.2.3`` among the
dependencies of its pyproject.toml. A repository that holds Foresite's own code locks none."""

import functools
import hashlib
import json
import os
import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from preview.states.git import GitError, changed_files, git
from preview.states.snapshot import Snapshot
from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.problem import Problem
from schemas.reading.catalogue import SHOWN
from schemas.reading.site_files import read
from schemas.reading.tree import Refused

FILE = "pyproject.toml"
FILES = (FILE, "uv.lock")
"""What an environment with the locked version is made from."""
CODE = ("schemas", "components", "policies")
"""Paths of the code that makes a site's objects; the catalogue is data."""
PROGRAM = ("__main__.py", "Pulumi.yaml")
"""Paths of what Pulumi runs besides, which no code that makes objects shows."""
_REQUIREMENT = re.compile(r"(?i)\s*foresite(?![\w.-])\s*(?P<which>[^;]*?)\s*(;.*)?")
_WRITTEN = re.compile(r"(?i)[\"']\s*foresite\s*([=<>~!;@\[]|[\"']\s*[,\]])")
_EXACT = re.compile(r"==\s*(?P<version>\d[^\s*,]*)")
_TABLE = read_table(__file__)
_FILES = {name: re.compile(each, re.DOTALL) for name, each in _TABLE["patterns"].items()}
_LOCAL = ("path", "directory", "editable", "virtual")
"""Keys of a source that is a folder or a file, in pyproject.toml or uv.lock."""
_GIT_LINK = b"120000 "
"""The mode of a symbolic link in a tree of Git."""
_HOST = re.compile(r"https?://[^/\"]*")


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
    """A file such as FILES as it is in a state; no bytes where it is not there."""
    return _here(side.root, name) if side.commit is None else _of(side.root, side.commit, name)


# A preview asks for these files of both states many times.
@functools.lru_cache(maxsize=16)
def _of(root: Path, commit: str, name: str) -> bytes:
    return git(root, "cat-file", "blob", f"{commit}:./{name}", fine=(0, 128))


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


def program_changes(before: Snapshot, after: Snapshot, changed: Iterable[str]) -> list[str]:
    """What differs of that which Pulumi runs, of states of which one locks Foresite: programs,
    libraries, and where these come from. No version of Foresite shows what it does. ``changed`` are
    the files that differ. Raises LockError."""
    given = _runs_foresite(before) and _runs_foresite(after)
    apart = [_FILES["data"], *([_FILES["output"]] if given else [])]
    local = [*local_sources(before), *local_sources(after)]
    found = [
        path
        for path in changed
        if path.startswith(tuple(local)) or not any(each.fullmatch(path) for each in apart)
    ]
    if not (locked_version(before) and locked_version(after)):
        return found
    return [p for p in found if p not in FILES] + [*_library_changes(before, after)]


def programs_changed(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """What differs of what Pulumi runs, and no objects show. Raises LockError."""
    if before.commit is None:
        return ()
    locked = locked_version(before) or locked_version(after)
    where = ["."] if locked else PROGRAM
    found = changed_files(before.root, before.commit, after.commit, where)
    return tuple(program_changes(before, after, found) if locked else found)


def code_changed(before: Snapshot, after: Snapshot) -> list[str]:
    """Foresite's own files that differ: objects may differ that the preview makes alike. Where an
    installed Foresite is locked, its versions do. Raises LockError."""
    if before.commit is None:
        return []
    old, new = locked_version(before), locked_version(after)
    if old != new:
        which = f"Foresite {old or 'of this repository'} → {new or 'of this repository'}"
        return [f"{FILE} ({which})"]
    source = locked_source(before) if old else None
    if source and source != locked_source(after):
        raise LockError(f"its Foresite {old} is not the base's {old}", "lock another version")
    if old:
        return []
    found = changed_files(before.root, before.commit, after.commit, CODE)
    # All else is read by what makes objects: scripts of hosts and programs of Envoy too.
    apart = (".md", ".css")
    return [p for p in found if not p.endswith(apart) and not p.startswith("schemas/catalogue/")]


def local_sources(side: Snapshot) -> Iterator[str]:
    """The folders of the repository that libraries are installed from, each with a slash: all in
    them is theirs, also texts, tables and what lies in sites/. Of a link it is the empty text."""
    for name, place in ((FILE, ("tool", "uv", "sources")), (FILES[1], ("package",))):
        try:
            found: Any = tomllib.loads(lock_file(side, name).decode())  # type: ignore[union-attr]
            for step in place:
                found = found.get(step, {})
            rows = [*found.values()] if isinstance(found, dict) else [x["source"] for x in found]
            rows = [y for x in rows for y in (x if isinstance(x, list) else [x])]
            paths = [row.get(key) for row in rows for key in _LOCAL]
        except (ValueError, AttributeError, LookupError, TypeError, RecursionError):
            continue
        normal = {posixpath.normpath(each) for each in paths if isinstance(each, str)}
        yield from (_prefix(side, each) for each in sorted(normal - {"."}))


def _prefix(side: Snapshot, path: str) -> str:
    """What the names of a folder's files begin with. Those behind a link may have any name."""
    parts = [] if path.startswith(("/", "..")) else path.split("/")
    above = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    if side.commit is None or not above:
        linked = any((side.root / each).is_symlink() for each in above)
    else:
        names = (f"./{each}" for each in above)
        found = git(side.root, "ls-tree", side.commit, *names, fine=(0, 128))
        linked = any(line.startswith(_GIT_LINK) for line in found.splitlines())
    return "" if linked else f"{path}/"


def _runs_foresite(side: Snapshot) -> bool:
    """True if Pulumi runs what ``foresite init`` wrote. Another program may read any file."""
    wanted = _TABLE["programs"]
    found = (lock_file(side, name) for name in ("Pulumi.yaml", *wanted))
    project, *programs = (each if isinstance(each, bytes) else b"" for each in found)
    same = [hashlib.sha256(each).hexdigest() for each in programs] == [*wanted.values()]
    return same and _FILES["project"].fullmatch(project.decode("latin-1")) is not None


def _library_changes(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Libraries that differ; with another version of Foresite, those from elsewhere alone."""
    versions = locked_version(before), locked_version(after)
    if _settings(before, versions) != _settings(after):
        yield f"{FILE} (libraries)"
    old, new = (_libraries(lock_file(side, FILES[1])) for side in (before, after))
    if versions[0] == versions[1]:
        differ = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    else:
        earlier = {*old.values(), old.get("foresite", "").replace(*versions)}
        known = frozenset[str]().union(*map(_origins, earlier))
        differ = {name for name in new if not _origins(new[name]) <= known}
        differ |= {""} if old and not new else set()
    yield from (f"{FILES[1]} ({name or 'all'})" for name in sorted(differ))


def _settings(side: Snapshot, versions: tuple[str, str] = ("", "")) -> object:
    """What a pyproject.toml says of libraries but for Foresite's version, which is replaced by
    another in where Foresite comes from."""
    data = lock_file(side, FILE)
    try:
        whole = tomllib.loads(data.decode())  # type: ignore[union-attr]
        project, settings = whole["project"], whole.get("tool", {}).get("uv", {})
        others = [s for s in project["dependencies"] if not _REQUIREMENT.fullmatch(s[:300])]
        own = json.dumps(settings.get("sources", {}).pop("foresite", None))
    except (AttributeError, LookupError, TypeError):
        return data
    # Groups of libraries among them: what a group installs by default.
    rest = {key: value for key, value in whole.items() if key not in ("project", "tool")}
    return {**project, "dependencies": others}, settings, rest, own.replace(*versions)


def _libraries(data: bytes | Refused) -> dict[str, str]:
    """The packages of a uv.lock by name, without the repository itself, as texts; of a file that
    has none that can be read, its content."""
    found: dict[str, str] = {}
    try:
        for each in tomllib.loads(data.decode())["package"] if data else ():  # type: ignore[union-attr]
            if each.get("source") != {"virtual": "."}:
                said = json.dumps(each, default=str, sort_keys=True)
                found[each["name"]] = f"{found.get(each['name'], '')}{said}\n"
    except (ValueError, AttributeError, LookupError, TypeError, RecursionError):
        return {"": json.dumps({"source": repr(data)})}
    return found


def _origins(packages: str) -> frozenset[str]:
    """Where packages of a uv.lock come from: their sources, and the hosts of all their files."""
    sources = (json.loads(line).get("source") for line in packages.splitlines())
    return frozenset({*map(repr, sources), *_HOST.findall(packages)})


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
    """The problem of a repository that locks another version than the one that runs, or that has
    a catalogue in the place of the built-in one."""
    try:
        version, line = parse(_here(root, FILE))
    except LockError as error:
        return [error.problem]
    if version and os.path.lexists(root / SHOWN):
        said = f"{FILE} locks Foresite {version}, whose own catalogue this would stand for"
        why = "an upgrade of Foresite would then change none of its images and profiles"
        fix = "take the folder away, and put what you added to it in catalogue/"
        return [Problem(SHOWN, 0, 0, Code.DUPLICATE_NAME, "", "", said, fix, why)]
    if version in ("", running):
        return []
    message = f"this is Foresite {running}, and the repository locks {version}"
    fix = f"run `uv run foresite`, or install {version}; to upgrade, lock {running} there"
    return [LockError(message, fix, line).problem]
