"""``python -m tests.real.live.host_life OUT``: lives of hosts in two merges, on the real Metal3
(metal3_world.py), each in a pool of its own. What was seen after each merge as JSON in OUT.

Marks and deletions of Machines are those of ``foresite up``, by kubectl; Pulumi is played: an
object that it makes anew is deleted, and then applied (tests/foresite/test_leaving.py is the real
one).
"""

import contextlib
import csv
import os
import time
from pathlib import Path
from typing import Any

from components.machines.names import METAL3_API, UNHEALTHY_ANNOTATION
from components.making.manifest import Manifest, Target
from components.site import site_objects
from controlplane import ApiError
from foresite.delivery import leaving
from foresite.delivery.stack.engine import Engine
from schemas.facts.site import Site
from schemas.load import load_site
from schemas.reading.host_list import COLUMNS
from tests.real.live.metal3_world import Metal3World, running
from tests.real.live.namespace import record
from tests.real.live.patch import merge
from tests.real.live.state import SITE, Row, State, start
from tools.toolchain import locate

POOLS = {"control": 2, "board": 3, "stock": 3, "mover": 3, "target": 1, "rack": 4, "rma": 2}
SPARES = {"control": 1, "stock": 1}
OUT = {"board-a-02", "mover-a-01", "rack-a-03", "rack-a-04", "rma-a-01"}
"""Hosts that go out with the first merge; and one of ``stock`` that has a machine, beside a spare
(which one is chance)."""
CONTEXT = "trial"


def before() -> State:
    """A pool for each life; the last two hosts of ``rack`` are in a rack of their own."""
    made = start()
    pools = [each for each in made.site["pools"] if each["name"] == "control"]
    plain = {"hardware": "cpu-1u", "os": "rocky-9", "role": "worker"}
    pools = [{**pools[0], "name": name} if name == "control" else {**plain, "name": name}
             for name in POOLS]  # fmt: skip
    pools = [each | ({"spares": SPARES[each["name"]]} if each["name"] in SPARES else {})
             for each in pools]  # fmt: skip
    named = [(pool, n) for pool, count in POOLS.items() for n in range(1, count + 1)]
    rows = [_line(f"{pool}-a-{n:02}", pool, index) for index, (pool, n) in enumerate(named)]
    for row in rows:
        row["rack"] = "a-02" if row["name"] in ("rack-a-03", "rack-a-04") else "a-01"
    return State({**made.site, "pools": pools}, tuple(rows))


def _line(name: str, pool: str, number: int) -> Row:
    at = number + 11
    cells = (name, pool, "a", "a-01", f"10.41.0.{at}", f"52:54:00:04:00:{at:02x}",
             f"10.40.0.{at}", f"EX4{at:04}", "")  # fmt: skip
    return dict(zip((*COLUMNS, "state"), cells, strict=True))


def first(state: State, stock: str) -> State:
    """The merge in which hosts go out, and another rack comes."""
    gone = {*OUT, stock}
    rows = [{**row, "state": "out" if row["name"] in gone else ""} for row in state.hosts]
    more = [{**_line(f"rack-a-{n:02}", "rack", 40 + n), "rack": "a-03"} for n in (5, 6)]
    return State(state.site, (*rows, *more))


def second(state: State, stock: str) -> State:
    """The merge in which they come back, have moved, or are gone."""
    rows = [dict(row) for row in state.hosts if row["rack"] != "a-02"]
    by_name = {row["name"]: row for row in rows}
    new = {"state": "", "mac": "52:54:00:04:ff:01", "serial": "EX5BOARD"}
    by_name["board-a-02"].update(new)
    by_name[stock].update(state="in-service", mac="52:54:00:04:ff:02", serial="EX5STOCK")
    place = {"pool": "target", "zone": "b", "rack": "b-07", "ip": "10.40.1.200"}
    by_name["mover-a-01"].update(place, state="in-service")
    old = by_name["rma-a-01"]
    rows.append({**old, "state": "in-service", "mac": "52:54:00:04:ff:03", "serial": "EX5RMA"})
    old["state"] = "returned"
    return State(state.site, tuple(rows))


def write(state: State, root: Path) -> None:
    """Write the files, with the column ``state``."""
    plain = [{name: row[name] for name in COLUMNS} for row in state.hosts]
    State(state.site, tuple(plain)).write(root)
    with (root / f"sites/{SITE}.hosts.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, (*COLUMNS, "state"), lineterminator="\n")
        table.writeheader()
        table.writerows(state.hosts)


class Person:
    """Merges, and runs ``foresite up``."""

    def __init__(self, here: Metal3World, root: Path) -> None:
        self.here, self.root = here, root
        kubectl = locate(["controlplane"])["kubectl"].path
        config = here.directory / "plane" / "kubeconfig"
        env = {"PATH": os.environ["PATH"], "KUBECONFIG": str(config), "HOME": str(root)}
        self.engine = Engine(kubectl, env, root, SITE, root, kubectl)
        self.made: dict[str, Manifest] = {}

    def load(self, state: State) -> Site:
        """The site as Foresite reads it."""
        write(state, self.root)
        loaded = load_site(self.root, SITE)
        assert loaded.site is not None, [str(each) for each in loaded.problems]
        return loaded.site

    def objects(self, site: Site) -> list[Manifest]:
        """The site's machines, and the policies that guard them."""
        found = site_objects(site)
        every = [*found["machines"], *found["admission-policies"]]
        return [each for each in every if each.target is Target.MANAGEMENT]

    def bring_up(self, state: State) -> None:
        """The first ``up``."""
        made = self.objects(self.load(state))
        self.here.bring_up(made)
        self.made = {each.name: each for each in made}

    def up(self, state: State) -> dict[str, str]:
        """Another ``up``; what was refused, by logical name."""
        site = self.load(state)
        made = self.objects(site)
        refused: dict[str, str] = {}
        leaving.mark(self.engine, site)
        for each in made:
            former = self.made.get(each.name)
            if former and each.anew and _is_out(former):
                refused |= self._delete(each)
        gone = [each for name, each in self.made.items() if name not in {m.name for m in made}]
        refused |= self.here.apply(each for each in made if each.name not in refused)
        for each in gone:
            if not (each.protect or each.keep):
                refused |= self._delete(each)
        leaving.delete(self.engine, site)
        self.made = {each.name: each for each in made}
        return refused

    def _delete(self, manifest: Manifest) -> dict[str, str]:
        """Delete a host and wait until it is gone, as Pulumi does.

        As one record of power serves all hosts here, the operator would wait until all are off; and
        as time is compressed, its queue makes a host wait that changed often: an event does not.
        """
        api, kind, namespace, name = manifest.key
        body = {**manifest.bare().body, "apiVersion": api}
        try:
            merge(self.here.client, body, {"spec": {"online": True, "disablePowerOff": True}})
            self.here.client.delete(api, kind, name, namespace)
        except ApiError as error:
            return {manifest.name: error.message}

        def gone() -> bool:
            with contextlib.suppress(ApiError):
                event = {"metadata": {"annotations": {"test/event": str(time.monotonic())}}}
                merge(self.here.client, body, event)
            return name not in self.here.states()

        self.here.wait(f"{name} gone", gone)
        return {}

    def seen(self) -> dict[str, Any]:
        """Machines and hosts as they are, by the host's name."""
        client = self.here.client
        hosts = {
            each["metadata"]["name"]: each
            for each in client.items(METAL3_API, "BareMetalHost", SITE)
        }
        return {
            "machines": self.here.machines(),
            "hosts": {name: each["metadata"]["uid"] for name, each in hosts.items()},
            "macs": {name: each["spec"]["bootMACAddress"] for name, each in hosts.items()},
            "states": self.here.states(),
        }


def _is_out(manifest: Manifest) -> bool:
    return UNHEALTHY_ANNOTATION in manifest.body["metadata"]["annotations"]


def main(out: Path) -> dict[str, Any]:
    """Play the lives."""
    root = out / "repository"
    found: dict[str, Any] = {"seconds": {}, "refused": {}}
    begin = time.monotonic()
    states = [before()]
    with running(SITE, out) as here:
        person = Person(here, root)
        person.bring_up(states[0])
        found["seconds"]["site"] = time.monotonic() - begin
        found["before"] = person.seen()
        stock = min(name for name in found["before"]["machines"] if name.startswith("stock"))
        for name, merge in (("first", first), ("second", second)):
            states.append(merge(states[-1], stock))
            clock = time.monotonic()
            found["refused"][name] = person.up(states[-1])
            here.settle()
            here.wait("hosts", lambda: set(here.states().values()) <= {"provisioned", "available"})
            found["seconds"][name] = time.monotonic() - clock
            found[name] = person.seen()
    return found


if __name__ == "__main__":
    record(main)
