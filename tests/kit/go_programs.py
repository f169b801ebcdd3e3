"""Go programs that tests run, each built once into the cache: compiling one takes a minute.

``python -m tests.kit.go_programs`` builds those that are missing. A program is pinned by the go.mod
and go.sum of its folder, and built anew where they or its own sources change.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.parts import or_skip
from tests.kit.repository import ROOT
from tools.toolchain.cache import cache_directory, filling, hold_lock, platform_tag
from tools.toolchain.installed import find

SCHEDULER = ROOT / "images" / "scheduler"
"""The scheduler with the gang plugin and kube-throttler. It is not among those that are built
ahead: not every proxy serves the modules of its plugins."""
FOLDERS = [
    ROOT / "tests" / "kit" / "containerd",
    ROOT / "tests" / "kit" / "kubelet_managers",
    *(ROOT / "tools" / name for name in ("actionlint", "dyff", "gitleaks", "kubeconform")),
]

_UNSERVED = r"40[34] (Forbidden|Not Found)|410 Gone|dial tcp|no such host"


def given(name: str) -> Path:
    """A given executable; the test is skipped where it is not at hand."""
    return or_skip(find, name).path


def program(folder: Path) -> Path:
    """The program of a folder; the test is skipped where there is no Go to build it."""
    sources = [folder / "go.mod", folder / "go.sum", *sorted(folder.glob("*.go"))]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    target = cache_directory() / "go-programs" / f"{folder.name}-{platform_tag()}-{digest}"
    with hold_lock(f"go-{folder.name}"):
        if not target.exists():
            if shutil.which("go") is None:
                pytest.skip(f"Go is not on PATH, so {folder.name} cannot be built")
            with filling(target) as new:
                _build(folder, new / folder.name)
    return target / folder.name


def _build(folder: Path, target: Path) -> None:
    """Build what go.mod names as its tool, else the folder's own program."""
    tool = re.search(r"^tool (\S+)$", (folder / "go.mod").read_text("utf-8"), re.MULTILINE)
    env = {"GOFLAGS": "-mod=readonly -buildvcs=false", "GOWORK": "off"}
    command = ["go", "build", "-o", str(target), tool[1] if tool else "."]
    built = subprocess.run(
        command, cwd=folder, env=os.environ | env, check=False, capture_output=True, text=True
    )
    if built.returncode and re.search(_UNSERVED, built.stderr):
        pytest.skip(f"the Go module proxy does not serve what {folder.name} is made of")
    if built.returncode:
        raise RuntimeError(f"{folder.name} cannot be built:\n{built.stderr}")


if __name__ == "__main__":
    for each in FOLDERS:
        print(program(each), file=sys.stderr)
