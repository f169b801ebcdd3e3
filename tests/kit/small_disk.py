"""A small disk in a private mount namespace, to fill up."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.repository import FLEET, ROOT

ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
FORESITE = f"{shlex.quote(sys.executable)} -m foresite"


def shell(script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script in the repository."""
    return subprocess.run(
        ["bash", "-c", script],
        cwd=FLEET,
        env={**ENV, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def on_disk(folder: Path, size: str, script: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a script where ``folder`` is a disk of that size, which nobody else sees."""
    folder.mkdir(parents=True, exist_ok=True)
    inside = f"mount -t tmpfs -o size={size} tmpfs {folder} && cd {FLEET} && {script}"
    return shell(f"unshare -m bash -c {shlex.quote(inside)}", **env)


def may_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return shell("unshare -m mount -t tmpfs tmpfs /mnt").returncode == 0


needs_disk = pytest.mark.skipif(not may_mount(), reason="no right to mount a small disk")
