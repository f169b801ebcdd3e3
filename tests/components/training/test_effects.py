"""No change of job templates touches a host: expectations are from what Trainer does, and from who
reads the examples."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rules, judge_object
from components.effects.vocabulary import Action, Effect, Impact, ObjectChange, Side, SiteChange
from components.machines.fleet import side_of
from components.training.effects import RULES
from components.training.objects import objects
from schemas.facts.site import Site
from schemas.model.scheduling import Scheduling
from tests.kit.effects_cases import fields
from tests.kit.training_site import H100, V100, gangs

ALL = Rules((*RULES, *KUBERNETES))
RUNTIME, EXAMPLE = f"ClusterTrainingRuntime/all-reduce-{H100}", "ConfigMap/vision/job-templates"


def side(site: Site) -> Side:
    return side_of(site, {("training", each.name): each for each in objects(site)})


def change(before: Site, after: Site) -> SiteChange:
    old, new = side(before), side(after)
    changes = {}
    for name in dict.fromkeys((*new.objects, *old.objects)):
        mine, theirs = old.objects.get(name), new.objects.get(name)
        if mine != theirs:
            found = tuple(fields(mine.body, theirs.body)) if mine and theirs else ()
            changes[name] = ObjectChange("training", mine, theirs, found)
    return SiteChange(before.name, old, new, changes)


def effects(site: SiteChange) -> list[Effect]:
    return [each for one in site.changes.values() for each in judge_object(ALL, site, one)]


def edited(site: Site, **changed: Any) -> Site:
    """The site with other fields of scheduling, which the rules of a site file do not judge."""
    section = site.file.scheduling
    assert section is not None
    said = {**section.model_dump(mode="json", exclude_unset=True), **changed}
    update = {"scheduling": Scheduling.model_validate(said)}
    return replace(site, file=site.file.model_copy(update=update))


def promised(site: Site, **accelerators: Any) -> Site:
    """The site whose first team is promised other accelerators, and no more off-peak."""
    section = site.file.scheduling
    assert section is not None
    first, *others = (each.model_dump(mode="json", exclude_unset=True) for each in section.teams)
    team = {**first, "accelerators": accelerators, "off_peak": {}}
    return edited(site, teams=[team, *others])


def taints(site: Site) -> Site:
    """The site whose pool h100 has another taint."""
    pools = [
        pool.model_copy(
            update={"taints": [each.model_copy(update={"value": "b"}) for each in pool.taints]}
        )
        if pool.taints
        else pool
        for pool in site.file.pools
    ]
    return replace(site, file=site.file.model_copy(update={"pools": pools}))


def other_timeout(site: Site) -> Site:
    """Nothing of a job's own comes from this."""
    section = site.file.scheduling
    assert section is not None
    return edited(site, ephemeral_storage={"request": "20Gi"})


@pytest.mark.parametrize(
    ("edit", "kinds"),
    [
        (taints, {"ClusterTrainingRuntime", "ConfigMap"}),
        (other_timeout, {"ClusterTrainingRuntime", "ConfigMap"}),
        # Only the size of the examples' workers follows from a promise.
        (lambda site: promised(site, **{V100: 8, H100: 24}), {"ConfigMap"}),
    ],
)
def test_a_changed_template_touches_no_host(edit: Callable[[Site], Site], kinds: set[str]) -> None:
    site = change(gangs(), edit(gangs()))
    assert {each.kind for each in site.changes.values()} == kinds
    found = effects(site)
    assert {each.impact for each in found} == {Impact.NONE}
    assert all(each.source and not each.hosts for each in found)
    assert all(each.action is None for each in found), "all of it changes in place"


def test_a_model_that_comes_or_goes_touches_no_host() -> None:
    without = promised(gangs(), **{V100: 16})
    comes, goes = change(without, gangs()), change(gangs(), without)
    runtimes = {("training", RUNTIME), ("training", f"{RUNTIME}-rdma")}
    for site, action in ((comes, None), (goes, Action.DELETED)):
        assert runtimes <= site.changes.keys()
        found = effects(site)
        assert {each.impact for each in found} == {Impact.NONE}
        assert {each.action for each in found if each.name in runtimes} == {action}


def test_a_deletion_says_that_it_may_wait() -> None:
    site = change(gangs(), promised(gangs(), **{V100: 16}))
    (found,) = [each for each in effects(site) if each.name == ("training", RUNTIME)]
    assert "fails after ten minutes" in found.why


def test_a_team_that_goes_takes_its_examples_along() -> None:
    section = gangs().file.scheduling
    assert section is not None
    rest = [each.model_dump(mode="json", exclude_unset=True) for each in section.teams[1:]]
    site = change(gangs(), edited(gangs(), teams=rest))
    found = {each.name[1]: each for each in effects(site)}
    assert found[EXAMPLE].action is Action.DELETED
    assert {each.impact for each in found.values()} == {Impact.NONE}


def test_labels_touch_no_host() -> None:
    old = side(gangs())
    name = ("training", RUNTIME)
    manifest = old.objects[name]
    metadata = {**manifest.body["metadata"], "labels": {"a": "b"}, "annotations": {"c": "d"}}
    new = manifest._replace(body={**manifest.body, "metadata": metadata})
    one = ObjectChange("training", manifest, new, tuple(fields(manifest.body, new.body)))
    assert one.fields
    site = SiteChange("osaka-1", old, side_of(gangs(), {**old.objects, name: new}), {name: one})
    assert {each.impact for each in judge_object(ALL, site, one)} == {Impact.NONE}
