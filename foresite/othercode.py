"""Running the code of another commit: for a request whose own code is not trusted, or to see what a
change of the code itself does. The packages come from that commit; the libraries that they import
are those installed here. Of a repository with data alone it is the version of Foresite that the
commit locks, with its libraries."""

import hashlib
import importlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from foresite.command import UsageError, version
from preview.objects import Objects, parse
from preview.states.git import GitError, git
from preview.states.lock import FILES, local_sources, lock_file, locked_version
from preview.states.snapshot import Snapshot
from schemas.kubernetes.masking import shorten
from schemas.model.own_components import versions

PACKAGES = ("foresite", "preview", "components", "policies", "schemas")
_TIME_LIMIT = 600
_PYTHON = (sys.executable, "-P", "-m")
"""-P keeps Python from importing what lies where the command is called."""
_ENVIRONMENTS = ("PYTHONPATH", "UV_PROJECT_ENVIRONMENT", "VIRTUAL_ENV")
"""What would lead another version to this one's environment."""
_OF_CI = ("ACTIONS_", "GITHUB_", "PULUMI_", "RUNNER_")
"""Starts of names of CI's files and rights, which the version of a state has no use for."""
_PASSED = ("HOME", "LANG", "PATH", "SOURCE_DATE_EPOCH", "TMPDIR")
"""All of the environment that the version of a state gets once it is installed."""
_HAND_OVER = "import foresite, runpy; runpy.run_module('preview.objects', run_name='__main__')"
_PREVIEWS = ("foresite/commands/preview.py", "foresite/preview.py")
"""Where the code of a commit has the command, now and in earlier versions."""


def run_with(root: Path, commit: str, arguments: list[str]) -> int:
    """Run ``foresite`` as it is in ``commit`` on the repository at ``root``; its exit code."""
    with _code(root, commit) as folder:
        if not any((folder / each).exists() for each in _PREVIEWS):
            raise UsageError(f"the code of {commit[:10]} has no preview; leave --code out")
        command = ["foresite", "--root", str(root), *arguments]
        return _run(commit, [*_PYTHON, *command], _environment(folder), keep=False).returncode


def make_objects_with(
    side: Snapshot, folder: Path, names: list[str]
) -> Mapping[str, Objects] | None:
    """The objects of sites in ``folder`` as the code of a state makes them; None for the work tree,
    or a state that locks the version that runs. Raises UsageError, LockError."""
    locked = locked_version(side)
    if locked == version():
        return None
    if locked:
        return _parse(side.label, _run_locked(side, [str(folder), *names]))
    if side.commit is None:
        return None
    with _code(side.root, side.commit) as code:
        if not (code / "preview" / "objects.py").exists():
            raise UsageError(f"the code of {side.label} cannot hand over objects: leave --code out")
        command = [*_PYTHON, "preview.objects", str(folder), *names]
        done = _run(side.label, command, _environment(code))
    return _parse(side.label, done)


def _run_locked(side: Snapshot, words: list[str]) -> subprocess.CompletedProcess[str]:
    """The objects that the version of Foresite makes which a state locks: uv installs it as the
    state's own lock says, in an environment that is gone when this returns."""
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError(f"{side.label} locks another Foresite: install uv, which runs it")
    with tempfile.TemporaryDirectory(prefix="foresite-version-") as folder:
        for name in FILES:
            if isinstance(data := lock_file(side, name), bytes) and data:
                (Path(folder) / name).write_bytes(data)
        _bring_packages(side, Path(folder))
        locked = ["--locked"] if (Path(folder) / FILES[1]).exists() else []
        command = [uv, "sync", "--quiet", "--no-config", "--no-dev", *locked, "--project", folder]
        kept = (name for name in os.environ if name not in _ENVIRONMENTS)
        env = {name: os.environ[name] for name in kept if not name.startswith(_OF_CI)}
        done = _run(side.label, command, env)
        if done.returncode:
            return done
        env = {name: env[name] for name in _PASSED if name in env}
        python = f"{folder}/.venv/bin/python"
        return _run(side.label, [python, "-P", "-c", _HAND_OVER, *words], env)


def _bring_packages(side: Snapshot, folder: Path) -> None:
    """Put the packages that lie in a state's repository where its lock looks for them. They are
    the same in both states: where they differ, no other version is run."""
    names = [each for each in local_sources(side) if each and not each.startswith(("/", ".."))]
    if side.commit is not None and names:
        _unpack(side.root, side.commit, folder, tuple(names))
    for name in names if side.commit is None else ():
        if (side.root / name).is_dir():
            shutil.copytree(side.root / name, folder / name, symlinks=True, dirs_exist_ok=True)


def _run(
    state: str, command: list[str], env: Mapping[str, str], *, keep: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a state's code and ``keep`` its output, or show it. Raises UsageError where too slow."""
    try:
        return subprocess.run(
            command, env=env, capture_output=keep, text=True, check=False, timeout=_TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"the code of {state} took more than {_TIME_LIMIT} s") from None


def _parse(label: str, done: subprocess.CompletedProcess[str]) -> Mapping[str, Objects]:
    """The objects that the code of a state printed. Raises UsageError."""
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no word of why"]
        raise UsageError(f"the code of {label} fails: {said[-1]}")
    try:
        return parse(done.stdout)
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(f"the code of {label} hands over no objects: {error}") from None


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


def code_digest() -> str:
    """A digest of the code that runs: of every file of its packages, the built-in catalogue among
    them, and of what is installed besides to make components."""
    found = hashlib.sha256("\n".join([version(), *versions()]).encode())
    for name in PACKAGES:
        folder = Path(str(importlib.import_module(name).__file__)).parent
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                data = path.read_bytes()
                found.update(f"{name}/{path.relative_to(folder)} {len(data)}\n".encode() + data)
    return found.hexdigest()


@contextmanager
def _code(root: Path, commit: str) -> Iterator[Path]:
    """A folder with the packages of a commit, gone when the block is left."""
    with tempfile.TemporaryDirectory(prefix="foresite-code-") as folder:
        _unpack(root, commit, Path(folder), tuple(f"{each}/" for each in PACKAGES))
        yield Path(folder)


def _unpack(root: Path, commit: str, folder: Path, starts: tuple[str, ...]) -> None:
    """Write the files of a commit whose paths begin with one of ``starts``. Raises UsageError."""
    try:
        packed = git(root, "archive", "--format=tar", commit)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            members = [each for each in archive if each.name.startswith(starts)]
            archive.extractall(folder, members, filter="data")
    except (GitError, tarfile.TarError, OSError) as error:
        said = shorten(str(error), 200)
        raise UsageError(f"the code of {commit[:10]} cannot be unpacked: {said}") from None
