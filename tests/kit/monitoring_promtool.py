"""Alerts against promtool: what a world looks like by its metrics, minute by minute, and what may
fire in it.

A case is one alert, a world without it, and what is different once the fault begins. Each case is
run several times: without the fault, with it, and both again while exporters restart, each alone
and all together: their series are gone for two minutes, and counters begin anew.
"""

import functools
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from components.making.manifest import Json
from schemas.facts.site import Site
from schemas.model.remediation import Remediation
from schemas.model.vocabulary import ModelBy
from tests.kit.monitoring_metrics import METRICS, Type
from tests.kit.monitoring_sites import OPERATED, groups


def _tokyo(remediation: Remediation | None, **accelerators: object) -> Site:
    """tokyo-1 with other repairs, and another way to hand accelerators out."""
    site = OPERATED["tokyo-1"]
    settings = site.file.accelerators
    assert settings is not None
    changes: Json = {
        "remediation": remediation,
        "accelerators": settings.model_copy(update=accelerators),
    }
    return replace(site, file=site.file.model_copy(update=changes))


SITES_OF_CASES: dict[str, Site] = {
    **OPERATED,
    "tokyo-1 undetected": _tokyo(None),
    "tokyo-1 by card": _tokyo(Remediation(device_taints=True), model_by=ModelBy.DRA),
}
"""Sites by what cases call them; in the last, cards are taken out one by one."""
HOLE = 2
"""Minutes that a program takes to come back."""


class Ramp(NamedTuple):
    """A counter, by what it gains in a minute."""

    each: float


class Steps(NamedTuple):
    """A gauge that changes: minutes since the fault began, and the value from then on."""

    values: Sequence[tuple[int, float]]


Value = float | Ramp | Steps | None
"""A gauge, a counter, a gauge that changes, or nothing at all."""
World = Mapping[str, Value]
"""Series by their text: ``name{label="value"}``."""


class Case(NamedTuple):
    """One alert. Times are minutes: ``warm`` before the fault, ``late`` until its query sees it at
    the latest, ``back`` from the end of the fault until it is silent, ``brief`` is the shortest
    time that it takes to be seen."""

    alert: str
    site: str
    good: World
    bad: World
    labels: Mapping[str, str]
    summary: str
    severity: str = "warning"
    warm: int = 10
    late: int = 2
    back: int = 10
    ends: bool = True
    """True if the alert ends with the fault; else by time alone."""


class Run(NamedTuple):
    """One life of a world: whether the fault comes, and when which exporters are gone."""

    title: str
    fault: bool
    holes: Sequence[tuple[int, str | None]] = ()
    """Minutes, and the exporters' job; None: all."""


def promtool() -> str:
    """The program; its tests are skipped where there is none."""
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return found


def seconds(duration: str) -> int:
    """A Prometheus duration of one unit, in seconds."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    return int(duration[:-1]) * units[duration[-1]]


@functools.cache
def groups_of(site: str) -> list[Json]:
    """The groups of a site's rules, made once: they are asked for by each minute of a case."""
    return list(groups(SITES_OF_CASES[site]))


def rule_of(case: Case) -> Json:
    """The rule of a case: that with its labels where there are several of its name."""
    found: list[Json] = [
        rule
        for group in groups_of(case.site)
        for rule in group["rules"]
        if rule.get("alert") == case.alert
        and all(case.labels.get(k, v) == v for k, v in rule["labels"].items() if k != "severity")
    ]
    assert len(found) == 1, f"{case.alert} of {case.site}: {len(found)} rules"
    return found[0]


def jobs_of(world: World) -> list[str]:
    """The exporters' jobs in a world."""
    return sorted({_job(series) for series in world if 'job="' in series})


def _job(series: str) -> str:
    return series.partition('job="')[2].partition('"')[0]


def runs(case: Case) -> Iterator[Run]:
    """All lives of a case. With the fault, exporters go once before it and once while it lasts."""
    lasts = seconds(rule_of(case)["for"]) // 60
    during = case.warm + case.late + max(1, lasts // 2)
    holes = (case.warm - 5, during) if lasts >= 4 else (case.warm - 5,)
    jobs: list[str | None] = [None, *jobs_of({**case.good, **case.bad})]
    yield Run("well", fault=False)
    yield Run("ill", fault=True)
    for job in jobs:
        title = f"{job or 'all'} restarted"
        yield Run(f"well, {title}", False, [(minute, job) for minute in holes])
        yield Run(f"ill, {title}", True, [(minute, job) for minute in holes])


def unit_tests(case: Case, rules: str) -> Json:
    """The unit tests of a case as promtool reads them."""
    order = [group["name"] for group in needed(case)]
    return {
        "rule_files": [rules],
        "evaluation_interval": "1m",
        "group_eval_order": order,
        "tests": [_test(case, run) for run in runs(case)],
    }


def _test(case: Case, run: Run) -> Json:
    lasts = seconds(rule_of(case)["for"]) // 60
    seen = case.warm + case.late + lasts + 1
    end = seen + 2
    total = end + case.back + 1
    silent = list(range(0, total, 7))
    fires: list[int] = []
    if run.fault:
        silent = [case.warm - 1, *([case.warm + lasts - 1] if lasts else [])]
        silent += [total] if case.ends else []
        fires = [seen]
    names = {**case.good, **case.bad}
    return {
        "name": f"{case.alert}: {run.title}",
        "interval": "1m",
        "input_series": [
            {"series": name, "values": _values(case, run, name, (end, total + 1))} for name in names
        ],
        "alert_rule_test": [
            *(_expected(case, minute, fires=False) for minute in silent),
            *(_expected(case, minute, fires=True) for minute in fires),
        ],
    }


def _expected(case: Case, minute: int, *, fires: bool) -> Json:
    alert = {
        "exp_labels": {**case.labels, "severity": case.severity},
        "exp_annotations": {"summary": case.summary},
    }
    return {
        "eval_time": f"{minute}m",
        "alertname": case.alert,
        "exp_alerts": [alert] if fires else [],
    }


def _values(case: Case, run: Run, name: str, times: tuple[int, int]) -> str:
    """The values of a series, one a minute. ``times``: when the fault ends, and the world."""
    end, total = times
    gone = {
        minute + extra
        for minute, job in run.holes
        if job in {None, _job(name)}
        for extra in range(HOLE)
    }
    sum_, words, there = 0.0, [], False
    for minute in range(total):
        faulty = run.fault and case.warm <= minute < end and name in case.bad
        value = case.bad[name] if faulty else case.good.get(name)
        if minute in gone and not name.startswith("up{"):
            value, sum_ = None, 0.0
        if value is None:
            words.append("stale" if there else "_")
            there = False
            continue
        there = True
        if isinstance(value, Steps):
            value = [number for since, number in value.values if case.warm + since <= minute][-1]
        if isinstance(value, Ramp):
            sum_ += value.each
            words.append(f"{sum_:g}")
        else:
            words.append("0" if minute in gone else f"{value:g}")
    return " ".join(words)


def needed(case: Case) -> list[Json]:
    """The rule of a case with all that is recorded for it, in the groups and order of its site.

    Descriptions are left out, as they are the same whatever fires.
    """
    every = groups_of(case.site)
    recorded = [rule for group in every for rule in group["rules"] if "record" in rule]
    alert = dict(rule_of(case))
    texts = [alert["expr"], alert["annotations"]["summary"]]
    names: set[str] = set()
    while texts:
        text = texts.pop()
        found = [r for r in recorded if r["record"] in text and r["record"] not in names]
        names |= {rule["record"] for rule in found}
        texts += [
            rule["expr"] for rule in recorded if rule["record"] in {r["record"] for r in found}
        ]
    kept = {id(rule) for rule in recorded if rule["record"] in names}
    alert["annotations"] = {"summary": alert["annotations"]["summary"]}
    made = []
    for group in every:
        rules = [rule for rule in group["rules"] if id(rule) in kept]
        rules += [alert] if rule_of(case) in group["rules"] else []
        if rules:
            made.append({**group, "rules": rules})
    return made


def write(case: Case, folder: Path) -> Path:
    """The rules of a case and its tests, as files."""
    rules = {"groups": needed(case)}
    # JSON is YAML, and written ten times as fast.
    (folder / "rules.yaml").write_text(json.dumps(rules), encoding="utf-8")
    tests = folder / "tests.yaml"
    tests.write_text(json.dumps(unit_tests(case, "rules.yaml")), encoding="utf-8")
    return tests


def verdict(path: Path) -> str:
    """The complaint of promtool about a file of tests; empty where all is as expected."""
    done = subprocess.run(
        [promtool(), "test", "rules", str(path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def counters(world: World) -> Iterator[str]:
    """The faults in the way a world writes its counters."""
    for name, value in world.items():
        text = name.partition("{")[0]
        metric = METRICS.get(text) or METRICS.get(text.removesuffix("_bucket"))
        rises = metric is not None and metric.type in (Type.COUNTER, Type.HISTOGRAM)
        if isinstance(value, Ramp) != rises:
            yield name
