"""From two states of a repository to what the change does to every site.

Owns the order of the work; each step is a module of its own. Nothing is checked out and no cluster
is asked.
"""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from components.impact.vocabulary import SiteChange
from components.manifest import Manifest
from components.valid import object_problems
from preview.causes import causes
from preview.compare import compare, side
from preview.edits import Input, edits
from preview.fleet import site_names, site_of, suspects, touched
from preview.group import grouped
from preview.judge import judge
from preview.result import Preview, SitePreview, State
from preview.snapshot import Snapshot, changed_files
from schemas.load import Loaded, load
from schemas.problem import Problem

CODE = ("schemas", "components", "__main__.py", "Pulumi.yaml")
"""What the objects of a site are made by, besides the catalogue, which is data."""
Each = Callable[[Callable[[str], SitePreview | None], Sequence[str]], list[SitePreview | None]]
"""Applies a function to each name, in order; the caller's choice how many at a time."""


class UnknownSiteError(Exception):
    """A site was asked for that neither side has; the message names it."""


class _Folders(NamedTuple):
    """Where the files of both sides lie, and the sites among which a clash may be."""

    before: Path
    after: Path
    suspects: frozenset[str]


def survey(
    before: Snapshot, after: Snapshot, wanted: Iterable[str] = (), each: Each | None = None
) -> Preview:
    """What the change between two states does; of the wanted sites, or of all that it touches.

    Raises UnknownSiteError.
    """
    known = {*site_names(before), *site_names(after)}
    if unknown := sorted(set(wanted) - known):
        raise UnknownSiteError(unknown[0])
    names = [name for name in touched(before, after) if not wanted or name in set(wanted)]
    sites: list[SitePreview | None] = []
    if names:
        with tempfile.TemporaryDirectory(prefix="foresite-") as folder:
            folders = _write(before, after, names, Path(folder))
            one = partial(_site, folders)
            sites = each(one, names) if each else [one(name) for name in names]
    return Preview(
        base=before.label,
        head=after.label,
        sites_total=len(site_names(after)),
        entries=grouped([site for site in sites if site is not None]),
        code_changed=tuple(_code_changes(before, after)),
    )


def _write(before: Snapshot, after: Snapshot, names: list[str], folder: Path) -> _Folders:
    """The files of the sites that are looked at, and all that sites share, of both sides."""
    near = suspects(before, after, names)
    for part, snapshot in (("before", before), ("after", after)):
        wanted = {*names, *near}
        paths = [p for p in snapshot.files if (site := site_of(p)) is None or site in wanted]
        (folder / part / "sites").mkdir(parents=True)
        snapshot.write(paths, folder / part)
    return _Folders(folder / "before", folder / "after", frozenset(near))


def _site(folders: _Folders, name: str) -> SitePreview | None:
    """What the change does to one site; None where it does nothing at all."""
    sides: list[Input | None] = []
    for folder, among in ((folders.before, frozenset[str]()), (folders.after, folders.suspects)):
        loaded = load(folder, [name], among)[name] if _there(folder, name) else None
        if loaded is not None and loaded.problems:
            return SitePreview(name, State.INVALID, problems=loaded.problems)
        sides.append(_input(loaded, folder))
    old, new = sides
    change = compare(name, side(old.site) if old else None, side(new.site) if new else None)
    if not change.changes:
        return None
    if problems := _refused(change):
        return SitePreview(name, State.INVALID, problems=problems)
    found = edits(old, new) if old and new else []
    return judge(change, causes(change, found))


def _refused(change: SiteChange) -> tuple[Problem, ...]:
    """What the API server would say against the objects that change."""
    if change.after is None:
        return ()
    objects: dict[str, list[Manifest]] = {}
    for each in change.changes.values():
        if each.after is not None:
            objects.setdefault(each.component, []).append(each.after)
    return tuple(object_problems(change.after.site, objects))


def _there(folder: Path, name: str) -> bool:
    return any((folder / "sites" / f"{name}{end}").exists() for end in (".yaml", ".hosts.csv"))


def _input(loaded: Loaded | None, folder: Path) -> Input | None:
    if loaded is None or loaded.site is None or loaded.document is None:
        return None
    return Input(loaded.site, loaded.document, folder)


def _code_changes(before: Snapshot, after: Snapshot) -> list[str]:
    """Foresite's own files that differ: objects may differ that the preview makes alike."""
    if before.commit is None:
        return []
    found = changed_files(before.root, before.commit, after.commit, CODE)
    made = (".py", ".json", ".yaml", ".gz")
    return [p for p in found if p.endswith(made) and not p.startswith("schemas/catalogue/")]
