"""Effects of changes to teams, PriorityClasses and limits on the hosts of tokyo-1: none, and
why."""

from dataclasses import replace
from typing import Any

import pytest

from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rules, judge_object
from components.effects.vocabulary import (
    Action,
    Effect,
    Impact,
    Name,
    ObjectChange,
    Side,
    SiteChange,
)
from components.machines.fleet import side_of
from components.making.manifest import Json
from components.teams import effects as own
from components.teams.effects import RULES
from components.teams.names import COMPONENT
from components.teams.objects import objects
from schemas.facts.site import Site
from tests.golden import with_file
from tests.kit.effects_cases import fields, said
from tests.kit.effects_rows import nothing
from tests.kit.teams_site import (
    KUEUE,
    LANGUAGE,
    NIGHTS,
    TIERS,
    VISION,
    A,
    V,
    on_volcano,
    site,
    with_rdma,
)

TABLE = Rules((*RULES, *KUBERNETES))
BEFORE: dict[str, Site] = {"throttler": site(), "kueue": site(KUEUE), "volcano": on_volcano()}


def side(made: Site) -> Side:
    return side_of(made, {(COMPONENT, each.name): each for each in objects(made)})


def change(before: Site | None, after: Site) -> SiteChange:
    sides = (side(before) if before else None, side(after))
    old, new = (each.objects if each else {} for each in sides)
    changes: dict[Name, ObjectChange] = {}
    for name in dict.fromkeys((*new, *old)):
        mine, theirs = old.get(name), new.get(name)
        if mine != theirs:
            found = tuple(fields(mine.body, theirs.body)) if mine and theirs else ()
            changes[name] = ObjectChange(COMPONENT, mine, theirs, found)
    return SiteChange("tokyo-1", *sides, changes)


def effects(made: SiteChange) -> dict[str, list[Effect]]:
    """The effects of each changed object, by its logical name."""
    return {name[1]: judge_object(TABLE, made, each) for name, each in made.changes.items()}


def team(base: Json, **changed: Any) -> Json:
    return {**base, **changed}


LOWERED = [team(VISION, accelerators={V: 8}), LANGUAGE]
RAISED = [team(VISION, accelerators={V: 401}), LANGUAGE]
ROWS: dict[str, tuple[str, Json, set[str]]] = {
    "limit lowered": ("throttler", {"teams": LOWERED}, {"ClusterThrottle/vision/gang-scheduler"}),
    "limit raised": ("throttler", {"teams": RAISED}, {"ClusterThrottle/vision/gang-scheduler"}),
    "limit off-peak lowered": (
        "throttler",
        {"teams": [team(VISION, off_peak={V: 500}), LANGUAGE]},
        {"ClusterThrottle/vision/gang-scheduler"},
    ),
    "other hours": (
        "throttler",
        {"off_peak": {**NIGHTS, "end": "07:00"}},
        {"ClusterThrottle/vision/gang-scheduler"},
    ),
    "quota lowered": (
        "throttler",
        {"teams": [VISION, team(LANGUAGE, accelerators={V: 500, A: 1})]},
        {"ResourceQuota/language/accelerators"},
    ),
    "disk space": (
        "throttler",
        {"ephemeral_storage": {"request": "1Gi"}},
        {"LimitRange/vision", "LimitRange/vision-dev", "LimitRange/language"},
    ),
    "a tier taken from a team": (
        "throttler",
        {"teams": [team(VISION, priorities=[]), LANGUAGE]},
        {"ResourceQuota/vision/priorities", "ResourceQuota/vision-dev/priorities"},
    ),
    "quota of Kueue lowered": (
        "kueue",
        {"teams": [VISION, team(LANGUAGE, accelerators={V: 500, A: 1})]},
        {"ClusterQueue/language"},
    ),
    "a tier taken from a team, with Kueue": (
        "kueue",
        {"teams": [team(VISION, priorities=[]), LANGUAGE]},
        {
            "ResourceQuota/vision/priorities",
            "ResourceQuota/vision-dev/priorities",
            "Namespace/vision",
            "Namespace/vision-dev",
        },
    ),
    "queue of Volcano lowered": (
        "volcano",
        {"teams": [VISION, team(LANGUAGE, accelerators={V: 500, A: 1})]},
        {"Queue/language"},
    ),
}


def after(kind: str, **changed: Any) -> Site:
    if kind == "volcano":
        return on_volcano(**changed)
    backends = {"throttler": [], "kueue": [KUEUE]}[kind]
    return site(*backends, **changed)


@pytest.mark.parametrize("name", ROWS)
def test_no_host_notices_another_limit(name: str) -> None:
    kind, edit, names = ROWS[name]
    made = change(BEFORE[kind], after(kind, **edit))
    found = effects(made)
    assert found.keys() == names
    for each in found.values():
        assert said(made, each) == {nothing()}
        assert all(effect.why and effect.source for effect in each)


def test_pods_that_asked_by_another_name_are_lost_sight_of() -> None:
    before = BEFORE["throttler"]
    settings = before.file.accelerators
    assert settings is not None
    other = settings.model_copy(update={"names": {**settings.names, V: "volta"}})
    found = effects(change(before, with_file(before, accelerators=other)))
    throttles = {name: each for name, each in found.items() if name.startswith("ClusterThrottle/")}
    assert throttles
    for each in throttles.values():
        assert {"counted no more" in effect.why for effect in each} == {True, False}


@pytest.mark.parametrize("kind", BEFORE)
def test_no_host_notices_that_a_team_comes(kind: str) -> None:
    robots = {"name": "robots", "namespaces": ["robots"], "accelerators": {V: 8}}
    made = change(BEFORE[kind], after(kind, teams=[VISION, LANGUAGE, robots]))
    found = effects(made)
    assert {"Namespace/robots", "LimitRange/robots", "ResourceQuota/robots/priorities"} <= {*found}
    assert all(said(made, each) == {nothing()} for each in found.values())


@pytest.mark.parametrize("kind", BEFORE)
def test_no_host_notices_that_teams_are_there_at_all(kind: str) -> None:
    made = change(with_file(BEFORE[kind], scheduling=None, access=None), BEFORE[kind])
    found = effects(made)
    assert found.keys() == {each.name for each in objects(BEFORE[kind])}
    assert all(said(made, each) == {nothing()} for each in found.values())


@pytest.mark.parametrize("kind", BEFORE)
def test_a_team_that_goes_leaves_its_namespaces_there(kind: str) -> None:
    """Pulumi stops: what is in them would be gone. The rest of it would be deleted."""
    made = change(BEFORE[kind], after(kind, teams=[LANGUAGE], off_peak=None))
    found = effects(made)
    for name, each in found.items():
        kept = name in ("Namespace/vision", "Namespace/vision-dev")
        assert said(made, each) == {nothing(Action.REFUSED if kept else Action.DELETED)}, name


def test_the_value_of_a_tier_never_changes() -> None:
    """The API server refuses it; other objects of the change may be applied."""
    tiers = [{**TIERS[0], "value": 2000}, *TIERS[1:]]
    made = change(site(), site(priorities=tiers))
    (name,) = effects(made)
    assert name == "PriorityClass/project"
    assert said(made, effects(made)[name]) == {nothing(Action.REFUSED)}


def test_a_tier_that_goes_stops_nothing_that_runs() -> None:
    plain = [team(VISION, priorities=[]), LANGUAGE]
    made = change(site(teams=plain), site(teams=plain, priorities=TIERS[1:]))
    found = effects(made)
    assert said(made, found["PriorityClass/project"]) == {nothing(Action.DELETED)}
    assert {each.impact for more in found.values() for each in more} == {Impact.NONE}


def test_a_default_that_moves_may_take_two_runs() -> None:
    tiers = [
        {**TIERS[0], "default": True},
        {key: value for key, value in TIERS[1].items() if key != "default"},
        TIERS[2],
    ]
    teams = [team(VISION, priorities=["normal"]), team(LANGUAGE, priorities=["low"])]
    made = change(site(teams=teams), site(teams=teams, priorities=tiers))
    found = effects(made)
    (comes,) = found["PriorityClass/project"]
    (goes,) = found["PriorityClass/normal"]
    assert said(made, [comes, goes]) == {nothing()}
    assert ("run it again" in comes.why, "run it again" in goes.why) == (True, False)


@pytest.mark.parametrize(
    ("values", "hosts"),
    [((2000, 100, 10), 0), ((1000, 100, 20), 0), ((50, 100, 10), 80), ((1000, 5, 10), 80)],
)
def test_kueue_lets_jobs_make_way_only_where_tiers_change_places(
    values: tuple[int, ...], hosts: int
) -> None:
    """The new number is written into jobs that run, too."""
    tiers = [{**tier, "value": value} for tier, value in zip(TIERS, values, strict=True)]
    made = change(site(KUEUE), site(KUEUE, priorities=tiers))
    found = [
        each
        for name, more in effects(made).items()
        if name.startswith("WorkloadPriorityClass/")
        for each in more
    ]
    (one,) = found
    drained = (Impact.DRAIN, "a100", 80, None)
    assert said(made, [one]) == {drained if hosts else nothing()}


def test_a_namespace_that_changes_teams_keeps_what_runs_in_it() -> None:
    moved = [team(VISION, namespaces=["vision"]), team(LANGUAGE, accelerators={V: 500})]
    given = [team(moved[1], namespaces=["language", "vision-dev"]), moved[0]]
    before = [team(moved[0], namespaces=["vision", "vision-dev"]), moved[1]]
    made = change(site(teams=before), site(teams=given))
    found = effects(made)
    (label,) = found["Namespace/vision-dev"]
    assert label.path == ("metadata", "labels", "foresite.dev/team")
    assert "counted" in label.why
    assert said(made, [label]) == {nothing()}


def test_a_queue_of_kueue_cannot_change_teams() -> None:
    before = [VISION, team(LANGUAGE, accelerators={V: 500})]
    after_ = [
        team(VISION, namespaces=["vision"]),
        team(before[1], namespaces=["language", "vision-dev"]),
    ]
    made = change(site(KUEUE, teams=before), site(KUEUE, teams=after_))
    found = effects(made)
    assert said(made, found["LocalQueue/vision-dev"]) == {nothing(Action.REFUSED)}


def test_rdma_opens_namespaces_and_stops_nothing() -> None:
    made = change(site(), with_rdma(site(), "v100"))
    found = effects(made)
    spaces = {"Namespace/vision", "Namespace/vision-dev", "Namespace/language"}
    assert found.keys() == {*spaces, "ValidatingAdmissionPolicy/isolation.teams"}
    assert all(said(made, each) == {nothing()} for each in found.values())


@pytest.mark.parametrize("policy", ["pods.teams", "isolation.teams"])
def test_a_policy_of_pods_that_comes_may_refuse_what_is_created_again(policy: str) -> None:
    """Teams were there before: a template of theirs may be one that it refuses."""
    after_ = side(site())
    name = (COMPONENT, f"ValidatingAdmissionPolicy/{policy}")
    objects_ = {key: each for key, each in after_.objects.items() if key != name}
    comes = ObjectChange(COMPONENT, None, after_.objects[name])
    made = SiteChange("tokyo-1", replace(after_, objects=objects_), after_, {name: comes})
    (found,) = judge_object(TABLE, made, comes)
    assert found.impact is Impact.UNKNOWN
    assert "created again" in found.why


def test_a_label_that_others_give_meaning_stays_unknown() -> None:
    before = side(site())
    name = (COMPONENT, "Namespace/vision")
    one = before.objects[name]
    metadata = one.body["metadata"]
    labels = {**metadata["labels"], "istio-injection": "enabled"}
    body = {**one.body, "metadata": {**metadata, "labels": labels}}
    new = one._replace(body=body)
    both = ObjectChange(COMPONENT, one, new, tuple(fields(one.body, body)))
    after_ = replace(before, objects={**before.objects, name: new})
    made = SiteChange("tokyo-1", before, after_, {name: both})
    assert {each.impact for each in judge_object(TABLE, made, both)} == {Impact.UNKNOWN}


@pytest.mark.parametrize("kind", BEFORE)
def test_what_says_the_same_in_other_words_changes_nothing(kind: str) -> None:
    """Teams in another order, tiers in another order: the same objects."""
    made = change(
        BEFORE[kind], after(kind, teams=[LANGUAGE, VISION], priorities=list(reversed(TIERS)))
    )
    found = effects(made)
    assert all(said(made, each) == {nothing()} for each in found.values())
    # Lists of a team's tiers follow the order of the site's.
    assert {name.split("/")[0] for name in found} <= {"Namespace", "ResourceQuota"}


def test_every_kind_of_a_team_has_rules() -> None:
    """One that had none would be unknown on every host."""
    made = {each.group_kind for each in objects(BEFORE["kueue"])} | {
        each.group_kind for each in objects(BEFORE["volcano"])
    }
    topology = site({**KUEUE, "topology": ["rack"]})
    made |= {each.group_kind for each in objects(topology)}
    known = {rule.kind for rule in TABLE}
    assert made <= known
    assert {kind.name for kind in own.TABLE.kinds} <= made
