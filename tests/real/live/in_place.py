"""``python -m tests.real.live.in_place OUT``: labels and taints that Cluster API keeps on running
nodes, in a small world of its own. What was seen as JSON in OUT; runs in a namespace of its own.
"""

import time
from pathlib import Path
from typing import Any

from tests.real.live import world
from tests.real.live.conduct import LIMIT_SECONDS, QUIET_SECONDS, Conduct
from tests.real.live.experiment import TEMPLATE, Experiment, Step, still
from tests.real.live.namespace import record
from tests.real.live.recorder import _available
from tests.real.live.run import GROUPS, as_json
from tests.real.live.state import Edit, start
from tools.toolchain import locate

POOLS = {"control": {"a": 3}, "one": {"a": 8}}
TAINT = {"key": "example.com/a", "value": "x", "effect": "NoSchedule"}
EXPERIMENTS = (
    Experiment(
        "labels and a taint come",
        Edit({"pools.one.labels_in_place": {"example.com/mode": "a"},
              "pools.one.taints_in_place": [TAINT],
              "pools.control.labels_in_place": {"example.com/mode": "c"}}),
        still(one=8, control=3), TEMPLATE, in_place=11,
    ),
    Experiment(
        "a label changes, and the taint goes",
        Edit({"pools.one.labels_in_place": {"example.com/mode": "b"},
              "pools.one.taints_in_place": []}),
        still(one=8), TEMPLATE, in_place=8,
    ),
)  # fmt: skip


def nodes(here: world.World) -> dict[str, list[Any]]:
    """Of each Node its label and its taints, without those of the control plane's role."""
    return {
        body["metadata"]["name"]: [
            body["metadata"]["labels"].get("example.com/mode"),
            [each["key"] for each in body["spec"].get("taints", ()) if "/a" in each["key"]],
        ]
        for body in here.mirror.all("Node")
    }


def _machines(here: world.World, count: int) -> list[Any]:
    """All machines, or one that is none while there are fewer than ``count``."""
    found = list(here.mirror.all("Machine"))
    return found if len(found) == count else [{"metadata": {"labels": {}}}]


def main(out: Path) -> list[Any]:
    """Make both changes."""
    now, seen = start(POOLS), list[Any]()
    with world.running(locate(GROUPS), out, in_place=True) as here:
        conduct = Conduct(here, out)
        conduct.bring_up(now)
        deadline = time.monotonic() + LIMIT_SECONDS
        while not all(_available(body) for body in _machines(here, len(now.hosts))):
            if time.monotonic() > deadline:
                raise TimeoutError("the machines do not come up")
            time.sleep(QUIET_SECONDS)
        for each in EXPERIMENTS:
            after = now.edited(each.edit)
            before = {body["metadata"]["uid"] for body in here.mirror.all("Machine")}
            found = conduct.round((Step(each, now, after, after),))[each.name]
            kept = before == {body["metadata"]["uid"] for body in here.mirror.all("Machine")}
            seen.append({"seen": as_json(found), "kept": kept, "nodes": nodes(here)})
            now = after
    return seen


if __name__ == "__main__":
    record(main)
