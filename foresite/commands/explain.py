"""``foresite explain``: what a value is, where it comes from, and which objects carry it."""

import argparse
import json
from collections.abc import Iterator
from enum import Enum
from typing import Any

from components.making.manifest import Manifest
from components.trace import Carriers, carriers
from foresite.command import FOUND, OK, UsageError, repository, show
from foresite.commands.check import show_problems
from schemas.load import catalogue_of, load_site
from schemas.model.primitives import Model
from schemas.resolve import Meaning, UnknownPathError, resolve

SHOWN = 12
"""Objects of one kind that are named; the others are counted."""


def run(options: argparse.Namespace) -> int:
    """Explain one path of one site; the site must be free of problems."""
    root = repository(options)
    loaded = load_site(root, options.site)
    if loaded.site is None or loaded.document is None:
        show_problems(options.format, {loaded.name: loaded}, list(loaded.problems))
        return FOUND
    hosts = (root / "sites" / f"{options.site}.hosts.csv").read_text(encoding="utf-8")
    try:
        meaning = resolve(loaded.site, loaded.document, hosts, options.path, catalogue_of(root))
    except UnknownPathError as error:
        raise UsageError(str(error)) from None
    found = _carriers(loaded.site, meaning)
    show(_as_json(meaning, found) if options.format == "json" else _as_text(meaning, found))
    return OK


def _carriers(site: Any, meaning: Meaning) -> Carriers | None:
    """The objects that carry a value; None where that is not a question (maps, lists of maps,
    computed)."""
    value, others = meaning.value, meaning.others
    if value and isinstance(value, list) and all(isinstance(each, str) for each in value):
        others = tuple(_other_lists(value))
    elif isinstance(value, dict | list | Model) or value is None:
        return None
    return None if meaning.change is None else carriers(site, value, meaning.change, others)


def _other_lists(items: list[str]) -> Iterator[list[str]]:
    """Lists of names without one of them, or with another one in its place."""
    for index, item in enumerate(items):
        yield [*items[:index], *items[index + 1 :]]
        yield [*items[:index], f"{item}x", *items[index + 1 :]]


def _plain(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump(mode="json")
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def _as_json(meaning: Meaning, found: Carriers | None) -> str:
    known = found is not None and found.known
    return json.dumps(
        {
            "path": meaning.path,
            "value": _plain(meaning.value),
            "description": meaning.description,
            "origin": meaning.origin.value,
            "place": meaning.place,
            "objects": {
                component: [m.title for m in manifests]
                for component, manifests in found.objects.items()
            }
            if known and found
            else None,
        },
        indent=2,
    )


def _as_text(meaning: Meaning, found: Carriers | None) -> str:
    where = f", {meaning.place}" if meaning.place else ""
    lines = [
        f"{meaning.path} = {json.dumps(_plain(meaning.value), ensure_ascii=False)}",
        f"  what: {meaning.description}",
        f"  from: {meaning.origin.value}{where}",
    ]
    if found is None:
        return "\n".join(lines)
    if not found.known:
        return "\n".join([*lines, "  in:   unknown: no other value could be tried"])
    if not found.objects:
        where = "it is used by checks, or to connect to a cluster"
        return "\n".join([*lines, f"  in:   no object; {where}"])
    count = sum(map(len, found.objects.values()))
    lines.append(f"  in:   {count} object{'' if count == 1 else 's'}")
    for component, manifests in found.objects.items():
        kinds: dict[str, list[Manifest]] = {}
        for manifest in manifests:
            kinds.setdefault(manifest.kind, []).append(manifest)
        for group in kinds.values():
            lines += [f"        {component}: {each.title}" for each in group[:SHOWN]]
            if len(group) > SHOWN:
                lines.append(f"        {component}: and {len(group) - SHOWN} more {group[0].kind}s")
    return "\n".join(lines)
