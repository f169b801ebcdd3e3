"""Checks that are rows of fields.toml: a field that has, or lacks, one of some values."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from policies.embedded import bodies, format_path
from policies.pods import pods
from policies.rule import Found, Json, Object
from schemas.kubernetes.bodies import Path
from schemas.kubernetes.tables import read_table

Row = Mapping[str, Any]


def _check(rows: Sequence[Row]) -> Callable[[Object], Iterator[Found]]:
    """The check of a rule: each of its rows says what is refused."""

    def check(each: Object) -> Iterator[Found]:
        for row in rows:
            for place, who, holder in _holders(each, row["of"]):
                for path, value in _values(holder, row["at"]):
                    if _is_refused(row, value):
                        at = f"{place}.{format_path(path)}".strip(".")
                        says = row["says"] if value else row.get("lacks", row["says"])
                        yield Found(at, says.format(who=who, value=value), row.get("fix", ""))

    return check


def _holders(each: Object, of: str | list[str]) -> Iterator[tuple[str, str, Json]]:
    """The parts of an object that a row is about, each with its place and kind."""
    if isinstance(of, list):
        yield from ((place[:-1], str(body["kind"]), body) for place, body in bodies(each, of))
        return
    for pod in pods(each):
        if of == "pod":
            yield pod.path, "the pod", pod.spec
        elif of == "container":
            yield from ((one.path, f"container {one.name}", one.body) for one in pod.containers)
        else:
            yield from pod.contexts


def _values(value: Any, steps: Sequence[str], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values at steps below one, by fields.toml; what is not there is None."""
    if not steps:
        yield path, value
    elif steps[0] == "*":
        for index, item in enumerate(value if isinstance(value, list) else ()):
            yield from _values(item, steps[1:], (*path, index))
    else:
        for step in steps[0].split("|"):
            inner = value.get(step) if isinstance(value, dict) else None
            yield from _values(inner, steps[1:], (*path, step))


def _is_refused(row: Row, value: Any) -> bool:
    if "above" in row:
        return isinstance(value, int | float) and value > row["above"]
    some = row.get("refused", row.get("allowed", ()))
    # True is no 1 here, and false no 0.
    among = any(value == one and isinstance(value, bool) is isinstance(one, bool) for one in some)
    if "allowed" in row:
        return not among and (value is not None or row.get("needed", False))
    return among if some else bool(value)


CHECKS = {name: _check(rows) for name, rows in read_table(__file__).items()}
"""The checks by their rules' names."""
