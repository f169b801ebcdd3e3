"""Renaming a device plugin's resource: devices in use look free under the new name. Any other
change of a plugin restarts its pods, and jobs keep their devices."""

from components.accelerators.effects.concerned import plugin_record
from components.accelerators.plugins import PLUGIN
from components.effects import Effects, Field, Impact, ObjectChange, SiteChange, kinds
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Judge, narrow, say_more
from components.making.told import Told
from schemas.model.accelerators import DevicePlugin

STRATEGY = "DEVICE_LIST_STRATEGY"
TOLD = Told(__file__)
LISTED, DEVICES = TOLD.table("sources").values()


def _renaming(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for a plugin's DaemonSet that may restart with another resource. One that does not
    restart advertises what it did before, whatever its record says."""
    found = judge(site, change, field)
    if renamed := _resource_change(site, change):
        return say_more(found, renamed, DEVICES, Impact.POD_RESTART, impact=Impact.UNKNOWN)
    return say_more(found, _listing_change(site, change), LISTED, Impact.POD_RESTART)


def _resource_change(site: SiteChange, change: ObjectChange) -> str:
    """The effect on a pool's devices where their resource changes; empty where it does not."""
    before, after = _plugins(site, change)
    if before is None or after is None or before.resource == after.resource:
        return ""
    return TOLD.say("renamed", before=before.resource, after=after.resource)


def _listing_change(site: SiteChange, change: ObjectChange) -> str:
    """The effect on later pods where a plugin hands devices out in another way; else empty."""
    before, after = _plugins(site, change)
    if before is None or after is None or before.env.get(STRATEGY) == after.env.get(STRATEGY):
        return ""
    return TOLD.say("listed", strategy=after.env.get(STRATEGY, "envvar"))


def _plugins(
    site: SiteChange, change: ObjectChange
) -> tuple[DevicePlugin | None, DevicePlugin | None]:
    """The device plugin that an object runs, before and after; None for objects that run none."""
    _, part, pool = change.one.name.split("/")
    if part != PLUGIN:
        return None, None
    return plugin_record(site.before, pool), plugin_record(site.after, pool)


RULES = narrow((rule for rule in KUBERNETES if not rule.whole), {kinds.DAEMON_SET: _renaming})
"""Coming and going is left to the rules of DaemonSets: on one side no plugin of ours runs."""
