"""A machine with nothing but made-up tools, for the tests of the toolchain."""

import os
import subprocess
import sys
from pathlib import Path

from tests.kit.repository import ROOT

GOOD_GO = """
case "$1" in
  env) echo go1.26.0 ;;
  build)
    echo "$*" >> "$(dirname "$0")/builds"
    sleep "${SLOW:-0}"
    while [ "$1" != -o ]; do shift; done
    echo '#!/bin/sh' > "$2"; chmod +x "$2" ;;
esac
"""


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    # The tools under test get a PATH of their own; their few commands come from here.
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{body}\n")
    path.chmod(0o755)
    return path


class Machine:
    """A machine with nothing but what a test puts on its PATH."""

    def __init__(self, root: Path) -> None:
        self.bin, self.cache = root / "bin", root / "cache"
        self.bin.mkdir()
        kept = {"LANG": os.environ.get("LANG", "C.UTF-8"), "HOME": str(root)}
        self.env = {**kept, "PATH": str(self.bin), "FORESITE_CACHE": str(self.cache)}
        # No test downloads anything, unless it says from where.
        self.env["FORESITE_OFFLINE"] = "1"

    def put(self, name: str, body: str) -> Path:
        return script(self.bin / name, body)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tools.toolchain", *arguments],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        return process.returncode, out + err

    def kept(self) -> list[str]:
        """The files of the cache, leftovers included."""
        return sorted(path.name for path in self.cache.glob("*/*") if path.parent.name != "locks")

    def builds(self) -> int:
        log = self.bin / "builds"
        return len(log.read_text().splitlines()) if log.exists() else 0
