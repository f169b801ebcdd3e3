"""Names of the objects of fault remediation, and the ways in which they find each other."""

from functools import partial

from components.making.faults import DOMAIN
from components.making.manifest import Json, metadata_of
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.remediation import Remediation, Remediator
from schemas.model.site_file import Pool
from schemas.model.vocabulary import RemediatorKind

COMPONENT = "remediation"
NAME_LABEL = "app.kubernetes.io/name"
REMEDIATOR_LABEL = f"{DOMAIN}/healer"
"""On objects of a remediator: its name."""
CONTROLLER = "node-operation-controller"
"""Node Operation Controller, and its name among the release's images."""
TURNS = "turns"
"""The program that gives nodes their turns."""
REBOOTS = "reboots"
"""The program that reboots nodes: the account of its Jobs here and on the management cluster."""
REPAIR_IMAGE = "node-repair"
"""Name among the release's images of our own programs."""
NODEOPS_API = "nodeops.k8s.preferred.jp/v1alpha1"
REBOOT_ANNOTATION = f"{DOMAIN}/reboot"
"""Annotation of a node: the reboot of its present slot, and its outcome (node_repair/reboot.py). On
a BareMetalHost: the operation that asked for its last reboot."""
HISTORY_ANNOTATION = f"{DOMAIN}/history"
"""Annotation of a BareMetalHost, and a copy on its node: its repairs (node_repair/history.py)."""
HELD_LABEL = f"{DOMAIN}/held"
"""Label of the ConfigMaps turns-held-<pool>, which are there while too many nodes of a pool have a
fault: kube-state-metrics tells of ConfigMaps by name, and of no other object of ours."""
metadata = partial(metadata_of, COMPONENT)


def settings_of(site: Site) -> Remediation:
    """The site's fault remediation; LookupError where it has none."""
    if site.file.remediation is None:
        raise LookupError(f"{site.name} has no fault remediation")
    return site.file.remediation


def remediated_pools(site: Site) -> list[tuple[Remediator, Pool]]:
    """Each remediator of Node Operation Controller with each pool that it repairs, in order."""
    return [
        (remediator, pool)
        for remediator in (site.file.remediation.healers if site.file.remediation else [])
        if remediator.kind is RemediatorKind.NODE_OPERATION_CONTROLLER
        for pool in site.file.pools
        if pool.name in remediator.pools and site.repairs(pool, remediator)
    ]


def find_pool(site: Site, name: str) -> Pool | None:
    """The pool of a name; None where the site has none."""
    return next((each for each in site.file.pools if each.name == name), None)


def selector_labels(program: str) -> dict[str, str]:
    """The labels by which a program's pods are selected; they can never change."""
    return {NAME_LABEL: program}


def remediator_labels(remediator: Remediator, pool: Pool) -> dict[str, str]:
    """The labels of a remediator's objects for a pool; budgets are chosen by them."""
    return {REMEDIATOR_LABEL: remediator.name, POOL_LABEL: pool.name}


def own(site: Site, program: str, name: str = "") -> Json:
    """The metadata of an object of one program, in the namespace of the remediation."""
    where = settings_of(site).namespace
    return metadata(site, name or program, where, **selector_labels(program))


def shared_name(part: str) -> str:
    """The name of a cluster-wide object: apart from those of anybody else."""
    return f"foresite:remediation:{part}"


def repair_image(site: Site) -> str:
    """The image of our own programs."""
    return settings_of(site).repair_image or site.images[REPAIR_IMAGE]
