"""Operations of RFC 6902 on plain data, with pointers of RFC 6901; ``containers[name=manager]`` is
the one item of the list whose field has that value, whatever its index."""

import copy
import json
import re
from typing import Any, NamedTuple

from schemas.model.patches import PatchOperation

_TOKEN = re.compile(r"/([^/\[]*)(?:\[([^=\]]+)=([^\]]+)\])?")


class Selected(NamedTuple):
    """The item of a list whose ``field`` is ``value``."""

    field: str
    value: str


class PatchError(Exception):
    """An operation that an object cannot take; ``fix`` says what to write instead."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


def tokens(path: str) -> list[str | Selected]:
    """The steps of a pointer."""
    found: list[str | Selected] = []
    for name, field, value in _TOKEN.findall(path):
        found.append(_plain(name))
        found += [Selected(field, _plain(value))] if field else []
    return found


def _plain(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def apply_operation(body: Any, operation: PatchOperation) -> Any:
    """The data after an operation; what is given stays as it is. Raises PatchError."""
    body = at = json.loads(json.dumps(body))  # a part that stands in two places is two parts
    *parents, last = tokens(operation.path)
    for token in parents:
        at = at[_step(at, token)]
    key = _step(at, last, new=operation.op == "add")
    value = copy.deepcopy(operation.value)
    if operation.op == "remove":
        del at[key]
    elif operation.op == "test":
        if not same(at[key], value):
            message = f"the test of {operation.path} fails: something else is there"
            raise PatchError(message, "look at what is there now, and whether the patch still fits")
    elif operation.op == "add" and isinstance(at, list):
        at.insert(key, value)
    else:
        at[key] = value
    return body


def same(one: Any, other: Any) -> bool:
    """True if two values are the same to an API server, to which 1 is not true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _step(at: Any, step: str | Selected, *, new: bool = False) -> Any:
    """The key of a map or the index in a list that a step leads to; ``new``: it may be added."""
    if isinstance(step, Selected):
        return _index(at, step)
    if isinstance(at, dict):
        if not new and step not in at:
            there = ", ".join(sorted(map(str, at))[:12]) or "nothing"
            raise PatchError(f"there is no {step}", f"there is: {there}; add makes a new field")
        return step
    if not isinstance(at, list):
        raise PatchError(f"{step} leads below a value", "end the path at the value")
    if step == "-" and new:
        return len(at)
    if not re.fullmatch(r"0|[1-9][0-9]{0,5}", step) or int(step) >= len(at) + new:
        fix = "write an index from 0, select an item as in name[field=value], or add at -"
        raise PatchError(f"the list has {len(at)} items and no {step}", fix)
    return int(step)


def _index(at: Any, token: Selected) -> int:
    items = at if isinstance(at, list) else []
    said = [str(each.get(token.field)) if isinstance(each, dict) else None for each in items]
    if said.count(token.value) != 1:
        there = ", ".join(sorted({x for x in said if x})) or "none"
        message = f"{said.count(token.value)} items have {token.field}={token.value}"
        raise PatchError(message, f"select one; there are: {there}")
    return said.index(token.value)
