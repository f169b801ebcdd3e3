"""Every query of the rules asks for what some part of the site exports, by labels that it has."""

import re
from collections.abc import Iterator

import promql_parser
import pytest

from components.making.manifest import Json
from schemas.facts.site import Site
from tests.kit.monitoring_metrics import METRICS, TARGET_LABELS, Metric, Type
from tests.kit.monitoring_sites import SITES, exporters, groups

SUFFIXES = ("_bucket", "_count", "_sum")
IN_TEXTS = re.compile(r"topk\(1, (foresite:[a-z0-9_:]+)\{(\w+)=")
"""Recorded series that summaries query; they query no metric."""


def rules(site: Site) -> list[Json]:
    """All rules of a site."""
    return [rule for group in groups(site) for rule in group["rules"]]


def parts(query: str) -> Iterator[promql_parser.Expr]:
    """All expressions of a query."""
    found: list[promql_parser.Expr] = []

    def keep(expr: promql_parser.Expr) -> bool:
        found.append(expr)
        return True

    promql_parser.walk(promql_parser.parse(query), keep)
    return iter(found)


def selectors(query: str) -> Iterator[promql_parser.VectorSelector]:
    """The selectors of a query."""
    for part in parts(query):
        if isinstance(part, promql_parser.MatrixSelector):
            yield part.vector_selector
        elif isinstance(part, promql_parser.VectorSelector):
            yield part


def metric_of(name: str) -> Metric | None:
    """The metric of a name in a query: a histogram has three."""
    if name in METRICS:
        return METRICS[name]
    for suffix in SUFFIXES:
        found = METRICS.get(name.removesuffix(suffix))
        if name.endswith(suffix) and found and found.type is Type.HISTOGRAM:
            return found
    return None


def recorded(site: Site) -> dict[str, set[str]]:
    """The recorded series of a site with the labels that they can have: those that a rule sets or
    groups by, and those of the recorded series that it asks for."""
    found: dict[str, set[str]] = {}
    made = [rule for rule in rules(site) if "record" in rule]
    for rule in made:
        labels = set(rule.get("labels", {})) | asked_labels(rule["expr"])
        found.setdefault(rule["record"], set()).update(labels)
    before = -1
    while (now := sum(map(len, found.values()))) != before:
        before = now
        for rule in made:
            for selector in selectors(rule["expr"]):
                found[rule["record"]] |= found.get(str(selector.name), set())
    return found


def asked_labels(query: str) -> set[str]:
    """The labels by which a query groups or joins, or that it makes."""
    found: set[str] = set()
    for part in parts(query):
        modifier = getattr(part, "modifier", None)
        if isinstance(part, promql_parser.AggregateExpr) and modifier:
            found |= set(modifier.labels)
        if isinstance(part, promql_parser.BinaryExpr) and modifier:
            matching = getattr(modifier, "matching", None)
            found |= set(matching.labels if matching else [])
            found |= set(getattr(modifier, "group_labels", None) or [])
    return found | set(re.findall(r'label_replace\(.*?, "(\w+)", "\$', query))


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_query_asks_for_what_the_site_exports(site: Site) -> None:
    own = recorded(site)
    there = exporters(site)
    for rule in rules(site):
        for selector in selectors(rule["expr"]):
            name = str(selector.name)
            if name in own:
                continue
            metric = metric_of(name)
            assert metric is not None, f"{name} is in no list: {rule['expr']}"
            assert metric.exporter in there or name == "up", f"nobody exports {name}"


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_selector_chooses_by_labels_that_are_there(site: Site) -> None:
    own = recorded(site)
    for rule in rules(site):
        for selector in selectors(rule["expr"]):
            name = str(selector.name)
            metric = metric_of(name)
            known = own.get(name) or {*(metric.labels if metric else ()), *TARGET_LABELS}
            asked = {matcher.name for matcher in selector.matchers.matchers}
            assert asked <= known, f"{name} has no {asked - known}"


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_what_is_grouped_and_joined_by_is_there(site: Site) -> None:
    own = recorded(site)
    for rule in rules(site):
        known = {*TARGET_LABELS, *re.findall(r'label_replace\(.*?, "(\w+)", "\$', rule["expr"])}
        for selector in selectors(rule["expr"]):
            name = str(selector.name)
            metric = metric_of(name)
            known |= own.get(name, set()) | set(metric.labels if metric else ())
        assert asked_labels(rule["expr"]) <= known, rule


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_what_a_summary_asks_for_is_recorded(site: Site) -> None:
    own = recorded(site)
    texts = [rule["annotations"]["summary"] for rule in rules(site) if "alert" in rule]
    asked = [found for text in texts for found in IN_TEXTS.findall(text)]
    assert asked
    for name, label in asked:
        assert label in own[name]
    assert sum("query" in text for text in texts) == len(asked)


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_all_that_is_recorded_has_the_sites_prefix_and_no_two_rules_make_one_series(
    site: Site,
) -> None:
    made = [
        (rule["record"], tuple(sorted(rule.get("labels", {}).items())))
        for rule in rules(site)
        if "record" in rule
    ]
    assert len(made) == len(set(made))
    assert all(name.startswith("foresite:") for name, _ in made)


GAUGES = {"envoy_cluster_membership_total", "gpu_ecc_uncorrect_total"}
"""By Envoy's own name."""


def test_metrics_say_where_they_come_from() -> None:
    for name, metric in METRICS.items():
        assert re.search(r"[0-9]", metric.source) and "/" in metric.source, name
        assert metric.type is not Type.HISTOGRAM or not name.endswith(SUFFIXES), name
        assert metric.type is Type.COUNTER or not name.endswith("_total") or name in GAUGES, name
