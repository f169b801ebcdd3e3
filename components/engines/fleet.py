"""A fleet as engines see it: where its manifests lie, and what is waited for in which ring."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from components.making.manifest import Json, Manifest, Target
from components.making.told import Told
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.model.fleet import Manifests, Rings
from schemas.model.management import STACK

HEALTH = (
    "Cluster.cluster.x-k8s.io",
    "KubeadmControlPlane.controlplane.cluster.x-k8s.io",
    "MachineDeployment.cluster.x-k8s.io",
)
"""Kinds of a site that are waited for. Not its hosts, as one of 400 is always broken, and spare
ones are never ready (Bare Metal Operator v0.13.2, computeConditions)."""
PROGRAMS = ("Deployment.apps", "Ironic.ironic.metal3.io")
"""Kinds of a management cluster that are waited for, besides providers of Cluster API."""
PROVIDER = "Provider.operator.cluster.x-k8s.io"
TOLD = Told(__file__)
_BINDING = "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io"


class Member(NamedTuple):
    """A site, or a management cluster by itself.

    ``ring`` is None for a management cluster. ``waited`` says that later rings wait for the site:
    not for one that is held, and not for one that is decommissioned. ``namespace`` and ``cluster``
    are its names on the management cluster. ``folders`` are the clusters that it has objects on.
    ``health`` names the objects that are waited for; ``ignore`` has the fields that controllers
    write, by API group and kind; ``lax`` names admission policies that only warn.
    """

    name: str
    management: str
    ring: int | None
    waited: bool
    namespace: str
    cluster: str
    folders: frozenset[Target]
    health: list[Json]
    ignore: Mapping[tuple[str, str], tuple[str, ...]]
    lax: tuple[str, ...]


class Fleet(NamedTuple):
    """All sites and management clusters, in a fixed order."""

    rings: Rings
    manifests: Manifests
    members: tuple[Member, ...]

    def folder(self, *below: str) -> str:
        """The path of a folder in the repository of the manifests."""
        return "/".join((*filter(None, [self.manifests.path]), *below))

    def by_management(self) -> Iterator[tuple[str, Member | None, dict[int, list[Member]]]]:
        """Each management cluster: its name, itself where it has a file, and its sites by ring."""
        grouped = group_by_key((each.management, each) for each in sorted(self.members))
        for name in sorted(grouped):
            found = grouped[name]
            sites = group_by_key((each.ring, each) for each in found if each.ring is not None)
            itself = next((each for each in found if each.ring is None), None)
            yield name, itself, {ring: sites[ring] for ring in sorted(sites)}


def member(site: Site, objects: Mapping[str, Sequence[Manifest]]) -> Member:
    """A site as engines see it, by its objects."""
    every = [each for made in objects.values() for each in made]
    there = [each for each in every if each.target is Target.MANAGEMENT]
    its_own = site.name.startswith(STACK)
    names = management_names(site)
    warns = (each for each in every if each.group_kind == _BINDING)
    return Member(
        site.name,
        site.file.management,
        None if its_own else site.file.ring,
        waited=not its_own and not site.file.held and site.file.decommission is None,
        namespace=names.namespace,
        cluster=names.cluster,
        folders=frozenset(each.target for each in every),
        health=[_reference(each) for each in there if _is_waited_for(each, its_own=its_own)],
        ignore={
            (each.key[0].rpartition("/")[0], each.kind): each.ignore
            for each in there
            if each.ignore
        },
        lax=tuple(
            each.key[3] for each in warns if "Deny" not in each.body["spec"]["validationActions"]
        ),
    )


def advice(fleet: Fleet) -> Iterator[str]:
    """What a team has to see to, whatever engine it takes."""
    yield TOLD.say("uncounted")
    for each in fleet.members:
        if each.lax:
            yield TOLD.say("lax", site=each.name, names=", ".join(each.lax))


def _is_waited_for(manifest: Manifest, *, its_own: bool) -> bool:
    kind = manifest.group_kind
    return kind in PROGRAMS or kind.endswith(PROVIDER) if its_own else kind in HEALTH


def _reference(manifest: Manifest) -> Json:
    api_version, kind, namespace, name = manifest.key
    return {"apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace}
