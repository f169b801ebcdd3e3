"""Planned work fires nothing: machines are replaced, daemons and exporters restarted, for hours.

The world is tsukuba-1 with all its machines. Two machines of each pool of workers are replaced at a
time, as its rollouts say; detectors restart a tenth of a pool at a time, and every other program
once.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from schemas.facts.site import Site
from tests.kit.monitoring_promtool import verdict
from tests.kit.monitoring_sites import OPERATED, groups
from tests.kit.monitoring_worlds import KSM, k, s

MINUTES = 200
WAVE = 60
"""Minutes from one pair of machines to the next."""
CONDITIONS = (
    "AcceleratorMissing", "BoardTooHot", "DiskFull", "KernelDeadlock", "ReadonlyFilesystem",
)  # fmt: skip
"""What tsukuba-1's detectors report; BoardTooHot is a check of its own."""
RESTARTED = (100, 101)
"""When kube-state-metrics is gone."""
At = Callable[[int], float | None]
"""A series by its minutes; None where it is not there."""


class Machine:
    """A machine and what becomes of it: it is cordoned for ``begins`` + 10 minutes, gone for 35,
    and back as a new node that needs some minutes."""

    def __init__(self, name: str, begins: int | None) -> None:
        self.name = name
        self.begins = begins

    def age(self, minute: int) -> int | None:
        """Minutes since the work on it began; None where it has not."""
        return None if self.begins is None or minute < self.begins else minute - self.begins

    def there(self, minute: int, after: int = 0) -> bool:
        """True if its Node is there, for ``after`` minutes at least if it is the new one."""
        age = self.age(minute)
        return age is None or age < 10 or age >= 45 + after

    def known(self, value: float, after: int = 0) -> At:
        """A series that is there with its Node, and while kube-state-metrics answers."""
        return lambda t: value if self.there(t, after) and t not in RESTARTED else None

    def series(self, address: str, resource: str | None) -> Iterator[tuple[str, At]]:
        """The series that exporters report of it."""
        own = {"node": self.name}
        yield k("kube_node_info", **own, internal_ip=address), self.known(1)
        yield k("kube_node_spec_unschedulable", **own), self._cordoned
        yield k("kube_node_created", **own), self._created
        ready = k("kube_node_status_condition", **own, condition="Ready", status="true")
        yield ready, self._ready
        for name in CONDITIONS:
            for status in ("true", "false", "unknown"):
                series = k("kube_node_status_condition", **own, condition=name, status=status)
                yield series, self.known(float(status == "false"), after=8)
        if resource:
            offered = k("kube_node_status_allocatable", **own, resource=resource)
            yield offered, self.known(8, after=6)
        exporter = {"job": "node-exporter", "instance": f"{address}:9100"}
        yield s("node_time_seconds", **exporter), self._boots(lambda t: t * 60 + 1e6)
        yield s("node_boot_time_seconds", **exporter), self._boots(self._booted)
        detector = {"job": "node-problem-detector", "instance": address, **own}
        yield s("up", **detector), self._detector

    def _cordoned(self, minute: int) -> float | None:
        age = self.age(minute)
        return self.known(float(age is not None and age < 10))(minute)

    def _created(self, minute: int) -> float | None:
        age = self.age(minute)
        new = age is not None and age >= 45
        return self.known((self.begins or 0) * 60 + 45 * 60 if new else -1e7)(minute)

    def _ready(self, minute: int) -> float | None:
        age = self.age(minute)
        return self.known(float(age is None or age < 10 or age >= 48))(minute)

    def _booted(self, minute: int) -> float:
        age = self.age(minute)
        return 0 if age is None or age < 45 else 1e6 + (minute - age + 44) * 60

    def _boots(self, value: Callable[[int], float]) -> At:
        return lambda t: value(t) if self.there(t, after=1) else None

    def _detector(self, minute: int) -> float | None:
        # A tenth of all nodes at a time, each for two minutes.
        down = minute // 2 % 10 == sum(self.name.encode()) % 10 and minute < 20
        return None if not self.there(minute) else float(not down and self.there(minute, 2))


def machines(site: Site) -> Iterator[tuple[Machine, str | None]]:
    """The machines of a site with what they offer; control planes stay as they are."""
    for pool in site.file.pools:
        hosts = site.hosts_of(pool)[: site.replicas(pool)]
        work = pool is not site.control_plane
        for index, host in enumerate(hosts):
            begins = 5 + index // 2 * WAVE if work else None
            resource = "accelerators_example_com_mncore2" if site.model(pool) else None
            yield Machine(host.name, begins), resource


def world(site: Site) -> Iterator[tuple[str, At]]:
    """All series of the rollout."""
    for number, (machine, resource) in enumerate(machines(site)):
        yield from machine.series(f"10.17.9.{number}", resource)
    yield s("up", job=KSM, instance="a"), lambda t: float(t not in RESTARTED)
    jobs = ("apiserver", "kubelet", "node-exporter", "node-operation-controller", "turns")
    for job in jobs:
        yield s("up", job=job, instance="a"), lambda t: float(not 50 <= t < 53)
    for name in ("turns", "node-operation-controller"):
        own = {"namespace": "node-remediation", "deployment": name}
        series = k("kube_deployment_status_replicas_available", **own)
        yield series, lambda t: None if t in RESTARTED else float(not 70 <= t < 74)
    for series in (
        s("kueue_build_info", job="kueue"),
        s("kueue_cluster_queue_status", job="kueue", cluster_queue="chemistry", status="active"),
    ):
        yield series, lambda t: None if 80 <= t < 83 else 1


def written(at: At) -> str:
    """A series as promtool reads it."""
    words, there = [], False
    for minute in range(MINUTES + 1):
        value = at(minute)
        words.append(("stale" if there else "_") if value is None else f"{value:.10g}")
        there = value is not None
    return " ".join(words)


@pytest.mark.monitoring
@pytest.mark.proof
def test_a_rollout_and_restarts_fire_nothing(tmp_path: Path) -> None:
    site = OPERATED["tsukuba-1"]
    rules = groups(site)
    names = sorted({rule["alert"] for each in rules for rule in each["rules"] if "alert" in rule})
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": rules}), encoding="utf-8")
    silent = [
        {"eval_time": f"{minute}m", "alertname": name, "exp_alerts": []}
        for name in names
        for minute in range(10, MINUTES, 10)
    ]
    # The rules see the machines: silence would else prove nothing.
    seen = {
        "expr": "count(foresite:node_pool:info)",
        "eval_time": "3m",
        "exp_samples": [{"labels": "{}", "value": len(list(machines(site)))}],
    }
    # Whatever fired between the minutes that are looked at.
    ever = {
        "expr": f'count_over_time(ALERTS{{alertstate="firing"}}[{MINUTES}m])',
        "eval_time": f"{MINUTES}m",
        "exp_samples": [],
    }
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": written(at)} for name, at in world(site)],
        "alert_rule_test": silent,
        "promql_expr_test": [seen, ever],
    }
    tests = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "group_eval_order": [each["name"] for each in rules],
        "tests": [test],
    }
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    assert verdict(tmp_path / "tests.yaml") == ""
