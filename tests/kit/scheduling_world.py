"""Some hosts of tokyo-1 with the schedulers that its objects describe: real binaries with their
ConfigMaps' text and their accounts' tokens, two replicas of the gang scheduler among them."""

import contextlib
import http.client
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import yaml

from controlplane import ApiError
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.scheduling import Gang
from tests.kit.go_programs import given
from tests.kit.scheduling_site import (
    GANG_SCHEDULER,
    PREFIX,
    THROTTLED,
    THROTTLED_SCHEDULER,
    by_name,
    site,
    with_scheduler,
)
from tests.kit.twin.cluster import Parts, Scheduler
from tests.kit.twin.cluster.process import Process
from tests.kit.twin.cluster.schedulers import scheduler_program
from tests.kit.twin.world import World
from tests.kit.twin.world import world as running
from tools.toolchain import locate

T = TypeVar("T")
SPACE = "scheduling"
PPROF = 6060
REPLICAS = ("gang-scheduler-a", "gang-scheduler-b")
HOSTS = {"control": 3, "cpu": 4, "v100": 12, "a100": 10, "h100": 8}
"""How many hosts of each pool take part; two of v100 are spares."""
GANGS = Gang(annotation_prefix=PREFIX, timeout_seconds=5, jitter_seconds=1)


@dataclass(frozen=True)
class Running:
    """The world, and the site that it was made of."""

    world: World
    site: Site

    def pools(self, namespace: str, **labels: str) -> set[str]:
        """The pools on which pods of a namespace with these labels run."""
        return self.pools_of(set(self.world.watch.bound(namespace, **labels).values()))

    def pools_of(self, nodes: set[str]) -> set[str]:
        """The pools of some nodes."""
        every = (each["metadata"] for each in self.world.watch.nodes())
        return {each["labels"][POOL_LABEL] for each in every if each["name"] in nodes}

    def answer(self, name: str, path: str) -> int:
        """A scheduler's answer on its own port; 0 where nobody answers."""
        client = self.world.t._processes[name]._client
        assert client
        try:
            client.request("GET", path)
        except ApiError as error:
            return error.status
        except (OSError, http.client.HTTPException):
            return 0
        return 200

    def lock_health(self, name: str) -> int:
        """The health that a replica's gang plugin answers."""
        config = yaml.safe_load((self.world.t.directory / f"{name}.yaml").read_text())
        plugins = config["profiles"][0]["pluginConfig"]
        (arguments,) = [each["args"] for each in plugins if each["name"] == "gang"]
        url = f"http://{arguments['healthCheckAddr']}/gang-healthz"
        with urllib.request.urlopen(url, timeout=5) as found:
            return int(found.status)

    def leader(self) -> str:
        """The replica that leads: the one whose caches are filled."""

        def ready() -> list[str]:
            return [name for name in REPLICAS if self.answer(name, "/readyz") == 200]

        (found,) = eventually("a leader", ready)
        return found


def eventually(what: str, done: Callable[[], T], seconds: float = 60.0) -> T:
    """The result of ``done()`` once it is true: for facts that a watch of pods does not see."""
    deadline = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return found


def some_hosts() -> Site:
    """The site, with the first hosts of each pool."""
    whole = site(with_scheduler(gang=GANGS.model_dump()), THROTTLED)
    found = [host for pool, count in HOSTS.items() for host in whole.by_pool[pool][:count]]
    return replace(whole, hosts=tuple(found))


@contextlib.contextmanager
def schedulers_running(directory: Path) -> Iterator[Running]:
    """All objects of the schedulers but the canary, applied; and the schedulers."""
    made = some_hosts()
    chosen = [_gang_scheduler(made), _throttled_scheduler(made)]
    parts: Parts = {
        "schedulers": chosen,
        "objects": [each.body for each in by_name(made).values() if each.kind != "CronJob"],
        "tools": locate(["controlplane", "scheduling"]),
    }
    with running(directory, made, **parts) as world:
        standby = _second_replica(world, chosen[0])
        try:
            yield Running(world, made)
        finally:
            standby.stop()


def _text(made: Site, backend: str) -> str:
    found: str = by_name(made)[f"ConfigMap/{backend}"].body["data"]["config.yaml"]
    return found


def _gang_scheduler(made: Site) -> Scheduler:
    return Scheduler(
        REPLICAS[0],
        given("kube-scheduler-gang"),
        _text(made, GANG_SCHEDULER),
        account=(SPACE, GANG_SCHEDULER),
        plugin_args={"gang": {"healthCheckAddr": "{address}"}},
        elect=True,
        held_ports=(PPROF,),
    )


def _throttled_scheduler(made: Site) -> Scheduler:
    return Scheduler(
        THROTTLED_SCHEDULER,
        given("kube-throttler"),
        _text(made, THROTTLED_SCHEDULER),
        command=("kube-scheduler",),
        account=(SPACE, THROTTLED_SCHEDULER),
        plugin_args={"kube-throttler": {"kubeconfig": "{kubeconfig}"}},
        elect=True,
    )


def _second_replica(world: World, first: Scheduler) -> Process:
    """Another replica, with the first one's account; a standby never says that it is ready."""
    own = replace(first, name=REPLICAS[1])
    kubeconfig = world.t.directory / f"{first.name}.kubeconfig"
    program = scheduler_program(own, world.t.directory, kubeconfig, {})
    process = Process(replace(program, health="/livez"), world.t.directory)
    process.start()
    process.wait()
    world.t._processes[own.name] = process
    return process
