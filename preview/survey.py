"""From two states of a repository to what the change does to every site.

Owns the order of the work; each step is a module of its own. Nothing is checked out and no cluster
is asked.
"""

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from components import source
from components.effects.fleet import NodeState
from components.effects.vocabulary import Side, SiteChange
from components.machines.fleet import side_of
from components.making.validation import object_problems
from components.site import objects_by_name, patch_faults
from preview.differences import connections
from preview.differences.causes import at_edits, causes
from preview.differences.compare import compare
from preview.differences.edits import Input, edits
from preview.objects import Objects
from preview.result import Preview, SitePreview, State
from preview.states.fleet import changed_sites, owners, site_names, site_of, suspects
from preview.states.lock import code_changed, locked_version, programs_changed
from preview.states.nodes import NodesError, Seen
from preview.states.regions import Regions, changed_regions, region_changes, regions_behind
from preview.states.snapshot import Snapshot
from preview.verdict.brief import bound_details
from preview.verdict.group import group_sites
from preview.verdict.judge import judge
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.load import Loaded, load
from schemas.model.codes import Code
from schemas.model.problem import MAX_PROBLEMS, Problem, first_problems
from schemas.model.texts import nearest
from schemas.reading.catalogue import SHOWN, installed_files
from schemas.reading.site_files import has_site
from schemas.reading.tree import Tree
from schemas.reading.typed_document import place
from schemas.refusal import UsageError

Each = Callable[[Callable[[str], SitePreview | None], Sequence[str]], list[SitePreview | None]]
"""Applies a function to each name, in order; the caller's choice how many at a time."""
Maker = Callable[[Snapshot, Path, list[str]], Mapping[str, Objects] | None]
"""Makes the objects of sites in a folder with the code of a state; None: this code makes them."""


class _Work(NamedTuple):
    """The files of both sides, sites among which a clash may be, by site the hosts whose BMC was
    another's, objects that another code made, states of nodes, and the regions that differ."""

    before: Tree
    after: Tree
    suspects: frozenset[str]
    owners: Mapping[str, Mapping[str, str]]
    made: tuple[Mapping[str, Objects] | None, Mapping[str, Objects] | None] = (None, None)
    nodes: Mapping[str, Seen] = MappingProxyType({})
    regions: Regions = MappingProxyType({})


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
    for unknown in sorted(chosen - known):
        near = nearest(unknown, sorted(known))
        hint = f"; did you mean {near}?" if near else ""
        raise UsageError(f"there is no site {unknown!r} before or after the change{hint}")
    program = programs_changed(before, after)
    code = (*code_changed(before, after), *program)
    # Where Pulumi runs something else, or libraries come from elsewhere, nothing of that is run.
    each = each and bool(code) and not program
    reached = sorted(known) if each else changed_sites(before, after)
    names = tuple(name for name in reached if not chosen or name in chosen)
    return Scope(before, after, names, code, program, each, changed_regions(before, after))


def survey(before: Snapshot, after: Snapshot, wanted: Iterable[str] = ()) -> Preview:
    """The effect of the change between two states on the wanted sites, or on all that it concerns;
    a change of code is unknown. Raises UsageError."""
    found = scope(before, after, wanted, each=False)
    return put_together(found, judge_sites(found, found.names), {})


def judge_sites(
    found: Scope,
    names: Sequence[str],
    each: Each | None = None,
    maker: Maker | None = None,
    nodes: Mapping[str, Seen] = MappingProxyType({}),
) -> list[SitePreview | None]:
    """The effect on some of the sites of a scope, in their order; None where there is none. Rules
    across sites see all of them. ``each`` says how many sites at a time. With a maker each side is
    made by its own code. ``nodes`` are how those of a site were last seen, by site. Raises
    NodesError where nodes are of another site."""
    if not names:
        return []
    work = _work(found, names, maker if found.each else None)
    one = partial(_site, work._replace(nodes=dict(nodes), regions=found.regions))
    return bound_details(each(one, names) if each else [*map(one, names)], len(found.names))


def put_together(
    found: Scope, judged: Iterable[SitePreview | None], nodes: Mapping[str, Seen]
) -> Preview:
    """The preview of a change from the effects on all sites of its scope."""
    bounded = bound_details([*judged], len(found.names))
    sites, code = [each for each in bounded if each], found.code
    behind = {each.name: each.regions for each in sites}
    return Preview(
        base=found.before.label,
        head=found.after.label,
        sites_total=len(site_names(found.after)),
        entries=group_sites(list(_bound_problems(sites))),
        regions=region_changes(found[:2], found.regions, found.names, behind),
        code=", ".join(code[:3]) + (", …" if code[3:] else "") if found.each else "",
        code_changed=() if found.each else code,
        program_changed=bool(found.program),
        nodes={n: (len(seen.nodes), seen.when) for n, seen in nodes.items() if n in found.names},
    )


def _work(found: Scope, names: Sequence[str], maker: Maker | None) -> _Work:
    """The files of the sites that are looked at, and all that sites share, of both sides; with a
    maker also the objects that it makes of each side."""
    sides = before, after = found.before, found.after
    near = suspects(before, after, found.names)
    wanted = {*names, *near}
    chosen = [_paths(side, wanted) for side in sides]
    # The catalogue that is installed stands for that of both states where neither has one. It never
    # stands for that of one: a change that takes the catalogue away would then seem to do nothing.
    own = any(path.startswith(f"{SHOWN}/") for paths in chosen for path in paths)
    # A file that does not differ is read, and kept, once.
    read = before.contents(chosen[0])
    same = {path: read[path] for path in chosen[1]
            if path in read and before.files[path] == after.files[path]}  # fmt: skip
    rest = after.contents(path for path in chosen[1] if path not in same)
    old, new = (
        Tree({**({} if own and not locked_version(side) else installed_files()), **files})
        for side, files in zip(sides, (read, same | rest), strict=True)
    )
    work = _Work(old, new, frozenset(near), owners(before, after, names))
    if maker is None:
        return work
    made = []
    for side, paths in zip(sides, chosen, strict=True):
        with tempfile.TemporaryDirectory(prefix="foresite-") as folder:
            side.write(paths, Path(folder))
            made.append(maker(side, Path(folder), [*names]))
    return work._replace(made=(made[0], made[1]))


def _paths(side: Snapshot, wanted: Collection[str]) -> list[str]:
    """The files of some sites, and all that sites share. A state that locks Foresite has no other
    built-in catalogue, whatever lies in its place."""
    found = [path for path in side.files if (site := site_of(path)) is None or site in wanted]
    locked = bool(locked_version(side))
    return [path for path in found if not (locked and path.startswith(f"{SHOWN}/"))]


def _site(work: _Work, name: str) -> SitePreview | None:
    """The effect of the change on one site; None where it has none."""
    later = _load(work.after, name, work.suspects)
    earlier = _load(work.before, name, frozenset())
    invalid = partial(_invalid, work, name, sides=(earlier, later))
    if later and later.problems:
        # At the lines that were edited where these are known.
        old, new = _input(earlier, work.before), _input(later, work.after, later.faulty)
        return invalid(at_edits(later.problems, old, new) if old and new else later.problems)
    of_before = earlier.problems or _patch_problems(earlier) if earlier else ()
    # What the change mends: what is there now is not known.
    mended = [replace(each, message=f"before the change: {each.message}") for each in of_before]
    if problems := _patch_problems(later) or tuple(mended):
        return invalid(problems)
    old, new = sides = _input(earlier, work.before), _input(later, work.after)
    for side, made in zip(sides, work.made, strict=True):
        if side is not None and made is not None and name not in made:
            return invalid((_not_made(name),))
    change = compare(name, _side(old, work.made[0]), _side(new, work.made[1]))
    change = replace(change, nodes=_nodes(change, work.nodes.get(name)))
    if not change.changes and not any(connections.effects(change)):
        return None
    if problems := _refusals(change):
        return invalid(problems)
    edited = edits(old, new) if old and new else []
    judged = judge(change, causes(change, edited), work.owners.get(name, {}))
    judged = replace(judged, patches=len(new.site.file.patches) if new else 0)
    files, documents = (each.cause.file for each in edited), (e.document for e in sides if e)
    return replace(judged, regions=regions_behind(work.regions, files, documents))


def _invalid(
    work: _Work, name: str, problems: tuple[Problem, ...], sides: Iterable[Loaded | None]
) -> SitePreview:
    """A site of which nothing can be said."""
    files, documents = (each.file for each in problems), (each.document for each in sides if each)
    regions = regions_behind(work.regions, files, documents, unsure=True)
    return SitePreview(name, State.INVALID, problems=problems, regions=regions)


def _patch_problems(loaded: Loaded | None) -> tuple[Problem, ...]:
    """The faults of a side's patches: objects without them are not what would be applied."""
    if loaded is None or loaded.site is None or loaded.document is None:
        return ()
    return tuple(place(loaded.document, *each) for each in patch_faults(loaded.site))


def _nodes(change: SiteChange, seen: Seen | None) -> Mapping[str, NodeState] | None:
    """How a site's nodes were last seen; nodes of a site are named after its hosts."""
    if seen is None:
        return None
    hosts = {name for side in change.sides for name in side.fleet.names}
    if hosts.isdisjoint(seen.nodes):
        said = f"none of the {len(seen.nodes)} nodes that were given for {change.name} is a host"
        raise NodesError(f"{said} of it: are they another site's?")
    return seen.nodes


def _load(folder: Tree, name: str, among: frozenset[str]) -> Loaded | None:
    """A site of one side, with its problems; None where it is not there."""
    there = has_site(folder / "sites", name)
    return load(folder, [name], among, hints=False)[name] if there else None


def _bound_problems(sites: Iterable[SitePreview]) -> Iterator[SitePreview]:
    """The sites, with as many problems as one person reads; each that has any keeps one."""
    room = MAX_PROBLEMS
    for site in sites:
        kept = first_problems(site.problems, most=max(1, room))
        room -= len(kept)
        yield replace(site, problems=tuple(kept)) if kept else site


def _not_made(name: str) -> Problem:
    message = "this site has problems to the code of the state that it is in"
    fix = "run the check of that state there"
    return Problem(f"sites/{name}.yaml", 0, 0, Code.OBJECT_INVALID, "", "", message, fix)


def _refusals(change: SiteChange) -> tuple[Problem, ...]:
    """The refusals of the API server on the objects that change."""
    if change.after is None:
        return ()
    changes = change.changes.values()
    objects = group_by_key((e.component, e.after) for e in changes if e.after is not None)
    there = [(component, each) for (component, _), each in change.after.objects.items()]
    found = object_problems(source.site_of(change.after), objects, there)
    return tuple(problem for _, problem in found)


def _side(side: Input | None, made: Mapping[str, Objects] | None) -> Side | None:
    """A site with its objects, made by this code or, where that is given, by another."""
    if side is None:
        return None
    if made is None:
        return side_of(side.site, objects_by_name(side.site))
    return side_of(side.site, made.get(side.site.name, {}))


def _input(loaded: Loaded | None, folder: Tree, faulty: Site | None = None) -> Input | None:
    site = loaded.site or faulty if loaded else None
    if loaded is None or site is None or loaded.document is None:
        return None
    return Input(site, loaded.document, folder)
