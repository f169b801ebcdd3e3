"""The sites of a run of ``foresite apply``, in their order, each with how it stands.

What is due, and which sites passed, is asked of the stacks (foresite/delivery/stack/applied.py).
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from components.site import is_management
from foresite.command import UsageError
from foresite.delivery.stack.applied import Commits, Standing, last_record, seconds_of
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.engines import engine_for
from preview.states.git import GitError
from schemas.facts.maintenance import closed
from schemas.facts.site import Site

QUESTIONS = 8
"""Stacks that are asked something at a time."""


class State(StrEnum):
    """The state of a site in a run."""

    DUE = "due"
    """It is to be applied."""
    SAME = "up to date"
    NOT_NOW = "not now"
    """It is due, and a freeze or its maintenance windows keep it from being applied."""
    APPLIED = "applied"
    WAITING = "waiting"
    """It is applied, and its ring is not passed."""
    PASSED = "healthy"
    FAILED = "failed"
    NOT_REACHED = "not reached"
    """It is due, and a ring before it is not passed."""


OVER = {State.SAME, State.APPLIED, State.PASSED}
DUE = {State.DUE, State.NOT_NOW}


class Step(NamedTuple):
    """A site in its place in the order; ``seconds`` are those of a run that passed. ``since``: when
    its update began, in seconds of the epoch; ``why`` it is in its state; ``machines`` that are
    done, of how many."""

    site: Site
    engine: Engine
    standing: Standing
    state: State
    seconds: float = 0.0
    since: float = 0.0
    why: str = ""
    machines: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        why = self.standing.due if self.state is State.DUE else self.why
        took = f", {self.seconds} s" if self.state is State.APPLIED else ""
        said = f"{' (decommissioned)' * self.ends}: {self.state.value}{why and ': '}{why}{took}"
        return f"{self.title}  {self.site.name}{said}"

    @property
    def title(self) -> str:
        """Its ring for a person."""
        return "management" if is_management(self.site) else f"ring {self.site.file.ring}"

    @property
    def ring(self) -> tuple[bool, int]:
        """Its place among the rings. Management clusters come before all sites. A decommissioned
        site comes last: its run waits until Cluster API has taken its machines away."""
        return self.ends, -1 if is_management(self.site) else self.site.file.ring

    @property
    def holds(self) -> bool:
        """True if later rings wait for it."""
        return not (self.site.file.held or self.ends or is_management(self.site))

    @property
    def ends(self) -> bool:
        """True if the site is decommissioned."""
        return self.site.file.decommission is not None


def plan(
    root: Path, sites: Sequence[Site], commits: Commits, *, trial: bool, all_due: bool, waits: bool
) -> list[Step]:
    """The sites in their order, each with how it stands. Raises UsageError; then nothing was
    applied to any site."""
    engines = [engine_for(root, site, trial=trial) for site in sites]
    with ThreadPoolExecutor(QUESTIONS) as pool:
        answers = list(pool.map(last_record, engines))
    steps = []
    for site, engine, answer in zip(sites, engines, answers, strict=True):
        standing = Standing("", "the work tree has uncommitted changes")
        try:
            standing = standing if all_due else commits.standing(site.name, *answer)
        except GitError as error:
            fix = f"check out a newer one, or apply this one by hand: foresite up {site.name}"
            raise UsageError(f"{site.name}: {error}, the commit that is applied; {fix}") from None
        step = Step(site, engine, standing, State.DUE if standing.due else State.SAME)
        if not standing.due and waits and step.holds and (record := answer[0]):
            state = State.SAME if record.passed == standing.commit else State.WAITING
            step = step._replace(state=state, since=seconds_of(record.began))
        steps.append(if_open(step))
    steps.sort(key=lambda step: (step.ring, step.site.name))
    return _again(steps) if waits else steps


def _again(steps: list[Step]) -> list[Step]:
    """The steps, of which those of the ring before the first that is due wait once more: they may
    have failed since they passed."""
    first = next((each.ring for each in steps if each.state in DUE), (False, -1))
    last = max((each.ring for each in steps if each.holds and each.ring < first), default=None)
    why = "it passed, and is looked at again"
    return [
        each._replace(state=State.WAITING, why=why)
        if each.holds and each.state is State.SAME and each.ring == last
        else each
        for each in steps
    ]


def if_open(step: Step) -> Step:
    """A step that is due: not now, where a freeze or the windows of its site keep it."""
    if step.state not in DUE:
        return step
    why = closed(step.site.file.maintenance, datetime.now(UTC))
    return step._replace(state=State.NOT_NOW if why else State.DUE, why=why)
