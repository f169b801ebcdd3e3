"""A fleet as engines see it: where its manifests lie, and what is waited for in which ring."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from components.making.manifest import Json, Manifest, Target
from components.making.told import Told
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.kubernetes.bodies import identity
from schemas.kubernetes.grouping import group_by_key
from schemas.model.fleet import Manifests, Rings
from schemas.model.management import STACK

TOLD = Told(__file__)
KINDS = TOLD.table("kinds")
"""Kinds of a site, and of a management cluster, that are waited for."""
SHOWN = 8
"""Sites or clusters that an advice names."""
_REFERENCE = ("apiVersion", "kind", "namespace", "name")
_BINDING = "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io"


class Place(NamedTuple):
    """What a member has on a cluster: its namespaces, the kinds of its objects without one, as API
    group and kind, and how many objects."""

    namespaces: tuple[str, ...]
    kinds: tuple[tuple[str, str], ...]
    objects: int = 0


class Member(NamedTuple):
    """A site, or a management cluster by itself.

    ``ring`` is None for a management cluster. ``waited`` says that later rings wait for the site:
    not for one that is held, and not for one that is decommissioned. ``namespace`` and ``cluster``
    are its names on the management cluster. ``health`` names the objects that are waited for;
    ``ignore`` has the fields that controllers write, by API group and kind; ``lax`` names admission
    policies that only warn. ``places`` are the clusters that it has objects on, with what is
    written there; ``context`` is the name by which people know its own, once that answers.
    ``minutes`` are those in which all its machines are replaced, one pool after the other.
    ``unasked`` has words for what it sets, and what ``foresite apply`` alone asks.
    """

    name: str
    management: str
    ring: int | None
    waited: bool
    namespace: str
    cluster: str
    health: list[Json]
    ignore: Mapping[tuple[str, str], list[str]]
    lax: tuple[str, ...]
    places: Mapping[Target, Place] = {}
    context: str | None = None
    minutes: int = 0
    unasked: tuple[str, ...] = ()


class Fleet(NamedTuple):
    """All sites and management clusters, in a fixed order."""

    rings: Rings
    manifests: Manifests
    members: tuple[Member, ...]

    def folder(self, *below: str) -> str:
        """The path of a folder in the repository of the manifests."""
        return "/".join((*filter(None, [self.manifests.path]), *below))

    def by_management(self) -> Iterator[tuple[str, list[Member], dict[int, list[Member]]]]:
        """Each management cluster: its name, itself where it has a file, and its sites by ring."""
        every = sorted(self.members, key=lambda each: (each.management, each.ring or 0, each.name))
        for name, found in group_by_key((each.management, each) for each in every).items():
            sites = group_by_key((each.ring, each) for each in found if each.ring is not None)
            yield name, [each for each in found if each.ring is None], sites


def member(site: Site, objects: Mapping[str, Sequence[Manifest]], minutes: int = 0) -> Member:
    """A site as engines see it, by its objects; ``minutes`` are those of all its machines."""
    every = [each for made in objects.values() for each in made]
    there = [each for each in every if each.target is Target.MANAGEMENT]
    its_own, names = site.name.startswith(STACK), management_names(site)
    kinds = KINDS["management" if its_own else "site"]
    bindings = [e for e in every if e.group_kind == _BINDING]
    alerts = site.file.monitoring and site.file.monitoring.prometheus_url
    ignored = ((identity(e.body)[:2], "/" + f.replace(".", "/")) for e in there for f in e.ignore)
    return Member(
        site.name,
        site.file.management,
        None if its_own else site.file.ring,
        waited=not site.file.held and site.file.decommission is None,
        namespace=names.namespace,
        cluster=names.cluster,
        health=[dict(zip(_REFERENCE, e.key, strict=True)) for e in there if e.group_kind in kinds],
        ignore={kind: sorted(set(fields)) for kind, fields in group_by_key(ignored).items()},
        lax=tuple(e.key[3] for e in bindings if "Deny" not in e.body["spec"]["validationActions"]),
        places={
            target: _place(group)
            for target, group in group_by_key((e.target, e) for e in every).items()
        },
        context=site.file.cluster.context,
        minutes=minutes,
        unasked=("windows",) * bool(site.file.maintenance) + ("alerts",) * bool(alerts),
    )


def _place(made: Sequence[Manifest]) -> Place:
    spaces = sorted({each.key[2] for each in made} - {""})
    wide = {identity(each.body)[:2] for each in made if not each.key[2]}
    return Place(tuple(spaces), tuple(sorted(wide)), len(made))


def advice(fleet: Fleet) -> Iterator[str]:
    """What a team has to see to, whatever engine it takes."""
    yield TOLD.say("uncounted")
    lax = [f"{e.name} ({', '.join(e.lax)})" for e in fleet.members if e.lax]
    yield from named(TOLD, "lax", lax)
    for word in ("windows", "alerts"):
        yield from named(TOLD, word, [e.name for e in fleet.members if word in e.unasked])


def named(told: Told, word: str, names: Sequence[str], **more: object) -> Iterator[str]:
    """An advice that names so many of what it is about; none where that is nothing."""
    if names:
        shown = ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
        yield told.say(word, count=len(names), names=shown, **more)
