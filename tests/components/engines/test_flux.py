"""Flux's objects: every site waits for the ring before it, every barrier for its ring, and nothing
deletes."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from types import SimpleNamespace
from typing import Any

import pytest

from components.engines import flux
from components.engines.fleet import Fleet
from components.making.manifest import Json
from schemas.kubernetes.objects import load_crds
from schemas.rules.engines import FLUX_NAMESPACE
from tests.kit import engine_fleets
from tests.kit.engine_fleets import MANAGEMENT, ONE, fleet, site

ROOT, SOURCE = "mgmt/fleet/source.yaml", 1


def objects(found: Fleet, management: str = "mgmt") -> dict[str, Json]:
    """The objects of a management cluster."""
    made = flux.files(found).items()
    return engine_fleets.objects(e for path, e in made if path.startswith(f"{management}/"))


def edges(made: dict[str, Json]) -> dict[str, list[str]]:
    """What each Kustomization waits for."""
    found = {}
    for body in kustomizations(made):
        own = body["metadata"]["namespace"]
        depends = body["spec"].get("dependsOn", [])
        name = f"{own}/{body['metadata']['name']}"
        found[name] = [f"{each.get('namespace', own)}/{each['name']}" for each in depends]
    return found


def kustomizations(made: dict[str, Json]) -> Iterator[Json]:
    return (each for each in made.values() if each["kind"] == "Kustomization")


def test_rings_with_gaps_follow_each_other_after_the_management_cluster() -> None:
    found = edges(objects(fleet(site("c", 9), site("a", 0), site("b", 4), MANAGEMENT)))
    assert found == {
        "foresite/fleet.root": [],
        "foresite/fleet.management": ["foresite/fleet.root"],
        "foresite/a": ["foresite/fleet.management"],
        "a/a": ["foresite/a"],
        "foresite/fleet.ring-0": ["foresite/fleet.management", "foresite/a", "a/a"],
        "foresite/b": ["foresite/fleet.ring-0"],
        "b/b": ["foresite/b"],
        "foresite/fleet.ring-4": ["foresite/fleet.ring-0", "foresite/b", "b/b"],
        "foresite/c": ["foresite/fleet.ring-4"],
        "c/c": ["foresite/c"],
        "foresite/fleet.ring-9": ["foresite/fleet.ring-4", "foresite/c", "c/c"],
    }


def test_nobody_waits_for_a_held_site_and_it_waits_itself() -> None:
    held, only = site("held", 1, waited=False), site("only", 3, waited=False)
    made = objects(fleet(site("a", 1), held, only))
    found = edges(made)
    assert found["foresite/fleet.ring-1"] == ["foresite/fleet.root", "foresite/a", "a/a"]
    assert found["foresite/only"] == found["foresite/fleet.ring-3"] == ["foresite/fleet.ring-1"]
    data = {name: each["data"] for name, each in made.items() if name.startswith("ConfigMap")}
    assert data["ConfigMap foresite/fleet.ring-1"] == {"waits-for": "a", "waits-not-for": "held"}
    assert data["ConfigMap foresite/fleet.ring-3"] == {"waits-not-for": "only"}


def test_each_management_cluster_has_its_own_rings_and_that_is_said() -> None:
    made = fleet(site("a", 0), site("b", 1, management="other"))
    assert "Kustomization foresite/b" not in objects(made)
    found = edges(objects(made, "other"))
    assert found["foresite/b"] == ["foresite/fleet.root"] and "foresite/fleet.ring-0" not in found
    said = " ".join(flux.advice(made))
    assert "mgmt (0), other (1)" in said
    assert "mgmt" not in " ".join(flux.advice(fleet(site("a", 0))))


def test_nothing_deletes_replaces_or_waits_for_everything() -> None:
    made = objects(fleet(site("a", 0), soak=30))
    for body in made.values():
        assert body["metadata"]["annotations"]["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
    for body in kustomizations(made):
        spec = body["spec"]
        assert (spec["prune"], spec["force"], spec["wait"]) == (False, False, False)
        assert spec["deletionPolicy"] == "Orphan"
        assert "postBuild" not in spec


def test_a_soak_is_a_dependency_beside_the_one_that_compares_revisions() -> None:
    made = objects(fleet(site("a", 0), soak=45))
    depends = made["Kustomization foresite/fleet.ring-0"]["spec"]["dependsOn"]
    assert {"name": "a"} in depends
    (soaked,) = [each["readyExpr"] for each in depends if "readyExpr" in each]
    assert "duration('45m')" in soaked


@pytest.mark.parametrize(
    ("looks", "passes"),
    [
        ([(60, 29, True)], True),
        ([(60, 31, True)], False),
        ([(60, 29, True), (90, 60, False)], True),  # it rolled out before
        ([(600, 0, True), (20, 20, False)], False),  # it was ill in between, and is well again
        ([(600, 0, True), (40, 31, False)], True),
        ([(20, 0, True), (90, 21, False)], False),
        ([(10, 0, False), (600, 20, True)], False),
        ([(600, 0, True), (20, 10, True, "others")], False),  # others in between
        ([(600, 0, True), (60, 31, True, "others")], True),
    ],
)
def test_a_soak_begins_anew_after_a_relapse(looks: list[tuple[Any, ...]], passes: bool) -> None:
    """Looks are entries of the history: minutes ago they began and ended, whether all was well,
    and of which objects; the expression is read as Python."""
    depends = objects(fleet(site("a", 0), soak=30))["Kustomization foresite/fleet.ring-0"]["spec"]
    (text,) = [each["readyExpr"] for each in depends["dependsOn"] if "readyExpr" in each]
    text = re.sub(r"(dep\S+)\.exists\(h, (.*)\)$", r"any((\2) for h in \1)", text)
    names = ("firstReconciled", "lastReconciled", "lastReconciledStatus", "digest")
    said = {True: "ReconciliationSucceeded", False: "HealthCheckFailed"}
    history = [
        SimpleNamespace(**dict(zip(names, (-began, -ended, said[well], str(of)), strict=True)))
        for began, ended, well, *of in looks
    ]
    given = {"dep": SimpleNamespace(status=SimpleNamespace(history=history)), "timestamp": int}
    given["duration"] = lambda minutes: int(minutes[:-1])
    assert (
        eval(text.replace("&&", "and").replace("||", "or").replace("!any", "not any"), given)
        is passes
    )


def test_names_of_sites_are_no_names_of_barriers() -> None:
    """And all fit a label's value, as Flux labels what it applies with them."""
    names = ("fleet", "ring-1", "root", "management", "a" * 40)
    made = objects(fleet(*(site(each, 1) for each in names)))
    assert len(made) == 3 + 3 * len(names) + 2
    assert all(len(each["metadata"]["name"]) <= 63 for each in made.values())


@pytest.mark.parametrize("path", [None, "out/rendered"])
def test_a_source_takes_what_is_of_its_cluster_alone(path: str | None) -> None:
    other = site("c", 1, management="other")
    made = flux.files(fleet(site("b", 1), site("a", 0), other, MANAGEMENT, path=path))
    source, before = made[ROOT][SOURCE]["spec"], f"{path}/" if path else ""
    taken = [f"!/{before}{each}" for each in ("flux/mgmt", "management.mgmt", "a", "b")]
    assert source["ignore"].splitlines() == ["/*", *taken]
    specs = [each.get("spec", {}) for group in made.values() for each in group]
    paths = {each.get("path") for each in specs}
    assert f"{before}a/site" in paths and f"{before}flux/mgmt/rings/1" in paths


def test_all_is_in_the_namespace_that_no_site_may_have() -> None:
    made = objects(fleet(site("a", 1), MANAGEMENT))
    spaces = {each["metadata"].get("namespace") for each in made.values()}
    for name in (f"{FLUX_NAMESPACE}/a", "a/a"):
        found = made[f"Kustomization {name}"]["metadata"]["labels"]
        assert found["app.kubernetes.io/managed-by"] == "foresite"
        assert (found["foresite.dev/site"], found["foresite.dev/ring"]) == ("a", "1")
    assert spaces == {FLUX_NAMESPACE, "a", None} and f"Namespace {FLUX_NAMESPACE}" in made


def test_a_site_without_a_cluster_of_its_own_has_one_kustomization() -> None:
    made = objects(fleet(site("ended", 1, places=ONE, waited=False)))
    assert "Kustomization ended/ended" not in made and "Namespace ended" not in made


def test_a_private_repository_has_a_secret() -> None:
    made = objects(fleet(site("a", 1), secret="git", repository="ssh://git@git.example/fleet"))
    assert made["GitRepository foresite/fleet"]["spec"]["secretRef"] == {"name": "git"}


def test_a_thousand_sites_have_three_edges_each() -> None:
    made = objects(fleet(*(site(f"s{n:03}", n % 10) for n in range(1000))))
    assert sum(map(len, edges(made).values())) == 4 * 1000 + 10


# --- health ---------------------------------------------------------------------------------------

PROVIDERS = tuple(
    f"{e}Provider" for e in ["Core", "Bootstrap", "ControlPlane", "Infrastructure", "IPAM"]
)
KINDS = ("Cluster", "MachineDeployment", "KubeadmControlPlane", "Ironic", *PROVIDERS)
FIT = {"Available": "True", "RollingOut": "False"}


def expressions() -> dict[str, str]:
    files = flux.files(fleet(site("a", 0), MANAGEMENT))
    made = files["mgmt/fleet/sites/a.yaml"][0], *files["mgmt/fleet/management.yaml"]
    return {e["kind"]: e["current"] for each in made for e in each["spec"]["healthCheckExprs"]}


@pytest.mark.parametrize("kind", KINDS)
def test_expressions_ask_for_fields_that_the_stored_definitions_have(kind: str) -> None:
    (crd,) = [each for each in load_crds() if each["spec"]["names"]["kind"] == kind]
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    text = expressions()[kind].replace(".exists", "")
    for path in re.findall(r"(?:spec|status)(?:\.\w+)+", text):
        reduce(lambda found, step: found["properties"][step], path.split("."), schema)


def healthy(
    wanted: int = 4,
    kind: str = "MachineDeployment",
    strategy: str = "RollingUpdate",
    conditions: Mapping[str, str] = FIT,
    **status: int,
) -> bool:
    """An expression's verdict, read as Python: its operators mean the same there."""
    counts = dict.fromkeys(("replicas", "upToDateReplicas", "availableReplicas"), wanted) | status
    updated = {"v1beta1": {"updatedReplicas": status.get("updatedReplicas", wanted)}}
    said = [{"type": name, "status": now} for name, now in {**FIT, **conditions}.items() if now]
    spec = {"replicas": wanted, "rollout": {"strategy": {"type": strategy}}}
    status_now = {**counts, "conditions": said, "deprecated": updated}
    return verdict(kind, {"spec": spec, "status": status_now})


def verdict(kind: str, body: Json) -> bool:
    names = json.loads(json.dumps(body), object_hook=lambda found: SimpleNamespace(**found))
    exists = re.compile(r"status\.conditions\.exists\(c, (.*?)\)")
    text = exists.sub(r"any(\1 for c in status.conditions)", expressions()[kind])
    for was, now in (("&&", "and"), ("||", "or"), ("!any", "not any")):
        text = text.replace(was, now)
    return bool(eval(text, vars(names)))


@pytest.mark.parametrize("kind", ["MachineDeployment", "KubeadmControlPlane"])
def test_machines_are_healthy_once_all_are_of_this_template(kind: str) -> None:
    assert healthy(kind=kind)
    assert not healthy(kind=kind, updatedReplicas=0)  # its Machines still show the state of before
    assert not healthy(kind=kind, upToDateReplicas=3)
    assert not healthy(kind=kind, conditions={"RollingOut": "True"})
    assert not healthy(kind=kind, conditions={"RollingOut": ""})  # not there
    assert not healthy(kind=kind, conditions={"Available": "False"})


@pytest.mark.parametrize("kind", ["Ironic", *PROVIDERS])
def test_programs_are_healthy_once_they_are_ready_at_this_generation(kind: str) -> None:
    def ready(status: str, seen: int) -> bool:
        own = {"type": "Ready", "status": status, "observedGeneration": seen}
        said = {"conditions": [own]} | ({} if kind == "Ironic" else {"observedGeneration": seen})
        return verdict(kind, {"metadata": {"generation": 2}, "status": said})

    assert ready("True", 2)
    assert not ready("True", 1) and not ready("False", 2)


def test_a_pool_that_may_be_out_as_a_whole_needs_half_of_it() -> None:
    assert healthy(availableReplicas=3) and healthy(availableReplicas=2)
    assert not healthy(availableReplicas=1) and not healthy(1, availableReplicas=0)
    assert healthy(0)


def test_a_pool_that_rolls_by_hand_is_only_asked_to_be_there() -> None:
    old, rolls = {"upToDateReplicas": 0, "updatedReplicas": 0}, {"RollingOut": "True"}
    assert healthy(4, "MachineDeployment", "OnDelete", rolls, **old)
    assert not healthy(4, "MachineDeployment", "OnDelete", rolls, availableReplicas=0, **old)
    assert not healthy(4, "MachineDeployment", "RollingUpdate", rolls, **old)
