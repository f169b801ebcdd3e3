"""States that are damaged, and fields that a killed run has left on objects."""

import json
import os
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from components.making.manifest import FIELD_MANAGER, Json, Target
from foresite.command import FOUND
from foresite.delivery.recovery.remains import leftovers, restore_fields
from foresite.delivery.stack.stated import read_state
from foresite.delivery.stack.statefile import older, place
from tests.kit.recover_world import SITE, World, acted

# --- a damaged state ------------------------------------------------------------------------------


def test_a_damaged_state_is_told_with_the_way_back(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    stacks = recovery.folder / ".pulumi" / "stacks" / "foresite"
    history = recovery.folder / ".pulumi" / "history" / "foresite" / SITE
    for folder in (stacks, history):
        folder.mkdir(parents=True)
    whole = json.dumps({"version": 3, "checkpoint": {"latest": {"resources": [{}, {}]}}})
    (stacks / f"{SITE}.json").write_text("{")
    (stacks / f"{SITE}.json.bak").write_text("{")
    (history / f"{SITE}-1.checkpoint.json").write_text(whole)
    recovery._write()
    monkeypatch.setattr(recovery, "_write", lambda: None)
    (recovery.folder / "export.json").write_text("error: failed to load checkpoint: unexpected end")
    (recovery.folder / "export.code").write_text("255")
    assert recovery.recover(monkeypatch) == FOUND
    (left,) = recovered()["left"]
    assert f"cp {history}/{SITE}-1.checkpoint.json {stacks}/{SITE}.json" in left
    assert "2 resources" in left
    assert acted(recovery) == []


def test_the_newest_state_that_is_whole_comes_first(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: foresite\n")
    kept = place({"PULUMI_BACKEND_URL": f"file://{tmp_path}"}, tmp_path, SITE)
    assert kept is not None
    folder = kept.backups
    folder.mkdir(parents=True)
    for name, when, text in (
        ("old", 1999.9, '{"checkpoint": {"latest": null}}'),
        ("new", 2000, '{"checkpoint": {"latest": {"resources": [{}]}}}'),
        ("damaged", 3000, '{"checkpoint": '),
        ("other", 4000, "[]"),
    ):
        (folder / f"{name}.json").write_text(text)
        os.utime(folder / f"{name}.json", (when, when))
    found = older(kept)
    assert [(each.path.stem, each.resources) for each in found] == [("new", 1), ("old", 0)]


def test_another_project_of_the_same_backend_is_not_gone_back_to(tmp_path: Path) -> None:
    whole = '{"checkpoint": {"latest": {"resources": [{}]}}}'
    for folder, name in (
        ("stacks/another", f"{SITE}.json.bak"),
        (f"history/another/{SITE}", f"{SITE}-1.checkpoint.json"),
        (f"backups/another/{SITE}", f"{SITE}.1.json"),
    ):
        (tmp_path / ".pulumi" / folder).mkdir(parents=True)
        (tmp_path / ".pulumi" / folder / name).write_text(whole)
    (tmp_path / "Pulumi.yaml").write_text("name: foresite\n")
    environment = {"PULUMI_BACKEND_URL": f"file://{tmp_path}?no_tmp_dir=true"}
    assert older(place(environment, tmp_path, SITE)) == []
    (tmp_path / "Pulumi.yaml").write_text("name: another\n")
    assert len(older(place(environment, tmp_path, SITE))) == 3


def test_an_object_of_a_provider_that_nobody_knows_is_not_overlooked() -> None:
    urn = f"urn:pulumi:{SITE}::site::kubernetes:core/v1:ConfigMap::mine"
    kind = "pulumi:providers:kubernetes"
    config = {
        "urn": urn,
        "type": "kubernetes:core/v1:ConfigMap",
        "inputs": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}},
        "outputs": {"metadata": {"uid": "1"}},
        "provider": f"urn:pulumi:{SITE}::site::{kind}::default_4_25_0::id",
    }
    release = {"urn": urn.replace("mine", "chart"), "type": "kubernetes:helm.sh/v3:Release",
               "inputs": {"chart": "x"}}  # fmt: skip
    (found,) = read_state({"deployment": {"resources": [config, release]}}).held
    assert (str(found), found.target, found.uid) == ("ConfigMap mine", Target.MANAGEMENT, "1")


# --- fields that are left over --------------------------------------------------------------------

BODY: Json = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "x", "labels": {"a": "1"}, "finalizers": ["one"]},
    "spec": {"ports": [{"name": "web", "port": 80}], "selector": {"a": "1"}},
}
OWNED: Json = {
    "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {'v:"one"': {}}},
    "f:spec": {
        "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}},
        "f:selector": {"f:a": {}},
    },
}


def live_with(fields: Json, manager: str = FIELD_MANAGER) -> Json:
    body: Json = deepcopy(BODY)
    entry = {"manager": manager, "operation": "Apply", "fieldsV1": fields}
    body["metadata"]["managedFields"] = [entry]
    return body


def test_what_the_site_sets_is_not_left_over() -> None:
    assert not leftovers(live_with(OWNED), BODY)


@pytest.mark.parametrize(
    ("place", "more", "value", "path"),
    [
        (("f:metadata", "f:labels"), "f:b", {"b": "2"}, "metadata.labels.b"),
        (("f:spec",), "f:externalName", {"externalName": "y"}, "spec.externalName"),
        (("f:spec", "f:ports"), 'k:{"port":81,"protocol":"TCP"}', None, "spec.ports"),
        (("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}'), "f:nodePort", None, "spec.ports"),
        (("f:metadata", "f:finalizers"), 'v:"two"', None, "metadata.finalizers"),
    ],
)
def test_a_field_of_ours_that_the_site_does_not_have_is_left_over(
    place: tuple[str, ...], more: str, value: Json | None, path: str
) -> None:
    fields: Json = deepcopy(OWNED)
    into: Any = fields
    for each in place:
        into = into[each]
    into[more] = {}
    live = live_with(fields)
    at: Any = live
    for each in place:
        at = at[each.removeprefix("f:")] if each.startswith("f:") and isinstance(at, dict) else at
    if value:
        at |= value
    found = leftovers(live, BODY)
    assert [*map(".".join, found)] == [path]
    # With it in the state's inputs, the next up sees that it is to go.
    if value:
        assert not leftovers(live, restore_fields(BODY, found))
        assert restore_fields(BODY, found) != BODY


def test_fields_of_others_are_theirs() -> None:
    fields: Json = {"f:metadata": {"f:labels": {"f:b": {}}}}
    assert not leftovers(live_with(fields, manager="kubectl"), BODY)
