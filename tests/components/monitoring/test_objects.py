"""The objects of a site's monitoring, against schemas and a real API server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import yaml

from components.making.manifest import Json, Target, documents
from components.remediation.checks import PROGRAMS, checks, files, monitor
from controlplane import ApiError, Client, ControlPlane
from controlplane.trial import serve
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_objects, load_crds
from tests.golden import every_site
from tests.kit.monitoring_sites import NAMES, OPERATED, PLAIN, SITES, objects, watched, written
from tests.kit.repository import ROOT

LARGEST = 256 * 1024
"""Bytes of one object: etcd takes 1.5 MiB, an annotation of kubectl's apply a quarter."""


@pytest.mark.parametrize("name", SITES)
def test_every_object_fits_its_schema(name: str) -> None:
    made = [each.body for each in objects(SITES[name])]
    assert made
    assert check_objects(made) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_site_that_nobody_watches_has_none(name: str) -> None:
    site = every_site()[name]
    assert objects(replace(site, file=site.file.model_copy(update={"monitoring": None}))) == []


@pytest.mark.parametrize("name", SITES)
def test_all_is_in_the_sites_own_namespace_of_its_own_cluster(name: str) -> None:
    made = objects(SITES[name])
    assert {each.target for each in made} == {Target.SITE}
    assert {each.key[2] for each in made} == {"watch"}
    assert len({each.name for each in made}) == len({each.key for each in made}) == len(made)


@pytest.mark.parametrize("name", NAMES)
def test_the_operators_objects_bear_the_labels_by_which_it_chooses(name: str) -> None:
    made = [each for each in objects(OPERATED[name]) if each.kind != "ConfigMap"]
    assert {each.kind for each in made} >= {"PrometheusRule", "AlertmanagerConfig"}
    for each in made:
        assert each.body["metadata"]["labels"].items() >= {("prometheus", "site")}
    assert {each.kind for each in objects(PLAIN[name])} == {"ConfigMap"}


@pytest.mark.parametrize("name", SITES)
def test_no_object_is_large(name: str) -> None:
    sizes = {each.title: len(json.dumps(each.body)) for each in objects(SITES[name])}
    assert {title: size for title, size in sizes.items() if size > LARGEST} == {}


@pytest.mark.parametrize("label", ["grafana_dashboard", None])
def test_dashboards_are_found_by_the_label_that_the_site_names(label: str | None) -> None:
    made = objects(watched("tokyo-1", dashboards_label=label))
    boards = [each for each in made if each.name.endswith("-dashboard")]
    assert bool(boards) == (label is not None)
    assert all(each.body["metadata"]["labels"][label] == "1" for each in boards)


# --- no secret ---


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


REFERENCES = {"urlSecret", "apiURL", "routingKey", "url_file", "api_url_file", "routing_key_file"}
VALUES = {"url", "api_url", "routing_key", "service_key", "password", "token", "bearer_token"}


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for each in value.values() for key in keys(each))}
    if isinstance(value, list):
        return {key for each in value for key in keys(each)}
    return set()


@pytest.mark.parametrize("name", SITES)
def test_secrets_are_only_named(name: str) -> None:
    for each in objects(SITES[name]):
        assert each.kind != "Secret"
        if "alertmanager" in each.name:
            data = each.body.get("data")
            told = yaml.safe_load(data["alertmanager.yml"]) if data else each.body["spec"]
            assert not keys(told["receivers"]) & VALUES
            assert len(keys(told["receivers"]) & REFERENCES) == 3


# --- made the same everywhere ---

SHOWN = (
    "import json; from tests.kit.monitoring_sites import SITES, objects;"
    "print(json.dumps([[m.body for m in objects(site)] for site in SITES.values()]))"
)


def test_the_same_is_made_whatever_the_order_of_sets() -> None:
    made = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = [sys.executable, "-c", SHOWN]
        made.add(
            subprocess.run(run, cwd=ROOT, env=environment, check=True, capture_output=True).stdout
        )
    assert len(made) == 1


# --- repairs that kube-state-metrics shows ---


def field(schema: Json, path: list[str]) -> Json:
    """The schema of a field; KeyError where there is none. Metadata is every object's."""
    if path[0] == "metadata":
        assert path[1] in ("name", "creationTimestamp")
        return {"type": "string"}
    for name in path:
        schema = schema["properties"][name]
    return schema


def schema_of(kind: str) -> Json:
    for crd in load_crds():
        if crd["spec"]["names"]["kind"] == kind:
            found: Json = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            return found
    raise LookupError(kind)


def test_custom_resources_are_shown_by_fields_that_they_have() -> None:
    for resource in documents(ROOT / "components/remediation/watch"):
        kind = resource["groupVersionKind"]["kind"]
        if kind == "NodeOperation":
            continue  # its schema has 663 KB, so it is not among those of the repository
        schema = schema_of(kind)
        for path in resource["labelsFromPath"].values():
            assert field(schema, path)["type"] == "string"
        for metric in resource["metrics"]:
            each = metric["each"]
            (told,) = (each[key] for key in ("gauge", "stateSet") if key in each)
            wanted = "integer" if told.get("nilIsZero") else "string"
            assert field(schema, told["path"])["type"] == wanted


@pytest.mark.parametrize(
    ("name", "shown"), [("tokyo-1", True), ("lab-1", False), ("edge-1", False)]
)
def test_repairs_are_shown_where_the_controller_runs(name: str, shown: bool) -> None:
    found = {each.name for each in objects(OPERATED[name])}
    assert ("ConfigMap/foresite-custom-resources" in found) == shown


# --- a real API server ---


@pytest.fixture(scope="module")
def client(api: ControlPlane) -> Iterator[Client]:
    """A client of a server with the namespace, and with the kinds that are large."""
    serve(api, [each.body for each in objects(OPERATED["tokyo-1"])])
    with api.client() as found:
        found.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "watch"}})
        yield found


@pytest.mark.controlplane
@pytest.mark.parametrize("name", SITES)
def test_every_object_passes_a_strict_dry_run(client: Client, name: str) -> None:
    for each in objects(SITES[name]):
        client.apply(each.body, dry_run=True)


@pytest.mark.controlplane
def test_a_strict_dry_run_finds_a_misspelt_field(client: Client) -> None:
    body = made_for(OPERATED["tokyo-1"], "PodMonitor/foresite-envoy")
    wrong = {**body, "spec": {**body["spec"], "podMetricsEndpoint": []}}
    with pytest.raises(ApiError, match="podMetricsEndpoint"):
        client.apply(wrong, dry_run=True)


@pytest.mark.controlplane
def test_applied_twice_nothing_changes(client: Client) -> None:
    """The server stores the applied objects unchanged, so a second run finds no drift."""
    for each in objects(OPERATED["tokyo-1"]):
        first = client.apply(each.body)
        second = client.apply(each.body)
        assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
        client.delete(each.key[0], each.kind, each.key[3], each.key[2])


def made_for(site: Site, name: str) -> Json:
    (found,) = (each.body for each in objects(site) if each.name == name)
    return found


def test_each_alert_says_of_which_site_it_is() -> None:
    groups = written(OPERATED["tokyo-1"])
    alerts = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    assert alerts and all(rule["labels"]["site"] == "tokyo-1" for rule in alerts)
    # Other recorded series are joined with each other, and none of those with the fleet's.
    labelled = {
        group["name"]
        for group in groups
        for rule in group["rules"]
        if "record" in rule and "site" in rule.get("labels", {})
    }
    assert labelled == {"fleet"}


def test_both_ways_have_the_same_rules() -> None:
    assert written(PLAIN["tokyo-1"]) == written(OPERATED["tokyo-1"]) != []


@pytest.mark.parametrize("end", ["", "/"])
@pytest.mark.parametrize("operator", [True, False])
def test_alerts_link_to_the_sites_runbooks_and_to_its_grafana(end: str, operator: bool) -> None:
    site = watched(
        "tokyo-1",
        runbooks_url=f"https://git.example/foresite/docs/runbooks{end}",
        grafana_url=f"https://grafana.example{end}",
        prometheus_operator=operator,
    )
    found = [rule for group in written(site) for rule in group["rules"] if "alert" in rule]
    assert found
    for rule in found:
        told = rule["annotations"]
        page = f"https://git.example/foresite/docs/runbooks/{rule['alert']}.md"
        assert told["runbook_url"] == page
        place = f"{told['__dashboardUid__']}?viewPanel={told['__panelId__']}"
        assert told["dashboard"] == f"https://grafana.example/d/{place}"


def test_without_dashboards_no_alert_leads_to_one() -> None:
    found = written(watched("tokyo-1", dashboards_label=None))
    told = {name for g in found for rule in g["rules"] for name in rule.get("annotations", {})}
    assert told == {"summary", "description", "runbook_url"}


@pytest.mark.parametrize("name", NAMES)
def test_a_check_can_be_run_by_hand_as_its_runbook_says(name: str) -> None:
    """docs/runbooks/DetectorSilent.md leaves out what precedes the check in its arguments: with it
    a run by hand would count as a reading."""
    site = OPERATED[name]
    page = (ROOT / "docs/runbooks/DetectorSilent.md").read_text("utf-8")
    (first,) = re.findall(r"\.rules\[0\]\.args\[(\d+):\]", page)
    pools = [pool for pool in site.file.pools if checks(site, pool)]
    assert pools
    for pool in pools:
        texts = files(site, pool)
        for check in checks(site, pool):
            (rule,) = json.loads(texts[monitor(check)])["rules"]
            run = rule["args"][int(first) :]
            assert run == [f"{PROGRAMS}/{check.script}", *check.arguments]
