"""How an experiment is made: what a person does by hand, what is applied, and when it is over."""

import copy
import functools
import time
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any

from components.machines.upgrade import worker_version_guard
from components.making.manifest import Manifest as Made
from components.site import site_objects
from controlplane import ApiError, Manifest
from schemas.facts.site import Site
from tests.real.live.experiment import Experiment, Step
from tests.real.live.fake_metal3 import HOST_ANNOTATION
from tests.real.live.metal3_world import Metal3World, credentials
from tests.real.live.nodes import create
from tests.real.live.patch import merge
from tests.real.live.predictions import Observation, Outcome
from tests.real.live.recorder import CONTROL, Recorder, Window
from tests.real.live.settled import said, settled
from tests.real.live.state import SITE, State
from tests.real.live.world import World, adapted, prepare

QUIET_SECONDS = 4.0
"""After a change is done, nothing more may move for so long."""
LEAST_SECONDS = 5.0
"""How long a change is watched that moves nothing."""
STUCK_SECONDS = 40.0
"""Nothing has moved for so long, and it is not done: it is stuck. The longest pause that the
managers make is 15 s (after a failed preflight check of a MachineSet)."""
LIMIT_SECONDS = 600.0
_TICK_SECONDS = 0.1
_DELETE_FIRST = {"cluster.x-k8s.io/delete-machine": "yes"}


class Conduct:
    """Makes the experiments in one world, one round after the other."""

    def __init__(
        self, here: World | Metal3World, directory: Path, stuck: float = STUCK_SECONDS
    ) -> None:
        self._here, self._directory, self._stuck = here, directory, stuck
        self._applied: dict[tuple[str, ...], Made] = {}
        self._held: set[tuple[str, ...]] = set()
        self.recorder = Recorder(here.mirror)

    def bring_up(self, state: State) -> None:
        """Make the site, its control plane first, and wait until all its machines are there.

        A worker's MachineSet that finds no control plane looks again only after 15 seconds.
        """
        site = self._site(state)
        window = self.recorder.open(groups_of(site))
        client, made = self._here.client, _made(site)
        client.apply(made[0].body)
        prepare(client, site.name, self._directory)
        workers = [each for each in made if each.kind == "MachineDeployment"]
        self._apply([each for each in made if each not in workers])
        self._wait(CONTROL, functools.partial(settled, self._here.mirror, CONTROL))
        self._apply(workers)
        for group in window.groups:
            self._wait(group, functools.partial(settled, self._here.mirror, group))
        time.sleep(QUIET_SECONDS)
        self.recorder.close(window)

    def round(self, steps: tuple[Step, ...]) -> dict[str, Observation]:
        """Make the changes of a round, and see what comes of them."""
        windows: dict[str, tuple[Window, dict[str, str]]] = {}
        self._held.clear()
        # The server closes a connection that is idle for 90 s, as ours may be during a round.
        self._here.client.close()
        for step in steps:
            window = self.recorder.open(step.experiment.predicted.groups)
            windows[step.experiment.name] = window, self._change(step)
        seen: dict[str, Observation] = {}
        while len(seen) < len(windows):
            self._look_after_the_played()
            for name, (window, refusals) in windows.items():
                if name not in seen and (outcome := self._outcome(window)) is not None:
                    seen[name] = self._observation(window, outcome, refusals)
            time.sleep(_TICK_SECONDS)
        return seen

    def _change(self, step: Step) -> dict[str, str]:
        """Do what a person does; what was refused, by its logical name, and with which words."""
        each = step.experiment
        if each.marked:
            merge(self._here.client, self._machine_on(each.marked),
                  {"metadata": {"annotations": _DELETE_FIRST}})  # fmt: skip
        if each.problem:
            found = {str(problem.code) for problem in step.tried.load(self._folder()).problems}
            if each.problem not in found:
                raise AssertionError(f"check does not say {each.problem} of it, but {found}")
        made = [_patched(one, each) for one in _made(self._site(step.after))]
        if each.unguarded:
            self._take_the_guard_away(next(one for one in made if one.name in each.patched))
        if each.deleted:
            machine = self._machine_on(each.deleted)
            self._here.client.delete(machine["apiVersion"], "Machine", *_names(machine))
        refusals = self._apply(made)
        if each.released:
            self._release(made, each.predicted.groups)
        # No other change of the round puts right what this one changes past the files.
        self._held |= {one.key for one in made if one.name in each.patched}
        return refusals

    def _apply(self, made: list[Made]) -> dict[str, str]:
        """Apply what differs from what was applied before; what was refused, and why.

        An object that is no longer made stays, as Argo CD and Flux leave what is protected or kept
        (Pulumi refuses a change that would delete what is protected, with all else in it).
        """
        refusals: dict[str, str] = {}
        for one in made:
            if self._applied.get(one.key) == one or one.key in self._held:
                continue
            if one.kind == "BareMetalHost":
                create(self._here.client, credentials(one.body))
            try:
                self._here.client.apply(adapted(one))
                self._applied[one.key] = one
            except ApiError as error:
                refusals[one.name] = error.message
        return refusals

    def _release(self, made: list[Made], groups: Container[str]) -> None:
        """Delete the MachineDeployments of groups that are no longer made."""
        now = {one.key for one in made}
        for key, one in list(self._applied.items()):
            if one.kind == "MachineDeployment" and key not in now and key[3] in groups:
                # Our own admission policy asks for it.
                reason = {"metadata": {"annotations": {"foresite.dev/may-be-deleted": "tried"}}}
                merge(self._here.client, one.body, reason)
                self._here.client.delete(one.body["apiVersion"], one.kind, key[3], key[2])
                del self._applied[key]

    def _outcome(self, window: Window) -> Outcome | None:
        """The outcome of a window's change, or None while it goes on."""
        now = time.monotonic()
        still = now - window.moved
        if all(settled(self._here.mirror, group) for group in window.groups):
            over = still >= QUIET_SECONDS and now - window.opened >= LEAST_SECONDS
            return Outcome.DONE if over else None
        if still >= self._stuck or now - window.opened >= LIMIT_SECONDS:
            return Outcome.STUCK
        return None

    def _observation(
        self, window: Window, outcome: Outcome, refusals: dict[str, str]
    ) -> Observation:
        self.recorder.close(window)
        return Observation(
            Outcome.REFUSED if refusals else outcome,
            window.numbers(),
            frozenset(host for _, host in window.down),
            frozenset(host for _, host in window.up),
            frozenset(refusals),
            tuple(refusals.values()) or tuple(said(self._here.mirror, window.groups)),
            len(window.updated),
            max(0.0, window.moved - window.opened),
        )

    def _machine_on(self, host: str) -> Manifest:
        """The Machine that has a host."""
        for body in self._here.mirror.all("Metal3Machine"):
            if body["metadata"].get("annotations", {}).get(HOST_ANNOTATION) == f"{SITE}/{host}":
                machine = self._here.mirror.get("Machine", body["metadata"]["name"], SITE)
                if machine is not None:
                    return machine
        raise LookupError(f"no Machine has {host}")

    def _take_the_guard_away(self, one: Made) -> None:
        """Delete the policy for this round, and wait until the API server does not ask it of
        ``one`` any more."""
        for guard in worker_version_guard(self._site_now):
            self._here.client.delete(guard.body["apiVersion"], guard.kind, guard.key[3])
            self._applied.pop(guard.key, None)
            self._held.add(guard.key)

        def free() -> bool:
            try:
                self._here.client.apply(adapted(one), dry_run=True)
            except ApiError:
                return False
            return True

        self._wait("admission without the policy", free)

    def _site(self, state: State) -> Site:
        loaded = state.load(self._folder())
        if loaded.site is None:
            raise AssertionError(f"check refuses it: {[str(each) for each in loaded.problems]}")
        self._site_now = loaded.site
        return loaded.site

    def _folder(self) -> Path:
        return self._directory / "repository"

    def _wait(self, what: str, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not done():
            self._look_after_the_played()
            if time.monotonic() > deadline:
                raise TimeoutError(f"waiting for {what}: {list(said(self._here.mirror, (what,)))}")
            time.sleep(_TICK_SECONDS)

    def _look_after_the_played(self) -> None:
        if self._here.played.fault is not None:
            raise RuntimeError("what is played has ended") from self._here.played.fault


def groups_of(site: Site) -> Iterator[str]:
    """The groups of machines that a site has."""
    yield CONTROL
    for one in _made(site):
        if one.kind == "MachineDeployment":
            yield one.key[3]


def _made(site: Site) -> list[Made]:
    return [one for part in site_objects(site).values() for one in part]


def _names(body: Manifest) -> tuple[str, str]:
    return body["metadata"]["name"], body["metadata"]["namespace"]


def _patched(one: Made, each: Experiment) -> Made:
    """An object with what an experiment changes in it past the files."""
    change = each.patched.get(one.name)
    return one._replace(body=_merged(one.body, change)) if change else one


def _merged(body: Any, change: Any) -> Any:
    if not isinstance(body, dict) or not isinstance(change, dict):
        return copy.deepcopy(change)
    return {**body, **{key: _merged(body.get(key), value) for key, value in change.items()}}
