"""The helper for DaemonSets: what it makes breaks no policy, and each privilege is asked for."""

from typing import Any

import pytest

from components.making.daemons import Daemon, container, on_pool, probes
from components.making.manifest import Json
from policies.judge import findings
from policies.rule import Object, Severity
from policies.rules import RULES
from tests.kit.repository import all_sites

SITE = all_sites()["tokyo-1"]
IMAGE = f"registry.example/plain:1@sha256:{'0' * 64}"


def program(**more: Any) -> Json:
    ports = [{"name": "metrics", "containerPort": 9000}]
    asked = probes("/metrics", "metrics")
    return container("plain", IMAGE, ("10m", "32Mi"), ports=ports, **asked, **more)


def daemon(**more: Any) -> Daemon:
    pod = {"priorityClassName": "services"}
    return Daemon("plain", "plain", "plain", **{"containers": [program()], "pod": pod, **more})


def broken(each: Daemon) -> set[str]:
    """The names of the mandatory rules that the DaemonSets of all pools break."""
    made = [Object("site", on_pool(SITE, pool, each).body) for pool in SITE.file.pools]
    rules = [each for each in RULES if each.severity is Severity.MANDATORY]
    return {each.rule.name for each in findings(made, rules)}


def test_what_names_no_privilege_breaks_no_rule() -> None:
    assert broken(daemon()) == set()


def test_it_runs_on_every_node_of_a_pool_with_taints() -> None:
    for pool in SITE.file.pools:
        spec = on_pool(SITE, pool, daemon()).body["spec"]["template"]["spec"]
        tolerated = {(each["key"], each["effect"]) for each in spec["tolerations"]}
        taints = {(each.key, each.effect.value) for each in pool.taints or []}
        assert tolerated >= {each for each in taints if each[1] != "PreferNoSchedule"}


@pytest.mark.parametrize(
    ("privilege", "rules"),
    [
        ({"vital": True, "pod": {}}, {"system-priority", "tolerates-everything"}),
        (
            {"containers": [program(capabilities=["NET_ADMIN"])]},
            {"capabilities-added", "run-as-non-root", "run-as-user"},
        ),
    ],
    ids=["vital", "capabilities"],
)
def test_each_privilege_needs_an_exception(privilege: Json, rules: set[str]) -> None:
    assert broken(daemon(**privilege)) == rules
