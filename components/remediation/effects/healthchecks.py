"""Effects of changes to medik8s' objects on machines."""

import re
from collections.abc import Iterable

from components.effects import Effects, Field, ObjectChange, SiteChange
from components.effects.applying import former, not_known, rules
from components.effects.rules import say_more
from components.effects.table import read_kinds
from components.making.manifest import Manifest
from components.making.told import Told
from components.remediation.effects.cases import HEALTH_CHECK, Case, cases_of, effects
from components.remediation.effects.repairs import begin_repairs, first_repairs
from schemas.kubernetes.bodies import items, mapping
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.faults import fault_of

REFUSED, WEBHOOK = Told(__file__).table("refusal").values()
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def _cases(site: SiteChange, manifest: Manifest, types: Iterable[str] | None = None) -> list[Case]:
    """The faults of a health check's conditions, or of some ``types``, with who repairs them."""
    pool = mapping(manifest.body, "spec", "selector", "matchLabels").get(POOL_LABEL)
    if types is None:
        types = [name for name, status in _conditions(manifest) if status == "True"]
    return cases_of(site, str(pool), filter(None, map(fault_of, types)))


def _conditions(manifest: Manifest) -> dict[tuple[str, str], int]:
    """How long each condition has to hold, by its type and status."""
    listed = items(mapping(manifest.body, "spec"), "unhealthyConditions")
    texts = ([str(each.get(key)) for key in ("type", "status", "duration")] for each in listed)
    return {(name, status): _seconds(duration) for name, status, duration in texts}


def _seconds(text: object) -> int:
    """A duration as Go writes it, in seconds; 0 where it is none."""
    parts = re.findall(r"([0-9]+)([hms])", str(text))
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


def starts(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A check that comes: who has one of its conditions is repaired."""
    cases = _cases(site, change.one)
    if not cases:
        yield from TABLE.judges["some_nodes"](site, change, field)
    for case in cases:
        yield from effects(change, field, case, first_repairs(site, case))


def conditions(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Conditions that come, or that have to hold for less long, repair more; the others less."""
    old, new = _conditions(former(change)), _conditions(change.one)
    sooner = {
        kind
        for (kind, status), seconds in new.items()
        if status == "True" and seconds < old.get((kind, status), seconds + 1)
    }
    mended = _cases(site, change.one, sooner)
    for case in mended:
        yield from effects(change, field, case, first_repairs(site, case))
    if not mended:
        yield from TABLE.judges["nobody_more"](site, change, field)


def limit(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Up to how many unhealthy nodes it repairs."""
    both = former(change), change.one
    old, new = (mapping(each.body, "spec").get("maxUnhealthy") for each in both)
    if isinstance(old, int) and isinstance(new, int) and new <= old:
        return TABLE.judges["lower_limit"](site, change, field)
    return _more(site, change, field, "it repairs while more nodes are unhealthy than before", True)


def _more(
    site: SiteChange, change: ObjectChange, field: Field, because: str, bounded: bool = False
) -> Effects:
    """``bounded``: that so many are unhealthy at once is what changes."""
    cases = _cases(site, change.one)
    if not cases:
        yield from not_known(because, HEALTH_CHECK)(site, change, field)
    for case in cases:
        most = case.bound if bounded else case.machines
        yield from effects(change, field, case, begin_repairs(site, case, most, because))


def pause(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """How long it waits after too many faults, or before it calls a node healthy."""
    key = str(field.path[1]) if field and len(field.path) > 1 else ""
    both = former(change), change.one
    old, new = (_seconds(mapping(each.body, "spec").get(key)) for each in both)
    if new >= old:
        return TABLE.judges["longer_pause"](site, change, field)
    return _more(site, change, field, f"{key} {old} s → {new} s: it waits for less long")


def selector_change(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Other nodes; refused while one is remediated."""
    return say_more(starts(site, change, field), REFUSED, WEBHOOK)


TABLE = read_kinds(globals())
RULES = rules(*TABLE.kinds)
"""The rules of medik8s' kinds."""
