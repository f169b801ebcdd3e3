"""MachineDeployments: what replaces a pool's machines, what changes in place, what scales."""

from collections.abc import Iterable

from components.effects import Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.rules import path
from components.machines.effects import anykind, kinds, labels, scale
from components.machines.effects.concerned import format_path, limit_below, many, number, value
from components.machines.effects.smaller import smaller_way
from components.machines.effects.templates import because, template_change
from components.machines.effects.versions import PREFLIGHT, Hold, hold
from components.making.told import Told
from schemas.facts.rollout import missing
from schemas.kubernetes.selectors import has_labels

TOLD = Told(__file__)
KIND = kinds.DEPLOYMENT
_CONTROLLERS = "Cluster API v1.13.6, internal/controllers"
COMPARED = f"{_CONTROLLERS}/machinedeployment/mdutil/util.go"
"""MachineTemplateUpToDate: version, failureDomain and the two references; nothing else rolls."""
ON_DELETE = f"{_CONTROLLERS}/machinedeployment/machinedeployment_rollout_ondelete.go"
ROLLING = f"{_CONTROLLERS}/machinedeployment/machinedeployment_rollout_rollingupdate.go"
ORDER = f"{_CONTROLLERS}/machineset/machineset_deletion_order.go"
SETS = f"{_CONTROLLERS}/machineset/machineset_controller.go"
WEBHOOK = "Cluster API v1.13.6, internal/webhooks/machinedeployment.go"
_CHOSEN = TOLD.say("chosen", mark=scale.DELETE_MACHINE)
_TYPE = path("spec.rollout.strategy.type")


def replacement(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """A field that Cluster API compares differs: the machines are replaced."""
    what = anykind.rollout_words(change, field) or _what(site, change, field)
    hosts, at_most = scale.staying_machines(site, change)
    held = hold(site, change)
    action = Action.REFUSED if held and held.refused else None
    if value(change.after, *_TYPE) == "OnDelete":
        why = f"{what}; with OnDelete no machine is replaced until a person deletes it"
        why += f"; {held.why}" if held else ""
        return [effect(change, field, Impact.NONE, why, ON_DELETE, action)]
    if not hosts or not number(change.before, "spec", "replicas"):
        why = f"{what}, and there is no machine of it yet that could be replaced"
        return [effect(change, field, Impact.NONE, why, COMPARED, action)]
    why = f"{what}, so Cluster API replaces the pool's machines" + (f"; {held.why}" if held else "")
    source = f"{COMPARED}; {PREFLIGHT}" if held else COMPARED
    found = effect(change, field, Impact.REIMAGE, why, source, action, hosts=hosts, at_most=at_most)
    if held and held.stuck:
        return _stuck(change, found, held)
    return [_refused(found._replace(way=_smaller_way(site, change)), held)]


def _stuck(change: ObjectChange, found: Effect, held: Hold) -> Iterable[Effect]:
    """A rollout that deletes as many machines as may be missing, and makes none."""
    yield found._replace(impact=Impact.NONE, hosts=(), at_most=None)
    at = ("spec", "rollout", "strategy", "rollingUpdate", "maxUnavailable")
    was, now = (number(each, "spec", "replicas") for each in change.both)
    if out := missing(was, now, number(change.after, *at)):
        why = f"{many(out, 'Machine')} at most are deleted and none is made: {held.why}"
        most = limit_below(found.hosts, out)
        yield found._replace(impact=Impact.REMOVE, why=why, source=PREFLIGHT, at_most=most)


def _smaller_way(site: SiteChange, change: ObjectChange) -> str:
    """The way without a rollout, where nothing but the bootstrap configuration differs."""
    at = path("spec.template.spec.bootstrap")
    rolling = [f.path for f in change.fields for r in ROLLING_FIELDS if f.path[: len(r)] == r]
    others = any(each[: len(at)] != at for each in rolling)
    if others or any(anykind.rollout_words(change, each) for each in change.fields):
        return ""
    name = value(change.after, *at, "configRef", "name")
    made = template_change(site, kinds.CONFIG_TEMPLATE, name)
    groups = site.side.fleet.about.get(change.name, ())
    return smaller_way(site, groups[0], made) if groups else ""


def _refused(found: Effect, held: Hold | None) -> Effect:
    """The effect, or that it waits where the management cluster does not take the change yet."""
    if held is None or not held.refused:
        return found
    source = PREFLIGHT if found.impact is Impact.ADD else found.source
    found = found._replace(impact=Impact.NONE, action=Action.REFUSED)
    return found._replace(source=source, waits=True, way=held.way)


def _what(site: SiteChange, change: ObjectChange, field: FieldChange) -> str:
    """The change that makes the template another one, as far inside as it can be followed."""
    for reference in (("infrastructureRef",), ("bootstrap", "configRef")):
        at = ("spec", "template", "spec", *reference)
        if field.path[: len(at)] == at:
            return because(site, change, at)
    return f"{format_path(field.path)} goes from {field.before} to {field.after}"


def replicas(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """Another number of machines, which versions that differ may hold back."""
    held = hold(site, change)
    for found in scale.replica_change(_CHOSEN, ORDER, site, change, field, rolls=rolls_out(change)):
        if found.impact is Impact.ADD and held:
            found = found._replace(why=f"{found.why}; {held.why}", source=PREFLIGHT)
        yield _refused(_not_made(found, held), held)


def _not_made(found: Effect, held: Hold | None) -> Effect:
    """The effect, or that no machine is made while versions differ."""
    made = found.impact is Impact.ADD and held is not None and held.stuck
    return found._replace(impact=Impact.NONE, hosts=(), at_most=None) if made else found


def rolls_out(change: ObjectChange | None) -> bool:
    """True if a change of a MachineDeployment replaces all of its machines."""
    if change is None or change.before is None or change.after is None:
        return False
    if value(change.after, *_TYPE) == "OnDelete":
        return False
    paths = (field.path for field in change.fields)
    rolls = any(at[: len(rolling)] == rolling for at in paths for rolling in ROLLING_FIELDS)
    return rolls or any(anykind.rollout_words(change, field) for field in change.fields)


def not_on_delete(_site: SiteChange, change: ObjectChange, field: FieldChange) -> bool:
    """True if machines that OnDelete left behind are replaced now. Where no type is written the
    webhook puts RollingUpdate, so OnDelete also ends with the map that it is in."""
    was, now = (value(each, *_TYPE) for each in change.both)
    inside = field.path == _TYPE[: len(field.path)]
    return inside and now != "OnDelete" and (was == "OnDelete" or field.path == _TYPE)


def misses_labels(_site: SiteChange, change: ObjectChange, _field: FieldChange) -> bool:
    """True if the selector does not fit the template: MachineSets find machines by it."""
    labels = value(change.after, "spec", "template", "metadata", "labels")
    wanted = value(change.after, "spec", "selector", "matchLabels")
    fits = isinstance(labels, dict) and isinstance(wanted, dict)
    return not (fits and has_labels(labels, wanted))


def on_machines(
    why: str, source: str, site: SiteChange, change: ObjectChange, field: FieldChange
) -> Iterable[Effect]:
    """Nobody can tell what becomes of the machines."""
    hosts, at_most = scale.staying_machines(site, change)
    yield effect(change, field, Impact.UNKNOWN, why, source, hosts=hosts, at_most=at_most)


def gone(site: SiteChange, change: ObjectChange, _field: None) -> Iterable[Effect]:
    """All its machines go together, as the deletion of a MachineSet knows no max_unavailable; hosts
    that other groups wait for are installed again, all at once too."""
    stay, moved, gone = scale.departures(site, change)
    action, machines = anykind.removal_action(change), number(change.before, "spec", "replicas")
    why = anykind.removal(action, "with it all its Machines are deleted at once")
    base = effect(change, None, Impact.REMOVE, why, SETS, action)
    if gone or stay:
        hosts = (*stay, *gone)
        yield base._replace(hosts=hosts, at_most=limit_below(hosts, machines))
    groups = site.side.fleet.group_of_owner
    waiting = {owner: scale.room(site, groups[owner]).waiting for owner in moved}
    every = sum(map(len, moved.values()))
    # Which hosts are spares is not known: that of one group or of another finds no new Machine.
    lost_in_all = max(0, min(machines, every) - sum(waiting.values()))
    for owner, names in moved.items():
        hosts, title = tuple(names), scale.group_title(groups[owner])
        its = min(machines, len(hosts))
        if lost := min(lost_in_all, max(0, its - waiting[owner])):
            together = lost_in_all if len(moved) > 1 else None
            most = lost if together else limit_below(hosts, lost)
            yield base._replace(hosts=hosts, at_most=most, together=together)
        if again := min(its, waiting[owner]):
            more = f"; the hosts are wiped, and installed for the Machines of {title}"
            found = base._replace(hosts=hosts, at_most=limit_below(hosts, again))
            source = f"{SETS}; {scale.CHOSEN_HOST}"
            yield found._replace(impact=Impact.REIMAGE, why=why + more, source=source)


def added(site: SiteChange, change: ObjectChange, _field: None) -> Iterable[Effect]:
    """All its machines are made at once, on free hosts; the others wait for hosts to be freed."""
    held = hold(site, change)
    why = many(number(change.after, "spec", "replicas"), "Machine") + ", all at once"
    why += f"; {held.why}" if held else ""
    base = effect(change, None, Impact.ADD, why, SETS, Action.ADDED)
    for group in site.side.fleet.about.get(change.name, ()):
        for found in scale.arrivals(site, group, base):
            yield _refused(_not_made(found, held), held)


(_KIND,) = anykind.machine_kinds(vars(labels) | globals()).kinds
ROLLING_FIELDS = tuple(path(at) for at, judge in _KIND.fields if judge is replacement)
RULES = anykind.machine_rules(_KIND)
"""The rules of worker pools."""
