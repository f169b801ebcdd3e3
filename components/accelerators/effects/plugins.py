"""Renaming a device plugin's resource: devices in use look free under the new name. Any other
change of a plugin restarts its pods, and jobs keep their devices."""

from components.accelerators.effects.concerned import plugin_record
from components.accelerators.plugins import PLUGIN
from components.effects import Effects, Field, Impact, ObjectChange, SiteChange, kinds
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Judge, narrow, say_more
from components.making.told import Told

STRATEGY = "DEVICE_LIST_STRATEGY"
TOLD = Told(__file__)
LISTED, DEVICES = TOLD.table("sources").values()


def _renaming(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for a plugin's DaemonSet that may restart with another resource. One that does not
    restart advertises what it did before, whatever its record says."""
    found, (_, part, pool) = judge(site, change, field), change.one.name.split("/")
    before, after = (plugin_record(side, pool) for side in (site.before, site.after))
    if part != PLUGIN or before is None or after is None:
        return found
    if before.resource != after.resource:
        words = TOLD.say("renamed", before=before.resource, after=after.resource)
        return say_more(found, words, DEVICES, Impact.POD_RESTART, impact=Impact.UNKNOWN)
    if before.env.get(STRATEGY) != after.env.get(STRATEGY):
        words = TOLD.say("listed", strategy=after.env.get(STRATEGY, "envvar"))
        return say_more(found, words, LISTED, Impact.POD_RESTART)
    return found


RULES = narrow((rule for rule in KUBERNETES if not rule.whole), {kinds.DAEMON_SET: _renaming})
"""Coming and going is left to the rules of DaemonSets: on one side no plugin of ours runs."""
