"""``foresite preview``: what a change does to the machines of every site, before it merges.

Compares two states of the repository. Needs no cluster, no credentials and no network.
"""

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from components.effects.vocabulary import Impact
from foresite import parallel
from foresite.command import FAILED, FOUND, OK, UsageError, no_site, repository, version
from foresite.forge import forge
from foresite.othercode import make_objects_with, run_with
from foresite.scratch import clear, scratch
from preview import report
from preview.gates import MAX_REQUEST, gates, parse_allowances, parse_limits
from preview.result import Preview
from preview.states.fleet import site_names
from preview.states.git import base_of
from preview.states.lock import locked_version
from preview.states.nodes import NodesError, Seen, nodes_of
from preview.states.snapshot import Snapshot, at, work_tree
from preview.survey import survey
from preview.wrapping import terminal_width
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


def _colour() -> bool:
    """True if colours help: for a person at a terminal who did not say no (no-color.org)."""
    return terminal_width() is not None and "NO_COLOR" not in os.environ


def run(options: argparse.Namespace) -> int:
    """Compare, judge and report; 2 where of a site nothing could be said."""
    root = repository(options)
    limits, allow = _limits_and_allowances(options)
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
        nodes = _nodes(options, base, head)
        found = survey(base, head, options.sites, parallel.each, maker, nodes)
    except NodesError as error:
        raise UsageError(f"--nodes {error}") from None
    blocked = gates(found, allow, limits)
    found = replace(found, allowed=allow, gates=blocked, forge=forge(root, base, head))
    _write(options, found)
    return _code(options, found)


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
    given |= {"head": head.commit or "", "fail-on": options.fail_on}
    return found + [part for k, v in given.items() if v for part in (f"--{k}", str(v))]


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
