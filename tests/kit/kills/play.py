"""One interrupted ``up`` of a small site, on the real engine and the real API server, and what
``foresite recover`` and the next ``up`` make of it. A seed decides everything that is random.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from controlplane import ApiError
from tests.kit.kills.judge import judge
from tests.kit.kills.plan import AGAIN, API, BACK, CHANGE, ENGINE, ETCD, EVERYTHING, Outcome, Plan
from tests.kit.kills.world import World, engine_of, find_process, until, wait
from tests.kit.trial import kill as kill_all
from tests.kit.trial import manifests_of


def strike(
    world: World, process: "subprocess.Popen[str]", plan: Plan, written: Callable[[], int]
) -> bool:
    """Wait for the moment, and kill; whether there was anything to kill."""
    began = time.monotonic()

    def due() -> bool:
        if plan.writes:
            return written() >= plan.writes
        return time.monotonic() - began >= plan.seconds

    return until(due, process) and _kill(world, process, plan)


def _kill(world: World, process: "subprocess.Popen[str]", plan: Plan) -> bool:
    if plan.victim in (API, ETCD):
        pid = world.plane.status().pids[plan.victim]
        if pid is None:
            return False
        os.kill(pid, plan.signal)
        world.client.close()
        until(lambda: world.plane.status().pids[plan.victim] is None, None)
        world.start()
        world.client = world.plane.client()
        return True
    if plan.victim == EVERYTHING:
        kill_all(process.pid)
        return True
    target = [0]

    def there() -> bool:
        target[0] = (
            engine_of(process.pid) if plan.victim == ENGINE else find_process(process, plan.victim)
        )
        return bool(target[0])

    if not until(there, process):
        return False
    try:
        if plan.victim == ENGINE and os.getpgid(target[0]) == target[0]:
            os.killpg(target[0], plan.signal)
        else:
            os.kill(target[0], plan.signal)
    except ProcessLookupError:
        return False
    return True


def survive(world: World, plan: Plan) -> Outcome:
    """Play one seed."""
    outcome = Outcome(plan.seed, str(plan))
    began = time.monotonic()
    try:
        _play(world, plan, outcome)
    except (OSError, ValueError, ApiError, RuntimeError) as error:
        outcome.wrong.append(f"{type(error).__name__}: {error}")
    outcome.seconds = round(time.monotonic() - began, 1)
    return outcome


def _play(world: World, plan: Plan, outcome: Outcome) -> None:
    name = f"seed-{plan.seed:03}"
    site = world.write(name, plan.case, changed=False)
    kinds = {each.key[:2] for each in manifests_of(site)}
    if plan.case in (CHANGE, BACK):
        _check_exit(world.command("up", "--trial", name), "the up before", outcome)
        site = world.write(name, plan.case, changed=True)
        kinds |= {each.key[:2] for each in manifests_of(site)}
    before = world.object_versions(site, kinds)

    def count_writes() -> int:
        now = world.object_versions(site, kinds)
        number = len({each[:2] for each in before ^ now}) if now or not before else 0
        # Right after its etcd was killed the server is away, and shows nothing of what is written.
        outcome.written = max(outcome.written, number)
        return number

    process = (
        world.plain_up(site, plan.at_once)
        if plan.checkpoints
        else world.command("up", "--trial", name, at_once=plan.at_once)
    )
    outcome.hits += strike(world, process, plan, count_writes)
    count_writes()
    wait(process)
    if plan.case == BACK:
        site = world.write(name, plan.case, changed=False)
    if plan.case == AGAIN:
        recovery = world.command("recover", "--trial", name)
        again = replace(plan, victim=EVERYTHING, signal=signal.SIGKILL, writes=0,
                        seconds=2 * plan.seconds)  # fmt: skip
        outcome.hits += strike(world, recovery, again, lambda: 0)
        wait(recovery)
    _recover(world, name, outcome)
    _check_exit(world.command("up", "--trial", name), "the up after", outcome)
    outcome.wrong += judge(world, site, kinds)


def _check_exit(process: "subprocess.Popen[str]", what: str, outcome: Outcome) -> None:
    code, said = wait(process)
    if code:
        outcome.wrong.append(f"{what} ended with {code}: {said[-2000:]}")


def _recover(world: World, name: str, outcome: Outcome) -> None:
    """Recover; orphans are let go once they are named."""
    command = ("recover", "--trial", name, "--format", "json")
    code, said = wait(world.command(*command))
    match = re.search(r"--allow remove=(\d+)", said)
    if code == 1 and match:
        outcome.orphans = int(match[1])
        allow = ("--allow", f"remove={match[1]}")
        code, said = wait(world.command(*command, *allow))
    if code:
        outcome.wrong.append(f"recover ended with {code}: {said[-3000:]}")


def play_seeds(seeds: Sequence[int]) -> list[Outcome]:
    """The seeds one after the other, in a world of their own."""
    with tempfile.TemporaryDirectory(prefix="foresite-kills-") as folder:
        world = World(Path(folder))
        try:
            outcomes = []
            for seed in seeds:
                outcomes.append(survive(world, Plan.of(seed)))
                _say(outcomes[-1])
            return outcomes
        finally:
            world.close()


def _say(outcome: Outcome) -> None:
    verdict = "; ".join(outcome.wrong) or "converged"
    print(
        f"{outcome.seed:3} {outcome.plan}: {outcome.hits} kills, {outcome.written} objects were "
        f"written, {outcome.orphans} orphans: {verdict}, {outcome.seconds} s",
        file=sys.stderr, flush=True,
    )  # fmt: skip
