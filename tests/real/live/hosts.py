"""``python -m tests.real.live.hosts OUT``: rollouts, and what a person does to single hosts, on the
real Metal3 (metal3_world.py). What was seen as JSON in OUT; runs in a namespace of its own.
"""

import contextlib
import json
import time
from pathlib import Path
from typing import Any

from components.making.decommission import MAY_BE_DELETED
from components.site import site_objects
from controlplane import ApiError, Manifest
from tests.real.live.conduct import Conduct
from tests.real.live.metal3_world import Metal3World, running
from tests.real.live.namespace import record
from tests.real.live.patch import merge
from tests.real.live.run import as_json
from tests.real.live.state import SITE, Edit, State
from tests.real.live.trials import ROLLED, ROUNDS, START, STEPS_OF_ROUNDS, Trial, differences
from tests.real.live.watch import Mirror

STUCK_SECONDS = 180.0
"""Nothing has moved for so long: a machine may take several turns of CAPM3, of 30 s each."""
STILL_SECONDS = 12.0
"""A round of trials ends when nothing has moved for so long."""
_LIMIT_SECONDS = 150.0
_REASON = {"metadata": {"annotations": {MAY_BE_DELETED: "tried"}}}
"""Our own admission policy asks for it."""


class Trails:
    """The states that each host went through since ``begin``."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror, self._found = mirror, dict[str, list[str]]()
        self.moved: dict[str, float] = {}
        mirror.listen(self._hear)

    def begin(self, host: str) -> None:
        """Forget what was before."""
        self._found[host] = [_state(self._mirror.get("BareMetalHost", host, SITE))]

    def of(self, host: str) -> str:
        """Its states, the first at the start."""
        return " > ".join(each for each in self._found[host] if each)

    def _hear(self, kind: str, _old: Manifest | None, new: Manifest | None) -> None:
        body = new or _old
        if kind == "BareMetalHost" and body is not None:
            known, now = self._found.setdefault(body["metadata"]["name"], [""]), _state(new)
            if known[-1] != now:
                known.append(now)
                self.moved[body["metadata"]["name"]] = time.monotonic()


def _state(body: Manifest | None) -> str:
    if body is None:
        return "gone"
    status = body.get("status", {})
    state: str = status.get("provisioning", {}).get("state", "")
    detached = status.get("operationalStatus") == "detached" and state != "deleting"
    return f"{state}, detached" if detached else state


def _choose(here: Metal3World, said: str) -> str:
    """The host that a trial is about."""
    pool, _, which = said.partition(":")
    taken, mine = here.machines(), sorted(name for name in here.states() if name.startswith(pool))
    wanted = [name for name in mine if (name in taken) == (which == "running")]
    return wanted[0] if which else said


def _act(here: Metal3World, trial: Trial, host: str, now: State, root: Path) -> str:
    """Do it; the words with which it was refused."""
    api = "metal3.io/v1alpha1"
    body: Manifest = {
        "apiVersion": api, "kind": "BareMetalHost", "metadata": {"name": host, "namespace": SITE}
    }  # fmt: skip
    if trial.cells or trial.again:
        site = now.load(root).site
        assert site is not None
        made = [
            one for one in site_objects(site)["machines"] if one.name == f"BareMetalHost/{host}"
        ]
        return "; ".join(here.apply(made).values())
    if trial.deleted == "Machine":
        uid = here.machines()[host]
        body = next(each for each in here.mirror.all("Machine") if each["metadata"]["uid"] == uid)
    try:
        if trial.deleted and trial.released:
            merge(here.client, body, _REASON)
        if trial.patch:
            merge(here.client, body, trial.patch)
        if trial.deleted:
            here.client.delete(body["apiVersion"], trial.deleted, body["metadata"]["name"], SITE)
    except ApiError as error:
        return error.message
    return ""


def _fate(here: Metal3World, host: str, before: str | None) -> str:
    """What became of the Machine of a host."""
    after = here.machines().get(host)
    if after and host not in here.states():
        return "left"
    if after == before:
        return "kept" if after else "none"
    return "new" if after else "gone"


def _try(
    here: Metal3World, trails: Trails, trials: tuple[Trial, ...], now: State, root: Path
) -> tuple[State, list[Any]]:
    """Make the trials of a round side by side; the files then, and what was seen of each."""
    begun = []
    for trial in trials:
        host = _choose(here, trial.host)
        before, begin = here.machines().get(host), time.monotonic()
        trails.begin(host)
        after = now.edited(Edit(changed={host: trial.cells}))
        refused = _act(here, trial, host, after, root)
        now = now if refused else after
        begun.append((trial, host, before, begin, refused))

    def seen() -> list[Any]:
        return [
            {
                "host": host,
                "trail": trails.of(host),
                "machine": _fate(here, host, before),
                "refused": refused,
                "said": any(trial.says in each for each in (refused, *here.said())),
                **_part(here.mirror.get("BareMetalHost", host, SITE), {"spec": trial.spec}),
                "seconds": max(0.0, trails.moved.get(host, 0.0) - begin),
            }
            for trial, host, before, begin, refused in begun
        ]

    def as_predicted() -> bool:
        return not any(map(differences, trials, seen()))

    with contextlib.suppress(TimeoutError):  # then it differs
        here.wait("what was predicted", as_predicted, _LIMIT_SECONDS, STILL_SECONDS)
    return now, seen()


def _part(body: Any, like: Any) -> Any:
    """The fields of ``like`` as ``body`` has them."""
    if not isinstance(like, dict):
        return body
    return {key: _part((body or {}).get(key), value) for key, value in like.items()}


def _networks(here: Metal3World) -> dict[str, Any]:
    """Of each host of ``one`` its uid, its Machine's, and the network data that it boots with."""
    found: dict[str, Any] = {}
    for host in (name for name in here.states() if name.startswith("one")):
        body, machine = here.mirror.get("BareMetalHost", host, SITE), here.machines()[host]
        assert body is not None
        name = body["spec"]["networkData"]["name"]
        secret = here.client.get("v1", "Secret", name, SITE) or {}
        found[host] = {
            "host": body["metadata"]["uid"],
            "machine": machine,
            "data": secret.get("data"),
        }
    return found


def main(out: Path) -> dict[str, Any]:
    """Make the rollouts, then the trials."""
    clock = time.monotonic()
    with running(SITE, out) as here:
        trails, conduct = Trails(here.mirror), Conduct(here, out, STUCK_SECONDS)
        started = time.monotonic() - clock
        conduct.bring_up(START)
        ready, before = time.monotonic() - clock, _networks(here)
        seen = {
            name: as_json(each)
            for steps in STEPS_OF_ROUNDS
            for name, each in conduct.round(steps).items()
        }
        found: dict[str, Any] = {"rollouts": seen, "networks": [before, _networks(here)]}
        print(f"{time.monotonic() - clock:6.1f} {json.dumps(found)}", flush=True)
        rolled, now, tried = time.monotonic() - clock, ROLLED, []
        for trials in ROUNDS:
            now, some = _try(here, trails, trials, now, out / "repository")
            tried += some
            print(f"{time.monotonic() - clock:6.1f} {json.dumps(some)}", flush=True)
    seconds = {"started": started, "site": ready, "rollouts": rolled}
    return {**found, "trials": tried, "seconds": {**seconds, "all": time.monotonic() - clock}}


if __name__ == "__main__":
    record(main)
