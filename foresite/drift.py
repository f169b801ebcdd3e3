"""``foresite drift``: where the clusters are not as Git says, object by object, field by field.

Compared are the fields that a site's objects set: what controllers and the API server add is
theirs. Nothing is changed; exit codes are 0 (no difference), 1 (differences), 2 (could not look).
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from components.impact.vocabulary import ABSENT
from components.manifest import FIELD_MANAGER, Json, Manifest
from foresite.command import FAILED, FOUND, OK, UsageError, repository
from foresite.servers.probe import Need, probe
from foresite.stack.applied import Commits, asked
from foresite.stack.engine import EngineError, Record
from foresite.stack.engines import engine_for
from foresite.stack.live import Key, keyed, read
from foresite.up import sound
from preview.snapshot import GitError
from schemas.problem import shorten
from schemas.site import Site

_SHOWN = 80
"""Characters of a value."""
_HAS, _NEVER = "has it", "never got it"

Path_ = tuple[str | int, ...]


class Difference(NamedTuple):
    """A field of an object that is not as Git says, and the field manager that last wrote it.

    ``field`` is empty where the whole object is meant.
    """

    object: str
    field: str
    git: str
    cluster: str
    by: str = ""

    def __str__(self) -> str:
        by = f" (by {self.by})" if self.by else ""
        field = f"{self.field}: " if self.field else ""
        return f"{field}Git {self.git}, cluster {self.cluster}{by}"


class Look(NamedTuple):
    """What a look at a site gave: ``failed`` says why there was none, ``note`` what may explain
    differences; ``objects`` is how many were read from the API server."""

    site: str
    context: str
    objects: int = 0
    differences: tuple[Difference, ...] = ()
    note: str = ""
    failed: str = ""


def run(options: argparse.Namespace) -> int:
    """Look at the named sites, or at all."""
    root = repository(options)
    sites = sound(root, options.sites, options.format)
    if sites is None:
        return FAILED
    commits = _commits(root)
    looks = [_look(root, site, commits, trial=options.trial) for site in sites]
    print(_as_json(looks) if options.format == "json" else "\n".join(map(_as_text, looks)))
    if any(look.failed for look in looks):
        return FAILED
    return FOUND if any(look.differences for look in looks) else OK


def _commits(root: Path) -> Commits | None:
    try:
        return Commits(root)
    except GitError:
        return None  # files without a repository can be compared as well


def _look(root: Path, site: Site, commits: Commits | None, *, trial: bool) -> Look:
    look = Look(site.name, site.file.management)
    try:
        engine = engine_for(root, site, trial=trial)
        answer = asked(engine)
        if answer[0] is None:
            never = Difference("everything", "", _HAS, _NEVER)
            return look._replace(differences=(never,))
        probe(engine, site, Need.ANSWER)
        live = read(engine)
    except (UsageError, EngineError) as error:
        return look._replace(failed=str(error))
    found = tuple(differences(keyed(site), live))
    there = sum(body is not None for body in live.values())
    note = _note(commits, site.name, answer) if commits else ""
    return look._replace(objects=there, differences=found, note=note)


def _note(commits: Commits, site: str, answer: tuple[Record | None, str]) -> str:
    try:
        due = commits.standing(site, *answer).due
    except GitError as error:
        return str(error)
    return f"to be applied: {due}" if due else ""


def differences(
    wanted: Mapping[Key, Manifest], live: Mapping[Key, Json | None]
) -> Iterator[Difference]:
    """Where the cluster is not as Git says."""
    for key, manifest in wanted.items():
        found = live.get(key)
        named = _named(manifest.body)
        if found is not None:
            yield from _fields(named, manifest, found)
        else:
            yield Difference(named, "", _HAS, "lost it" if key in live else _NEVER)
    for key, body in live.items():
        if body is not None and key not in wanted:
            yield Difference(_named(body), "", "dropped it", _HAS)


def _named(body: Json) -> str:
    metadata = body["metadata"]
    parts = (metadata.get("namespace"), metadata["name"])
    return f"{body['kind']} {'/'.join(part for part in parts if part)}"


def _fields(named: str, manifest: Manifest, body: Json) -> Iterator[Difference]:
    for path, git, cluster in _apart(manifest.body, body):
        field = ".".join(map(str, path))
        if any(field == each or field.startswith(f"{each}.") for each in manifest.ignore):
            continue  # a controller's, once the object is there
        yield Difference(named, field, _shown(git), _shown(cluster), _writer(body, path))


def _apart(wanted: Any, live: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any, Any]]:
    """Each field that ``wanted`` sets and ``live`` has otherwise, or not at all."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        for key, value in wanted.items():
            yield from _apart(value, live.get(key, ABSENT), (*path, key))
    elif isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live):
        for index, value in enumerate(wanted):
            yield from _apart(value, live[index], (*path, index))
    elif wanted != live:
        yield path, wanted, live


def _shown(value: Any) -> str:
    if value is ABSENT:
        return "has none"
    return shorten(value if isinstance(value, str) else json.dumps(value), _SHOWN)


def _writer(body: Json, path: Path_) -> str:
    """The field managers besides ours that own a field, as the API server keeps account of them."""
    found = []
    for entry in body["metadata"].get("managedFields", ()):
        fields: Any = entry.get("fieldsV1")
        for step in path:
            if not isinstance(step, str) or not isinstance(fields, dict):
                break  # items of a list are told apart by their content there
            fields = fields.get(f"f:{step}")
        if fields is not None and entry.get("manager") != FIELD_MANAGER:
            found.append(f"{entry.get('manager')}, {entry.get('time')}")
    return shorten("; ".join(found), _SHOWN)


def _as_json(looks: Iterable[Look]) -> str:
    sites = [
        {**look._asdict(), "differences": [each._asdict() for each in look.differences]}
        for look in looks
    ]
    return json.dumps({"sites": sites}, indent=2)


def _as_text(look: Look) -> str:
    if look.failed:
        return f"{look.site}: could not look: {look.failed}"
    read_from = f"{look.objects} objects read from {look.context}"
    if not look.differences:
        return f"{look.site}: as Git says, {read_from}"
    count = len(look.differences)
    lines = [f"{look.site}: {count} difference{'' if count == 1 else 's'}, {read_from}"]
    if look.note:
        lines.append(f"  {look.note}")
    objects: dict[str, list[Difference]] = {}
    for each in look.differences:
        objects.setdefault(each.object, []).append(each)
    for named, group in objects.items():
        lines += [f"  {named}", *(f"    {each}" for each in group)]
    return "\n".join(lines)
