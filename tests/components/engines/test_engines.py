"""What every engine makes of every site has the form of its real definition, and is repeatable."""

import pytest

from components.engines import ENGINES
from components.engines.fleet import Fleet, advice, member
from components.site import site_objects
from schemas.kubernetes.objects import check_object
from tests.golden import every_site
from tests.kit.engine_fleets import fleet_of


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return fleet_of(every_site().values())


@pytest.mark.parametrize("engine", ENGINES)
def test_an_advice_is_short_however_large_the_fleet_is(engine: str, fleet: Fleet) -> None:
    one = fleet.members[0]._replace(ring=0, lax=("policy",), context=None)
    one = one._replace(unasked=("windows", "alerts"))
    many = [one._replace(name=f"s{n}", management=f"m{n}") for n in range(99)]
    found = fleet._replace(members=tuple(many))
    said = [*advice(found), *ENGINES[engine].advice(found)]
    assert all(len(each) < 300 for each in said)
    assert "at 99 of the sites: s0 (policy), s1 (policy)" in said[1]
    assert all("99 of the sites" in each and each.endswith(", s7, …") for each in said[2:4])


@pytest.mark.parametrize("engine", ENGINES)
def test_every_object_is_as_its_definition_says(engine: str, fleet: Fleet) -> None:
    made = ENGINES[engine].files(fleet)
    assert [
        fault for group in made.values() for each in group for fault in check_object(each)
    ] == []
    found = ENGINES[engine].files(fleet._replace(members=fleet.members[::-1]))
    assert {path: found[path] for path in made} == made


def test_fields_that_others_write_are_those_of_all_objects_of_a_kind() -> None:
    site = next(iter(every_site().values()))
    made = [each for group in site_objects(site).values() for each in group]
    host = next(each for each in made if each.kind == "BareMetalHost")
    found = member(site, {"hosts": [host._replace(ignore=(e,)) for e in ("spec.b", "spec.a")]})
    assert found.ignore == {("metal3.io", "BareMetalHost"): ["/spec/a", "/spec/b"]}
