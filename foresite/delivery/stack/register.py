"""Runs ``pulumi up`` of a site: says how far it is, and what Pulumi complains of, in short."""

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from components.making.manifest import Manifest
from components.site import site_objects
from foresite.command import say
from foresite.delivery.stack.engine import Engine, demand_success
from foresite.delivery.stack.locks import parse_locks
from foresite.delivery.stack.release import release
from foresite.delivery.stack.stated import Stated
from schemas.facts.site import Site

_STEP = re.compile(r"^ *[-+~=]+ +kubernetes:.* (created|updated|deleted|replaced) \(")
_SECONDS_BETWEEN_LINES = 5.0
_FORCE = "PULUMI_K8S_ENABLE_PATCH_FORCE"
"""The provider's switch to take a field from another manager (pulumi-kubernetes 4.25)."""
_NOISE = ("KeyboardInterrupt", "During handling of the above exception")
"""Output of a program that the engine stops because something else failed."""
_NOT_SAVED = "failed to save snapshot"
"""Pulumi's error when it cannot write its state; the file that it leaves may be incomplete."""
_COMPLAINTS = 30
"""Lines of what Pulumi complains of that are shown; the log has them all."""


class Outcome(NamedTuple):
    """The result of a run that passed: objects by component, the remains of a killed run before it
    that the site no longer has, and the duration."""

    objects: dict[str, list[Manifest]]
    left: list[tuple[str, ...]]
    seconds: float


def register(
    engine: Engine, site: Site, message: str = "", *, refresh: bool = False
) -> Outcome | None:
    """``pulumi up`` of a selected stack, with ``message`` in its history; None where it failed.
    ``refresh`` reads the clusters first, so that what was changed there by hand is put right: also
    fields that somebody else's field manager holds, of which the API server takes no other value
    without force. What it complains of goes to stderr, and so does how far it is."""
    objects = site_objects(site)
    every = [manifest for made in objects.values() for manifest in made]
    if site.file.decommission is not None:
        release(engine, site, say)
    if engine.was_interrupted():
        say("the previous run did not finish: its objects are adopted")
    left = engine.begin((m.target.value, *m.key) for m in every)
    progress = Progress(len(every))
    more = [*(["--refresh", "--run-program"] if refresh else []), *engine.policies]
    more += ["--message", message] if message else []
    forced = replace(engine, environment={**engine.environment, _FORCE: "true"})
    code = (forced if refresh else engine).up(progress.line, *more)
    if code != 0:
        say("\n".join(shorten(progress.diagnostics)))
        say(f"foresite: pulumi up failed; its whole output: {engine.log}")
        say(f"foresite: {_recovery_advice(engine, progress.diagnostics)}")
        return None
    engine.finish(left)
    return Outcome(objects, left, round(time.monotonic() - progress.started, 1))


def _recovery_advice(engine: Engine, diagnostics: Iterable[str]) -> str:
    for lock in parse_locks("\n".join(diagnostics)):
        return f"another run has the lock: {lock}; {lock.ways_out(engine.stack)}"
    if any(_NOT_SAVED in line for line in diagnostics):
        return (
            "the state could not be saved, the objects are in the cluster; make room, then: "
            f"foresite recover {engine.stack}, which says whether the state is whole"
        )
    return "correct what it reports, and run the same command again"


def forget(engine: Engine, lost: Iterable[Stated]) -> None:
    """Let the state know that the cluster has lost objects, so that the next ``up`` makes them. The
    cluster is read for it, and not changed. Raises EngineError."""
    if urns := [each.urn for each in lost]:
        demand_success(engine.refresh(urns))


def shorten(lines: Iterable[str]) -> list[str]:
    """The complaint of Pulumi, without the additions of a program's stack."""
    found = list(_complaint_lines(lines))
    more = len(found) - _COMPLAINTS
    return [*found[:_COMPLAINTS], f"    and {more} lines more"] if more > 0 else found


def _complaint_lines(lines: Iterable[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        text = line.strip()
        if text.startswith("Traceback (most recent call last)"):
            inside = True
        elif inside and text and not line.startswith((" " * 6, "\t")):
            inside = False  # the exception itself, which says what is wrong
        if text and not inside and not text.startswith(_NOISE):
            yield line


class Progress:
    """Counts what Pulumi says it did, and says so now and then; keeps what it complains of."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.diagnostics: list[str] = []
        self.started = self.said = time.monotonic()
        self._complaining = False

    def line(self, text: str) -> None:
        """Look at one line of Pulumi's output."""
        if text.startswith(("Diagnostics:", "error: ")):
            self._complaining = True
        elif text.startswith(("Outputs:", "Resources:")):
            self._complaining = False
        if self._complaining:
            self.diagnostics.append(text)
        if _STEP.match(text):
            self.done += 1
        if time.monotonic() - self.said >= _SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            seconds = self.said - self.started
            say(f"  {self.done} of {self.total} objects changed, {seconds:.0f} s")
