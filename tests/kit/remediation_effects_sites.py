"""tokyo-1, applied, with a remediator for one pool; its changes, and its nodes as last seen."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from components.effects.fleet import Condition, NodeState
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rules, judge_object
from components.effects.vocabulary import Effect, Impact, Side
from components.machines.fleet import side_of
from components.making.manifest import Json
from components.remediation.effects import RULES
from components.remediation.names import COMPONENT
from components.remediation.objects import objects
from components.source import site_of
from preview.differences.compare import compare
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.remediation import Remediation
from tests.kit.repository import all_sites

EVERY_RULE = Rules((*RULES, *KUBERNETES))
POOL = "v100"
"""The pool that is mended: 120 hosts, of which 2 are spares."""
HEALER: Json = {"name": "gpu", "pools": [POOL], "max_unavailable": 2}
IMAGE = f"registry.example/remediation/node-operation-controller:v1@sha256:{'ab' * 32}"
Nodes = Mapping[str, NodeState]


def site(healer: Json | None = None, detector: Json | None = None, **changed: Any) -> Site:
    """The site with fields of its remediator, its detector and its fault remediation changed."""
    found = all_sites()["tokyo-1"]
    cluster = found.file.cluster.model_copy(update={"context": "tokyo-1"})
    found = replace(found, file=found.file.model_copy(update={"cluster": cluster}))
    settings = {
        "controller": {"image": IMAGE},
        "repair_image": IMAGE,
        "detector": detector or {},
        "healers": [{**HEALER, **(healer or {})}],
        **changed,
    }
    return with_remediation(found, Remediation.model_validate(settings))


def with_remediation(of: Site, settings: Remediation | None) -> Site:
    return replace(of, file=of.file.model_copy(update={"remediation": settings}))


def detecting(**detector: Any) -> Site:
    """The site with its faults looked for, and mended by nobody."""
    return site(detector=detector, healers=[])


def with_card(of: Site, **pci: Any) -> Site:
    """The site with fields of the PCI record of its pool's cards changed."""
    record = of.accelerators["v100-sxm2-32gb"]
    changed = record.model_copy(update={"pci": record.pci.model_copy(update=pci)})
    return replace(of, accelerators={**of.accelerators, "v100-sxm2-32gb": changed})


def with_count(of: Site, count: int) -> Site:
    """The site with another number of cards in the profile of its pool."""
    name = "v100-sxm2-32gb-x8"
    profile = of.hardware[name]
    cards = profile.accelerators
    assert cards is not None
    changed = profile.model_copy(update={"accelerators": cards.model_copy(update={"count": count})})
    return replace(of, hardware={**of.hardware, name: changed})


def hosts(of: Site) -> list[str]:
    """The hosts of the pool."""
    return [host.name for host in of.by_pool[POOL]]


TYPES = (
    "AcceleratorMissing",
    "AcceleratorError",
    "PCIeLinkDegraded",
    "DiskFull",
    "ReadonlyFilesystem",
    "KernelDeadlock",
)


def node(**changed: str) -> NodeState:
    """A node without a fault, but for conditions with another status, or that are True with a
    message."""
    found = {each: Condition("False", "no fault is seen") for each in TYPES}
    for kind, said in changed.items():
        known = said in ("True", "False", "Unknown")
        found[kind] = Condition(said) if known else Condition("True", said)
    return NodeState({"Ready": Condition("True"), **found}, {POOL_LABEL: POOL})


def nodes(of: Site, faulty: Mapping[int, NodeState]) -> dict[str, NodeState]:
    """All machines of the pool, some in another state by their place; the last hosts are spares."""
    names = hosts(of)[:-2]
    return {name: faulty.get(index, node()) for index, name in enumerate(names)}


def side(of: Site) -> Side:
    return side_of(of, {(COMPONENT, each.name): each for each in objects(of)})


def effects(before: Site, after: Site, seen: Nodes | None = None) -> list[Effect]:
    """Every effect of a change; each says where it is known from."""
    found = between(side(before), side(after), seen)
    assert all(each.source for each in found)
    return found


def between(before: Side, after: Side, seen: Nodes | None = None) -> list[Effect]:
    """Every effect of a change of objects, whoever made them."""
    both = replace(compare(site_of(after).name, before, after), nodes=seen)
    return [each for one in both.changes.values() for each in judge_object(EVERY_RULE, both, one)]


def worse(found: list[Effect]) -> set[tuple[Impact, int, int | None]]:
    """The effects beyond a restart of pods: the impact, on how many hosts, at most of how many."""
    return {
        (each.impact, len(each.hosts), each.at_most)
        for each in found
        if each.impact.rank > Impact.POD_RESTART.rank
    }


def said(found: list[Effect], name: str) -> str:
    """All that is said of objects whose logical name starts so."""
    words = [each.why for each in found if each.name[1].startswith(name)]
    assert words, f"nothing is said of {name}"
    return "\n".join(words)
