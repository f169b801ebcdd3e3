"""The sentences of findings, by name (messages.toml): what is wrong, and what to do if not what the
rule says. ``{0}`` is the first value that a check gives."""

from policies.rule import Found
from schemas.kubernetes.tables import read_table

_ROWS: dict[str, list[str]] = read_table(__file__)


def say(row: str, path: str, /, *values: object, value: str = "") -> Found:
    """The finding of a row at a place; a tuple is shown by its members, a set by them in order."""
    shown = [_shown(each) for each in values]
    message, fix = (text.format(*shown) for text in (*_ROWS[row], "")[:2])
    return Found(path, message, fix, value)


def _shown(value: object) -> object:
    members = (*sorted(value),) if isinstance(value, set | frozenset) else value
    return ", ".join(map(str, members)) if isinstance(members, tuple) else value
