"""The objects of an adopted cluster that stay as they were, from the file that the site names."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from schemas.facts.site import Site
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.model.adopted import Adopted
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Role

Json = dict[str, Any]
DEPLOYMENT, CONTROL_PLANE, HOST = "MachineDeployment", "KubeadmControlPlane", "BareMetalHost"
KINDS = {
    "Cluster": "cluster.x-k8s.io/v1beta2",
    "Metal3Cluster": "infrastructure.cluster.x-k8s.io/v1beta2",
    CONTROL_PLANE: "controlplane.cluster.x-k8s.io/v1beta2",
    DEPLOYMENT: "cluster.x-k8s.io/v1beta2",
    HOST: "metal3.io/v1alpha1",
}
"""Kinds that may be kept, by their apiVersion. Templates are only referred to: an edit of one under
its name rolls nothing, so nobody has to own it."""


def management_names(site: Site) -> Adopted:
    """The names on the management cluster: those of before, or all the site's."""
    # A program whose cluster others make says nothing of it.
    return getattr(site.file, "adopted", None) or _own_names(site.name)


@lru_cache(maxsize=8)
def _own_names(site: str) -> Adopted:
    own: Json = {"namespace": site, "cluster": site, "control_plane": site}
    return Adopted.model_construct(**own)


def kept(site: Site) -> Mapping[tuple[str, str], Json]:
    """The objects that stay as they are, by kind and name; none where the site is not adopted."""
    adopted = getattr(site.file, "adopted", None)
    return _kept(site.texts.get(adopted.objects, "")) if adopted else {}


@lru_cache(maxsize=8)
def _kept(text: str) -> Mapping[tuple[str, str], Json]:
    try:
        return {(each["kind"], each["metadata"]["name"]): each for each, _ in read_objects(text)}
    except ManifestError:  # schemas/rules/adopted.py reports it
        return {}


def kept_machines(site: Site, pool: Pool) -> Json | None:
    """The MachineDeployment or KubeadmControlPlane of a pool that is kept; None: it is made."""
    if pool.role is Role.CONTROL_PLANE:
        return kept(site).get((CONTROL_PLANE, management_names(site).control_plane))
    return kept(site).get((DEPLOYMENT, pool.adopted.deployment)) if pool.adopted else None
