"""One good object of each kind that sites are made of, and how to make it a bad one."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

GOOD = Path(__file__).with_suffix(".yaml").read_text("utf-8")
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(GOOD))
BY_KIND = {obj["kind"]: obj for obj in OBJECTS}
GONE = object()
JOB_POD = ("spec", "replicatedJobs", 0, "template", "spec", "template")
Place = tuple[str | int, ...]


def nodes(node: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value of an object with its path, parents first."""
    yield path, node
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from nodes(value, (*path, key))


def changed(obj: Any, path: Place, value: Any) -> Any:
    """A copy of an object with another value at a path, or without it."""
    result = node = copy.deepcopy(obj)
    for key in path[:-1]:
        node = node[key]
    if value is GONE:
        del node[path[-1]]
    else:
        node[path[-1]] = copy.deepcopy(value)
    return result
