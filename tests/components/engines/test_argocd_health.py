"""The rules of health for Argo CD: no verdict of an older revision, of a controller that has not
looked yet, or of Machines of an older template. The cases are in argocd_health.yaml."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.engines import argocd
from components.making.manifest import Json
from tests.kit.argocd_lua import ago, health

RULES = argocd.SCRIPTS
TABLES = yaml.safe_load(Path(__file__).with_name("argocd_health.yaml").read_text())
CASES = [
    (rule, status, name)
    for rule, table in TABLES.items()
    for status, cases in table.items()
    if status != "well"
    for name in cases
]


def edited(body: Any, changed: Any) -> Any:
    """A body with other values; None takes one away."""
    if not (isinstance(body, dict) and isinstance(changed, dict)):
        return copy.deepcopy(changed)
    found = {**body, **{key: edited(body.get(key), each) for key, each in changed.items()}}
    return {key: each for key, each in found.items() if each is not None}


def timed(value: Any) -> Any:
    """A value in which "-60" is the time of 60 minutes ago."""
    if isinstance(value, dict):
        return {key: timed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [timed(each) for each in value]
    is_time = isinstance(value, str) and value[:1] == "-" and value[1:].isdigit()
    return ago(int(value[1:])) if is_time else value


def test_each_rule_has_cases() -> None:
    assert TABLES.keys() == RULES.keys()


@pytest.mark.parametrize(("rule", "status", "name"), CASES)
def test_a_rule_passes_only_what_is_well_at_its_own_revision(
    rule: str, status: str, name: str
) -> None:
    body = edited(TABLES[rule]["well"], TABLES[rule][status][name])
    found, message = health(RULES[rule], timed(body))
    assert found == status
    assert message or status == "Healthy"


def without(body: Json) -> Iterator[Json]:
    """The body without each of its fields in turn."""
    for key, each in body.items():
        yield {name: one for name, one in body.items() if name != key}
        if isinstance(each, dict):
            yield from ({**body, key: inner} for inner in without(each))


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_fails_where_a_field_is_absent(rule: str) -> None:
    """A rule that fails counts as healthy in Argo CD (v3.2.12, controller/health.go)."""
    well = timed(TABLES[rule]["well"])
    for body in ({"metadata": {}}, *(each for each in without(well) if "metadata" in each)):
        assert health(RULES[rule], body)[0] in ("Healthy", "Progressing")
