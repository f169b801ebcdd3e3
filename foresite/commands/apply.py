"""``foresite apply``: after a merge, the sites that are not as Git says, one after the other.

In the order of their rings, and of their names in a ring; the first that fails ends the run, and
the same command goes on from there. What is due is asked of the stacks
(foresite/delivery/stack/applied.py).
"""

import argparse
import shlex
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from foresite.command import FOUND, OK, UsageError, print_report, repository, say, show
from foresite.commands.check import sound
from foresite.commands.up import apply, select
from foresite.delivery.ready import ready
from foresite.delivery.stack.applied import (
    Allowances,
    Commits,
    Standing,
    last_record,
    last_success,
    message,
)
from foresite.delivery.stack.engine import Engine, Record, lock_site
from foresite.delivery.stack.engines import engine_for
from preview.gates import parse_allowances
from preview.states.git import GitError
from schemas.facts.site import Site
from schemas.load import site_names
from schemas.model.management import FOLDER, STACK
from schemas.reading.bounded import parse_json
from schemas.reading.site_files import names_in

_QUESTIONS = 8
"""Stacks whose history is asked for at a time."""


class State(StrEnum):
    """The state of a site in a run."""

    DUE = "due"
    """It is to be applied."""
    SAME = "up to date"
    APPLIED = "applied"
    FAILED = "failed"
    NOT_REACHED = "not reached"
    """It is due, and a site before it failed."""


class Step(NamedTuple):
    """A site in its place in the order; ``seconds`` are those of a run that passed."""

    site: Site
    engine: Engine
    standing: Standing
    state: State
    seconds: float = 0.0

    def __str__(self) -> str:
        why = f": {self.standing.due}" if self.state is State.DUE else ""
        took = f", {self.seconds} s" if self.state is State.APPLIED else ""
        ends = " (decommissioned)" if self.ends else ""
        return f"ring {self.site.file.ring}  {self.site.name}{ends}: {self.state.value}{why}{took}"

    @property
    def ends(self) -> bool:
        """True if the site is decommissioned."""
        return self.site.file.decommission is not None


def run(options: argparse.Namespace) -> int:
    """Apply every site that is due, or with ``--plan`` say which are."""
    root = repository(options)
    sites = sound(root, options.sites, options.format)
    commits = Commits(root)
    dirty = commits.uncommitted_files()
    if dirty and not options.trial:
        raise UsageError(f"{dirty[0]} has uncommitted changes; commit or revert them")
    steps = plan(root, sites, commits, trial=options.trial, everything=bool(dirty))
    if not options.plan:
        allow = Allowances(parse_allowances(options.allow, ""), commits)
        # What is not in a commit is applied again next time: no commit says what it was.
        words = message(commits.head) + (" and more" if dirty else "")
        steps = _apply(options, steps, lambda step: _one(step, words, allow))
    engine = steps[0].engine if steps else engine_for(root, None, trial=options.trial)
    clusters = (STACK + name for name in names_in(root / FOLDER))
    gone = _without_file(engine, [*site_names(root), *clusters])
    return _report(options, commits.head, steps, gone)


def plan(
    root: Path, sites: Iterable[Site], commits: Commits, *, trial: bool, everything: bool
) -> list[Step]:
    """The sites in their order, each with how it stands; ``everything``: all are due.

    Raises UsageError; then nothing was applied to any site.
    """
    sites = in_order(sites)
    engines = [engine_for(root, site, trial=trial) for site in sites]
    with ThreadPoolExecutor(_QUESTIONS) as pool:
        answers = list(pool.map(last_record, engines))
    steps = []
    for site, engine, answer in zip(sites, engines, answers, strict=True):
        standing = Standing("", "the work tree has uncommitted changes")
        if not everything:
            standing = _standing(commits, site.name, answer)
        steps.append(Step(site, engine, standing, State.DUE if standing.due else State.SAME))
    return steps


def in_order(sites: Iterable[Site]) -> list[Site]:
    """The sites by ring and name. A decommissioned one comes last: its run waits until Cluster API
    has taken its machines away, and no other should."""
    return sorted(sites, key=lambda site: (bool(site.file.decommission), site.file.ring, site.name))


def _standing(commits: Commits, site: str, answer: tuple[Record | None, str]) -> Standing:
    try:
        return commits.standing(site, *answer)
    except GitError as error:
        fix = f"check out a newer one, or apply this one by hand: foresite up {site}"
        raise UsageError(f"{site}: {error}, the commit that is applied; {fix}") from None


def _apply(
    options: argparse.Namespace, steps: list[Step], one: Callable[[Step], Step]
) -> list[Step]:
    """Apply what is due, up to the first that fails."""
    done: list[Step] = []
    failed = False
    for step in steps:
        if step.state is State.DUE and failed:
            step = step._replace(state=State.NOT_REACHED)
        elif step.state is State.DUE:
            _say(options, f"{step}")
            step = one(step)
            failed = step.state is State.FAILED
        done.append(step)
        _say(options, f"{step}")
    return done


def _one(step: Step, words: str, allow: Allowances) -> Step:
    engine, site = step.engine, step.site.name
    try:
        with lock_site(engine):
            select(engine)
            since = last_success(engine)
            may = allow.of(site, since)
            found = ready(engine, step.site, writes=True)
            found.guard(may)
            engine.mark(words.removeprefix(message("")))
            outcome = apply(engine, found, may, words)
            if outcome is not None:
                engine.unmark()
                allow.use(site, since, found.needed_counts)
                return step._replace(state=State.APPLIED, seconds=outcome.seconds)
    except UsageError as error:
        say(f"foresite: {site}: {error}")
    return step._replace(state=State.FAILED)


def _say(options: argparse.Namespace, text: str) -> None:
    if options.format == "text":
        show(text, flush=True)


def _report(
    options: argparse.Namespace, head: str, steps: list[Step], gone: list[str] | None
) -> int:
    """Say how the run, or the plan, ended; the exit code."""
    named = {state: [s.site.name for s in steps if s.state is state] for state in State}
    failed = bool(named[State.FAILED])
    # Where no site has a file any more, and not just one, something is wrong with sites/.
    code = FOUND if failed or (not steps and gone != []) else OK
    sites = [
        {"site": s.site.name, "ring": s.site.file.ring, "state": s.state.value,
         "why": s.standing.due, "applied": s.standing.commit, "seconds": s.seconds,
         "decommissioned": s.ends}
        for s in steps
    ]  # fmt: skip
    resume = _same_command(options) if failed else None
    counts = [f"{len(names)} {state.value}" for state, names in named.items() if names]
    lines = [*map(str, steps)] if options.plan else []
    lines += [f"\n{head[:10]}: {', '.join(counts) or 'there is no site'}", *_vanished_lines(gone)]
    if failed and (left := named[State.NOT_REACHED]):
        lines.append(f"not reached: {', '.join(left)}")
    lines += [f"correct the problems above, then continue with: {resume}"] if failed else []
    data = {"commit": head, "sites": sites, "resume": resume, "without_file": gone}
    print_report(options.format, data, lines, folded=False)
    return code


def _same_command(options: argparse.Namespace) -> str:
    root = ["--root", str(options.root)] if options.root else []
    flags = ["--trial"] if options.trial else []
    return shlex.join(["foresite", *root, "apply", *flags, *options.sites])


def _without_file(engine: Engine, sites: Iterable[str]) -> list[str] | None:
    """The stacks of this project that have objects and no site of their name, sorted; None where
    the backend cannot say.

    They are named, and never touched: a file that is gone, by mistake or after a site's end, takes
    nothing with it. Only a person who runs ``pulumi destroy`` does.
    """
    done = engine.run("stack", "ls", "--json")
    try:
        listed = parse_json(done.stdout) if done.returncode == 0 else None
    except ValueError:
        listed = None
    if not isinstance(listed, list):
        return None
    # A stack may be called organization/project/name; one that was destroyed has no resources.
    names = {
        str(each["name"]).rpartition("/")[2] for each in listed if each.get("resourceCount") != 0
    }
    return sorted(names - set(sites))


def _vanished_lines(stacks: list[str] | None) -> list[str]:
    """The notes on them for a person, a line each."""
    if stacks is None:
        return ["stacks without a site file: not known, the backend did not list its stacks"]
    return [
        f"not touched: stack {name} has no file in sites/; bring it back, or if the site was "
        f"decommissioned: pulumi destroy --stack {name}"
        for name in stacks
    ]
