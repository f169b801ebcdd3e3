"""The refusals of ``foresite recover`` to forget, and how it shows that the next ``up`` is
sound."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from components.making.manifest import Json, Target
from foresite.command import FOUND, OK, UsageError
from foresite.commands import recover
from schemas.model.site_file import Decommission
from tests.kit.recover_world import SITE, World, acted, step

# --- the guard ------------------------------------------------------------------------------------


def test_a_cluster_that_lost_the_site_is_not_followed(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovery.live.clear()
    count = len(recovery.made())
    for rebuild in (None, 1, count - 1):
        with pytest.raises(UsageError, match=f"--rebuild {count}$"):
            recovery.recover(monkeypatch, rebuild=rebuild)
    assert acted(recovery) == []
    recovery.steps = [step(recovery, "create", each) for each in recovery.made()]
    recovery.recover(monkeypatch, rebuild=count)
    assert acted(recovery) != []


def test_one_object_that_is_protected_is_enough(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovery.lose(recovery.one("Cluster")[1])
    with pytest.raises(UsageError, match="Cluster lab-1/lab-1"):
        recovery.recover(monkeypatch)


def test_a_config_map_that_is_gone_is_made_anew(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    made = recovery.one("ConfigMap")
    recovery.lose(made[1])
    recovery.steps = [step(recovery, "create", made)]
    assert recovery.recover(monkeypatch) == OK
    assert recovered()["next"][0]["why"]


def test_another_cluster_with_objects_of_the_same_names_is_not_taken_for_the_site_s_own(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    """As a copy for disasters has them, or a restore from a backup; a note of a run that was
    killed names them all, and explains nothing here."""
    every = [each for _, each in recovery.made()]
    recovery.engine.begin(("management", *each.key) for each in every)
    recovery.replace(*every)
    with pytest.raises(UsageError, match=f"another cluster(?s:.*)--rebuild {len(every)}$"):
        recovery.recover(monkeypatch)
    assert acted(recovery) == []
    assert any("created again since" in each for each in recovered()["found"])
    recovery.recover(monkeypatch, rebuild=len(every))
    assert acted(recovery) != []


@pytest.mark.parametrize(("kind", "refused"), [("ConfigMap", False), ("Cluster", True)])
def test_an_object_that_somebody_made_anew_is_told_where_it_is_dear(
    recovery: World, monkeypatch: pytest.MonkeyPatch, kind: str, refused: bool
) -> None:
    recovery.replace(recovery.one(kind)[1])
    if refused:
        with pytest.raises(
            UsageError, match=f"by name alone, 1: {kind} lab-1/lab-1(?s:.*)--rebuild 1$"
        ):
            recovery.recover(monkeypatch)
    else:
        assert recovery.recover(monkeypatch) == OK


def test_what_a_killed_run_made_anew_is_its_own(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = recovery.one("Cluster")[1]
    recovery.engine.begin([("management", *cluster.key)])
    recovery.replace(cluster)
    assert recovery.recover(monkeypatch) == OK


def test_what_is_to_be_deleted_is_not_held_against_what_took_its_place(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recovery.one("Cluster")
    recovery.know(*made, delete=True, outputs={"metadata": {"uid": "before"}})
    assert recovery.recover(monkeypatch) == OK


def test_a_cluster_that_does_not_answer_is_no_empty_one(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovery.silent.add(Target.MANAGEMENT)
    with pytest.raises(UsageError, match="mgmt-lab cannot be looked at: connection refused"):
        recovery.recover(monkeypatch)
    assert acted(recovery) == []


def with_own_cluster(world: World, *, ends: bool) -> World:
    """The site's own cluster was applied to, and is silent now."""
    cluster = world.site.file.cluster.model_copy(update={"context": "lab-1"})
    file = world.site.file.model_copy(update={"cluster": cluster})
    more = World(world.folder, replace(world.site, file=file))
    if ends:
        end = Decommission(reason="it moves to another place")
        more.site = replace(world.site, file=file.model_copy(update={"decommission": end}))
    more.silent.add(Target.SITE)
    return more


def test_objects_of_a_cluster_that_is_deleted_are_forgotten(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = with_own_cluster(recovery, ends=True)
    objects = [each for each in own.state.values() if "provider" in each]
    for each in objects:
        each["dependencies"] = [other["urn"] for other in objects]
    own.recover(monkeypatch)
    kept = [each for each in own.exported()["deployment"]["resources"] if "provider" in each]
    assert {each["provider"].split("::")[-2] for each in kept} == {"management"}
    known = {each["urn"] for each in kept}
    assert all(set(each["dependencies"]) == known for each in kept)


def test_objects_of_a_cluster_that_is_only_away_are_not_forgotten(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = with_own_cluster(recovery, ends=False)
    with pytest.raises(UsageError, match="lab-1 cannot be looked at"):
        own.recover(monkeypatch)
    assert acted(own) == []


# --- the proof ------------------------------------------------------------------------------------


def test_the_proof_does_not_ask_the_policies(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception that has ended is no damage, and keeps nothing from being mended."""
    assert recovery.recover(monkeypatch) == OK
    (preview,) = (each for each in recovery.calls if each.startswith("preview"))
    assert recovery.engine.policies and "--policy-pack" not in preview


@pytest.mark.parametrize("op", ["create", "update", "delete", "replace", "create-replacement"])
def test_a_step_that_nothing_explains_is_left_for_a_person(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json], op: str
) -> None:
    recovery.steps = [step(recovery, op, recovery.one("ConfigMap"))]
    assert recovery.recover(monkeypatch) == FOUND
    assert "nothing explains it" in recovered()["left"][0]


def test_a_difference_that_no_step_mends_is_left_for_a_person(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    recovery.forget(*recovery.one("ConfigMap"))
    assert recovery.recover(monkeypatch) == FOUND
    assert "the next up does not correct it" in recovered()["left"][0]


def test_what_the_cluster_has_otherwise_explains_an_update(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    made = recovery.one("ConfigMap")
    (key,) = (each for each in recovery.live if each.kind == "ConfigMap")
    recovery.live[key] = {**recovery.live[key], "data": {"manifests.yaml": "other"}}
    recovery.steps = [step(recovery, "update", made)]
    assert recovery.recover(monkeypatch) == OK
    assert "data.manifests.yaml" in recovered()["next"][0]["why"]


def test_a_provider_that_would_be_replaced_is_told(
    recovery: World, monkeypatch: pytest.MonkeyPatch, recovered: Callable[[], Json]
) -> None:
    urn = f"urn:pulumi:{SITE}::foresite::pulumi:providers:kubernetes::management"
    recovery.steps = [{"op": "replace", "urn": urn}, {"op": "update", "urn": urn}]
    assert recovery.recover(monkeypatch) == FOUND
    assert len(recovered()["left"]) == 1


def test_the_note_goes_when_there_is_nothing_to_take_over(
    recovery: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recovery.one("ConfigMap")
    gone = ("management", "v1", "ConfigMap", SITE, "gone")
    recovery.engine.begin([gone, ("management", *made[1].key)])
    recovery.forget(*made)
    recovery.steps = [step(recovery, "create", made)]
    assert recovery.recover(monkeypatch) == OK
    assert recovery.engine.noted_objects() == [("management", *made[1].key)]
    recovery.know(*made)
    recovery.steps = []
    assert recovery.recover(monkeypatch) == OK
    assert not recovery.engine.was_interrupted()


@pytest.mark.parametrize("take_over", ["a", "4711@runner-3", "@runner-3@", "1@a@2026 b"])
def test_what_is_no_name_of_a_lock_is_refused_before_anything_is_asked(
    recovery: World, monkeypatch: pytest.MonkeyPatch, take_over: str
) -> None:
    monkeypatch.setattr(recover, "lock_site", None)
    with pytest.raises(UsageError, match="write PID@HOST@SINCE"):
        recovery.recover(monkeypatch, take_over=take_over)
