"""Running the code of another commit: for a request whose own code is not trusted, or to see what
a change of the code itself does.

The packages come from that commit; the libraries that they import are those installed here.
"""

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from foresite.command import UsageError
from preview.objects import Objects, parse
from preview.states.git import GitError, git
from preview.states.snapshot import Snapshot
from schemas.kubernetes.masking import shorten

PACKAGES = ("foresite", "preview", "components", "policies", "schemas")
_TIME_LIMIT = 600
_PREVIEWS = ("foresite/commands/preview.py", "foresite/preview.py")
"""Where the code of a commit has the command, now and in earlier versions."""


def run_with(root: Path, commit: str, arguments: list[str]) -> int:
    """Run ``foresite`` as it is in ``commit`` on the repository at ``root``; its exit code."""
    with _code(root, commit) as folder:
        if not any((folder / each).exists() for each in _PREVIEWS):
            raise UsageError(f"the code of {commit[:10]} has no preview; leave --code out")
        command = ["foresite", "--root", str(root), *arguments]
        with _bounded(commit):
            return subprocess.run(
                [sys.executable, "-P", "-m", *command],
                env=_environment(folder),
                check=False,
                timeout=_TIME_LIMIT,
            ).returncode


def make_objects_with(
    side: Snapshot, folder: Path, names: list[str]
) -> Mapping[str, Objects] | None:
    """The objects of sites in ``folder`` as the code of a state makes them.

    None for the work tree, whose code is the one that runs. Raises UsageError.
    """
    if side.commit is None:
        return None
    with _code(side.root, side.commit) as code:
        if not (code / "preview" / "objects.py").exists():
            raise UsageError(f"the code of {side.label} cannot hand over objects: leave --code out")
        with _bounded(side.label):
            done = subprocess.run(
                [sys.executable, "-P", "-m", "preview.objects", str(folder), *names],
                env=_environment(code),
                capture_output=True,
                text=True,
                check=False,
                timeout=_TIME_LIMIT,
            )
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no word of why"]
        raise UsageError(f"the code of {side.label} fails: {said[-1]}")
    try:
        return parse(done.stdout)
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(f"the code of {side.label} hands over no objects: {error}") from None


@contextmanager
def _bounded(state: str) -> Iterator[None]:
    """Say that the code of a state took too long where it did. Raises UsageError."""
    try:
        yield
    except subprocess.TimeoutExpired:
        raise UsageError(f"the code of {state} took more than {_TIME_LIMIT} s") from None


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def _code(root: Path, commit: str) -> Iterator[Path]:
    """A folder with the packages of a commit, gone when the block is left.

    -P keeps Python from importing what lies where the command is called.
    """
    try:
        packed = git(root, "archive", "--format=tar", commit)
    except GitError as error:
        raise UsageError(f"the code of {commit[:10]} cannot be read: {error}") from None
    with tempfile.TemporaryDirectory(prefix="foresite-code-") as folder:
        try:
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                members = [m for m in archive if m.name.split("/")[0] in PACKAGES]
                archive.extractall(folder, members, filter="data")
        except (tarfile.TarError, OSError) as error:
            said = shorten(str(error), 200)
            raise UsageError(f"the code of {commit[:10]} cannot be unpacked: {said}") from None
        yield Path(folder)
