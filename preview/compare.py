"""The objects of both sides of a site, paired: which differ, and in which fields."""

from collections.abc import Mapping

from components.impact.vocabulary import Name, ObjectChange, Side, SiteChange
from components.manifest import Manifest
from preview.fields import field_changes


def compare(name: str, before: Side | None, after: Side | None) -> SiteChange:
    """What differs between two sides of a site.

    Objects are paired by component and logical name, which stays while an object means the same.
    """
    mine: Mapping[Name, Manifest] = before.objects if before else {}
    theirs: Mapping[Name, Manifest] = after.objects if after else {}
    changes: dict[Name, ObjectChange] = {}
    for each in dict.fromkeys((*theirs, *mine)):
        old, new = mine.get(each), theirs.get(each)
        if old is not None and new is not None:
            if old == new:
                continue
            # What Pulumi is told about an object (protect, keep) changes nothing in a cluster.
            if old.key == new.key and old.body == new.body and old.target is new.target:
                continue
            changes[each] = ObjectChange(each[0], old, new, field_changes(old.body, new.body))
        else:
            changes[each] = ObjectChange(each[0], old, new)
    return SiteChange(name, before, after, changes)
