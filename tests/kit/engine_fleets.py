"""Fleets that engines make objects for, and these by name."""

from collections.abc import Iterable
from typing import Any

from components.engines.fleet import Fleet, Member, Place, member
from components.making.manifest import Json, Target
from components.site import site_objects
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_object
from schemas.model.fleet import Manifests, Rings

HOSTS = Place(("a", "b"), (("", "Namespace"),))
OWN = Place(("cache",), (("rbac.authorization.k8s.io", "ClusterRole"),))
ONE = {Target.MANAGEMENT: HOSTS}


def site(name: str, ring: int | None, management: str = "mgmt", **more: Any) -> Member:
    """A site, or a management cluster; with objects on its own cluster but for ``places``."""
    reference = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": name}
    health = [{**reference, "namespace": name}]
    ignore = {("metal3.io", "BareMetalHost"): ["/spec/online"]}
    places = {**ONE, Target.SITE: OWN}
    found = Member(name, management, ring, True, name, name, health, ignore, (), places)
    return found._replace(context=f"{name}@admin", minutes=90)._replace(**more)


MANAGEMENT = site("management.mgmt", None, places=ONE)


def fleet(*members: Member, soak: int = 0, **manifests: str | None) -> Fleet:
    """A fleet of these, which says where its manifests are."""
    where = {"repository": "https://git.example/fleet.git", "tag": "fleet-1", **manifests}
    rings = Rings(soak_minutes=soak, late_minutes=60)
    return Fleet(rings, Manifests.model_validate(where), members)


def fleet_of(sites: Iterable[Site]) -> Fleet:
    """The fleet of real sites."""
    return fleet(*(member(each, site_objects(each)) for each in sites), soak=30)


def objects(groups: Iterable[list[Json]], own: str = "") -> dict[str, Json]:
    """Objects by kind, namespace (but for an engine's ``own``) and name; each has the form that the
    engine takes, and is there once."""
    made: dict[str, Json] = {}
    for body in (each for group in groups for each in group):
        assert check_object(body) == []
        space, name = body["metadata"].get("namespace", ""), body["metadata"]["name"]
        key = f"{body['kind']} {f'{space}/{name}'.removeprefix(f'{own}/')}"
        assert key not in made
        made[key] = body
    return made
