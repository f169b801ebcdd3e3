"""Dashboards: what Grafana's own model makes of them, and that each query has an answer."""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from components.making.faults import OPERATING_TAINT, QUARANTINED_TAINT
from components.making.manifest import Json
from components.making.promql import job
from components.making.told import SHARED
from components.monitoring.dashboards import LONGEST_UID
from components.monitoring.dashboards.overview import ALERTS
from schemas.facts.site import Site
from schemas.model.network_devices import PoolNetworkDevices
from schemas.model.vocabulary import LinkType
from tests.components.monitoring.test_alerts_queries import selectors as selected
from tests.golden import with_pool
from tests.kit import monitoring_worlds
from tests.kit.monitoring_data import MINUTES, series, unit_test
from tests.kit.monitoring_metrics import METRICS, TARGET_LABELS, Type
from tests.kit.monitoring_promtool import SITES_OF_CASES, World, verdict
from tests.kit.monitoring_sites import (
    NAMES,
    OPERATED,
    boards,
    exporters,
    groups,
    objects,
    watched,
    written,
)
from tests.kit.monitoring_worlds import NODES, TOKYO, condition, k, taint
from tests.kit.repository import ROOT

UNITS = {"short", "s", "bytes", "Bps", "ops", "pps", "reqps", "percent", "percentunit"}
UNITS |= {"celsius", "watt"}
"""Of Grafana's list (11.6, packages/grafana-data/src/valueFormats/categories.ts)."""
SUFFIXES = ("_bucket", "_count", "_sum")
VARIABLE = re.compile(r"\$([a-zA-Z_]\w*)")
"""One of Grafana's; $1 is a group in Prometheus' label_replace."""


def made(site: Site) -> dict[str, Json]:
    """The dashboards of a site by name, as Grafana imports them."""
    found = {}
    for each in objects(site):
        if each.name.endswith("-dashboard"):
            ((_, text),) = each.body["data"].items()
            found[each.name] = json.loads(text)
    return found


def panels(board: Json) -> list[Json]:
    """The panels of a dashboard, without the row that repeats them."""
    return [each for each in board["panels"] if each["type"] != "row"]


def with_amd() -> Site:
    """tokyo-1 with AMD's GPUs in one of its pools, and with Ethernet."""
    site = OPERATED["tokyo-1"]
    amd = site.accelerators["a100-sxm4-80gb"].model_copy(update={"vendor": "amd"})
    (rdma,) = next(pool.network_devices.rdma for pool in site.file.pools if pool.name == "h100")
    devices = PoolNetworkDevices(rdma=[rdma.model_copy(update={"link": LinkType.ETHERNET})])
    site = with_pool(site, "h100", network_devices=devices)
    return replace(site, accelerators={**site.accelerators, "a100-sxm4-80gb": amd})


EVERY_SITE = {**OPERATED, "tokyo-1 with AMD": with_amd()}
EVERY = [
    pytest.param(site, board, id=f"{name}-{title}")
    for name, site in EVERY_SITE.items()
    for title, board in made(site).items()
]
each_board = pytest.mark.parametrize(("site", "board"), EVERY)


def test_there_is_one_for_each_part_of_a_site() -> None:
    names = {name: {each.name for each in boards(site)} for name, site in OPERATED.items()}
    whole = {"fleet", "overview", "racks", "nodes", "queues", "schedulers"}
    assert names["tokyo-1"] == whole | {"repairs", "cache", "devices", "fabric"}
    # No cache and no network devices.
    # Nor has MN-Core an exporter that is known.
    assert names["tsukuba-1"] == whole | {"repairs"}


def test_no_panel_is_written_that_is_never_made() -> None:
    written = [tomllib.loads(path.read_text("utf-8")) for path in ROOT.glob("components/**/*.toml")]
    rows = [
        row
        for said in written
        if "board" in said
        for name in said.keys() - {"board"}
        for row in said[name]
        if "title" in row
    ]
    titles = {
        panel["title"]
        for site in EVERY_SITE.values()
        for board in made(site).values()
        for panel in panels(board)
    }
    for row in rows:
        title = re.sub("<[a-z_]+>", ".+", re.escape(row["title"]))
        assert any(re.fullmatch(title, each) for each in titles), row["title"]


@each_board
def test_grafanas_own_model_knows_every_field(site: Site, board: Json) -> None:
    """Also of the options of each kind of panel: it drops what it does not know, and adds what
    lacks."""
    register_default_plugins()
    again = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(board)))
    assert again == board
    assert board["schemaVersion"] >= 39


@each_board
def test_every_panel_and_query_asks_the_prometheus_that_a_person_chose(
    site: Site, board: Json
) -> None:
    variables = {each["name"]: each for each in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    source = {"type": "prometheus", "uid": "${datasource}"}
    assert panels(board)
    for panel in panels(board):
        assert panel["datasource"] == source
        assert panel["targets"] and all(each["datasource"] == source for each in panel["targets"])


@each_board
def test_each_variable_is_used_and_no_other(site: Site, board: Json) -> None:
    there = {each["name"] for each in board["templating"]["list"]} - {"datasource"}
    used = {name for query in queries(board) for name in VARIABLE.findall(query)}
    assert used == there


@pytest.mark.parametrize("name", NAMES)
def test_variables_offer_what_the_site_has(name: str) -> None:
    site = OPERATED[name]
    offered = {
        each["name"]: each["query"].split(",")
        for board in made(site).values()
        for each in board["templating"]["list"]
        if each["type"] == "custom"
    }
    assert offered["pool"] == [pool.name for pool in site.file.pools]
    assert offered.get("team") == [team.name for team in site.scheduling.teams]


@each_board
def test_panels_lie_beside_each_other(site: Site, board: Json) -> None:
    cells: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        own = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert own and not own & cells and max(x for x, _ in own) < 24
        cells |= own
    identifiers = [panel["id"] for panel in board["panels"]]
    assert len(set(identifiers)) == len(identifiers) and min(identifiers) > 0


@pytest.mark.parametrize("name", NAMES)
def test_each_alert_leads_to_a_panel_that_leads_back(name: str) -> None:
    site = watched(name, runbooks_url="https://git.example/runbooks/")
    there = {
        (board["uid"], str(panel["id"])): panel
        for board in made(site).values()
        for panel in panels(board)
    }
    rules = [rule for group in written(site) for rule in group["rules"] if "alert" in rule]
    alerts = {rule["alert"]: rule["annotations"] for rule in rules}
    assert alerts
    for alert, told in alerts.items():
        panel = there[told["__dashboardUid__"], told["__panelId__"]]
        back = {link["title"]: link["url"] for link in panel["links"]}
        if panel["title"] != ALERTS:  # the list of all
            assert back[f"Alert {alert}"] == f"/alerting/list?search=rule:{alert}"
            assert back[f"Runbook of {alert}"] == f"https://git.example/runbooks/{alert}.md"
    linked = {link["title"].split()[-1] for panel in there.values() for link in panel["links"]}
    assert linked <= set(alerts)


@pytest.mark.parametrize("name", NAMES)
def test_links_to_other_pages_are_to_pages_and_variables_that_the_site_has(name: str) -> None:
    found = made(OPERATED[name])
    pages = {
        board["uid"]: {each["name"] for each in board["templating"]["list"]}
        for board in found.values()
    }
    for board in found.values():
        for panel in panels(board):
            for link in panel["fieldConfig"]["defaults"]["links"]:
                way = re.fullmatch(r"/d/(.+)\?var-(\w+)=.+", link["url"])
                assert way and way[2] in pages[way[1]]


@each_board
def test_every_panel_says_what_it_shows_and_in_what(site: Site, board: Json) -> None:
    for panel in panels(board):
        assert panel["title"] and panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS


def test_dashboards_have_addresses_of_their_own() -> None:
    found = [board["uid"] for site in OPERATED.values() for board in made(site).values()]
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(r"[a-zA-Z0-9-_]+", uid) and len(uid) <= LONGEST_UID for uid in found)


def test_sites_whose_long_names_begin_alike_have_addresses_of_their_own() -> None:
    names = [f"{'a' * 61}-{number}" for number in (1, 2)]
    found = [
        board["uid"]
        for name in names
        for board in made(replaced(OPERATED["tokyo-1"], name)).values()
    ]
    assert len(set(found)) == len(found)
    assert all(len(uid) <= LONGEST_UID for uid in found)


def replaced(site: Site, name: str) -> Site:
    """The site by another name."""
    return replace(site, file=site.file.model_copy(update={"site": name}))


@pytest.mark.parametrize("name", NAMES)
def test_hosts_are_called_by_the_names_of_their_nodes(name: str) -> None:
    """Of node_exporter, Prometheus knows an address at first."""
    legends = [
        target["legendFormat"]
        for board in made(OPERATED[name]).values()
        for panel in panels(board)
        for target in panel["targets"]
        if 'job="node-exporter"' in target["expr"]
    ]
    assert any("{{node}}" in legend for legend in legends)
    assert not any("{{instance}}" in legend for legend in legends)


def test_no_dashboard_comes_with_an_identifier_of_another_grafana() -> None:
    for board in made(OPERATED["tokyo-1"]).values():
        assert "id" not in board and not board.get("version")


# --- queries ---


def queries(board: Json) -> list[str]:
    return [target["expr"] for panel in panels(board) for target in panel["targets"]]


class Selector(NamedTuple):
    """The series that a query asks for."""

    name: str
    matchers: dict[str, str]


def parsed(query: str) -> Any:
    """The query, with values in the place of Grafana's variables."""
    return promql_parser.parse(VARIABLE.sub("any", query))


def nodes(tree: Any) -> Iterator[Any]:
    """Every part of a query."""
    yield tree
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        part = getattr(tree, name, None)
        if part is not None:
            yield from nodes(part)
    for part in getattr(tree, "args", None) or []:
        yield from nodes(part)


def selectors(query: str) -> list[Selector]:
    return [
        Selector(part.name, {each.name: each.value for each in part.matchers.matchers})
        for part in nodes(parsed(query))
        if type(part).__name__ == "VectorSelector"
    ]


def grouped(query: str) -> set[str]:
    """The labels that a query sums by."""
    found: set[str] = set()
    for part in nodes(parsed(query)):
        modifier = getattr(part, "modifier", None)
        if type(part).__name__ == "AggregateExpr" and modifier is not None:
            found |= set(modifier.labels)
    return found


def metric(name: str) -> str:
    """The name in the table: of a histogram without its suffix."""
    for suffix in SUFFIXES:
        short = name.removesuffix(suffix)
        if short != name and short in METRICS and METRICS[short].type is Type.HISTOGRAM:
            return short
    return name


def recorded(site: Site) -> set[str]:
    rules = (rule for group in groups(site) for rule in group["rules"])
    return {rule["record"] for rule in rules if "record" in rule}


@each_board
def test_every_query_asks_for_what_the_site_exports(site: Site, board: Json) -> None:
    there = exporters(site)
    asked = [(query, each) for query in queries(board) for each in selectors(query)]
    assert len(asked) >= len(queries(board))
    for query, each in asked:
        if each.name.startswith("foresite:"):
            assert each.name in recorded(site), query
        else:
            assert METRICS[metric(each.name)].exporter in there, query


@each_board
def test_every_query_is_of_the_job_of_its_exporter(site: Site, board: Json) -> None:
    schedulers = {f"scheduler-{each.name}" for each in site.scheduling.backends}
    for query in queries(board):
        for each in selectors(query):
            if each.name.startswith("foresite:") or each.name in {"ALERTS", "up"}:
                continue
            of = METRICS[metric(each.name)].exporter
            known = schedulers if of == "scheduler" else {job(site, of)}
            assert each.matchers["job"] in known, query


@each_board
def test_every_label_is_one_that_the_metric_has(site: Site, board: Json) -> None:
    for query in queries(board):
        found = selectors(query)
        if any(each.name.startswith("foresite:") for each in found):
            continue  # what is recorded has the labels that its rule gives it
        labels = {*TARGET_LABELS, "le"}
        for each in found:
            own = {*METRICS[metric(each.name)].labels, *TARGET_LABELS}
            assert set(each.matchers) <= own, query
            labels |= own
        assert grouped(query) <= labels, query


@each_board
def test_every_series_is_called_by_labels_that_are_left(site: Site, board: Json) -> None:
    """Where a query sums, only the labels that it sums by can be part of a name."""
    for panel in panels(board):
        for target in panel["targets"]:
            by = grouped(target["expr"])
            named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            if by:
                assert named <= by, target["expr"]


@pytest.mark.monitoring
@pytest.mark.parametrize("name", EVERY_SITE)
def test_every_panel_has_data_where_its_exporters_answer(name: str, tmp_path: Path) -> None:
    """As Prometheus answers, of series with the names and labels that exporters give them."""
    site = EVERY_SITE[name]
    asked = {re.sub(r"\$[a-z]+", ".*", q) for b in made(site).values() for q in queries(b)}
    rules = {rule["expr"] for group in groups(site) for rule in group["rules"]}
    world = series(site, [each for query in asked | rules for each in selected(query)])
    there = [{"labels": "{}", "value": 1}]
    answers = {f"count({query}) > bool 0": there for query in sorted(asked)}
    assert verdict(unit_test(tmp_path, groups(site), world, answers)) == ""


def constant(world: World) -> dict[str, str]:
    """The series of a world that does not change."""
    return {name: f"{value}x{MINUTES}" for name, value in world.items()}


@pytest.mark.monitoring
def test_a_node_is_shown_as_the_most_telling_of_its_states(tmp_path: Path) -> None:
    faulty, unready, cordoned, repaired, quarantined = NODES
    world = {
        **TOKYO,
        **condition(faulty, "AcceleratorMissing", "true"),
        **condition(unready, "Ready", "false"),
        **condition(repaired, "Ready", "false"),
        **condition(quarantined, "Ready", "false"),
        **dict.fromkeys(
            [taint(repaired, OPERATING_TAINT), taint(quarantined, QUARANTINED_TAINT)], 1
        ),
        k("kube_node_spec_unschedulable", node=cordoned): 1,
    }
    expected = {faulty: 2, unready: 5, cordoned: 1, repaired: 3, quarantined: 4}
    states = SHARED["states"]
    samples = [
        {"labels": f'{states}{{node="{node}"}}', "value": value} for node, value in expected.items()
    ]
    path = unit_test(tmp_path, groups(OPERATED["tokyo-1"]), constant(world), {states: samples})
    assert verdict(path) == ""


def asked(board: str, title: str) -> list[str]:
    """The queries of a panel of tokyo-1, for all that a person may choose."""
    (found,) = (
        panel
        for panel in panels(made(OPERATED["tokyo-1"])[f"ConfigMap/foresite-{board}-dashboard"])
        if panel["title"] == title
    )
    return [re.sub(r"\$[a-z]+", ".*", target["expr"]) for target in found["targets"]]


@pytest.mark.monitoring
def test_a_node_with_a_fault_that_nobody_repairs_takes_pods(tmp_path: Path) -> None:
    faulty, cordoned = NODES[:2]
    world = {
        **TOKYO,
        **condition(faulty, "DiskFull", "true"),
        k("kube_node_spec_unschedulable", node=cordoned): 1,
    }
    series = "foresite:site_nodes:count"
    of = 'site="tokyo-1", pool="v100", state="take no pods"'
    (racks,) = asked("racks", "Hosts that take no pods, by rack")
    answers: dict[str, list[Json]] = {
        f"{series}{{{of}}}": [{"labels": f"{series}{{{of}}}", "value": 1}],
        racks: [
            {"labels": f'{{zone="a", rack="{rack}"}}', "value": share}
            for rack, share in (("a-05", 0), ("a-06", 0.25))
        ],
    }
    path = unit_test(tmp_path, groups(OPERATED["tokyo-1"]), constant(world), answers)
    assert verdict(path) == ""


@pytest.mark.monitoring
def test_states_of_nodes_are_not_zero_where_nobody_knows_them(tmp_path: Path) -> None:
    silent: dict[str, list[Json]] = {q: [] for q in asked("overview", "Nodes by their state")}
    path = unit_test(tmp_path, groups(OPERATED["tokyo-1"]), {"up": f"0x{MINUTES}"}, silent)
    assert verdict(path) == ""
    every = [made(site).values() for site in EVERY_SITE.values()]
    shown = [panel for boards_ in every for board in boards_ for panel in panels(board)]
    assert not [each for each in shown if "noValue" in each["fieldConfig"]["defaults"]]


@pytest.mark.monitoring
def test_a_port_that_was_never_active_is_not_shown_as_lost(tmp_path: Path) -> None:
    """Nor is an InfiniBand port by the interface over it, which may have no address."""
    fabric = made(OPERATED["tokyo-1"])["ConfigMap/foresite-fabric-dashboard"]
    assert not [each for each in queries(fabric) if "node_network_up" in each]
    host = "tokyo-1-a-090"
    where = 'job="node-exporter", instance="10.16.9.1:9100", port="1"'
    state = "node_infiniband_state_id"
    world = {
        **constant(monitoring_worlds.nodes([host])),
        f'{state}{{{where}, device="mlx5_0"}}': f"4x{MINUTES // 2} 1x{MINUTES}",
        f'{state}{{{where}, device="mlx5_9"}}': f"1x{MINUTES}",
    }
    (query,) = asked("fabric", "RDMA ports that are not active")
    lost = [{"labels": f'{{node="{host}", device="mlx5_0", port="1"}}', "value": 1}]
    path = unit_test(tmp_path, groups(OPERATED["tokyo-1"]), world, {query: lost})
    assert verdict(path) == ""


EVERY_QUERY = [
    *(
        query
        for site in EVERY_SITE.values()
        for board in made(site).values()
        for query in queries(board)
    ),
    *(
        rule["expr"]
        for site in SITES_OF_CASES.values()
        for each in groups(site)
        for rule in each["rules"]
    ),
]


def test_every_metric_in_the_table_is_asked_for() -> None:
    asked = {metric(each.name) for query in EVERY_QUERY for each in selectors(query)}
    assert set(METRICS) <= asked


def test_a_site_without_teams_or_accelerators_has_dashboards_all_the_same() -> None:
    site = watched("edge-1")
    assert not site.models()
    assert {"overview", "queues", "nodes"} <= {each.name for each in boards(site)}
