"""SriovNetworkNodePolicies: how interfaces are divided, which takes functions from pods."""

from collections.abc import Iterable
from functools import partial

from components.effects import ABSENT, Action, Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, rules
from components.effects.table import read_kinds
from components.making.told import Told
from components.network_devices.effects.concerned import (
    OPERATOR,
    devices_on,
    on_hosts,
    pace,
    pool_name,
    settings,
    spec,
    sriov_interfaces,
    staying,
)
from schemas.model.vocabulary import VirtualFunctionDriver

DIVIDING = f"{OPERATOR}, pkg/plugins/generic/generic_plugin.go, pkg/plugins/mellanox"
WEBHOOK = f"{OPERATOR}, pkg/webhook/validate.go"
STALE = f"{OPERATOR}, controllers/sriovnetworknodepolicy_controller.go"
RENAMING = "Kubernetes 1.34, pkg/kubelet/cm/devicemanager/manager.go (allocatedDevices)"
SAID = Told(__file__)
EVICTED = "the host is cordoned, and its pods that ask for functions are evicted"


def _refusal(site: SiteChange, change: ObjectChange, taken: Iterable[str]) -> str:
    """Why the webhook refuses a policy that takes interfaces; empty where it does not."""
    pool = pool_name(change)
    if not all(settings(side).operator_webhooks for side in site.sides):
        return ""
    if not staying(site, pool):
        return SAID.say("nobody_joined")
    before = sriov_interfaces(site.before, pool)
    mine = change.one.body["spec"]["resourceName"]
    others = [name for name in taken if name in before and before[name].name != mine]
    return SAID.say("divided_by_another", names=", ".join(others)) if others else ""


def _added_interfaces(
    site: SiteChange, change: ObjectChange, field: Field, interfaces: Iterable[str]
) -> Effects:
    """The effect on interfaces that a policy divides now and did not before."""
    pool = pool_name(change)
    before, after = sriov_interfaces(site.before, pool), sriov_interfaces(site.after, pool)
    fresh = [name for name in interfaces if name not in before]
    if fresh:
        earlier = devices_on(site.before, pool)
        by_the_image = earlier is not None and earlier.sriov and not before
        otherwise = EVICTED if by_the_image else "no pod is evicted"
        what = f"{', '.join(fresh)} is divided"
        yield from _redivision(site, change, field, what, otherwise)
    for name in interfaces:
        old, new = before.get(name), after.get(name)
        if old is None or new is None or old.name == new.name:
            continue
        if old.functions != new.functions:
            yield from _redivision(site, change, field, f"{name} is divided again", EVICTED)
        else:
            why = SAID.say("renamed", name=name, old=old.name, new=new.name)
            yield on_hosts(site, change, field, Impact.UNKNOWN, (why, RENAMING))


def _redivision(
    site: SiteChange, change: ObjectChange, field: Field, what: str, otherwise: str
) -> Effects:
    why = SAID.say("divided", what=what, pace=pace(site), otherwise=otherwise)
    return [on_hosts(site, change, field, Impact.REBOOT, (why, DIVIDING))]


def _let_go(site: SiteChange, change: ObjectChange, field: Field, names: Iterable[str]) -> Effects:
    """The effect on interfaces that no policy divides any more; of others it is judged there."""
    pool = pool_name(change)
    after = sriov_interfaces(site.after, pool)
    gone = [name for name in names if name not in after]
    if not gone:
        return
    why = f"functions of {', '.join(gone)} are destroyed: {EVICTED}, {pace(site)}"
    why += SAID.say("nothing_left") if not after else ""
    yield on_hosts(site, change, field, Impact.DRAIN, (why, f"{DIVIDING}; {STALE}"))


def addition(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A new policy."""
    interfaces = change.one.body["spec"]["nicSelector"]["pfNames"]
    refused = _refusal(site, change, interfaces)
    if refused:
        return [effect(change, field, Impact.NONE, refused, WEBHOOK, Action.REFUSED)]
    found = list(_added_interfaces(site, change, field, interfaces))
    return found or TABLE.judges["as_before"](site, change, field)


def removal(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A removed policy."""
    before, _ = spec(change)
    found = list(_let_go(site, change, field, before["nicSelector"]["pfNames"]))
    yield from found or TABLE.judges["removed_elsewhere"](site, change, field)


def interfaces(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Other interfaces of a policy, told once where the list shows as several fields."""
    first = next(each for each in change.fields if each.path[:2] == ("spec", "nicSelector"))
    if field != first:
        return TABLE.judges["in_the_list"](site, change, field)
    before, after = (set(each["nicSelector"]["pfNames"]) for each in spec(change))
    refused = _refusal(site, change, sorted(after - before))
    if refused:
        return [effect(change, field, Impact.NONE, refused, WEBHOOK, Action.REFUSED)]
    found = [
        *_added_interfaces(site, change, field, sorted(after - before)),
        *_let_go(site, change, field, sorted(before - after)),
    ]
    return found or TABLE.judges["divided_elsewhere"](site, change, field)


def number(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Another number of functions: all of them are destroyed and created again."""
    return _redivision(site, change, field, SAID.say("destroyed"), EVICTED)


def bare(_site: SiteChange, change: ObjectChange, _field: Field) -> bool:
    """True for bare devices, which need an IOMMU that the kernel was booted with: on Ubuntu the
    operator cannot set the kernel's arguments, and reboots again and again where the OS image lacks
    them (bindata/scripts/kargs.sh)."""
    return bool(spec(change)[1].get("deviceType") == VirtualFunctionDriver.VFIO_PCI.value)


def switched_on(_site: SiteChange, _change: ObjectChange, field: Field) -> bool:
    """True for a setting that is on from now on."""
    return field is not None and field.after is True


def keeps_mtu(site: SiteChange, change: ObjectChange, field: Field) -> bool:
    """True where an MTU is taken by none: functions take any, an interface only a larger one."""
    before, after = spec(change)
    smaller = after.get("mtu", 0) <= before.get("mtu", 0)
    return field is None or field.after is ABSENT or (bare(site, change, field) and smaller)


def _on_hosts(
    impact: Impact, text: str, source: str, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """The effect on the hosts of a policy's pool: it selects these, and no others."""
    words = (text.format(pace=pace(site)), source)
    yield on_hosts(site, change, field, impact, words)


restart, drain = partial(_on_hosts, Impact.POD_RESTART), partial(_on_hosts, Impact.DRAIN)
reboot, unknown = partial(_on_hosts, Impact.REBOOT), partial(_on_hosts, Impact.UNKNOWN)
TABLE = read_kinds(globals())
RULES = rules(*TABLE.kinds)
