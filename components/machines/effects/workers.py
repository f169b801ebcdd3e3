"""MachineDeployments: what replaces a pool's machines, what changes in place, what scales."""

from collections.abc import Iterable, Iterator

from components.effects import Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.rules import Rule, path
from components.machines.effects import kinds, scale
from components.machines.effects.anykind import (
    ASKED,
    asked,
    metadata_rules,
    of_field,
    removal,
    removal_action,
    stated,
)
from components.machines.effects.concerned import (
    format_path,
    groups,
    limit_below,
    many,
    number,
    value,
)
from components.machines.effects.labels import label_change, taint_change
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
_ON_DELETE = f"{_CONTROLLERS}/machinedeployment/machinedeployment_rollout_ondelete.go"
_ROLLING = f"{_CONTROLLERS}/machinedeployment/machinedeployment_rollout_rollingupdate.go"
_ORDER = f"{_CONTROLLERS}/machineset/machineset_deletion_order.go"
_SETS = f"{_CONTROLLERS}/machineset/machineset_controller.go"
_WEBHOOK = "Cluster API v1.13.6, internal/webhooks/machinedeployment.go"
_CHOSEN = TOLD.say("chosen", mark=scale.DELETE_MACHINE)
ROLLING_FIELDS = tuple(
    path(f"spec.template.spec.{field}")
    for field in ("version", "failureDomain", "bootstrap", "infrastructureRef")
)
_STATED = stated(__file__, compared=COMPARED, rolling=_ROLLING, sets=_SETS, webhook=_WEBHOOK)
(_IN_PLACE,) = (rule.judge for rule in _STATED if rule.path == ASKED[:2])


@of_field
def _replacement(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """A field that Cluster API compares differs: the machines are replaced."""
    what = asked(change, field) or _what(site, change, field)
    hosts, at_most = scale.staying_machines(site, change)
    held = hold(site, change)
    action = Action.REFUSED if held and held.refused else None
    if value(change.after, "spec", "rollout", "strategy", "type") == "OnDelete":
        why = f"{what}; with OnDelete no machine is replaced until a person deletes it"
        why += f"; {held.why}" if held else ""
        yield Effect(Impact.NONE, change.name, field.path, why, _ON_DELETE, action=action)
        return
    if not hosts or not number(change.before, "spec", "replicas"):
        why = f"{what}, and there is no machine of it yet that could be replaced"
        yield Effect(Impact.NONE, change.name, field.path, why, COMPARED, action=action)
        return
    why = f"{what}, so Cluster API replaces the pool's machines" + (f"; {held.why}" if held else "")
    source = f"{COMPARED}; {PREFLIGHT}" if held else COMPARED
    found = Effect(Impact.REIMAGE, change.name, field.path, why, source, hosts, at_most, action)
    if held and held.stuck:
        yield from _stuck(change, found, held)
    else:
        yield _refused(found._replace(way=_smaller_way(site, change)), held)


@of_field
def _rollout(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    return (_replacement if asked(change, field) else _IN_PLACE)(site, change, field)


def _stuck(change: ObjectChange, found: Effect, held: Hold) -> Iterator[Effect]:
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
    if any(each[: len(at)] != at for each in rolling):
        return ""
    name = value(change.after, *at, "configRef", "name")
    made = template_change(site, kinds.CONFIG_TEMPLATE, name)
    groups = site.side.fleet.about.get(change.name, ())
    return smaller_way(site, groups[0], made) if groups else ""


def _refused(effect: Effect, held: Hold | None) -> Effect:
    """The effect, or that it waits where the management cluster does not take the change yet."""
    if held is None or not held.refused:
        return effect
    action, source = Action.REFUSED, PREFLIGHT if effect.impact is Impact.ADD else effect.source
    return effect._replace(
        impact=Impact.NONE, action=action, source=source, waits=True, way=held.way
    )


def _what(site: SiteChange, change: ObjectChange, field: FieldChange) -> str:
    """The change that makes the template another one, as far inside as it can be followed."""
    for reference in (("infrastructureRef",), ("bootstrap", "configRef")):
        at = ("spec", "template", "spec", *reference)
        if field.path[: len(at)] == at:
            return because(site, change, at)
    return f"{format_path(field.path)} goes from {field.before} to {field.after}"


@of_field
def _replicas(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    held = hold(site, change)
    for effect in scale.replica_change(
        site, change, field, _CHOSEN, _ORDER, rolls=rolls_out(change)
    ):
        if effect.impact is Impact.ADD and held:
            effect = effect._replace(why=f"{effect.why}; {held.why}", source=PREFLIGHT)
        yield _refused(_not_made(effect, held), held)


def _not_made(effect: Effect, held: Hold | None) -> Effect:
    """The effect, or that no machine is made while versions differ."""
    made = effect.impact is Impact.ADD and held is not None and held.stuck
    return effect._replace(impact=Impact.NONE, hosts=(), at_most=None) if made else effect


def rolls_out(change: ObjectChange | None) -> bool:
    """True if a change of a MachineDeployment replaces all of its machines."""
    if change is None or change.before is None or change.after is None:
        return False
    if value(change.after, "spec", "rollout", "strategy", "type") == "OnDelete":
        return False
    paths = (field.path for field in change.fields)
    rolls = any(at[: len(rolling)] == rolling for at in paths for rolling in ROLLING_FIELDS)
    return rolls or any(asked(change, field) for field in change.fields)


@of_field
def _strategy(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """RollingUpdate again after OnDelete replaces whatever was left behind meanwhile."""
    if field.after != "OnDelete":
        hosts, at_most = scale.staying_machines(site, change)
        why = TOLD.say("left_behind")
        yield Effect(Impact.UNKNOWN, change.name, field.path, why, _ROLLING, hosts, at_most)
        return
    why = "from now on a machine is replaced when a person deletes it; a rollout under way stops"
    yield Effect(Impact.NONE, change.name, field.path, why, _ON_DELETE)


@of_field
def _selector(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """The webhook only asks that template and selector fit; MachineSets find machines by it."""
    labels = value(change.after, "spec", "template", "metadata", "labels")
    wanted = value(change.after, "spec", "selector", "matchLabels")
    fits = isinstance(labels, dict) and isinstance(wanted, dict)
    if not fits or not has_labels(labels, wanted):
        why = "the webhook refuses a selector that the template's labels do not match"
        yield Effect(Impact.NONE, change.name, field.path, why, _WEBHOOK, action=Action.REFUSED)
        return
    why = TOLD.say("selector")
    hosts, at_most = scale.staying_machines(site, change)
    yield Effect(Impact.UNKNOWN, change.name, field.path, why, _SETS, hosts, at_most)


def _whole(site: SiteChange, change: ObjectChange, _field: FieldChange | None) -> Iterable[Effect]:
    return _coming(site, change) if change.before is None else _going(site, change)


def _going(site: SiteChange, change: ObjectChange) -> Iterator[Effect]:
    """All its machines go together: the deletion of a MachineSet knows no max_unavailable.

    The hosts that other groups wait for are installed again, all at once too.
    """
    stay, moved, gone = scale.departures(site, change)
    action, machines = removal_action(change), number(change.before, "spec", "replicas")
    why = removal(action, "with it all its Machines are deleted at once")
    base = Effect(Impact.REMOVE, change.name, (), why, _SETS, action=action)
    if gone or stay:
        hosts = (*stay, *gone)
        yield base._replace(hosts=hosts, at_most=limit_below(hosts, machines))
    waiting = {
        owner: scale.room(site, scale.group_by_owner(site, owner)).waiting for owner in moved
    }
    every = sum(map(len, moved.values()))
    # Which hosts are spares is not known: that of one group or of another finds no new Machine.
    lost_in_all = max(0, min(machines, every) - sum(waiting.values()))
    for owner, names in moved.items():
        hosts, title = tuple(names), scale.group_title(scale.group_by_owner(site, owner))
        its = min(machines, len(hosts))
        if lost := min(lost_in_all, max(0, its - waiting[owner])):
            together = lost_in_all if len(moved) > 1 else None
            most = lost if together else limit_below(hosts, lost)
            yield base._replace(hosts=hosts, at_most=most, together=together)
        if again := min(its, waiting[owner]):
            more = f"; the hosts are wiped, and installed for the Machines of {title}"
            yield base._replace(
                impact=Impact.REIMAGE,
                why=why + more,
                source=f"{_SETS}; {scale.CHOSEN_HOST}",
                hosts=hosts,
                at_most=limit_below(hosts, again),
            )


def _coming(site: SiteChange, change: ObjectChange) -> Iterator[Effect]:
    """All its machines are made at once, on free hosts; the others wait for hosts to be freed."""
    held = hold(site, change)
    why = many(number(change.after, "spec", "replicas"), "Machine") + ", all at once"
    why += f"; {held.why}" if held else ""
    base = Effect(Impact.ADD, change.name, (), why, _SETS, action=Action.ADDED)
    for group in groups(site.after, change):
        for effect in scale.arrivals(site, group, base):
            yield _refused(_not_made(effect, held), held)


RULES = [
    *metadata_rules(KIND),
    *(Rule(KIND, at, _replacement) for at in ROLLING_FIELDS),
    Rule(KIND, path("spec.template.metadata.labels"), label_change),
    Rule(KIND, path("spec.template.spec.taints"), taint_change),
    Rule(KIND, path("spec.replicas"), _replicas),
    Rule(KIND, path("spec.rollout.strategy.type"), _strategy),
    Rule(KIND, ASKED[:2], _rollout),
    Rule(KIND, path("spec.selector"), _selector),
    *_STATED,
    Rule(KIND, (), _whole, whole=True),
]
"""The rules of worker pools."""
