"""Data that stands in TOML beside the module that reads it."""

import tomllib
from pathlib import Path
from typing import Any


def read_table(module: str, name: str = "") -> dict[str, Any]:
    """The table beside a module (its ``__file__``): the one of the module's name, or another."""
    path = Path(module)
    file = path.with_name(name) if name else path.with_suffix(".toml")
    return tomllib.loads(file.read_text("utf-8"))
