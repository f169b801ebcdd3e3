"""Effects of changes to the settings of the program for repair slots, which reads them in each
round (components/remediation/turns.py, node_repair/slots.py)."""

import json
from collections.abc import Iterator

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, not_known
from components.effects.rules import Judge
from components.making.told import Told
from components.remediation.effects.cases import Case, Found, cases_of, effects, fault_bound
from components.remediation.effects.repairs import begin_repairs, once_more, unheld
from components.remediation.names import remediated_pools, settings_of
from components.remediation.turns import CONFIG, CONFIG_MAP, configuration
from components.source import site_of
from schemas.facts.site import Site

LINES = "foresite, components/remediation/turns.py (configuration), node_repair/decide.py"
_LATER = Told(__file__).say("later")


def judge_content(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` for a ConfigMap, with the effect of its content on repairs."""
    name = change.one.name.partition("/")[2]
    changed = field is not None and field.path[:1] == ("data",)
    yield from (_lines if changed and name == CONFIG_MAP else judge)(site, change, field)


def _lines(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """The effect of another line, once for all of them."""
    if site.before is None or site.after is None or field != change.fields[0]:
        return
    if field.path == ("data", CONFIG) and _read(field.before) == _read(field.after):
        # Pools follow the order of their hardware (components/site.py).
        yield effect(change, field, Impact.NONE, "the same settings in another order", LINES)
        return
    old, new = site_of(site.before), site_of(site.after)
    if configuration(old) == configuration(new):
        why = "lines differ that no setting explains: which nodes it has drained is not known"
        yield from not_known(why, LINES)(site, change, field)
        return
    yield effect(change, field, Impact.NONE, _LATER, LINES)
    before = {(each.name, pool.name): (each, pool) for each, pool in remediated_pools(old)}
    for remediator, pool in remediated_pools(new):
        was = before.get((remediator.name, pool.name))
        if was is None:
            continue  # what it means that a healer comes, its templates say
        for case in cases_of(site, pool.name, new.repairs(pool, remediator)):
            earlier = fault_bound(old, was[1], was[0])
            found = _wider(site, case, was[0].max_unavailable, earlier)
            yield from effects(change, field, case, found)
            if again := _again(old, new):
                yield from effects(change, field, case, once_more(site, case, again))


def _read(text: object) -> object:
    """What the program reads; the text itself where it is no JSON."""
    try:
        return json.loads(str(text))
    except ValueError:
        return text


def _again(before: Site, after: Site) -> str:
    """The settings that allow a node one more reboot (node_repair/decide.py, ``_after_reboot``)."""
    old, new = (settings_of(each).reboot for each in (before, after))
    pairs = {
        "timeout_seconds": (new.timeout_seconds, old.timeout_seconds),
        "attempts": (old.attempts, new.attempts),
        "window_hours": (new.window_hours, old.window_hours),
    }
    values = (old.model_dump(), new.model_dump())
    found = [name for name, (less, more) in pairs.items() if less < more]
    return ", ".join(f"{name} {values[0][name]} → {values[1][name]}" for name in found)


def _wider(site: SiteChange, case: Case, number: int, earlier: int) -> Iterator[Found]:
    """The effect when more hosts of a pool may be out, or faulty, than before."""
    now = case.remediator.max_unavailable
    if now > number:
        yield from begin_repairs(site, case, now - number, f"max_unavailable {number} → {now}")
    if case.bound > earlier:
        yield from unheld(site, case, earlier)
