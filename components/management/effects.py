"""Effects of a change on a management cluster: on all sites that name it. Kinds of Kubernetes here
are programs of that cluster, so the rules for those of sites do not hold."""

import re

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, not_known, rules
from components.effects.table import read_kinds
from components.making.told import Told

_VERSION = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.([0-9]+))?")
_PROGRAM = "Deployment.apps"
TOLD = Told(__file__)


def upgrade(
    what: str, source: str, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """Another version: a patch restarts controllers, and of any other nothing is known."""
    sides = (field.before, field.after) if field else ("", "")
    (place, was), (to, now) = (_version(str(each)) for each in sides)
    if was and now and place == to and now > was and now[:2] == was[:2]:
        more = "" if change.group_kind == _PROGRAM else TOLD.say("replaced")
        yield effect(change, field, Impact.NONE, TOLD.say("restart", what=what) + more, source)
        return
    why = "minor" if place == to else "elsewhere"
    if place == to and was and now and now < was:
        refused = change.group_kind != _PROGRAM and now[:2] < was[:2]
        why = "refused" if refused else "older"
    yield from not_known(TOLD.say(why, what=what), source)(site, change, field)


def _version(text: str) -> tuple[str, list[int]]:
    """The repository of an image, empty for a version, and the numbers of its tag, if any."""
    place, _, tag = text.partition("@")[0].rpartition(":")
    found = _VERSION.match(tag)
    return place, [int(each or 0) for each in found.groups()] if found else []


TABLE = read_kinds(globals())
_CORE = TABLE.kinds[0]
_OTHERS = ("Bootstrap", "ControlPlane", "IPAM", "Infrastructure")
_PROVIDERS = [_CORE._replace(name=_CORE.name.replace("Core", each)) for each in _OTHERS]
RULES = rules(*TABLE.kinds, *_PROVIDERS)
SHARED: list[object] = []
"""The rules of Kubernetes' own kinds that hold here."""
