"""The objects of both sides of a site, paired: which differ, and in which fields."""

from collections.abc import Mapping

from components.effects.pods import TEMPLATES
from components.effects.vocabulary import FieldChange, Name, ObjectChange, Path, Side, SiteChange
from components.making.manifest import Json, Manifest
from components.management.objects import NAME as MANAGEMENT
from preview.differences.connections import is_applied
from preview.differences.fields import compare_fields

_WHOLE: dict[str, tuple[Path, ...]] = {
    **{name.partition(".")[0]: (at,) for name, at in TEMPLATES.items()},
    "ConfigMap": (("data",),),
    "KubeadmControlPlane": (("spec", "kubeadmConfigSpec"),),
}
"""The parts of kinds in which the order of a list with keys makes a difference."""
ORDERS = ("in one order", "in another order")
"""Values shown for a list whose items are the same on both sides."""


def compare(name: str, before: Side | None, after: Side | None) -> SiteChange:
    """The differences between two sides of a site. Objects are paired by component and logical
    name, which stays while one means the same; another management cluster changes none."""
    mine: Mapping[Name, Manifest] = before.objects if before else {}
    theirs: Mapping[Name, Manifest] = after.objects if after else {}
    changes: dict[Name, ObjectChange] = {}
    alike = before and after and before.fleet.context == after.fleet.context
    moves = before and after and before.fleet.management != after.fleet.management
    for each in dict.fromkeys((*theirs, *mine)):
        if moves and each[0] == MANAGEMENT:
            continue
        old, new = mine.get(each), theirs.get(each)
        if old is new and alike:
            continue
        if old is not None and new is not None and before and after:
            was = is_applied(before.fleet.context, old)
            if was != is_applied(after.fleet.context, new):
                pair = (old, None) if was else (None, new)
                changes[each] = ObjectChange(each[0], *pair)
                continue
            # What Pulumi is told about an object (protect, keep) changes nothing in a cluster.
            if old.target is new.target and old.body == new.body:
                continue
            fields = _changed_fields(old.body, new.body)
            # Without fields two spellings of one meaning differ, which an API server stores alike.
            if fields or old.key != new.key or old.target is not new.target:
                changes[each] = ObjectChange(each[0], old, new, fields)
        else:
            changes[each] = ObjectChange(each[0], old, new)
    return SiteChange(name, before, after, changes)


def _changed_fields(before: Json, after: Json) -> tuple[FieldChange, ...]:
    """The fields that differ; also a list with keys in another order, where somebody compares it
    whole: makers of pods their template (pairing.py), the control plane its configuration
    (filters.go of Cluster API v1.13.6), programs the text of a file."""
    changes, orders = compare_fields(before, after)
    parts = _WHOLE.get(str(after.get("kind")), ())
    whole = (path for path in orders if any(path[: len(at)] == at for at in parts))
    return (*changes, *(FieldChange(path, *ORDERS) for path in whole))
