"""``foresite apply``: after a merge, the sites that are not as Git says, ring by ring.

In the order of their rings, and of their names in a ring. The next ring begins when the machines of
this one are healthy at the applied revision (foresite/delivery/rings); the first site that fails
ends the run, and the same command goes on from there. What is due, and which sites passed, is asked
of the stacks (foresite/delivery/stack/applied.py).
"""

import argparse
import shlex
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby

from components.making.told import Told
from foresite.command import FOUND, OK, UNFINISHED, UsageError, print_report, repository, say, show
from foresite.commands.check import sound
from foresite.commands.up import apply, select
from foresite.delivery.ready import ready
from foresite.delivery.rings.health import Verdict
from foresite.delivery.rings.steps import DUE, OVER, QUESTIONS, State, Step, if_open, plan
from foresite.delivery.rings.wait import Waiting, wait
from foresite.delivery.servers.probe import kubectl_of
from foresite.delivery.stack.applied import (
    Allowances,
    Commits,
    changed_since,
    last_record,
    last_success,
    message,
    overtaken,
)
from foresite.delivery.stack.engine import PASSED, UNDER_WAY, Engine, lock_site
from foresite.delivery.stack.engines import engine_for
from preview.gates import parse_allowances
from schemas.facts.adopted import management_names
from schemas.load import site_names
from schemas.model.fleet import Rings
from schemas.model.management import FOLDER, STACK
from schemas.reading.bounded import parse_json
from schemas.reading.fleet_file import read_fleet
from schemas.reading.site_files import names_in

TOLD = Told(__file__)
MOST_MINUTES = 30 * 24 * 60
"""Minutes of a run at most, 30 days: a number beyond is a slip, and would end nothing."""


def run(options: argparse.Namespace) -> int:
    """Apply every site that is due, or with ``--plan`` say which are."""
    root, minutes = repository(options), options.minutes
    if minutes is not None and not 1 <= minutes <= MOST_MINUTES:
        raise UsageError(TOLD.say("minutes", most=MOST_MINUTES))
    sites = sound(root, options.sites, options.format)
    commits = Commits(root)
    dirty = commits.uncommitted_files()
    if dirty and not options.trial:
        raise UsageError(f"{dirty[0]} has uncommitted changes; commit or revert them")
    file, _, problems = read_fleet(root)
    if problems:
        raise UsageError(str(problems[0]))
    until = time.time() + 60 * minutes if minutes else float("inf")
    waits = waits_for_machines(options)
    steps = plan(root, sites, commits, trial=options.trial, all_due=bool(dirty), waits=waits)
    if not options.plan:
        allow = Allowances(parse_allowances(options.allow, ""), commits)
        # What is not in a commit is applied again next time: no commit says what it was.
        words = message(commits.head) + (" and more" if dirty else "")
        gate = partial(_wait, options, file.rings, until, commits.head) if waits else list
        steps = _apply(options, steps, partial(_one, words, allow, until), gate)
    engine = steps[0].engine if steps else engine_for(root, None, trial=options.trial)
    clusters = (STACK + name for name in names_in(root / FOLDER))
    gone = _without_file(engine, [*site_names(root), *clusters])
    return _report(options, commits.head, steps, gone)


def waits_for_machines(options: argparse.Namespace) -> bool:
    """True if rings wait. The trial API server has no controllers, so no machine would come."""
    return not (options.no_wait or options.trial)


def _apply(
    options: argparse.Namespace, steps: list[Step],
    one: Callable[[Step], Step], wait_for: Callable[[list[Step]], list[Step]],
) -> list[Step]:  # fmt: skip
    """Apply what is due, ring by ring, up to the first that fails or is not passed."""
    done, stopped = list[Step](), False
    for _, each in groupby(steps, key=lambda step: step.ring):
        ring: list[Step] = []
        for step in map(if_open, each):
            if step.state in DUE and stopped:
                step = step._replace(state=State.NOT_REACHED, why="")
            elif step.state is State.DUE:
                _say(options, f"{step}")
                step = one(step)
                stopped = step.state not in OVER and not step.site.file.held
            ring.append(step)
            _say(options, f"{step}")
        ring = ring if stopped else _go_on(wait_for, ring)
        stopped = stopped or any(step.state not in OVER and step.holds for step in ring)
        done += ring
    return done


def _go_on(wait_for: Callable[[list[Step]], list[Step]], ring: list[Step]) -> list[Step]:
    """The ring after its wait. A backend of Pulumi that does not answer ends the wait, and leaves
    the report of what was applied."""
    try:
        return wait_for(ring)
    except UsageError as error:
        say(f"foresite: {ring[0].title}: {error}")
        applied = State.APPLIED, State.WAITING
        return [
            each._replace(state=State.WAITING, why="its stack does not answer")
            if each.holds and each.state in applied
            else each
            for each in ring
        ]


def _wait(
    options: argparse.Namespace, rings: Rings, until: float, head: str, ring: list[Step]
) -> list[Step]:
    """Wait for the sites of a ring. Where all are healthy, and no other run has worked on any of
    them meanwhile, note on their stacks that they passed."""
    mine = [each for each in ring if each.state in (State.APPLIED, State.WAITING) and each.holds]
    if not mine:
        return ring
    title = ring[0].title

    def begin(step: Step) -> Waiting:
        kubectl, changed = kubectl_of(step.engine), changed_since(step.engine)
        return Waiting(step.site, rings, kubectl, step.since, changed)

    def commit(step: Step) -> str:
        return head if step.state is State.APPLIED else step.standing.commit

    with ThreadPoolExecutor(QUESTIONS) as pool:
        waiting = [*pool.map(begin, mine)]
        _say(options, f"{title}  waiting for {', '.join(e.site.name for e in mine)}")
        verdict = wait(waiting, rings, until, lambda line: _say(options, f"{title}  {line}"))
        others = [*pool.map(lambda e: "" if verdict else overtaken(e.engine, commit(e)), mine)]
        if passed := not verdict and not any(others):
            list(pool.map(lambda e: e.engine.mark(commit(e), PASSED), mine))
    ended = dict[str, Step]()
    for step, each, other in zip(mine, waiting, others, strict=True):
        found, state = each.health, State.PASSED if passed else State.WAITING
        state = State.FAILED if other or found.verdict is Verdict.FAILED else state
        machines = (0, 0) if other else (found.done, found.of)  # those of another revision
        now = step._replace(state=state, why=other or found.why, machines=machines)
        ended[each.site.name] = now
        _say(options, f"{now}")
    return [ended.get(each.site.name, each) for each in ring]


def _one(words: str, allow: Allowances, until: float, step: Step) -> Step:
    engine, site = step.engine, step.site.name
    if time.time() >= until:
        return step._replace(state=State.NOT_REACHED, why="the minutes of this run are over")
    try:
        with lock_site(engine):
            select(engine)
            # Another run may have applied meanwhile, or begun to, what HEAD does not contain.
            allow.commits.standing(site, *last_record(engine))
            since = last_success(engine)
            may = allow.of(site, since)
            found = ready(engine, step.site, writes=True)
            found.guard(may)
            head, tags = allow.commits.head, engine.tags()
            # A run was killed, and no history says when it began; or what passed is applied anew.
            if UNDER_WAY in tags or tags.get(PASSED) == head:
                engine.mark("none", PASSED)
            engine.mark(head)
            began = time.time()
            outcome = apply(engine, found, may, words)
            if outcome is not None:
                engine.unmark()
                allow.use(site, since, found.needed_counts)
                return step._replace(state=State.APPLIED, seconds=outcome.seconds, since=began)
    except UsageError as error:
        say(f"foresite: {site}: {str(error).removeprefix(f'{site}: ')}")
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
    over = options.plan or all(s.state in OVER for s in steps)
    # Where no site has a file any more, and not just one, something is wrong with sites/.
    code = FOUND if failed or (not steps and gone != []) else OK if over else UNFINISHED
    sites = [
        {"site": s.site.name, "ring": s.site.file.ring, "state": s.state.value,
         "why": s.why or s.standing.due, "applied": s.standing.commit, "seconds": s.seconds,
         "machines": s.machines[1], "done": s.machines[0], "decommissioned": s.ends}
        for s in steps
    ]  # fmt: skip
    resume = None if over else _same_command(options)
    counts = [f"{len(names)} {state.value}" for state, names in named.items() if names]
    lines = [*map(str, steps)] if options.plan else []
    lines += [f"\n{head[:10]}: {', '.join(counts) or 'there is no site'}"]
    lines += [TOLD.say("unlisted")] if gone is None else [TOLD.say("gone", stack=e) for e in gone]
    if left := named[State.NOT_REACHED]:
        lines.append(f"not reached: {', '.join(left)}")
    lines += [
        TOLD.say("unhealthy", site=s.site.name, context=s.site.file.management,
                 namespace=management_names(s.site).namespace)
        for s in steps
        if s.state is State.FAILED and s.machines[1]
    ]  # fmt: skip
    correct = "correct the problems above, then " if failed else ""
    lines += [f"{correct}continue with: {resume}"] if resume else []
    data = {"commit": head, "sites": sites, "resume": resume, "without_file": gone}
    print_report(options.format, data, lines, folded=False)
    return code


def _same_command(options: argparse.Namespace) -> str:
    root = ["--root", str(options.root)] if options.root else []
    flags = ["--trial"] * options.trial + ["--no-wait"] * options.no_wait
    flags += [f"--minutes={options.minutes}"] if options.minutes else []
    return shlex.join(["foresite", *root, "apply", *flags, *options.sites])


def _without_file(engine: Engine, sites: Iterable[str]) -> list[str] | None:
    """The stacks of this project that have objects and no site of their name, sorted; None where
    the backend cannot say.

    They are named, and never touched: a file that is gone, by mistake or after a site's end, takes
    nothing with it. Only a person who runs ``pulumi destroy`` does.
    """
    done, listed = engine.run("stack", "ls", "--json"), None
    with suppress(ValueError):
        listed = parse_json(done.stdout) if done.returncode == 0 else None
    if not isinstance(listed, list):
        return None
    # A stack may be called organization/project/name; one that was destroyed has no resources.
    there = (str(each["name"]) for each in listed if each.get("resourceCount") != 0)
    return sorted({name.rpartition("/")[2] for name in there} - set(sites))
