"""``foresite drift``: where the clusters are not as Git says, object by object, field by field.
Compared are the fields that a site's objects set: what controllers and the API server add is
theirs. Nothing is changed; exit codes: 0 (no difference), 1 (differences), 2 (could not look)."""

import argparse
from pathlib import Path
from typing import NamedTuple

from foresite.command import FAILED, FOUND, OK, UsageError, count, print_report, repository
from foresite.commands.check import sound
from foresite.delivery.differences import HAS, NEVER, Difference, differences
from foresite.delivery.servers.probe import Need, probe
from foresite.delivery.stack.applied import Commits, last_record
from foresite.delivery.stack.engine import Record
from foresite.delivery.stack.engines import engine_for
from foresite.delivery.stack.live import expected_objects, read
from preview.states.git import GitError
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key


class Look(NamedTuple):
    """The result of a look at a site. ``failed`` says why there was none, ``note`` what may explain
    differences; ``objects`` is the number of objects read from the API server."""

    site: str
    context: str
    objects: int = 0
    differences: tuple[Difference, ...] = ()
    note: str = ""
    failed: str = ""


def run(options: argparse.Namespace) -> int:
    """Look at the named sites, or at all."""
    root = repository(options)
    sites = sound(root, options.sites, options.format, FAILED)
    commits = _commits(root)
    looks = [_look(root, site, commits, trial=options.trial) for site in sites]
    data = [{**e._asdict(), "differences": [d._asdict() for d in e.differences]} for e in looks]
    print_report(options.format, {"sites": data}, map(_as_text, looks))
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
        answer = last_record(engine)
        if answer[0] is None:
            never = Difference("everything", "", HAS, NEVER)
            return look._replace(differences=(never,))
        probe(engine, site, Need.ANSWER)
        live = read(engine)
    except UsageError as error:
        return look._replace(failed=str(error))
    found = tuple(differences(expected_objects(site), live))
    there = sum(body is not None for body in live.values())
    note = _note(commits, site.name, answer) if commits else ""
    return look._replace(objects=there, differences=found, note=note)


def _note(commits: Commits, site: str, answer: tuple[Record | None, str]) -> str:
    try:
        due = commits.standing(site, *answer).due
    except GitError as error:
        return str(error)
    return f"to be applied: {due}" if due else ""


def _as_text(look: Look) -> str:
    if look.failed:
        return f"{look.site}: could not be compared: {look.failed}"
    read_from = f"{look.objects} objects read from {look.context}"
    if not look.differences:
        return f"{look.site}: no difference from Git, {read_from}"
    lines = [f"{look.site}: {count(len(look.differences), 'difference')}, {read_from}"]
    if look.note:
        lines.append(f"  {look.note}")
    for named, found in group_by_key((each.object, each) for each in look.differences).items():
        lines += [f"  {named}", *(f"    {each}" for each in found)]
    return "\n".join(lines)
