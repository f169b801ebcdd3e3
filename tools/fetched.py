"""Take the CRDs of ``tools.kinds.FETCHED`` from clones of their projects' repositories.

``python -m tools.fetched CLONE…`` reads each from the clone that has its commit, and stores it in
the form of :mod:`tools.crds`, which keeps it from then on. Nothing is downloaded.

To take a newer one, change its commit and SHA-256 in tools/kinds.toml, and run this.

Exit codes: 0 done, 1 no clone has a file, or it is not what was pinned, 2 wrong usage.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools import crds
from tools.kinds import FETCHED, SourceError


def fetch_stored(name: str, source: Mapping[str, str], clones: list[str]) -> dict[str, Any]:
    """The stored form of one CRD. Raises SourceError where no clone has its file, or another."""
    wanted = f"{source['commit']}:{source['path']}"
    for clone in clones:
        command = ["git", "-C", clone, "show", wanted]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0:
            break
    else:
        raise SourceError(f"no clone of {source['source']} with {wanted}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "crd.yaml").write_bytes(done.stdout)
        entry = {**source, "file": "crd.yaml", "crd": name}
        return crds.crd_document(entry, Path(folder))


def take(clones: list[str]) -> int:
    """Store every CRD from the clones, and all others again, as what repeats is shared."""
    try:
        made = {name: fetch_stored(name, source, clones) for name, source in FETCHED.items()}
    except (SourceError, ValueError) as error:
        print(f"tools.fetched: {error}", file=sys.stderr)
        return 1
    for name, document in made.items():
        (crds.DATA / f"crds/{name}.json").write_text(f"{json.dumps(document)}\n", "utf-8")
    return crds.main([])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("usage: python -m tools.fetched CLONE…", file=sys.stderr)
        sys.exit(2)
    sys.exit(take(sys.argv[1:]))
