"""A site on the twin, ready to be scheduled on."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import pytest

from controlplane import Manifest
from schemas.facts.site import Site
from schemas.kubernetes.objects import load_crds
from schemas.model.site_file import Pool
from tests.kit.twin.cluster import Parts, Scheduler, Twin, twin
from tests.kit.twin.nodes import Resources, plugin_resources, site_nodes
from tests.kit.twin.pods import pod
from tests.kit.twin.schedulers import BINARIES, MAKERS, THROTTLED, rights
from tests.kit.twin.watch import Watch
from tools.toolchain import ToolchainError
from tools.toolchain.installed import find

CRDS = ("schedule.k8s.everpeace.github.com",)
"""Groups of the kinds that the twin serves besides Kubernetes' own."""
_READY_SECONDS = 120.0
_CANARY_SECONDS = 1.0
_DENIED = "is forbidden: User"
"""How the API server's RBAC says no (apiserver, pkg/endpoints/handlers/responsewriters/errors.go);
what is refused because its namespace is going has no user in it."""
_EVERY_TAINT = ({"operator": "Exists"},)


@dataclass(frozen=True)
class World:
    """The world of tests and benchmarks. ``absent`` says why a scheduler is not there."""

    t: Twin
    watch: Watch
    site: Site
    absent: Mapping[str, str]

    def needs(self, scheduler: str) -> None:
        """Skip the test where a scheduler is not there, by its schedulerName."""
        if why := self.absent.get(scheduler):
            pytest.skip(why)

    def run(self, pods: Iterable[Manifest]) -> None:
        """Create pods, and wait until the watch has seen them all."""
        made = self.t.create(pods)
        keys = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in made]
        self.watch.until("new pods", lambda: all(self.watch.pod(*key) for key in keys))

    def jostle(
        self, scheduler: str, what: str, done: Callable[[], object], seconds: float = 60.0
    ) -> None:
        """Send a small pod to a scheduler now and then until ``done()`` is true.

        The gang scheduler starts no gang by itself: it lets one go when another pod passes, and a
        pod that passes too early lets go of a part of it only.
        """
        deadline = time.monotonic() + seconds
        namespace = self.t.namespace("canary")
        for number in itertools.count():
            self.t.revive(scheduler)
            self.run([_canary(f"canary-{number}", namespace, scheduler)])
            if self.watch.within(_CANARY_SECONDS, done):
                break
            if time.monotonic() > deadline:
                raise self.watch.late(what, seconds)
        self.clear(namespace)

    def clear(self, namespace: str) -> None:
        """Delete a namespace, and wait until its pods are gone and their nodes free again."""
        # From now on nobody can create anything there, and what acts on the namespace comes later.
        self.t.client.delete("v1", "Namespace", namespace)
        self.t.delete(self.watch.pods(namespace))
        self.watch.until(f"the end of {namespace}", lambda: not self.watch.pods(namespace))
        # The gang plugin ends where a gang is deleted while one of its pods is being placed
        # (pfnet/scheduler-plugins f63b46e, plugins/gang/gangs.go, Unreserve: a nil pointer). On a
        # real node the kubelet starts it again.
        for name in MAKERS:
            self.t.revive(name)

    def denied(self, scheduler: str) -> list[str]:
        """The lines of a scheduler's log that say which right it lacks."""
        text = self.t.log(scheduler).read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines() if _DENIED in line]

    def cordon(self, node: str, on: bool = True) -> None:
        """Keep new pods off a node, or let them back."""
        change = {"spec": {"unschedulable": on}}
        merge = "application/merge-patch+json"
        self.t.client.request("PATCH", f"/api/v1/nodes/{node}", change, merge)


@contextlib.contextmanager
def world(
    directory: Path,
    site: Site,
    resources: Callable[[Site, Pool], Resources] = plugin_resources,
    **parts: Unpack[Parts],
) -> Iterator[World]:
    """``site`` on a twin in ``directory``, all its nodes ready.

    What ``parts`` leave out is chosen here: the schedulers at hand, the rights they need, and the
    CRDs of ``CRDS``.
    """
    crds = [crd for crd in load_crds() if crd["spec"]["group"] in CRDS]
    schedulers, absent = _schedulers(bool(crds))
    chosen: Parts = {"schedulers": schedulers, "crds": crds, "objects": [*rights()], **parts}
    with twin(directory, **chosen) as t, Watch(t.access) as watch:
        nodes = site_nodes(site, resources)
        t.create(nodes)
        watch.until("nodes", lambda: len(watch.ready_nodes()) == len(nodes), _READY_SECONDS)
        yield World(t, watch, site, absent)


def _canary(name: str, namespace: str, scheduler: str) -> Manifest:
    requests = {"cpu": "1m"}
    return pod(name, namespace, scheduler=scheduler, requests=requests, tolerations=_EVERY_TAINT)


def _schedulers(throttles: bool) -> tuple[list[Scheduler], dict[str, str]]:
    """The schedulers beside the default one that are at hand, and why the others are not."""
    found, absent = [], {}
    for name, maker in MAKERS.items():
        try:
            found.append(maker(find(BINARIES[name]).path))
        except ToolchainError as error:
            absent[name] = str(error)
    if not throttles:
        found = [each for each in found if each.name != THROTTLED]
        absent.setdefault(THROTTLED, "the store of CRDs has no throttles")
    return found, absent
