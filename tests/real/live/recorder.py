"""Who goes and who comes while a change is applied: each Machine and host, as the server says."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane import Manifest
from tests.real.live.fake_metal3 import CONTROL_PLANE_LABEL, HOST_ANNOTATION
from tests.real.live.predictions import Group
from tests.real.live.watch import Mirror, condition

CONTROL = "control"
"""The group of the control plane's machines, named after its pool."""
_STATIC_PODS = ("APIServerPodHealthy", "ControllerManagerPodHealthy", "SchedulerPodHealthy")
_DEPLOYMENT = "cluster.x-k8s.io/deployment-name"


def group_of(body: Manifest) -> str:
    """The group that a Machine, a MachineSet or a Metal3Machine belongs to."""
    labels = body["metadata"].get("labels", {})
    return CONTROL if CONTROL_PLANE_LABEL in labels else str(labels.get(_DEPLOYMENT, ""))


@dataclass
class Window:
    """The events of some groups from now on, until the window is closed."""

    groups: tuple[str, ...]
    opened: float = field(default_factory=time.monotonic)
    moved: float = field(default_factory=time.monotonic)
    at_once: dict[str, int] = field(default_factory=dict)
    fewest: dict[str, int] = field(default_factory=dict)
    down: list[tuple[str, str]] = field(default_factory=list)
    """Group and host of each machine that was taken down, in that order."""
    up: list[tuple[str, str]] = field(default_factory=list)
    updated: set[str] = field(default_factory=set)

    def numbers(self) -> dict[str, Group]:
        """Each group's numbers so far."""
        return {
            name: Group(
                sum(group == name for group, _ in self.down),
                sum(group == name for group, _ in self.up),
                self.at_once[name],
                self.fewest[name],
            )
            for name in self.groups
        }


class Recorder:
    """Listens to a mirror, and writes down what concerns the windows that are open."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._machines: dict[str, dict[str, bool]] = {}
        self._windows: list[Window] = []
        self.strays: list[str] = []
        """Machines that came or went in a group that no window was open for."""
        mirror.listen(self._hear)

    def open(self, groups: Iterable[str]) -> Window:
        """Begin to record ``groups``, none of which another open window has."""
        window = Window(tuple(groups))
        with self._mirror.changed:
            busy = {group for each in self._windows for group in each.groups}
            if clash := busy & set(window.groups):
                raise ValueError(f"two experiments at once in {sorted(clash)}")
            for name in window.groups:
                machines = self._machines.get(name, {})
                window.fewest[name] = sum(machines.values())
                window.at_once[name] = len(machines) - window.fewest[name]
            self._windows.append(window)
        return window

    def close(self, window: Window) -> None:
        """End a window; it keeps what it has."""
        with self._mirror.changed:
            self._windows.remove(window)

    def _hear(self, kind: str, old: Manifest | None, new: Manifest | None) -> None:
        if kind == "Machine":
            self._machine(old, new)
        elif kind == "Metal3Machine":
            self._host(old, new)

    def _machine(self, old: Manifest | None, new: Manifest | None) -> None:
        body = new or old
        assert body is not None
        name, group = str(body["metadata"]["name"]), group_of(body)
        machines = self._machines.setdefault(group, {})
        moved = _standing(old) != _standing(new)
        count = machines.get(name)
        if new is None:
            machines.pop(name, None)
        else:
            machines[name] = _available(new)
        window = self._window(group)
        if window is None:
            if moved:
                self.strays.append(f"{group}/{name}")
            return
        if moved or machines.get(name) != count:
            window.moved = time.monotonic()
        if old is not None and new is not None and _in_place(old) != _in_place(new):
            window.updated.add(name)
        self._count(window, group)

    def _count(self, window: Window, group: str) -> None:
        machines = self._machines[group]
        available = sum(machines.values())
        window.at_once[group] = max(window.at_once[group], len(machines) - available)
        window.fewest[group] = min(window.fewest[group], available)

    def _host(self, old: Manifest | None, new: Manifest | None) -> None:
        window = None if new is None else self._window(group_of(new))
        if new is None or window is None:
            return
        host = new["metadata"].get("annotations", {}).get(HOST_ANNOTATION, "").partition("/")[2]
        if host and not _going(old) and _going(new):
            window.down.append((group_of(new), host))
        if not _provisioned(old) and _provisioned(new):
            window.up.append((group_of(new), host))

    def _window(self, group: str) -> Window | None:
        return next((each for each in self._windows if group in each.groups), None)


def _going(body: Manifest | None) -> bool:
    return body is not None and "deletionTimestamp" in body["metadata"]


def _available(body: Manifest) -> bool:
    """True if a Machine counts for whoever replaces machines.

    For a MachineDeployment that is its condition Available. For a KubeadmControlPlane it is a Node
    and its static pods being well (scale.go, checkHealthiness): Available follows a moment later.
    """
    if _going(body):
        return False
    control_plane = group_of(body) == CONTROL
    if control_plane and "nodeRef" not in body.get("status", {}):
        return False
    wanted = _STATIC_PODS if control_plane else ("Available",)
    return all(condition(body, each).get("status") == "True" for each in wanted)


def _provisioned(body: Manifest | None) -> bool:
    status = {} if body is None else body.get("status", {})
    return bool(status.get("initialization", {}).get("provisioned"))


def _standing(body: Manifest | None) -> tuple[bool, bool]:
    """True if a Machine is there, and true if it is on its way out."""
    return body is not None, _going(body)


def _in_place(body: Manifest) -> tuple[object, ...]:
    """The parts of a Machine that change without a new one."""
    spec = body["spec"]
    return body["metadata"].get("labels"), spec.get("deletion"), spec.get("taints")
