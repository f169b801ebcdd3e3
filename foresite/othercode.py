"""Running a command with the code of another commit: for a request whose own code is not trusted.

The packages come from that commit; the libraries that they import are those installed here.
"""

import io
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from foresite.command import UsageError

PACKAGES = ("foresite", "preview", "components", "schemas")
_TIME_LIMIT = 600


def run_with(root: Path, commit: str, arguments: list[str]) -> int:
    """Run ``foresite`` as it is in ``commit`` on the repository at ``root``; its exit code."""
    with tempfile.TemporaryDirectory(prefix="foresite-code-") as folder:
        _extract(root, commit, Path(folder))
        if not (Path(folder) / "foresite" / "preview.py").exists():
            raise UsageError(f"the code of {commit[:10]} has no preview; leave --code out")
        # -P: nothing is imported from where the command is called.
        command = [sys.executable, "-P", "-m", "foresite", "--root", str(root), *arguments]
        env = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, env=env, check=False, timeout=_TIME_LIMIT).returncode


def _extract(root: Path, commit: str, folder: Path) -> None:
    done = subprocess.run(
        ["git", "-C", str(root), "archive", "--format=tar", commit],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise UsageError(f"the code of {commit[:10]} cannot be read: {said}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        members = [m for m in archive if m.name.split("/")[0] in PACKAGES]
        archive.extractall(folder, members, filter="data")
