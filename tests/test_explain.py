"""``foresite explain``: what a value is, where it stands, and which objects would change with it."""

import json
import shutil
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

import schemas.catalogued
from components.site import site_objects
from components.trace import Carriers, carriers
from foresite.cli import FAILED, FOUND, OK, main
from schemas.hostlist import COLUMNS
from schemas.load import load_site
from schemas.primitives import Model
from schemas.reader import Document, read_yaml
from schemas.resolve import MAX_PATH, Meaning, Origin, UnknownPathError, resolve
from schemas.site import Site
from tests.golden import GOLDEN, every_site
from tests.repository import ROOT

SITES = sorted(every_site())
CATALOGUE = ROOT / "schemas" / "catalogue"


def folder_of(name: str) -> Path:
    return (GOLDEN if name == "edge-1" else ROOT) / "sites"


def document_of(name: str) -> Document:
    file = f"sites/{name}.yaml"
    document, problems = read_yaml((folder_of(name) / f"{name}.yaml").read_bytes(), file)
    assert document is not None, problems
    return document


def meaning_of(name: str, path: str) -> Meaning:
    hosts = (folder_of(name) / f"{name}.hosts.csv").read_text("utf-8")
    return resolve(every_site()[name], document_of(name), hosts, path)


def explained(*arguments: str) -> int:
    return main(["--root", str(ROOT), "explain", *arguments])


def plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump(mode="json")
    return value.value if isinstance(value, Enum) else value


def leaves(value: Any, path: str = "", by_name: bool = True) -> Iterator[tuple[str, Any]]:
    """Every value of a file with its path as a person would write it."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key, by_name)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            named = by_name and isinstance(item, dict) and "name" in item
            step = f".{item['name']}" if named else f"[{index}]"
            yield from leaves(item, f"{path}{step}", by_name)
    else:
        yield path, value


def stands_at(place: str, value: Any, folder: Path) -> None:
    """The text of a value is where its place says."""
    file, line, column = place.rsplit(":", 2)
    rest = (folder / file).read_text("utf-8").split("\n")[int(line) - 1][int(column) - 1 :]
    (said,) = yaml.load(f"[{rest.split('#')[0]}" if rest[:1] in "}]" else f"- {one(rest)}", Loader=yaml.CSafeLoader)
    assert said == value, place


def one(rest: str) -> str:
    """The scalar or empty collection that a text starts with."""
    if rest[0] in "\"'":
        return rest[: rest.index(rest[0], 1) + 1]
    if rest[:2] in {"[]", "{}"}:
        return rest[:2]
    for stop in (", ", "}", "]", " #"):
        rest = rest.split(stop)[0]
    return rest
