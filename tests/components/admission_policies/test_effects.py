"""Effects of a change of policies on hosts: none, and the refusals from then on."""

import pytest

from components.admission_policies.objects import COMPONENT, objects
from components.effects.rules import judge_object
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
from components.making.manifest import Manifest
from components.site import COMPONENTS
from schemas.facts.site import Site
from tests.kit.admission_sites import OWN, own, with_policies
from tests.kit.effects_cases import fields
from tests.kit.repository import all_sites


def side(site: Site) -> Side:
    return side_of(site, {(COMPONENT, each.name): each for each in objects(site)})


def effects(before: Site, after: Site) -> list[Effect]:
    """The effects of the difference of two sites' policies."""
    sides = (side(before), side(after))
    old, new = (each.objects for each in sides)
    changes: dict[Name, ObjectChange] = {}
    for name in dict.fromkeys((*old, *new)):
        mine, theirs = old.get(name), new.get(name)
        if mine != theirs:
            changed = tuple(fields(mine.body, theirs.body)) if mine and theirs else ()
            changes[name] = ObjectChange(COMPONENT, mine, theirs, changed)
    found = SiteChange("tokyo-1", *sides, changes)
    return [
        each
        for change in changes.values()
        for each in judge_object(COMPONENTS[COMPONENT].effects(), found, change)
    ]


PLAIN = with_policies()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (PLAIN, with_policies(advisory=["node-marks"]), "warns of later writes"),
        (with_policies(advisory=["node-marks"]), PLAIN, "refuses later writes"),
        (PLAIN, with_policies(own()), "batch"),
        (with_policies(own()), PLAIN, "let through from now on"),
        (
            with_policies(own()),
            with_policies(own(expression="object.metadata.name != 'a'")),
            OWN["what"],
        ),
        (PLAIN, with_policies(own(kinds=["v1/pods"], namespaces=["vision"])), OWN["what"]),
        (with_policies(own()), with_policies(own(source="another page of it")), None),
    ],
)
def test_no_machine_notices(before: Site, after: Site, said: str | None) -> None:
    found = effects(before, after)
    assert {each.impact for each in found} <= {Impact.NONE}
    assert bool(found) == (said is not None)
    if said == "batch":
        assert {each.action for each in found} <= {None, Action.ADDED}
        assert all("jobs" in each.why and str(OWN["what"]) in each.why for each in found)
    elif said is not None:
        assert any(said in each.why for each in found), [each.why for each in found]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PLAIN, with_policies(own(kinds=["v1/pods"]))),
        (PLAIN, with_policies(own(kinds=["v1/pods"], namespaces=["accelerators"]))),
        (PLAIN, with_policies(own(kinds=["v1/pods"], namespaces=["vision", "accelerators"]))),
        (
            with_policies(own(kinds=["v1/pods"], namespaces=["vision"])),
            with_policies(own(kinds=["v1/pods"])),
        ),
    ],
)
def test_pods_that_nodes_live_by_may_be_refused(before: Site, after: Site) -> None:
    """The effect of a rule of the site's own on them is unknown beforehand."""
    found = effects(before, after)
    assert Impact.UNKNOWN in {each.impact for each in found}


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_every_field_of_a_policy_is_judged(name: str) -> None:
    """A change of any of them is known to touch no machine: none is left to no rule."""
    site = with_policies(own()) if name == "tokyo-1" else all_sites()[name]
    before = side(site)
    for each in objects(site):
        for changed in edited(each):
            change = ObjectChange(COMPONENT, each, changed, tuple(fields(each.body, changed.body)))
            assert change.fields
            after = side_of(site, {**before.objects, change.name: changed})
            found = judge_object(
                COMPONENTS[COMPONENT].effects(),
                SiteChange(name, before, after, {change.name: change}),
                change,
            )
            assert found
            assert all("no rule covers" not in effect.why for effect in found)


def edited(manifest: Manifest) -> list[Manifest]:
    """The object with another value of each field of its spec, its labels and annotations."""
    body = manifest.body
    found = [{**body, "spec": {**body["spec"], key: "x"}} for key in body["spec"]]
    for part in ("labels", "annotations"):
        values = {**body["metadata"][part], "a": "b"}
        found.append({**body, "metadata": {**body["metadata"], part: values}})
    return [manifest._replace(body=each) for each in found]
