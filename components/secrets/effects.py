"""Effects of changes to the references to Secrets on machines: nothing by themselves."""

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, rules
from components.effects.table import read_kinds
from components.making.told import Told

READERS = Told(__file__).table("readers")


def read_by(what: str, source: str, _: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Changes after which the Secret may hold something else."""
    reader = READERS[change.one.target.value]
    why, sources = f"{what}: {reader['why']}", f"{source}; {reader['source']}"
    yield effect(change, field, Impact.NONE, why, sources)


RULES = rules(*read_kinds(globals()).kinds)
"""Other fields of its spec do not come from a site file; their effect is unknown."""
