"""MachineDeployments: what replaces a pool's machines, what changes in place, what scales."""

from collections.abc import Iterable, Iterator

from components.effects.rules import Judge, Rule, harmless, path
from components.effects.vocabulary import (
    Action,
    Effect,
    FieldChange,
    Impact,
    ObjectChange,
    SiteChange,
)
from components.machines.effects import kinds
from components.machines.effects.anykind import (
    metadata_rules,
    not_known,
    of_field,
    removal,
    removal_action,
)
from components.machines.effects.concerned import (
    format_path,
    groups,
    hosts_in,
    limit_below,
    many,
    members,
    number,
    value,
)
from components.machines.effects.labels import label_change
from components.machines.effects.scale import DELETE_MACHINE, replica_change, staying_machines
from components.machines.effects.templates import because
from components.machines.effects.versions import PREFLIGHT, hold
from schemas.kubernetes.selectors import has_labels

KIND = kinds.DEPLOYMENT
_CONTROLLERS = "Cluster API v1.13.6, internal/controllers"
COMPARED = f"{_CONTROLLERS}/machinedeployment/mdutil/util.go"
"""MachineTemplateUpToDate: version, failureDomain and the two references; nothing else rolls."""
_ON_DELETE = f"{_CONTROLLERS}/machinedeployment/machinedeployment_rollout_ondelete.go"
_ROLLING = f"{_CONTROLLERS}/machinedeployment/machinedeployment_rollout_rollingupdate.go"
_ORDER = f"{_CONTROLLERS}/machineset/machineset_deletion_order.go"
_SETS = f"{_CONTROLLERS}/machineset/machineset_controller.go"
_WEBHOOK = "Cluster API v1.13.6, internal/webhooks/machinedeployment.go"
_CHOSEN = (
    f"all at once, whatever max_unavailable says: first those marked with {DELETE_MACHINE}, then "
    "failed ones, then by the Machine's name"
)
ROLLING_FIELDS = tuple(
    path(f"spec.template.spec.{field}")
    for field in ("version", "failureDomain", "bootstrap", "infrastructureRef")
)


@of_field
def _replacement(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """A field of the template that Cluster API compares differs: its machines are replaced."""
    what = _what(site, change, field)
    hosts, at_most = staying_machines(site, change)
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
    yield Effect(Impact.REIMAGE, change.name, field.path, why, source, hosts, at_most, action)
    out = number(change.after, "spec", "rollout", "strategy", "rollingUpdate", "maxUnavailable")
    if held and held.stuck and out:
        why = f"{many(out, 'Machine')} at most are deleted and none is made: {held.why}"
        most = limit_below(hosts, out)
        yield Effect(Impact.REMOVE, change.name, field.path, why, PREFLIGHT, hosts, most)


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
    for effect in replica_change(site, change, field, _CHOSEN, _ORDER):
        if effect.impact is Impact.ADD and held:
            effect = effect._replace(why=f"{effect.why}; {held.why}", source=PREFLIGHT)
        if held and held.refused:
            effect = effect._replace(action=Action.REFUSED)
        yield effect


@of_field
def _strategy(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterator[Effect]:
    """RollingUpdate again after OnDelete replaces whatever was left behind meanwhile."""
    if field.after != "OnDelete":
        hosts, at_most = staying_machines(site, change)
        why = (
            "machines that still are of an earlier template, because OnDelete left them alone, are "
            "replaced now; Git does not say whether there are any"
        )
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
    why = (
        "MachineSets count machines by these labels: those without them are counted no more and as "
        "many new ones are asked for; what becomes of the others is not known"
    )
    hosts, at_most = staying_machines(site, change)
    yield Effect(Impact.UNKNOWN, change.name, field.path, why, _SETS, hosts, at_most)


def _whole(site: SiteChange, change: ObjectChange, _field: FieldChange | None) -> Iterable[Effect]:
    return _coming(site, change) if change.before is None else _going(site, change)


def _going(site: SiteChange, change: ObjectChange) -> Iterator[Effect]:
    """All its machines go together: the deletion of a MachineSet knows no max_unavailable."""
    hosts, action = members(site.before, change), removal_action(change)
    why = removal(action, "with it all its Machines are deleted at once")
    most = limit_below(hosts, number(change.before, "spec", "replicas"))
    yield Effect(Impact.REMOVE, change.name, (), why, _SETS, hosts, most, action)


def _coming(site: SiteChange, change: ObjectChange) -> Iterator[Effect]:
    """New hosts join; hosts of the same pool or another are taken until their machines go."""
    hosts = members(site.after, change)
    known = set(site.before.fleet.names) if site.before else set()
    new = tuple(name for name in hosts if name not in known)
    taken = tuple(name for name in hosts if name in known)
    replicas = number(change.after, "spec", "replicas")
    held = hold(site, change)
    more = f"; {held.why}" if held else ""
    action = Action.REFUSED if held and held.refused else Action.ADDED
    if new or not taken:
        why = f"{many(replicas, 'Machine')}, each on a free host that is installed and joins{more}"
        most = limit_below(new, replicas)
        yield Effect(Impact.ADD, change.name, (), why, _SETS, new, most, action)
    if taken:
        pools = {group.pool for group in groups(site.after, change)}
        mine = {name for pool in pools for name in hosts_in(site.before, pool)}
        whose = "the pool as it was" if mine.issuperset(taken) else "another pool"
        why = (
            f"its Machines wait for hosts that run machines of {whose}; when those are deleted, "
            f"the hosts are wiped and installed again{more}"
        )
        most = limit_below(taken, replicas)
        yield Effect(Impact.REIMAGE, change.name, (), why, _SETS, taken, most, action)


def _in_place(what: str, source: str = COMPARED) -> Judge:
    return harmless(f"{what}, in place: no machine is replaced for it", source)


RULES = [
    *metadata_rules(KIND),
    *(Rule(KIND, at, _replacement) for at in ROLLING_FIELDS),
    *(
        Rule(KIND, path(f"spec.template.spec.{field}"), _in_place(f"{field} goes to each Machine"))
        for field in ("deletion", "minReadySeconds", "readinessGates", "taints")
    ),
    Rule(
        KIND,
        path("spec.template.metadata"),
        _in_place("labels and annotations go to each Machine, and some labels to its node"),
    ),
    Rule(KIND, path("spec.template.metadata.labels"), label_change),
    Rule(KIND, path("spec.replicas"), _replicas),
    Rule(
        KIND,
        path("spec.rollout"),
        _in_place("rollouts go on with it from now, the one of this change included", _ROLLING),
    ),
    Rule(KIND, path("spec.rollout.strategy.type"), _strategy),
    Rule(
        KIND,
        path("spec.remediation"),
        _in_place("how many failed machines are replaced at a time", _SETS),
    ),
    Rule(KIND, path("spec.selector"), _selector),
    *(
        Rule(
            KIND,
            path(f"spec.{at}"),
            not_known(
                "the webhook refuses another cluster; what a new MachineDeployment in the place of "
                "this one would do is not known",
                _WEBHOOK,
                Action.REFUSED,
            ),
        )
        for at in ("clusterName", "template.spec.clusterName")
    ),
    Rule(KIND, (), _whole, whole=True),
]
"""The rules of worker pools."""
