"""What a change may concern: its two states, the sites to look at, and what no site shows.

Every shard of a preview finds the same here, from the two commits alone, and so does the merge.
"""

from collections.abc import Iterable
from typing import NamedTuple

from preview.states.fleet import changed_sites, site_names
from preview.states.git import changed_files
from preview.states.lock import FILE as LOCK
from preview.states.lock import LockError, locked_source, locked_version, program_changes
from preview.states.regions import Regions, changed_regions
from preview.states.snapshot import Snapshot
from schemas.model.texts import nearest
from schemas.refusal import UsageError

CODE = ("schemas", "components", "policies")
"""Paths of the code that makes a site's objects; the catalogue is data."""
PROGRAM = ("__main__.py", "Pulumi.yaml")
"""Paths of what Pulumi runs besides, which no code that makes objects shows."""


class Scope(NamedTuple):
    """``names`` are the sites to look at, sorted. ``code`` are Foresite's own files that differ,
    ``program`` those of them that Pulumi runs; ``each``: each side is made by its own code, so that
    sites show what ``code`` does. ``regions`` are the files of regions that differ."""

    before: Snapshot
    after: Snapshot
    names: tuple[str, ...]
    code: tuple[str, ...]
    program: tuple[str, ...]
    each: bool
    regions: Regions


def scope(before: Snapshot, after: Snapshot, wanted: Iterable[str], *, each: bool) -> Scope:
    """What the change between two states may concern, of the wanted sites or of all; ``each`` if
    each state's own code is there to make its side. Raises UsageError, LockError."""
    known = {*site_names(before), *site_names(after)}
    chosen = set(wanted)
    if unknown := sorted(chosen - known):
        raise UsageError(_unknown(unknown[0], known))
    program = _program_changes(before, after)
    code = (*_code_changes(before, after), *program)
    # Where Pulumi runs something else, or libraries come from elsewhere, nothing of that is run.
    each = each and bool(code) and not program
    reached = sorted(known) if each else changed_sites(before, after)
    names = tuple(name for name in reached if not chosen or name in chosen)
    return Scope(before, after, names, code, program, each, changed_regions(before, after))


def _unknown(name: str, known: Iterable[str]) -> str:
    near = nearest(name, sorted(known))
    hint = f"; did you mean {near}?" if near else ""
    return f"there is no site {name!r} before or after the change{hint}"


def _program_changes(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """What differs of what Pulumi runs, and no objects show. Raises LockError."""
    if before.commit is None:
        return ()
    locked = locked_version(before) or locked_version(after)
    where = ["."] if locked else PROGRAM
    found = changed_files(before.root, before.commit, after.commit, where)
    return tuple(program_changes(before, after, found) if locked else found)


def _code_changes(before: Snapshot, after: Snapshot) -> list[str]:
    """Foresite's own files that differ: objects may differ that the preview makes alike. Where an
    installed Foresite is locked, its versions do. Raises LockError."""
    if before.commit is None:
        return []
    old, new = locked_version(before), locked_version(after)
    if old != new:
        which = f"Foresite {old or 'of this repository'} → {new or 'of this repository'}"
        return [f"{LOCK} ({which})"]
    source = locked_source(before) if old else None
    if source and source != locked_source(after):
        raise LockError(f"its Foresite {old} is not the base's {old}", "lock another version")
    if old:
        return []
    found = changed_files(before.root, before.commit, after.commit, CODE)
    # All else is read by what makes objects: scripts of hosts and programs of Envoy too.
    apart = (".md", ".css")
    return [p for p in found if not p.endswith(apart) and not p.startswith("schemas/catalogue/")]
