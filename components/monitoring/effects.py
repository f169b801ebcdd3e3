"""Effects of changes to a site's monitoring on machines: nothing."""

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, former, rules
from components.effects.table import read_kinds

NO_MACHINE = "no machine is affected, and no pod on one restarts"


def found(meaning: str, source: str, _: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Labels of an object: programs of the site's own choose objects by these."""
    why = f"{meaning}: by its labels it is found, or found no more; {NO_MACHINE}"
    yield effect(change, field, Impact.NONE, why, source)


def gone(meaning: str, source: str, _: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A removed object, or one that makes way for another name."""
    moves = change.after is not None and former(change).key != change.one.key
    ends = "the metrics, messages or dashboards that it configured end"
    why = f"{meaning}: {'it is found under its new name' if moves else ends}; {NO_MACHINE}"
    yield effect(change, field, Impact.NONE, why, source)


RULES = rules(*read_kinds(globals()).kinds)
"""Of this component's objects; Kubernetes' own rules follow."""
