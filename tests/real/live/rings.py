"""``python -m tests.real.live.rings OUT``: ``foresite apply`` with the real Pulumi and the real
managers of Cluster API over three rings of a site each. The hosts are played: those of the first
site do not come up for a while, as with a bad image, for which ``foresite apply`` has a clock that
is faster.
"""

import contextlib
import io
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from controlplane import Client, Manifest
from foresite.cli import main as foresite
from foresite.commands import apply
from foresite.delivery.rings import wait
from tests.kit.preview_repository import Repository
from tests.kit.trial_repository import small_sites
from tests.real.live import world
from tests.real.live.fake_metal3 import FakeMetal3, Life
from tests.real.live.namespace import record
from tests.real.live.recorder import CONTROL
from tests.real.live.run import GROUPS
from tests.real.live.settled import members
from tests.real.live.state import UBUNTU, start
from tests.real.live.watch import Mirror, condition
from tools.toolchain import locate

SITES = ("aomori-1", "beppu-1", "chiba-1")
POOL = "one"
_WORKERS = f"name: {POOL}\n  os: rocky-9"
_ADAPTED = """

_made = objects


def objects(site):
    found = _made(site)
    for each in found:
        if each.kind == "KubeadmControlPlane":
            config = each.body["spec"]["kubeadmConfigSpec"].setdefault("clusterConfiguration", {})
            config["etcd"] = ETCD
    return found
""".replace("ETCD", repr(world.ETCD))
"""What is added to the program: a control plane's etcd is elsewhere here (world.py)."""


class Hosts(FakeMetal3):
    """Hosts of which those in the namespace ``broken`` do not come up: as the Bare Metal Operator
    does with an image that fails, they are deprovisioned, which forgets the errors, and begin anew
    (v0.13.2, host_state_machine.go, handleProvisioning)."""

    broken, _fails = "", False

    def _boot(self, machine: Manifest, life: Life) -> None:
        namespace = machine["metadata"]["namespace"]
        if namespace != self.broken:
            super()._boot(machine, life)
            return
        self._fails ^= True
        self._host_state(namespace, life.host, "deprovisioning" if self._fails else "provisioning")
        life.due = time.monotonic() + 1


class Order:
    """Notes, for each site that begins to change, whether the one before it was done."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror, self.begun = mirror, dict[str, bool]()
        self._known: dict[str, int] = {}
        self._before: set[str] = set()
        mirror.listen(self._hear)

    def begin(self) -> None:
        """Begin anew: with what is there now."""
        self.begun.clear()
        self._known = self.generations()
        self._before = {each["metadata"]["uid"] for each in self._mirror.all("Machine")}

    def generations(self) -> dict[str, int]:
        """The generation of each site's MachineDeployment."""
        bodies = self._mirror.all("MachineDeployment")
        return {e["metadata"]["namespace"]: e["metadata"]["generation"] for e in bodies}

    def _hear(self, kind: str, _old: Manifest | None, new: Manifest | None) -> None:
        if kind != "MachineDeployment" or new is None:
            return
        site, now = new["metadata"]["namespace"], new["metadata"]["generation"]
        if site not in self.begun and self._known.get(site) != now:
            place = SITES.index(site)
            self.begun[site] = not place or self._done(SITES[place - 1])

    def _done(self, site: str) -> bool:
        """True if all workers of a site are new, and available."""
        mine = members(self._mirror, "Machine", POOL, site)
        up = [each for each in mine if condition(each, "Available").get("status") == "True"]
        return len(up) == len(mine) == 2 and not self._before & {e["metadata"]["uid"] for e in mine}


def repository(root: Path) -> Repository:
    """Three sites of a control plane and two workers, a ring each."""
    found = small_sites(root, {})
    state = start({CONTROL: {"a": 3}, POOL: {"a": 2}})
    text = yaml.safe_dump({**state.site, "ring": 0, "zones": state.site["zones"][:1]})
    columns = list(state.hosts[0])
    rows = ["rollout-1-" + ",".join(row[column] for column in columns) for row in state.hosts]
    hosts = "\n".join([",".join(columns), *rows, ""])
    for number, name in enumerate(SITES):
        for end, content in ((".yaml", text), (".hosts.csv", hosts)):
            mine = content.replace("rollout-1", name).replace("ring: 0", f"ring: {number}")
            mine = mine.replace("context: ", "context: null  # ").replace(
                "52:54:00:04", f"52:54:00:a{number}"
            )
            mine = mine.replace("10.4", f"10.1{number}").replace("EX4", f"T{number}4")
            found.write(f"sites/{name}{end}", mine)
    objects = "components/machines/objects.py"
    found.write(objects, found.text(objects) + _ADAPTED)
    found.write("fleet.yaml", "rings: {soak_minutes: 0}\n")
    found.commit("three rings")
    return found


def run(root: Path) -> dict[str, Any]:
    """``foresite apply --format json``: its report, and its exit code."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = foresite(["--root", str(root), "apply", "--trial", "--format", "json"])
    return {"code": code, **json.loads(out.getvalue())}


def _fast() -> Any:
    """A clock on which an hour takes 18 s."""
    began = time.time()
    return SimpleNamespace(
        time=lambda: began + 200 * (time.time() - began), sleep=lambda _: time.sleep(1)
    )


def experiment(found: Repository, hosts: Hosts, order: Order) -> list[dict[str, Any]]:
    """Make the sites, change them with hosts of the first ring that fail, and mend these."""
    seen = []
    for step in ("made", "bad", "mended"):
        began = time.monotonic()
        if step == "bad":
            hosts.broken = SITES[0]
            for name in SITES:
                found.replace(f"sites/{name}.yaml", _WORKERS, _WORKERS.replace("rocky-9", UBUNTU))
            found.commit("another image")
        elif step == "mended":
            hosts.broken = ""
        if step != "mended":
            order.begin()
        before = order.generations()
        with pytest.MonkeyPatch.context() as patch:
            if step == "bad":
                patch.setattr(wait, "time", _fast())
            report = run(found.root)
        after = order.generations()
        touched = [name for name in SITES if before.get(name) != after.get(name)]
        seen.append({"report": report, "touched": touched, "begun": dict(order.begun),
                     "seconds": round(time.monotonic() - began, 1)})  # fmt: skip
    return seen


def prepare(client: Client, out: Path) -> None:
    """The namespaces, and what no site makes (world.py)."""
    for name in SITES:
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        world.prepare(client, name, out)


def main(out: Path) -> list[dict[str, Any]]:
    """Make the experiment."""
    os.environ["FORESITE_TRIAL"] = str(out / "plane")
    found = repository(out / "repository")
    tools = locate(GROUPS)
    with (
        pytest.MonkeyPatch.context() as patch,
        world.managed(tools, out) as (plane, client, mirror),
        plane.client() as its_own,
    ):
        # The trial has controllers here, and hosts that install at once.
        patch.setattr(apply, "waits_for_machines", lambda _: True)
        patch.setattr(wait, "LOOK_SECONDS", 1.0)
        prepare(client, out)
        order = Order(mirror)
        with Hosts(its_own, mirror) as hosts:
            return experiment(found, hosts, order)


if __name__ == "__main__":
    record(main)
