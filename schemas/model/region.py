"""What a region may say for all its sites: a closed list of a site file's keys, and named bundles.
Owns which keys these are. Their types and texts are those of the site file; how a site and its
region become one document is in schemas/reading/regions.py."""

from collections.abc import Sequence
from typing import Annotated, Any, get_args

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from schemas.kubernetes.tables import read_table
from schemas.model.monitoring import Receiver
from schemas.model.primitives import DnsLabel, Model
from schemas.model.scheduling import KubeScheduler, Priority
from schemas.model.site_file import SiteFile

Key = tuple[str, ...]
KEYS: tuple[Key, ...] = tuple(tuple(each.split(".")) for each in read_table(__file__)["keys"])
"""What a region may say. What tells a site from another may not be in it: its networks and
addresses, its contexts, its pools and teams; and versions, so that each site is upgraded alone."""
BUNDLED: dict[str, Key] = {
    "schedulers": ("scheduling", "backends", "*", "scheduler"),
    "priorities": ("scheduling", "priorities"),
    "receivers": ("monitoring", "receivers"),
}
"""Kinds of bundles, and where a site file may name one; ``*`` is any item of a list."""
_Receivers = Annotated[list[Receiver], Field(min_length=1, max_length=20)]


class Bundles(Model):
    """Values with a name; a site writes the name in place of the value."""

    schedulers: Annotated[dict[DnsLabel, KubeScheduler], Field(max_length=100)] = {}
    """Settings of a kube-scheduler, for scheduling.backends[].scheduler."""
    priorities: Annotated[
        dict[DnsLabel, Annotated[list[Priority], Field(max_length=50)]], Field(max_length=100)
    ] = {}
    """Lists of priorities, for scheduling.priorities."""
    receivers: Annotated[dict[DnsLabel, _Receivers], Field(max_length=100)] = {}
    """Lists of receivers, for monitoring.receivers."""


def section_of(info: FieldInfo) -> type[Model] | None:
    """The model of a field that is a section, or may be none; None for a field that is no map."""
    kinds = (info.annotation, *get_args(info.annotation))
    return next(
        (each for each in kinds if isinstance(each, type) and issubclass(each, Model)), None
    )


def is_required(key: Key) -> bool:
    """True if every site has the section of a key."""
    return len(key) == 1 or SiteFile.model_fields[key[0]].is_required()


def _some(name: str, of: type[Model], keys: Sequence[Key]) -> type[Model]:
    """A model with some fields of another, none of which must be there."""
    fields: dict[str, Any] = {}
    for first in dict.fromkeys(key[0] for key in keys):
        info = of.model_fields[first]
        below = [key[1:] for key in keys if key[0] == first and key[1:]]
        section = section_of(info) if below else None
        kind = _some(f"Region{first.title()}", section, below) if section else None
        merged = FieldInfo.merge_field_infos(info, default=None, default_factory=None)
        fields[first] = (kind or info.annotation, merged)
    made: type[Model] = create_model(name, __base__=Model, __doc__=of.__doc__, **fields)
    made.made_of = of
    return made


class RegionFile(_some("RegionKeys", SiteFile, KEYS)):  # type: ignore[misc]  # made above
    """What the sites of a region have alike; a key that a site writes replaces the whole value."""

    bundles: Bundles = Bundles()
    """Named values, of which a site chooses by name."""
