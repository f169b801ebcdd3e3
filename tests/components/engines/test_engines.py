"""What every engine makes of every site has the form of its real definition, and is repeatable."""

import pytest

from components.engines import ENGINES
from components.engines.fleet import Fleet, member
from components.site import site_objects
from schemas.kubernetes.objects import check_object
from schemas.model.fleet import Manifests, Rings
from tests.golden import every_site

MANIFESTS = Manifests(repository="https://git.example/fleet.git", tag="fleet-1")


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return Fleet(
        Rings(), MANIFESTS, tuple(member(s, site_objects(s)) for s in every_site().values())
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_every_object_is_as_its_definition_says(engine: str, fleet: Fleet) -> None:
    made = ENGINES[engine].files(fleet)
    assert [
        fault for group in made.values() for each in group for fault in check_object(each)
    ] == []
    found = ENGINES[engine].files(fleet._replace(members=fleet.members[::-1]))
    assert {path: found[path] for path in made} == made
