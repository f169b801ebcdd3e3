"""Effects of a change of a site's monitoring on machines: none, whatever it is."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rules, judge_object
from components.effects.vocabulary import ABSENT, Action, Effect, FieldChange, Impact, Side
from components.machines.fleet import side_of
from components.monitoring.effects import RULES
from components.monitoring.names import COMPONENT
from preview.differences.compare import compare
from schemas.facts.site import Site
from tests.kit.monitoring_sites import NAMES, WATCH, objects, watched

EVERY_RULE = Rules((*RULES, *KUBERNETES))
RECEIVER = {**WATCH["receivers"][2], "name": "night"}
EDITS: dict[str, dict[str, Any]] = {
    "threshold": {"thresholds": {"queue_minutes": 30}},
    "route": {"routes": {"critical": "hook", "warning": "chat"}},
    "repetition": {"routes": {**WATCH["routes"], "repeat_hours": 1}},
    "receiver": {"receivers": [*WATCH["receivers"], RECEIVER]},
    "secret": {"receivers": [{**each, "secret": "other"} for each in WATCH["receivers"]]},
    "scrape job": {"scraped": {"kube_state_metrics": "ksm"}},
    "no dashboards": {"dashboards_label": None},
    "other label of dashboards": {"dashboards_label": "dashboards"},
    "label": {"labels": {"prometheus": "other"}},
    "namespace": {"namespace": "elsewhere"},
}


def applied(site: Site) -> Site:
    cluster = site.file.cluster.model_copy(update={"context": site.name})
    return replace(site, file=site.file.model_copy(update={"cluster": cluster}))


def side(site: Site) -> Side:
    return side_of(site, {(COMPONENT, each.name): each for each in objects(site)})


def effects(before: Site, after: Site) -> list[Effect]:
    both = compare(after.name, side(applied(before)), side(applied(after)))
    assert both.changes, "an edit that changes no object shows nothing"
    found = [each for one in both.changes.values() for each in judge_object(EVERY_RULE, both, one)]
    assert {each.name for each in found} == set(both.changes)
    return found


def nothing(found: list[Effect]) -> None:
    for each in found:
        assert each.impact is Impact.NONE and not each.hosts, each
        assert each.source and each.why


@pytest.mark.parametrize("operator", [True, False])
@pytest.mark.parametrize("edit", EDITS)
def test_no_setting_touches_a_machine(edit: str, operator: bool) -> None:
    changed = {"prometheus_operator": operator, **EDITS[edit]}
    before = watched("tokyo-1", prometheus_operator=operator)
    after = watched("tokyo-1", **changed)
    if edit == "label" and not operator:
        assert side(before).objects == side(after).objects
        return
    nothing(effects(before, after))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("operator", [True, False])
def test_neither_its_coming_nor_its_going_touches_one(name: str, operator: bool) -> None:
    site = watched(name, prometheus_operator=operator)
    without = replace(site, file=site.file.model_copy(update={"monitoring": None}))
    nothing(effects(without, site))
    gone = effects(site, without)
    nothing(gone)
    assert {each.action for each in gone} == {Action.DELETED}


@pytest.mark.parametrize("name", NAMES)
def test_neither_does_a_change_of_how_prometheus_is_told(name: str) -> None:
    nothing(effects(watched(name), watched(name, prometheus_operator=False)))


def _fields(site: Site) -> Iterator[tuple[Side, Side]]:
    """Each object with each of its parts changed, as another state of the code may make it."""
    made = side(site)
    for key, manifest in made.objects.items():
        for part in set(manifest.body) - {"apiVersion", "kind", "metadata"}:
            body = {**manifest.body, part: {"changed": "x"}}
            yield made, replace(made, objects={**made.objects, key: manifest._replace(body=body)})


@pytest.mark.parametrize("operator", [True, False])
def test_every_part_of_every_object_is_judged(operator: bool) -> None:
    site = applied(watched("tokyo-1", prometheus_operator=operator))
    for before, after in _fields(site):
        (key,) = (name for name in before.objects if before.objects[name] != after.objects[name])
        both = compare(site.name, before, after)
        change = both.changes[key]
        field = FieldChange((next(iter(change.fields)).path[0],), {}, ABSENT)
        nothing(judge_object(EVERY_RULE, both, change._replace(fields=(field,))))
