"""Effects of changes to the schedulers on the hosts of tokyo-1: they run on its three control
planes, and no host of a pool that they serve notices."""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rules, judge_object
from components.effects.vocabulary import Action, Effect, Impact, Side, SiteChange
from components.machines.fleet import side_of
from components.making.manifest import Json
from components.schedulers.effects import RULES
from components.schedulers.names import COMPONENT
from components.schedulers.objects import objects
from preview.differences.compare import compare
from schemas.facts.site import Site
from tests.kit.effects_cases import Said, said
from tests.kit.effects_rows import nothing, restart
from tests.kit.scheduling_site import (
    ACCELERATORS,
    GANG,
    GANG_SCHEDULER,
    IMAGE,
    THROTTLED,
    site,
    with_gang,
    with_scheduler,
)

ALL = Rules((*RULES, *KUBERNETES))
THREE = restart("control")
"""Two replicas before and two after are more than the control plane has machines."""
OTHER_IMAGE = IMAGE.replace("v1.0.0", "v1.0.1")
THROTTLED_TOO = with_scheduler(throttler="gangs")
ONE_POOL = {**GANG, "pools": ["v100"]}
RENAMED = {**GANG, "name": "gangs"}
"""Effects besides those on hosts: `none` alone means nothing more."""


def side(made: Site) -> Side:
    return side_of(made, {(COMPONENT, each.name): each for each in objects(made)})


def change(before: Site | None, after: Site | None) -> SiteChange:
    sides = [side(each) if each else None for each in (before, after)]
    return compare("tokyo-1", *sides)


def effects(between: SiteChange) -> list[Effect]:
    return [each for one in between.changes.values() for each in judge_object(ALL, between, one)]


class Case(NamedTuple):
    before: Site
    after: Site
    expected: set[Said]


def pair(before: list[Json], after: list[Json], expected: set[Said], **more: Any) -> Case:
    return Case(site(*before), site(*after, **more), expected)


def with_canary_image(image: str) -> Site:
    made = site(GANG)
    images = {**made.release.images, "busybox": image}
    return replace(made, release=made.release.model_copy(update={"images": images}))


GONE = {
    restart("control", 2, Action.DELETED),
    # One canary runs at a time, on a pool of its scheduler; its rights, policies and so on.
    restart("v100 h100", 1, Action.DELETED),
    nothing(Action.DELETED),
}
COMES = {restart("control", 2), nothing()}
CASES = {
    "gangs wait for longer": pair([GANG], [with_gang(timeout_seconds=60)], {THREE, nothing()}),
    "gangs may wait for longer": pair(
        [GANG], [with_gang(timeout_limit_seconds=200)], {THREE, nothing()}
    ),
    "another prefix": pair(
        [GANG], [with_gang(annotation_prefix="example.com/gang")], {THREE, nothing()}
    ),
    "another image": pair([GANG], [with_scheduler(image=OTHER_IMAGE)], {THREE}),
    "another replica": pair([GANG], [with_scheduler(replicas=3)], {restart("control", 1)}),
    "fewer pools": pair([GANG], [ONE_POOL], {THREE, nothing()}),
    "more pools": pair([ONE_POOL], [GANG], {THREE, nothing()}),
    "a throttler too": pair([GANG], [THROTTLED_TOO], {THREE, nothing()}),
    "no throttler any more": pair([THROTTLED_TOO], [GANG], {THREE, nothing()}),
    "another scheduler comes": pair([GANG], [GANG, THROTTLED], COMES),
    "the first scheduler comes": pair([], [GANG], COMES),
    "a scheduler goes": pair([GANG, THROTTLED], [THROTTLED], {*GONE, nothing()}),
    # Its namespace is protected: Pulumi stops there, and a person decides.
    "the last scheduler goes": pair([GANG], [], {*GONE, nothing(Action.REFUSED)}),
    "another name": pair([GANG], [RENAMED], {*GONE, *COMES}),
    "another namespace": pair(
        [GANG],
        [GANG],
        {
            restart("control", None, Action.REPLACED),
            restart("v100 h100", 2, Action.REPLACED),
            nothing(Action.REPLACED),
            nothing(Action.REFUSED),
            nothing(),
        },
        namespace="schedulers",
    ),
    "models are called otherwise": pair(
        [GANG], [GANG], {THREE, nothing()}, accelerators={**ACCELERATORS, "names": {}}
    ),
    "the canary has another image": Case(site(GANG), with_canary_image(IMAGE), {nothing()}),
    # What is written out as its default, or in another order, is the same.
    "defaults are written out": pair([GANG], [with_gang(timeout_seconds=30)], set()),
    "pools in another order": pair([GANG], [{**GANG, "pools": ["h100", "v100"]}], set()),
    "backends in another order": pair([GANG, THROTTLED], [THROTTLED, GANG], set()),
}


@pytest.mark.parametrize("what", CASES)
def test_a_change_restarts_schedulers_alone(what: str) -> None:
    case = CASES[what]
    between = change(case.before, case.after)
    assert said(between, effects(between)) == case.expected


def test_every_effect_says_where_it_is_from() -> None:
    for case in CASES.values():
        for each in effects(change(case.before, case.after)):
            assert each.why and each.source


def test_a_new_site_restarts_nothing() -> None:
    assert {each.impact for each in effects(change(None, site(GANG)))} == {Impact.NONE}


def restarts(before: Json, after: Json) -> str:
    """The text on the scheduler's restart."""
    found = effects(change(site(before), site(after)))
    (words,) = {each.why for each in found if each.impact is Impact.POD_RESTART}
    return words


def test_a_restart_says_what_it_means_to_gangs_and_to_jobs() -> None:
    gangs = restarts(GANG, with_gang(timeout_seconds=60))
    throttled = restarts(THROTTLED, with_scheduler(THROTTLED, image=OTHER_IMAGE))
    assert "running jobs continue" in gangs and "running jobs continue" in throttled
    assert "gangs that were waiting" in gangs and "gangs" not in throttled


def test_the_end_of_a_scheduler_says_that_its_pods_wait_for_ever() -> None:
    found = effects(change(site(GANG), site()))
    (words,) = [each.why for each in found if each.name[1] == f"Deployment/{GANG_SCHEDULER}"]
    assert "wait forever" in words


def test_another_prefix_says_that_gangs_come_apart() -> None:
    found = effects(change(site(GANG), site(with_gang(annotation_prefix="example.com/gang"))))
    assert [each for each in found if "no gang any more" in each.why]


def test_rights_that_go_while_their_scheduler_stays_are_not_known() -> None:
    """No edit of a site file does this: the rules do not call it harmless for all that."""
    made = site(GANG)
    before, after = side(made), side(made)
    name = (COMPONENT, f"ClusterRoleBinding/{GANG_SCHEDULER}/scheduling")
    lost = replace(after, objects={k: v for k, v in after.objects.items() if k != name})
    between = compare("tokyo-1", before, lost)
    assert {each.impact for each in effects(between)} == {Impact.UNKNOWN}


def test_a_policy_on_more_than_what_teams_create_is_not_known() -> None:
    made = site(GANG)
    before, after = side(made), side(made)
    name = (COMPONENT, "ValidatingAdmissionPolicy/gangs.foresite.dev")
    wider = after.objects[name]
    constraints = {**wider.body["spec"]["matchConstraints"], "namespaceSelector": {}}
    body = {**wider.body, "spec": {**wider.body["spec"], "matchConstraints": constraints}}
    more = replace(after, objects={**after.objects, name: wider._replace(body=body)})
    between = compare("tokyo-1", before, more)
    assert {each.impact for each in effects(between)} == {Impact.UNKNOWN}
