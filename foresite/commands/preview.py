"""``foresite preview``: what a change does to the machines of every site, before it merges.
Compares two states of the repository. Needs no cluster, no credentials and no network. Of a large
change several jobs judge a shard each, and one puts their reports together (preview/shards.py)."""

import argparse
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from components.effects.vocabulary import Impact
from foresite import parallel
from foresite.command import FAILED, FOUND, OK, UsageError, no_site, repository, show, version
from foresite.forge import forge
from foresite.othercode import code_digest, make_objects_with, run_with
from foresite.scratch import folder_at, replace_files
from preview import report
from preview.gates import MAX_REQUEST, gates, parse_allowances, parse_limits
from preview.result import Preview
from preview.shards import FORGES, Part, Terms, dump, merge, worth
from preview.states.fleet import site_names
from preview.states.git import base_of
from preview.states.lock import locked_version
from preview.states.nodes import NodesError, Seen, nodes_of
from preview.states.snapshot import Snapshot, at, work_tree
from preview.survey import Maker, Scope, judge_sites, put_together, scope
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
    "comment.md": report.comment, "summary.md": report.summary,
    "report.html": report.html, "report.json": report.document,
}  # fmt: skip
"""Files that ``--out`` writes."""
# A plan of no hosts at a time, for example: a job's figures are typed, and may be anything else.
_NONSENSE = (ArithmeticError, LookupError, TypeError, ValueError)


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
        side = {"base": base, "head": head}.get(options.code)
        if side is not None and side.commit is not None:
            return run_with(root, side.commit, _again(options, base, head))
        if not {*site_names(base), *site_names(head)}:
            raise UsageError(no_site(root))
        maker = _maker(options, base, head)
        found = scope(base, head, options.sites, each=maker is not None)
        if options.shards:
            show(f"shards={json.dumps(worth(len(found.names)))}")
            return OK
        nodes = _nodes(options, base, head)
        terms = _terms(options, found, nodes) if part or options.merge else None
        if terms and options.merge:
            sites = merge(options.merge, found.names, terms)
        else:
            names = part.of(found.names) if part else found.names
            sites = judge_sites(found, names, parallel.each, maker, nodes)
            if terms and part:
                shard = dump(terms, part, zip(names, sites, strict=True))
                replace_files(options.out.parent, {options.out.name: shard})
                return OK
    except NodesError as error:
        raise UsageError(f"--nodes {error}") from None
    try:
        preview = put_together(found, sites, nodes)
        blocked = gates(preview, allow, limits)
        preview = replace(preview, allowed=allow, gates=blocked, forge=forge(root, base, head))
        _write(options, preview)
    except _NONSENSE as error:
        if not options.merge:
            raise
        raise UsageError(f"{error}, as a shard has figures without sense: run it again") from None
    return _code(options, preview)


def _maker(options: argparse.Namespace, base: Snapshot, head: Snapshot) -> Maker | None:
    """What makes each side by its own code; None where this code makes both. Raises UsageError
    where this is a version that neither side locks."""
    if options.code == "each":
        return make_objects_with
    locked = locked_version(base)
    if locked and version() not in ("", locked, locked_version(head)):
        # What it would show, nobody applies.
        said = f"this is Foresite {version()}, and {base.label} locks {locked}"
        raise UsageError(f"{said}; run `uv run foresite preview`, or add --code each")
    return None


def _part(options: argparse.Namespace) -> Part | None:
    """The shard that is asked for. Raises UsageError for what no shard or merge can be."""
    given = {"shard": options.shard is not None, "shards": options.shards, "merge": options.merge}
    chosen = [f"--{name}" for name, there in given.items() if there]
    wrong = list[str]()
    if len(chosen) > 1:
        wrong.append(f"{' and '.join(chosen)} are calls of their own: give one of them")
    if chosen and not options.head:
        wrong.append(f"{chosen[0]} is about two commits: name them by --base and --head")
    part = None
    if options.shard is not None:
        if options.fail_on or options.allow or options.request or options.exit_code:
            wrong.append("a shard has no gates, which count over all sites: give them to --merge")
        match = re.fullmatch("([0-9]{1,3})/([0-9]{1,3})", options.shard)
        part = Part(*map(int, match.groups())) if match else Part(0, 0)
        if not part.fits or not options.out:
            asked = f"--shard {shorten(options.shard) or 'of nothing'}"
            wrong.append(f"{asked}: write --shard I/N --out FILE, such as 1/4, N at most {FORGES}")
    if wrong:
        raise UsageError("; ".join(wrong))
    _out(options, part)
    return part


def _out(options: argparse.Namespace, part: Part | None) -> None:
    """Refuse an ``--out`` to which nothing could be written, before anything is judged."""
    if part and options.out.is_dir():
        instead = f"write --out {options.out / f'{part.number}.json'}"
        raise UsageError(f"--out {options.out} is a folder; a shard is one file: {instead}")
    if options.out:
        better = "a file, as --out shards/1.json" if part else "a folder, as --out report"
        folder_at(options.out.parent if part else options.out, f"name {better}")


def _terms(options: argparse.Namespace, found: Scope, nodes: Mapping[str, Seen]) -> Terms:
    """What the shards of this preview have in common."""
    given = repr((options.code, sorted({*options.sites}), sorted(nodes.items())))
    digest = hashlib.sha256(given.encode()).hexdigest()
    base, head = (str(each.commit) for each in found[:2])
    return Terms(base=base, head=head, judge=code_digest(), options=digest)


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
        replace_files(options.out, {name: make(found).encode() for name, make in FILES.items()})
    print(FORMATS[options.format](found).rstrip("\n"))


def _code(options: argparse.Namespace, found: Preview) -> int:
    if not found.certain:
        return FAILED
    differs = bool(found.entries) or found.impact is not Impact.NONE
    return FOUND if found.gates or (options.exit_code and differs) else OK
