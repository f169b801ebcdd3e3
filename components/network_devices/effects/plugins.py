"""The device plugins that Foresite runs: jobs go on while one restarts, and none starts then."""

import json

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange, kinds
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Judge, narrow, say_more
from components.making.manifest import Manifest
from components.making.told import Told
from components.network_devices.effects.concerned import on_hosts
from components.network_devices.names import SRIOV_PLUGIN
from components.network_devices.plugins import CONFIG_FILE

TOLD = Told(__file__)


def _add_notes(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for the DaemonSets of device plugins, with what a restart means to pods."""
    return say_more(judge(site, change, field), TOLD.say("meanwhile"), only=Impact.POD_RESTART)


def _renaming(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for configurations: a function that changes its name may be given out twice."""
    yield from judge(site, change, field)
    first = next((each for each in change.fields if each.path[0] == "data"), None)
    applied = site.before is not None and site.side.fleet.context is not None
    if not applied or field != first or change.one.name.split("/")[1] != SRIOV_PLUGIN:
        return
    before, after = (_names(each) for each in change.both)
    moved = [name for name, resource in after.items() if before.get(name, resource) != resource]
    if moved:
        words = TOLD.say("renamed", moved=", ".join(moved)), TOLD.say("devices")
        yield on_hosts(site, change, field, Impact.UNKNOWN, words)


def _names(config: Manifest | None) -> dict[str, str]:
    """The resource of each interface of the SR-IOV plugin, with its domain as in the kubelet."""
    text = config.body["data"][CONFIG_FILE] if config else '{"resourceList": []}'
    return {
        name.partition("#")[0]: f"{each['resourcePrefix']}/{each['resourceName']}"
        for each in json.loads(text)["resourceList"]
        for name in each["selectors"]["pfNames"]
    }


_CONTENT = (each for each in KUBERNETES if (each.kind, each.path) == ("ConfigMap", ("data",)))
RULES = narrow(_CONTENT, {"ConfigMap": _renaming})
RULES += narrow(KUBERNETES, {kinds.DAEMON_SET: _add_notes})
