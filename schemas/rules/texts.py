"""Texts of findings as data, in a TOML table."""

import tomllib
from pathlib import Path
from typing import Any

from schemas.model.codes import Code
from schemas.rules.finding import Finding, HostCell
from schemas.rules.finding import Path as Place

_ROWS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def say(row: str, place: Place | HostCell, /, **values: Any) -> Finding:
    """The finding of a row of texts.toml, with values in its braces."""
    own = _ROWS[row]
    message, fix = (own[each].format(**values) for each in ("message", "fix"))
    return Finding(Code(own["code"]), place, message, fix, key=own.get("key", False))
