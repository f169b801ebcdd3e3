"""Check that machines are as declared, and read the controllers' messages where they are not.

A MachineDeployment's own status is not enough: for a moment after a change it still counts the old
machines as up to date (seen with Cluster API 1.13.6). So its MachineSets are looked at.
"""

from collections.abc import Iterator
from typing import Any

from controlplane import Manifest
from tests.real.live.recorder import CONTROL, group_of
from tests.real.live.state import SITE
from tests.real.live.watch import Mirror, condition


def settled(mirror: Mirror, group: str, site: str = SITE) -> bool:
    """True if a group's machines are as its MachineDeployment or KubeadmControlPlane declares:
    without one there are none."""
    if group == CONTROL:
        return _control_plane(mirror, site)
    deployment = mirror.get("MachineDeployment", group, site)
    machines = members(mirror, "Machine", group, site)
    if deployment is None or not observed(deployment):
        return deployment is None and not machines
    wanted = deployment["spec"]["replicas"]
    available = [each for each in machines if condition(each, "Available").get("status") == "True"]
    if not len(machines) == len(available) == wanted:
        return False
    if deployment["spec"]["rollout"]["strategy"]["type"] == "OnDelete":
        return True
    sets = members(mirror, "MachineSet", group, site)
    asked = _template(deployment)
    now = [each for each in sets if _template(each) == asked]
    former = [each for each in sets if _template(each) != asked]
    return _available(now) == wanted and not any(each["spec"]["replicas"] for each in former)


def members(mirror: Mirror, kind: str, group: str, site: str) -> list[Manifest]:
    """The Machines or MachineSets of a group."""
    every = (each for each in mirror.all(kind) if each["metadata"]["namespace"] == site)
    return [each for each in every if group_of(each) == group]


def _available(sets: list[Manifest]) -> int:
    return sum(each.get("status", {}).get("availableReplicas", 0) for each in sets)


def observed(body: Manifest) -> bool:
    """True if its controller has seen an object as it is."""
    generation: int = body["metadata"]["generation"]
    return bool(body.get("status", {}).get("observedGeneration") == generation)


def _template(body: Manifest) -> tuple[Any, ...]:
    """The fields for which Cluster API replaces a machine (mdutil.MachineTemplateUpToDate,
    v1.13.6)."""
    spec = body["spec"]["template"]["spec"]
    return (
        spec.get("version"),
        spec.get("failureDomain"),
        spec["bootstrap"].get("configRef", {}).get("name"),
        spec["infrastructureRef"]["name"],
    )


def _control_plane(mirror: Mirror, site: str) -> bool:
    mine = (b for b in mirror.all("KubeadmControlPlane") if b["metadata"]["namespace"] == site)
    body = next(mine, None)
    if body is None or not observed(body):
        return False
    status, wanted = body.get("status", {}), body["spec"]["replicas"]
    counts = ("replicas", "upToDateReplicas", "availableReplicas", "readyReplicas")
    machines = members(mirror, "Machine", CONTROL, site)
    return len(machines) == wanted and all(status.get(name) == wanted for name in counts)


def said(mirror: Mirror, groups: tuple[str, ...]) -> Iterator[str]:
    """The messages in the status of some groups' objects, each once."""
    told: dict[str, None] = {}
    for kind in ("MachineDeployment", "MachineSet", "KubeadmControlPlane", "Machine"):
        for body in mirror.all(kind):
            name = body["metadata"]["name"]
            group = {"MachineDeployment": name, "KubeadmControlPlane": CONTROL}.get(kind)
            if (group or group_of(body)) in groups:
                for each in body.get("status", {}).get("conditions", ()):
                    if each.get("message"):
                        told[f"{kind} {each['type']}={each['status']}: {each['message']}"] = None
    yield from told
