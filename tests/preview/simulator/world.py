"""The objects that the controllers act on, and what an API server makes of a change of them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Body = Mapping[str, Any]
Bodies = Mapping[tuple[str, str], Body]
KCP = "KubeadmControlPlane"


@dataclass(frozen=True)
class Wanted:
    """What a MachineDeployment or the KubeadmControlPlane asks for.

    ``key`` has all of the template that makes a Machine out of date; what is propagated in place is
    not in it (mdutil/util.go MachineTemplateDeepCopyRolloutFields, kubeadm/internal/filters.go).
    """

    name: str
    replicas: int
    surge: int
    unavailable: int
    on_delete: bool
    key: tuple[str, ...]
    selector: frozenset[tuple[str, str]]
    version: str

    @property
    def minor(self) -> int:
        return int(self.version.split(".")[1])


@dataclass
class Host:
    """A BareMetalHost. Labels decide about free hosts only: who has a Machine keeps it.

    ``clock`` is the number of steps until a new host is inspected.
    """

    name: str
    labels: Mapping[str, str]
    user: "Machine | None" = None
    clock: int = 0


@dataclass(eq=False)
class Machine:
    """A Machine; ``clock`` is the number of steps until it is installed, or wiped."""

    owner: str
    group: "Group"
    host: Host | None = None
    state: str = "waiting"
    clock: int = 0
    first: bool = False

    @property
    def available(self) -> bool:
        return self.state == "running"


@dataclass(eq=False)
class Group:
    """A MachineSet; for the control plane, the Machines that are made from the same spec."""

    wanted: Wanted
    replicas: int
    deleted: bool = False


@dataclass
class World:
    """All that there is at one time."""

    control: Wanted
    deployments: dict[str, Wanted]
    hosts: dict[str, Host]
    groups: dict[str, list[Group]] = field(default_factory=dict)
    machines: list[Machine] = field(default_factory=list)
    groups_of_control: list[Group] = field(default_factory=list)

    def of(self, group: Group) -> list[Machine]:
        return [each for each in self.machines if each.group is group]

    def owned(self, name: str) -> list[Machine]:
        return [each for each in self.machines if each.owner == name]


def by_name(bodies: Iterable[Body]) -> dict[tuple[str, str], Body]:
    return {(each["kind"], each["metadata"]["name"]): each for each in bodies}


def control_plane(objects: Bodies) -> Wanted:
    """The KubeadmControlPlane. A template's name is as good as its content, which names it."""
    ((name, body),) = ((name, body) for (kind, name), body in objects.items() if kind == KCP)
    spec = body["spec"]
    template = spec["machineTemplate"]["spec"]["infrastructureRef"]["name"]
    config = json.dumps(spec["kubeadmConfigSpec"], sort_keys=True)
    surge = spec["rollout"]["strategy"]["rollingUpdate"]["maxSurge"]
    return Wanted(f"{KCP}/{name}", spec["replicas"], surge, 1, False,
                  (spec["version"], template, config), _selector(objects, template),
                  spec["version"])  # fmt: skip


def deployments(objects: Bodies) -> dict[str, Wanted]:
    return {
        name: _deployment(objects, name, body["spec"])
        for (kind, name), body in objects.items()
        if kind == "MachineDeployment"
    }


def _deployment(objects: Bodies, name: str, spec: Body) -> Wanted:
    template, strategy = spec["template"]["spec"], spec["rollout"]["strategy"]
    rolling = strategy.get("rollingUpdate", {})
    infrastructure = template["infrastructureRef"]["name"]
    key = (template["version"], template.get("failureDomain", ""), infrastructure,
           template["bootstrap"]["configRef"]["name"])  # fmt: skip
    surge, unavailable = rolling.get("maxSurge", 1), rolling.get("maxUnavailable", 0)
    return Wanted(name, spec["replicas"], surge, unavailable if surge or unavailable else 1,
                  strategy["type"] == "OnDelete", key, _selector(objects, infrastructure),
                  template["version"])  # fmt: skip


def _selector(objects: Bodies, template: str) -> frozenset[tuple[str, str]]:
    spec = objects["Metal3MachineTemplate", template]["spec"]["template"]["spec"]
    assert spec["hostSelector"].keys() == {"matchLabels"}, "the model has labels only"
    return frozenset(spec["hostSelector"]["matchLabels"].items())


def bare_metal(objects: Bodies) -> dict[str, Body]:
    return {name: body for (kind, name), body in objects.items() if kind == "BareMetalHost"}


def refused_hosts(base: Bodies, head: Bodies) -> set[str]:
    """Hosts whose change the Bare Metal Operator's webhook refuses as a whole: once a host is
    registered, its BMC address and boot MAC stay (baremetalhost_validation.go validateChanges)."""
    before, after = bare_metal(base), bare_metal(head)

    def fixed(body: Body) -> tuple[str, str]:
        return body["spec"]["bmc"]["address"], body["spec"]["bootMACAddress"].lower()

    return {name for name in before.keys() & after if fixed(before[name]) != fixed(after[name])}


def refused_deployments(base: Bodies, head: Bodies) -> set[str]:
    """MachineDeployments that the rendered ValidatingAdmissionPolicy refuses, where there is one: a
    version whose minor the control plane does not run yet, and that is new to it."""
    if not any(name.endswith("-worker-version") for _, name in base):
        return set()
    runs, before = control_plane(base), deployments(base)
    return {
        name
        for name, after in deployments(head).items()
        if after.minor > runs.minor
        and (name not in before or before[name].version != after.version)
    }
