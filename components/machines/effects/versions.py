"""The order of an upgrade: when Cluster API makes no worker machines, and who says no before. A
MachineSet makes Machines only while the control plane is not being upgraded and runs the same minor
version (its preflight checks); it always deletes. So a rollout at the wrong time deletes
max_unavailable machines and then stands still."""

from typing import Any, NamedTuple

from components.effects import ObjectChange, Side, SiteChange
from components.machines.effects import kinds
from components.machines.effects.concerned import value
from components.making.manifest import Manifest
from components.making.told import Told

TOLD = Told(__file__)
PREFLIGHT = "Cluster API v1.13.6, internal/controllers/machineset/machineset_preflight.go"


class Hold(NamedTuple):
    """The reason why no worker machines are made. ``refused``: the management cluster does not take
    the change at all; ``way`` is what to write instead. ``stuck``: it does, and only another change
    gets it going again."""

    why: str
    refused: bool = False
    stuck: bool = False
    way: str = ""


def parse_version(version: Any) -> tuple[int, ...]:
    """``v1.34.3`` as three numbers; empty for a text that is no version."""
    parts = str(version).removeprefix("v").split(".")
    numbers = len(parts) == 3 and all(part.isdecimal() for part in parts)
    return tuple(int(part) for part in parts) if numbers else ()


def control_plane(side: Side | None) -> Manifest | None:
    """The KubeadmControlPlane of a side."""
    objects = side.objects.values() if side else ()
    return next((each for each in objects if each.group_kind == kinds.CONTROL_PLANE), None)


def hold(site: SiteChange, change: ObjectChange) -> Hold | None:
    """The obstacle that keeps a MachineDeployment from getting machines after the change."""
    its, was = (value(control_plane(side), "spec", "version") for side in (site.after, site.before))
    at = ("spec", "template", "spec", "version")
    wanted, had = value(change.after, *at), value(change.before, *at)
    mine, theirs, theirs_before = parse_version(wanted), parse_version(its), parse_version(was)
    if not mine or not theirs:
        return None
    # The policy looks at what the control plane runs, which when applied is the earlier version.
    running = theirs_before or theirs
    there = {each.group_kind for each in site.after.objects.values()} if site.after else set()
    # Where the site's policy on versions of workers is there (upgrade.py).
    if wanted != had and mine[:2] > running[:2] and there.issuperset(kinds.GUARDS):
        way = TOLD.say("first", first=had if parse_version(had) else was, its=its)
        return Hold(TOLD.say("refused", its=its), refused=True, way=way)
    if mine[:2] != theirs[:2]:
        return Hold(TOLD.say("stuck", its=its, wanted=wanted), stuck=True)
    if theirs > running:
        return Hold(TOLD.say("paused", its=its))
    return None
