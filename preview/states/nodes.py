"""The nodes of sites as somebody saw them last: what ``kubectl get nodes -o json`` printed.

A file is of one site, a folder has one file for each, ``<site>.json``. What is read is untrusted:
it comes from a cluster, and says what machines' own programs told it.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.effects.fleet import Condition, NodeState
from schemas.reading.bounded import UnfitFileError, parse_json, read_regular

LARGEST = 128 * 1024 * 1024
"""Bytes of a file: some 5,000 nodes with all their images."""
ENDING = ".json"
_HOW = "write it with: kubectl get nodes -o json"


class NodesError(Exception):
    """A file of nodes cannot be used; the message says which, where, and what to do instead."""


class Seen(NamedTuple):
    """A site's nodes by name, and when a condition was told last; empty where none says so."""

    nodes: Mapping[str, NodeState]
    when: str


def nodes_of(path: Path, sites: Collection[str], wanted: Collection[str]) -> dict[str, Seen]:
    """The nodes of each site that ``path`` tells of, a file or a folder; ``sites`` are those that
    there are, ``wanted`` those that were asked for. Raises NodesError."""
    if path.is_dir():
        return dict(_in_folder(path, sites))
    return {_site_of(path, sites, wanted): read(path)}


def _in_folder(path: Path, sites: Collection[str]) -> Iterator[tuple[str, Seen]]:
    files = sorted(each for each in path.iterdir() if each.name.endswith(ENDING))
    if not files:
        raise NodesError(f"{path}: no file {ENDING} is in this folder; it takes <site>{ENDING}")
    for file in files:
        site = file.name.removesuffix(ENDING)
        if site not in sites:
            raise NodesError(f"{file}: there is no site {site!r}; name the file <site>{ENDING}")
        yield site, read(file)


def _site_of(path: Path, sites: Collection[str], wanted: Collection[str]) -> str:
    """The site that a file is of: the one that was asked for, or that it is named after."""
    own = path.name.removesuffix(ENDING)
    names = list(dict.fromkeys(wanted)) or ([own] if own in sites else [])
    if len(names) == 1:
        return names[0]
    raise NodesError(
        f"{path}: of which site are these nodes? Name one SITE, call the file <site>{ENDING}, or "
        "give a folder of such files"
    )


def read(path: Path) -> Seen:
    """The nodes in a file. Raises NodesError, and OSError where it cannot be opened."""
    try:
        text = read_regular(path, LARGEST)
    except UnfitFileError as error:
        raise NodesError(f"{path}: no plain file ({error.strerror}); {_HOW}") from None
    try:
        found = parse_json(text)
    except json.JSONDecodeError as error:
        raise NodesError(f"{path}:{error.lineno}:{error.colno}: {error.msg}; {_HOW}") from None
    except UnicodeDecodeError as error:
        line = text[: error.start].count(b"\n") + 1
        raise NodesError(f"{path}:{line}: no text of UTF-8; {_HOW}") from None
    except ValueError as error:
        # A whole number of thousands of digits: sys.get_int_max_str_digits.
        raise NodesError(f"{path}:1: {error}; {_HOW}") from None
    return _node_states(path, found)


def _node_states(path: Path, found: Any) -> Seen:
    items = found.get("items") if isinstance(found, dict) else None
    if not isinstance(items, list):
        raise NodesError(f"{path}:1: no list of nodes (items); {_HOW}")
    nodes: dict[str, NodeState] = {}
    times: list[str] = []
    for index, item in enumerate(items):
        at = f"{path}: items[{index}]"
        name = _name(at, item)
        if name in nodes:
            raise NodesError(f"{at}: node {name!r} is there twice; {_HOW}")
        nodes[name] = _node(at, item)
        told = (each.get("lastHeartbeatTime") for each in _conditions(at, item))
        times += (each for each in told if isinstance(each, str))
    return Seen(nodes, max(times, default=""))


def _name(at: str, item: Any) -> str:
    """The name of an item that is a node."""
    if not isinstance(item, dict) or item.get("kind", "Node") != "Node":
        kind = item.get("kind") if isinstance(item, dict) else type(item).__name__
        raise NodesError(f"{at} is no Node but {kind!r}; {_HOW}")
    name = _inside(at, item, "metadata").get("name")
    if not isinstance(name, str) or not name:
        raise NodesError(f"{at}.metadata.name is missing; {_HOW}")
    return name


def _node(at: str, item: dict[str, Any]) -> NodeState:
    taints = _inside(at, item, "spec", "taints", maps=True)
    labels = _inside(at, item, "metadata", "labels")
    return NodeState(
        {str(each.get("type")): _condition(each) for each in _conditions(at, item)},
        {str(key): str(value) for key, value in labels.items()},
        {str(each.get("key")): str(each.get("value", "")) for each in taints},
        _inside(at, item, "spec").get("unschedulable") is True,
    )


def _conditions(at: str, item: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _inside(at, item, "status", "conditions", maps=True)
    return found


def _condition(found: dict[str, Any]) -> Condition:
    return Condition(str(found.get("status", "")), str(found.get("message", ""))[:1000])


def _inside(at: str, item: dict[str, Any], *path: str, maps: bool = False) -> Any:
    """The map at a path in an item, or the list of ``maps``; empty where it is not there."""
    found: Any = item
    for key in path:
        at, found = f"{at}.{key}", found.get(key)
        if found is None:
            return [] if maps else {}
        if maps and key == path[-1]:
            if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
                raise NodesError(f"{at} is no list of maps; {_HOW}")
        elif not isinstance(found, dict):
            raise NodesError(f"{at} is no map; {_HOW}")
    return found
