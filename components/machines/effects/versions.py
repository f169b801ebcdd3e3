"""The order of an upgrade: when Cluster API makes no worker machines, and who says no before.

A MachineSet makes Machines only while the control plane is not being upgraded and runs the same
minor version (preflight checks of the MachineSet); deleting is never held back. So a rollout at the
wrong time deletes max_unavailable machines and then stands still.
"""

from typing import Any, NamedTuple

from components.effects.vocabulary import ObjectChange, Side, SiteChange
from components.machines.effects import kinds
from components.machines.effects.concerned import value
from components.making.manifest import Manifest

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
    """The obstacle that keeps a MachineDeployment from getting machines once the change is
    applied."""
    its, was = (value(control_plane(side), "spec", "version") for side in (site.after, site.before))
    at = ("spec", "template", "spec", "version")
    wanted, had = value(change.after, *at), value(change.before, *at)
    mine, theirs, theirs_before = parse_version(wanted), parse_version(its), parse_version(was)
    if not mine or not theirs:
        return None
    # The policy looks at what the control plane runs, which when applied is the earlier version.
    running = theirs_before or theirs
    if wanted != had and mine[:2] > running[:2] and _has_version_guard(site.after):
        return Hold(
            f"the management cluster refuses this until every control plane machine runs {its}: "
            "apply again then",
            refused=True,
            way=f"write workers: {had if parse_version(had) else was} first, in cluster, and take "
            f"it out once every control plane machine runs {its}",
        )
    if mine[:2] != theirs[:2]:
        return Hold(
            f"the control plane is to run {its} and these machines {wanted}: Cluster API makes no "
            "machine of another minor version, so those that go do not come back until both are "
            "the same",
            stuck=True,
        )
    if theirs > running:
        return Hold(
            "Cluster API creates no worker machine while it upgrades the control plane; deleted "
            f"workers stay out until every control plane machine runs {its}"
        )
    return None


def _has_version_guard(side: Side | None) -> bool:
    """True if the site's policy on versions of workers is there (upgrade.py)."""
    return side is not None and {each.group_kind for each in side.objects.values()}.issuperset(
        kinds.GUARDS
    )
