"""``python -m tests.real.live.stale OUT PACE SIZE…``: how long a status still counts the machines
of before, after a controller has seen a new template; and that no gate passes on it. PACE is
``limited`` (the managers' default) or ``free``; sizes are those of up to three pools.
"""

import time
from pathlib import Path
from typing import Any

from components.making.manifest import Manifest as Made
from controlplane import Manifest
from foresite.delivery.rings.health import Seen, Wanted, health
from tests.real.live import world
from tests.real.live.conduct import Conduct, _made
from tests.real.live.namespace import record
from tests.real.live.recorder import CONTROL
from tests.real.live.run import GROUPS
from tests.real.live.settled import members, observed
from tests.real.live.state import Edit, boot, start
from tests.real.live.watch import Mirror, condition
from tools.toolchain import locate

POOLS = ("one", "two", "four")
_KINDS = ("MachineDeployment", "KubeadmControlPlane")
_LIMIT_SECONDS, _AFTER_SECONDS = 400.0, 8.0


class Watch:
    """One object while its template changes: what a status alone says of it, and what we say."""

    def __init__(self, here: world.World, made: Made) -> None:
        self._here, self._wanted = here, Wanted(made)
        self._mirror: Mirror = here.mirror
        _, self.kind, self.namespace, self.name = made.key
        group = CONTROL if self.kind == "KubeadmControlPlane" else self.name
        machines = members(self._mirror, "Machine", group, self.namespace)
        self._before = {each["metadata"]["uid"] for each in machines}
        self.size, self._generation = len(self._before), self._body()["metadata"]["generation"]
        self.seen = self.moved = self.passed = 0.0
        self.early: list[str] = []

    def _body(self) -> Manifest:
        body = self._mirror.get(self.kind, self.name, self.namespace)
        assert body is not None
        return body

    def hear(self) -> None:
        """Look at the object as it is now."""
        body, now = self._body(), time.monotonic()
        if body["metadata"]["generation"] == self._generation or not observed(body):
            return
        self.seen = self.seen or now
        if not self.moved and not _naive(body):
            self.moved = now
        objects, sets = {(self.kind, self.name): body}, self._mirror.all("MachineSet")
        if not self.passed and not health([self._wanted], Seen(objects, 0.0, now, sets)).verdict:
            self.passed = now

    def judge(self) -> None:
        """Where it passed, see by the server itself that the machines of before are gone."""
        if self.passed and not self.early:
            left = self._here.client.request("GET", "/apis/cluster.x-k8s.io/v1beta2/machines")
            names = (each["metadata"] for each in left["items"])
            self.early = [each["name"] for each in names if each["uid"] in self._before]


def _naive(body: Manifest) -> bool:
    """What a gate would take for done that looks at generation, counts and conditions alone."""
    status, wanted = body["status"], body["spec"]["replicas"]
    counts = ("replicas", "upToDateReplicas", "availableReplicas")
    return (
        all(status.get(each) == wanted for each in counts)
        and condition(body, "Available").get("status") == "True"
        and condition(body, "RollingOut").get("status") == "False"
    )


def measure(here: world.World, directory: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """Bring up a site of these sizes, change what all machines are made of, and watch."""
    before = start({CONTROL: {"a": 3}, **{p: {"a": n} for p, n in zip(POOLS, sizes, strict=False)}})
    conduct = Conduct(here, directory)
    conduct.bring_up(before)
    made = _made(conduct._site(before.edited(Edit({"first_boot": boot()}))))
    watches = [Watch(here, one) for one in made if one.kind in _KINDS]

    def hear(kind: str, _old: Manifest | None, _new: Manifest | None) -> None:
        if kind in (*_KINDS, "MachineSet"):
            for each in watches:
                each.hear()

    here.mirror.listen(hear)
    began = time.monotonic()
    conduct._apply(made)
    while time.monotonic() - began < _LIMIT_SECONDS:
        for each in watches:
            each.judge()
        small = [each for each in watches if each.size <= 3]
        moved = [each.moved for each in watches]
        done = all(each.passed for each in small) and all(moved)
        if done and time.monotonic() - max(moved) > _AFTER_SECONDS:
            break
        time.sleep(0.02)
    return [
        {"kind": each.kind, "machines": each.size, "early": each.early,
         "stale": round(each.moved - each.seen, 2) if each.moved else None,
         "passed": round(each.passed - began, 1) if each.passed else None}
        for each in watches
    ]  # fmt: skip


def main(out: Path, pace: str, *sizes: str) -> list[dict[str, Any]]:
    """Measure."""
    with world.running(locate(GROUPS), out, limited=pace == "limited") as here:
        return measure(here, out, [*map(int, sizes)])


if __name__ == "__main__":
    record(main)
