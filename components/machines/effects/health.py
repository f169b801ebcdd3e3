"""Health checks: a change of one may act at once, on machines that have failed. Which have Git does
not say; how many may be treated at a time the check does."""

from components.effects import ABSENT, Effects, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.rules import path
from components.machines.effects import controlplane, workers
from components.machines.effects.anykind import machine_kinds, machine_rules
from components.machines.effects.concerned import either, groups, number, staying, value
from components.making.manifest import Manifest

_FOLDER = "Cluster API v1.13.6, internal/controllers/machinehealthcheck"
_TARGETS = f"{_FOLDER}/machinehealthcheck_targets.go"
CHECK = f"{_FOLDER}/machinehealthcheck_controller.go"
_LIMIT = path("spec.remediation.triggerIf.unhealthyLessThanOrEqualTo")
_TEMPLATE = path("spec.remediation.templateRef")
_STARTUP = path("spec.checks.nodeStartupTimeoutSeconds")
DEFAULT_STARTUP_SECONDS = 600
"""Seconds that the webhook writes if the object sets none."""
_ROLLING = {each.KIND: each.ROLLING_FIELDS for each in (workers, controlplane)}
LATER = "applies to machines that fail from now on; nothing happens to a healthy one"


def _acts(site: SiteChange, change: ObjectChange, field: FieldChange, when: str) -> Effects:
    """The check treats machines that have failed, as it will be: as many as it may at a time."""
    hosts, replaces = staying(site, change), value(change.after, *_TEMPLATE) is ABSENT
    does = "replaced: their hosts are wiped and installed again" if replaces else "power-cycled"
    why = f"{when} are {does}; Git does not say which those are, if any"
    impact = Impact.REIMAGE if replaces else Impact.REBOOT
    most = min(len(hosts), _limit(change.after, len(hosts)))
    yield effect(change, field, impact, why, CHECK, hosts=hosts, at_most=most)


def _limit(manifest: Manifest | None, everyone: int) -> int:
    """How many failed machines a check acts on; all, where nothing is said."""
    found = value(manifest, *_LIMIT)
    return found if isinstance(found, int) else everyone


def conditions(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """Stricter where a node may be unready for less time, or where another state counts."""
    old, new = (_limits(each) for each in change.both)
    if any(key not in old or seconds < old[key] for key, seconds in new.items()):
        yield from _acts(site, change, field, "machines unready for longer than is allowed now")
    else:
        yield effect(change, field, Impact.NONE, LATER, _TARGETS)


def _limits(manifest: Manifest | None) -> dict[tuple[str, str], int]:
    """How long a node may be in a state, by the condition and its status."""
    found = value(manifest, "spec", "checks", "unhealthyNodeConditions")
    rows = found if isinstance(found, list) else []
    return {(e.get("type", ""), e.get("status", "")): e.get("timeoutSeconds", 0) for e in rows}


def replaces(_site: SiteChange, change: ObjectChange, _field: FieldChange) -> bool:
    """True if a failed machine is deleted from now on, also one that a power cycle did not help."""
    return value(change.after, *_TEMPLATE) is ABSENT


def all_failed(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """The machines that have failed, without a template for another remedy."""
    yield from _acts(site, change, field, "machines that have failed, power-cycled in vain or not,")


def trigger(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """Up to how many failed machines the check acts. More because someone wants more is meant to
    act now; more because the pool has grown is not, and is one more of many at the most."""
    wanted = {each.unhealthy_percent for side in site.sides for each in groups(side, change)}
    everyone = len(either(site, change))
    raised = _limit(change.after, everyone) > _limit(change.before, everyone)
    grown = number(change.before, *_LIMIT) and number(change.after, *_LIMIT) and len(wanted) == 1
    if raised and not grown:
        yield from _acts(site, change, field, "machines that have failed, too many until now,")
    else:
        yield effect(change, field, Impact.NONE, LATER, CHECK)


def startup(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """How long a new machine may take: too short, and it is deleted while it installs, again and
    again. Whether all are depends on how many install at a time and on the check's limit, so it is
    unknown where the same change makes machines."""
    was, limit = (_seconds(each) for each in change.both)
    mine = groups(site.after, change)
    minutes = max((each.pace.install_minutes for each in mine), default=0)
    if 0 < limit < 60 * minutes:
        makes = _installs(site, change)
        hosts = either(site, change) if makes else ()
        why = (
            f"a machine that is no node after {limit} s is deleted, and installing takes {minutes} "
            "minutes: new machines are deleted while they install, again and again"
        )
        impact = Impact.UNKNOWN if makes else Impact.NONE
        return [effect(change, field, impact, why, _TARGETS, hosts=hosts)]
    if limit and (limit < was or not was):
        return _acts(site, change, field, f"machines without a node {limit} s after their start")
    return [effect(change, field, Impact.NONE, LATER, _TARGETS)]


def _seconds(manifest: Manifest | None) -> int:
    """Seconds that a machine may take to start; 0 for no limit."""
    said = value(manifest, *_STARTUP) is not ABSENT
    return number(manifest, *_STARTUP) if said else DEFAULT_STARTUP_SECONDS


def _installs(site: SiteChange, check: ObjectChange) -> bool:
    """True if the same change makes or replaces machines that a check looks after."""
    for owner in {each.owner for side in site.sides for each in groups(side, check)}:
        change = site.changes.get(owner)
        if change is not None:
            rolling = _ROLLING.get(change.group_kind, ())
            was, now = (number(each, "spec", "replicas") for each in change.both)
            paths = (field.path for field in change.fields)
            if now > was or any(its[: len(at)] == at for its in paths for at in rolling):
                return True
    return False


RULES = machine_rules(*machine_kinds(globals()).kinds)
"""The rules of health checks and their remedies."""
