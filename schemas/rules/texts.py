"""Texts of findings as data: a row for each fault, by the name of the fault.

The tables of messages/ have ``code``, ``message`` and ``fix`` of a fault with values in braces,
``values`` with their names in the order in which a rule gives them, and ``key`` where the place is
that of a key.
"""

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.rules.finding import Finding, HostCell, TextPlace
from schemas.rules.finding import Path as Place

TABLES = Path(__file__).with_name("messages")


@cache
def rows() -> dict[str, dict[str, Any]]:
    """The rows of all tables, by name; what has no fault reads none."""
    tables = (tomllib.loads(each.read_text("utf-8")) for each in sorted(TABLES.glob("*.toml")))
    return {name: row for table in tables for name, row in table.items()}


def say(
    row: str,
    place: Place | HostCell | TextPlace,
    /,
    *values: Any,
    also: Any = (),
    key: Any = False,
    **named: Any,
) -> Finding:
    """The finding of a row at a place: its values in order, or by name. ``also`` are further places
    as tuples; ``key`` as in a row. mypy would hold a dict of values against narrower types."""
    own = rows()[row]
    filled = dict(zip(own.get("values", ()), values, strict=True)) | named
    message, fix = (own[each].format(**filled) for each in ("message", "fix"))
    return Finding(Code(own["code"]), place, message, fix, key or own.get("key", False), also)


def advise(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """What to write instead of a name: the nearest that is known; where none is near, something
    else or one of them all."""
    names = [*known]
    near = nearest(name, names)
    return f"write {near}" if near else otherwise or f"write one of {', '.join(names)}"
