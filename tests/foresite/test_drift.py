"""Where the clusters are not as Git says: found by the real engine on a real API server."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.making.manifest import Json, Manifest
from controlplane import ControlPlane
from foresite.arguments import parser
from foresite.command import FAILED, FOUND, OK
from foresite.commands import apply, drift
from foresite.delivery.differences import differences
from foresite.delivery.stack.engine import EngineError
from foresite.delivery.stack.engines import engine_for
from foresite.delivery.stack.live import Key, expected_objects, key_of, read
from schemas.load import load_site
from tests.kit.trial_repository import small_sites, use_trial

KEY: Key = ("Machines", "Thing/one")
METADATA = {"namespace": "lab-1", "name": "one"}


def compared(wanted: Json, live: Json | None, *ignore: str) -> list[str]:
    """The text on an object whose fields are these."""
    head = {"apiVersion": "example.dev/v1", "kind": "Thing", "metadata": METADATA}
    manifest = Manifest("Thing/one", {**head, **wanted}, ignore=ignore)
    body = None if live is None else {**head, **live}
    return [f"{each.object}: {each}" for each in differences({KEY: manifest}, {KEY: body})]


# --- fields ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "live"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1, "added": 2}, "status": {}}),
        ({"spec": {"a": [{"b": 1}]}}, {"spec": {"a": [{"b": 1, "default": True}]}}),
    ],
)
def test_what_others_add_is_theirs(wanted: Json, live: Json) -> None:
    assert compared(wanted, live) == []


@pytest.mark.parametrize(
    ("wanted", "live", "said"),
    [
        ({"spec": {"a": {"b": 1}}}, {"spec": {"a": {"b": 2}}}, "spec.a.b: Git 1, cluster 2"),
        ({"spec": {"a": "absent"}}, {"spec": {}}, "spec.a: Git absent, cluster has none"),
        ({"spec": {"a": [1, 2]}}, {"spec": {"a": [1]}}, "spec.a: Git [1, 2], cluster [1]"),
        ({"spec": {"a": [{"b": 1}]}}, {"spec": {"a": [{"b": 2}]}}, "spec.a.0.b: Git 1, cluster 2"),
        ({"spec": {"a": None}}, {"spec": {"a": False}}, "spec.a: Git null, cluster false"),
        ({"spec": {"a": {}}}, {"spec": {"a": "\x1b[2J"}}, "spec.a: Git {}, cluster \\u001b[2J"),
    ],
)
def test_a_field_that_differs_is_named_with_both_values(
    wanted: Json, live: Json, said: str
) -> None:
    assert compared(wanted, live) == [f"Thing lab-1/one: {said}"]


def test_a_field_that_a_controller_owns_is_left_to_it() -> None:
    wanted, live = {"spec": {"on": True, "only": 1}}, {"spec": {"on": False, "only": 2}}
    assert len(compared(wanted, live, "spec.on")) == 1
    assert compared(wanted, live, "spec") == []


def test_who_wrote_a_field_is_named() -> None:
    def entry(manager: str, *fields: str) -> Json:
        owned: Json = {"f:spec": {f"f:{each}": {} for each in fields}}
        return {"manager": manager, "time": "then", "fieldsV1": owned}

    entries = [entry("foresite", "a", "b"), entry("someone", "a"), entry("other", "b")]
    live = {"metadata": {**METADATA, "managedFields": entries}, "spec": {"a": 2, "b": 1}}
    (said,) = compared({"spec": {"a": 1, "b": 1}}, live)
    assert said.endswith("spec.a: Git 1, cluster 2 (by someone, then)")


def test_an_object_that_is_gone_or_too_many_is_named() -> None:
    assert compared({}, None) == ["Thing lab-1/one: Git has it, cluster lost it"]
    body = {"kind": "Thing", "metadata": {"name": "one"}}
    (extra,) = differences({}, {KEY: body})
    assert (extra.object, str(extra)) == ("Thing one", "Git dropped it, cluster has it")
    manifest = Manifest("Thing/one", body)
    (new,) = differences({KEY: manifest}, {})
    assert str(new) == "Git has it, cluster never got it"


@pytest.mark.parametrize(
    ("types", "name", "key"),
    [
        ("foresite:components:PodNetwork$kubernetes:core/v1:ConfigMap", "ConfigMap/a",
         ("PodNetwork", "ConfigMap/a")),
        ("foresite:components:Machines$kubernetes:x/v1:Role", "Role/a::b",
         ("Machines", "Role/a::b")),
        ("foresite:components:Machines", "machines", None),
        ("pulumi:providers:kubernetes", "management", None),
    ],
)  # fmt: skip
def test_an_object_is_known_by_its_component_and_name(
    types: str, name: str, key: Key | None
) -> None:
    assert key_of(f"urn:pulumi:lab-1::foresite::{types}::{name}") == key


# --- the real engine ------------------------------------------------------------------------------


def look(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    options = argparse.Namespace(root=root, sites=[], trial=True, format="json", plan=False)
    code = drift.run(options)
    (site,) = json.loads(capsys.readouterr().out)["sites"]
    return code, site


@pytest.mark.proof
@pytest.mark.pulumi
def test_what_is_changed_by_hand_is_found_and_named(
    api: ControlPlane,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    use_trial(monkeypatch, api)
    repository = small_sites(tmp_path, {"ebina-1": 0})
    code, report = look(tmp_path, capsys)
    assert (code, report["objects"]) == (FOUND, 0)
    assert report["differences"][0]["cluster"] == "never got it"

    words = ["--root", str(tmp_path), "apply", "--trial", "--format", "json"]
    assert apply.run(parser().parse_args(words)) == OK
    capsys.readouterr()
    code, report = look(tmp_path, capsys)
    assert (code, report["differences"], report["note"]) == (OK, [], "")
    site = load_site(tmp_path, "ebina-1").site
    assert site is not None and report["objects"] == len(expected_objects(site))

    with api.client() as client:
        change = "application/merge-patch+json"
        base = "/apis/metal3.io/v1alpha1/namespaces/ebina-1/baremetalhosts/ebina-1-lab-002"
        # An address is Git's; whether a host is on, and labels of others, are not.
        hand = {
            "metadata": {"labels": {"added": "by-hand"}},
            "spec": {"online": False, "bootMACAddress": "52:54:00:a0:00:ff"},
        }
        client.request("PATCH", f"{base}?fieldManager=by-hand", hand, change)
        client.delete("cluster.x-k8s.io/v1beta2", "MachineHealthCheck", "lab", "ebina-1")
    code, report = look(tmp_path, capsys)
    assert code == FOUND
    found = {(each["object"], each["field"]): each for each in report["differences"]}
    host = ("BareMetalHost ebina-1/ebina-1-lab-002", "spec.bootMACAddress")
    assert found.keys() == {host, ("MachineHealthCheck ebina-1/lab", "")}
    assert found[host]["git"] == "52:54:00:a0:00:02"
    assert found[host]["cluster"] == "52:54:00:a0:00:ff"
    assert found[host]["by"].startswith("by-hand, ")

    repository.hosts("ebina-1", lambda rows: rows[0].update(rack="lab-02"))
    after = repository.commit("a rack")
    _, report = look(tmp_path, capsys)
    assert "its data changed" in report["note"]
    assert any("rack" in each["field"] for each in report["differences"]), after

    # A cluster that does not answer has not lost its objects.
    site = load_site(tmp_path, "ebina-1").site
    assert site is not None
    engine = engine_for(tmp_path, site, trial=True)
    dead = tmp_path / "kubeconfig"
    text = Path(engine.environment["KUBECONFIG"]).read_text()
    dead.write_text(text.replace("https://127.0.0.1:", "https://127.0.0.1:1"))
    env = {**engine.environment, "KUBECONFIG": str(dead)}
    with pytest.raises(EngineError, match="unreachable"):
        read(replace(engine, environment={**env, "PULUMI_K8S_DELETE_UNREACHABLE": "true"}))
    deaf = replace(engine, environment=env)
    monkeypatch.setattr("foresite.commands.drift.engine_for", lambda *_, **__: deaf)
    code, report = look(tmp_path, capsys)
    assert code == FAILED
    assert "does not answer" in report["failed"]
    assert report["differences"] == []
