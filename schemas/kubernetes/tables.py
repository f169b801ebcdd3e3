"""Data that stands in TOML beside the module that reads it, and files that are made of data."""

import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any


@cache
def read_table(module: str, name: str = "") -> dict[str, Any]:
    """The table beside a module (``__file__``), of its name or another. Never change it."""
    path = Path(module)
    file = path.with_name(name) if name else path.with_suffix(".toml")
    return tomllib.loads(file.read_text("utf-8"))


def write_pages(pages: Mapping[Path, str], arguments: Sequence[str]) -> int:
    """Write generated files, or with ``--check`` compare them; exit code 1: differs, 2: usage."""
    if arguments not in ([], ["--check"]):
        print("the one argument is --check: write nothing, and compare", file=sys.stderr)
        return 2
    every = pages.items()
    changed = {at: new for at, new in every if not at.is_file() or at.read_text("utf-8") != new}
    for path, text in changed.items():
        if not arguments:
            path.write_text(text, "utf-8")
        print(f"differs: {path.name}; run make generate" if arguments else f"written: {path.name}")
    return int(bool(arguments and changed))
