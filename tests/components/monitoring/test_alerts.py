"""Every alert fires when it should, and only then, as promtool has it."""

import re
import subprocess
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from components.making.faults import FAULTY_TAINT
from components.making.manifest import Json
from components.making.promql import Exporter, job
from components.making.watch import RUNBOOKS, Severity
from schemas.facts.site import Site
from tests.kit import (
    monitoring_cases_cache,
    monitoring_cases_jobs,
    monitoring_cases_nodes,
    monitoring_cases_repairs,
)
from tests.kit.monitoring_promtool import SITES_OF_CASES, Case, counters, promtool, verdict, write
from tests.kit.monitoring_sites import OPERATED, SITES, exporters, groups, written
from tests.kit.monitoring_worlds import NODES, TOKYO, k, pod, s, taint
from tests.kit.repository import ROOT

CASES = (
    *monitoring_cases_nodes.CASES,
    *monitoring_cases_repairs.CASES,
    *monitoring_cases_jobs.CASES,
    *monitoring_cases_cache.CASES,
)
BY_TIME = "OffPeakEnds"
"""The one that asks for no series: it has a test of its own."""


def alerts(site: Site) -> list[Json]:
    """The alerts of a site."""
    return [rule for group in groups(site) for rule in group["rules"] if "alert" in rule]


def every_alert() -> set[str]:
    """The names of the alerts of all sites."""
    every = (*SITES.values(), *SITES_OF_CASES.values())
    return {rule["alert"] for site in every for rule in alerts(site)}


@pytest.mark.monitoring
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_prometheus_takes_the_rules(site: Site, tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": written(site)}), encoding="utf-8")
    done = subprocess.run(
        [promtool(), "check", "rules", "--lint=all", "--lint-fatal", str(path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.proof
@pytest.mark.monitoring
@pytest.mark.parametrize("case", CASES, ids=[case.alert for case in CASES])
def test_an_alert_fires_when_it_should(case: Case, tmp_path: Path) -> None:
    assert verdict(write(case, tmp_path)) == ""


@pytest.mark.parametrize("case", CASES, ids=[case.alert for case in CASES])
def test_worlds_know_which_series_are_counters(case: Case) -> None:
    assert list(counters({k: v for k, v in case.good.items() if v is not None})) == []


def test_every_alert_has_a_case() -> None:
    assert every_alert() == {case.alert for case in CASES} | {BY_TIME}


@pytest.mark.monitoring
def test_the_end_of_the_off_peak_days_is_told_two_weeks_before(tmp_path: Path) -> None:
    """tokyo-1's last night ends on 2027-04-01 at 08:00 in Tokyo, an hour before midnight in UTC."""
    (rule,) = (each for each in alerts(OPERATED["tokyo-1"]) if each["alert"] == BY_TIME)
    group = {"name": "queues", "rules": [rule]}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [group]}), encoding="utf-8")
    summary = "The off-peak days of the site end in 7 days"
    told = {
        "exp_labels": {"severity": "warning"},
        "exp_annotations": {**rule["annotations"], "summary": summary},
    }
    test = {
        "interval": "1d",
        # Prometheus' unit tests begin in 1970, and evaluate at each interval.
        "input_series": [],
        "alert_rule_test": [
            {"eval_time": _midnight(2027, 3, 17), "alertname": BY_TIME, "exp_alerts": []},
            {"eval_time": _midnight(2027, 3, 25), "alertname": BY_TIME, "exp_alerts": [told]},
        ],
    }
    tests = {"rule_files": ["rules.yaml"], "evaluation_interval": "1d", "tests": [test]}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    assert verdict(tmp_path / "tests.yaml") == ""


def _midnight(year: int, month: int, day: int) -> str:
    return f"{int(datetime(year, month, day, tzinfo=UTC).timestamp()) // 86400}d"


def gone(site: Site) -> list[tuple[str, dict[str, str]]]:
    """The alerts that have to fire when there is no series at all: something for every exporter."""
    vital = {Exporter.KUBE_STATE_METRICS, Exporter.API_SERVER}
    found = [("WatchLost", {"exporter": each.value}) for each in vital]
    # Repairs are shown by kube-state-metrics, and nobody asks Prometheus about itself.
    others = exporters(site) - vital - {Exporter.CUSTOM_RESOURCES, Exporter.PROMETHEUS}
    ours = [f"scheduler-{each.name}" for each in site.scheduling.backends if each.scheduler]
    found += [("ExporterGone", {"exporter": name}) for name in ours]
    others -= {"scheduler"}
    return [*found, *(("ExporterGone", {"exporter": str(each)}) for each in others)]


@pytest.mark.proof
@pytest.mark.monitoring
@pytest.mark.parametrize("site", OPERATED.values(), ids=OPERATED)
def test_nothing_at_all_is_told(site: Site, tmp_path: Path) -> None:
    rules = groups(site)
    for rule in (each for group in rules for each in group["rules"] if "alert" in each):
        rule["annotations"] = {}
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules}), encoding="utf-8")
    critical = {"WatchLost"}
    expected: dict[str, list[Json]] = {}
    for name, labels in gone(site):
        severity = Severity.CRITICAL if name in critical else Severity.WARNING
        alert = {"exp_labels": {**labels, "severity": severity.value}}
        expected.setdefault(name, []).append(alert)
    test = {
        "interval": "1m",
        "input_series": [],
        "alert_rule_test": [
            {"eval_time": "40m", "alertname": name, "exp_alerts": found}
            for name, found in expected.items()
        ],
    }
    tests = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    assert verdict(tmp_path / "tests.yaml") == ""


@pytest.mark.proof
@pytest.mark.monitoring
@pytest.mark.parametrize("site", OPERATED.values(), ids=OPERATED)
def test_a_site_without_nodes_yet_calls_nobody(site: Site, tmp_path: Path) -> None:
    """kube-state-metrics and the API server are up; what else is missing is a warning at most."""
    rules = groups(site)
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules}), encoding="utf-8")
    called = 'ALERTS{alertstate="firing", severity="critical"}'
    test = {
        "interval": "1m",
        "input_series": [
            {"series": s("up", job=job(site, each), instance="a"), "values": "1x200"}
            for each in (Exporter.KUBE_STATE_METRICS, Exporter.API_SERVER)
        ],
        "promql_expr_test": [
            {"expr": f"count_over_time({called}[200m])", "eval_time": "200m", "exp_samples": []},
            # The pools are looked at: silence would else prove nothing.
            {
                "expr": "max(foresite:pool_ready:count)",
                "eval_time": "200m",
                "exp_samples": [{"labels": "{}", "value": 0}],
            },
        ],
    }
    tests = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    assert verdict(tmp_path / "tests.yaml") == ""


def test_every_alert_has_a_page_of_three_steps_and_no_page_is_left_over() -> None:
    folder = ROOT / RUNBOOKS
    assert {path.stem for path in folder.glob("*.md")} == every_alert() | {"README"}
    for name in every_alert():
        text = (folder / f"{name}.md").read_text("utf-8")
        assert text.startswith(f"# {name}\n")
        assert re.findall(r"^[0-9]\. ", text, re.MULTILINE) == ["1. ", "2. ", "3. "]
        assert text.count("```console") == 3, f"{name}: each step has its command"
        assert "What ends it." in text


def test_no_alert_is_written_that_is_never_made() -> None:
    written = [
        tomllib.loads(path.read_text("utf-8")) for path in (ROOT / "components").rglob("*.toml")
    ]
    assert {name for said in written for name in said if "expr" in said[name]} == every_alert()


@pytest.mark.parametrize("site", OPERATED.values(), ids=OPERATED)
def test_an_alert_says_what_to_do_and_names_no_values_in_its_description(site: Site) -> None:
    for rule in alerts(site):
        said = rule["annotations"]
        assert said["runbook_url"] == f"{RUNBOOKS}/{rule['alert']}.md"
        assert "{{" not in said["description"], rule["alert"]
        assert rule["labels"]["severity"] in set(Severity)
        # A label that the rule itself sets is empty in its own templates.
        for name in rule["labels"]:
            assert f"$labels.{name}" not in said["summary"], rule["alert"]


def test_a_person_is_called_at_night_for_little() -> None:
    """Only for faults that stop all jobs, or blind the rest, or mean that nobody repairs."""
    found = {
        rule["alert"]
        for site in SITES.values()
        for rule in alerts(site)
        if rule["labels"]["severity"] == Severity.CRITICAL
    }
    assert found == {
        "AcceleratorsGone",
        "CacheDown",
        "FaultStorm",
        "PoolDown",
        "SchedulerDown",
        "SchedulerPlacesNothing",
        "WatchLost",
    }


CAPACITY = {
    # Five nodes of eight; one is faulty, and another offers six alone.
    'foresite:accelerators_allocatable:sum{model="v100-sxm2-32gb"}': 38,
    'foresite:accelerators_usable:sum{model="v100-sxm2-32gb"}': 30,
    # Placed and not ended: 16 and 4. Not the one that ended, nor the one that waits.
    'foresite:accelerators_used:team{team="vision",model="v100-sxm2-32gb"}': 16,
    'foresite:accelerators_used:team{team="biology",model="v100-sxm2-32gb"}': 4,
    'foresite:accelerators_used:team{team="language",model="a100-sxm4-80gb"}': 0,
    'foresite:accelerators_promised:team{team="vision",model="v100-sxm2-32gb"}': 480,
    'foresite:accelerators_waiting:pod{namespace="vision",pod="later",model="v100-sxm2-32gb"}': 8,
}


@pytest.mark.monitoring
def test_capacity_is_told_by_model_and_team(tmp_path: Path) -> None:
    node, poor, faulty = NODES[:3]
    world = {
        **TOKYO,
        k("kube_node_status_allocatable", node=poor, resource="nvidia_com_gpu"): 6,
        taint(faulty, FAULTY_TAINT, "accelerator-missing"): 1,
        **pod("train", "vision", node, accelerators=16),
        **pod("ended", "vision", node, "Succeeded", accelerators=8),
        **pod("later", "vision", "", "Pending", accelerators=8),
        k("kube_pod_status_unschedulable", namespace="vision", pod="later", uid="u"): 1,
        **pod("fold", "biology", poor, accelerators=4),
    }
    rules = groups(OPERATED["tokyo-1"])
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules}), encoding="utf-8")
    asked = [
        {"expr": series, "eval_time": "3m", "exp_samples": [{"labels": series, "value": value}]}
        for series, value in CAPACITY.items()
    ]
    test = {
        "interval": "1m",
        "input_series": [{"series": each, "values": f"{value}x5"} for each, value in world.items()],
        "promql_expr_test": asked,
    }
    tests = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "group_eval_order": [group["name"] for group in rules],
        "tests": [test],
    }
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    assert verdict(tmp_path / "tests.yaml") == ""
