"""``foresite preview``: what a change does to the machines of every site, before it merges.

Compares two states of the repository. Needs no cluster, no credentials and no network. Of a large
change several jobs judge a shard each, and one puts their reports together (preview/shards.py).
"""

import argparse
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from components.effects.vocabulary import Impact
from foresite import parallel
from foresite.command import (
    FAILED,
    FOUND,
    OK,
    UsageError,
    count,
    no_site,
    repository,
    show,
    version,
)
from foresite.forge import forge
from foresite.othercode import code_digest, make_objects_with, run_with
from foresite.scratch import clear, scratch
from preview import report
from preview.gates import MAX_REQUEST, gates, parse_allowances, parse_limits
from preview.result import Preview, SitePreview
from preview.scope import Scope, scope
from preview.shards import FORGES, Part, Report, Terms, dump, merge, worth
from preview.states.fleet import site_names
from preview.states.git import base_of
from preview.states.lock import locked_version
from preview.states.nodes import NodesError, Seen, nodes_of
from preview.states.snapshot import Snapshot, at, work_tree
from preview.survey import judge_sites, put_together
from preview.wrapping import terminal_width
from schemas.kubernetes.masking import shorten
from schemas.reading.bounded import read_regular

FORMATS: dict[str, Callable[[Preview], str]] = {
    "text": lambda preview: report.text(preview, _colour(), terminal_width()),
    "markdown": report.comment,
    "json": report.document,
    "html": report.html,
}
FILES: dict[str, Callable[[Preview], str]] = {
    "comment.md": report.comment,
    "summary.md": report.summary,
    "report.html": report.html,
    "report.json": report.document,
}
"""Files that ``--out`` writes."""
_NONSENSE = (ArithmeticError, LookupError, TypeError, ValueError)
_SHARD = re.compile("([0-9]{1,3})/([0-9]{1,3})")


def _colour() -> bool:
    """True if colours help: for a person at a terminal who did not say no (no-color.org)."""
    return terminal_width() is not None and "NO_COLOR" not in os.environ


def run(options: argparse.Namespace) -> int:
    """Compare, judge and report; 2 where of a site nothing could be said."""
    root = repository(options)
    limits, allow = _limits_and_allowances(options)
    part = _part(options)
    try:
        base, head = _snapshots(options, root)
        if options.code in ("base", "head"):
            side = base if options.code == "base" else head
            if side.commit is not None:
                return run_with(root, side.commit, _again(options, base, head))
        if not {*site_names(base), *site_names(head)}:
            raise UsageError(no_site(root))
        maker = make_objects_with if options.code == "each" else None
        locked = locked_version(base) if maker is None else ""
        if locked and version() not in ("", locked, locked_version(head)):
            # What it would show, nobody applies.
            said = f"this is Foresite {version()}, and {base.label} locks {locked}"
            raise UsageError(f"{said}; run `uv run foresite preview`, or add --code each")
        found = scope(base, head, options.sites, each=maker is not None)
        if options.shards:
            return _plan(found)
        nodes = _nodes(options, base, head)
        judge = partial(judge_sites, found, each=parallel.each, maker=maker, nodes=nodes)
        if part:
            return _shard(options, part, found, judge, _terms(options, found, nodes))
        if options.merge:
            sites = merge(options.merge, found, _terms(options, found, nodes))
        else:
            sites = judge(found.names)
        preview = put_together(found, sites, nodes)
    except NodesError as error:
        raise UsageError(f"--nodes {error}") from None
    try:
        blocked = gates(preview, allow, limits)
        preview = replace(preview, allowed=allow, gates=blocked, forge=forge(root, base, head))
        _write(options, preview)
    except _NONSENSE as error:
        if options.merge:
            # Well-typed figures of another job need not make sense: a plan of no hosts at a time.
            raise UsageError(
                f"the shards cannot be put together ({error}): run them again"
            ) from None
        raise
    return _code(options, preview)


def _part(options: argparse.Namespace) -> Part | None:
    """The shard that is asked for. Raises UsageError for what no shard or merge can be."""
    chosen = [name for name in ("shard", "shards", "merge") if getattr(options, name)]
    if not chosen:
        return None
    name = f"--{chosen[0]}"
    if len(chosen) > 1:
        raise UsageError(f"{name} and --{chosen[1]} are two calls: leave one out")
    if not options.head:
        raise UsageError(f"{name} is about two commits: name them by --base and --head")
    if options.merge or options.shards:
        return None
    if options.fail_on or options.allow or options.request or options.exit_code:
        raise UsageError("a shard has no gates, which count over all sites: give them to --merge")
    match = _SHARD.fullmatch(options.shard)
    part = Part(*map(int, match.groups())) if match else Part(0, 0)
    if not 0 < part.number <= part.total <= FORGES:
        raise UsageError(
            f"--shard {shorten(options.shard)}: write I/N, such as 1/4, N at most {FORGES}"
        )
    if not options.out:
        raise UsageError("--shard writes a file: add --out FILE")
    return part


def _plan(found: Scope) -> int:
    """Say which shards are worth it, as an output of a job, for a matrix; none for one job."""
    number = worth(len(found.names))
    names = [str(Part(index + 1, number)) for index in range(number)] if number > 1 else []
    show(f"shards={json.dumps(names)}")
    return OK


def _terms(options: argparse.Namespace, found: Scope, nodes: Mapping[str, Seen]) -> Terms:
    """What the shards of this preview have in common."""
    given = {
        "code": options.code,
        "sites": sorted({*options.sites}),
        "nodes": sorted(nodes.items()),
    }
    digest = hashlib.sha256(repr(sorted(given.items())).encode()).hexdigest()
    base, head = (str(each.commit) for each in found[:2])
    return Terms(base=base, head=head, judge=code_digest(), options=digest)


def _shard(
    options: argparse.Namespace,
    part: Part,
    found: Scope,
    judge: Callable[[tuple[str, ...]], list[SitePreview | None]],
    terms: Terms,
) -> int:
    """Judge the sites of a shard, and write what came of it."""
    names = part.of(found.names)
    judged = tuple(zip(names, judge(names), strict=True))
    data = dump(Report(terms=terms, part=part, judged=judged))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    clear(options.out)
    with scratch(options.out) as fresh:
        (fresh / "report").write_bytes(data)
        (fresh / "report").replace(options.out)
    touched = sum(site is not None for _, site in judged)
    show(f"shard {part}: {count(len(names), 'site')} judged, {touched} touched")
    return OK


def _snapshots(options: argparse.Namespace, root: Path) -> tuple[Snapshot, Snapshot]:
    head = at(root, options.head) if options.head else work_tree(root)
    base = at(root, options.base) if options.base else at(root, *base_of(root, options.head))
    return base, head


def _nodes(options: argparse.Namespace, base: Snapshot, head: Snapshot) -> dict[str, Seen]:
    """The last known state of sites' nodes, where it is given."""
    if options.nodes is None:
        return {}
    return nodes_of(options.nodes, {*site_names(base), *site_names(head)}, options.sites)


def _again(options: argparse.Namespace, base: Snapshot, head: Snapshot) -> list[str]:
    """The same call for another state's code; revisions as commits, as they mean the same there."""
    found = ["preview", *options.sites, "--base", str(base.commit), "--format", options.format]
    found += ["--exit-code"] if options.exit_code else []
    found += [part for flag in options.allow for part in ("--allow", flag)]
    paths = {name: getattr(options, name) for name in ("out", "request", "nodes")}
    given = {name: path.absolute() for name, path in paths.items() if path}
    given |= {"head": head.commit or "", "fail-on": options.fail_on, "shard": options.shard}
    found += [part for k, v in given.items() if v for part in (f"--{k}", str(v))]
    found += ["--shards"] if options.shards else []
    merged = [str(path.absolute()) for path in options.merge or ()]
    return [*found, "--merge", *merged] if merged else found


def _limits_and_allowances(options: argparse.Namespace) -> tuple[dict[str, int], dict[str, int]]:
    request = ""
    if options.request:
        request = read_regular(options.request, MAX_REQUEST).decode("utf-8", "replace")
    return parse_limits(options.fail_on), parse_allowances(options.allow, request)


def _write(options: argparse.Namespace, found: Preview) -> None:
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        clear(options.out / "report")
        with scratch(options.out / "report") as fresh:
            for name, make in FILES.items():
                (fresh / name).write_text(make(found), encoding="utf-8", newline="\n")
            for name in FILES:
                (fresh / name).replace(options.out / name)
    print(FORMATS[options.format](found).rstrip("\n"))


def _code(options: argparse.Namespace, found: Preview) -> int:
    if not found.certain:
        return FAILED
    differs = bool(found.entries) or found.impact is not Impact.NONE
    return FOUND if found.gates or (options.exit_code and differs) else OK
