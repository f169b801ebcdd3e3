"""What is read of a cluster, as plain values: odd ones count as none."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from node_repair.cluster import Json
from node_repair.names import POOL, RACK, RESET, TURN
from node_repair.notes import ADDRESS


def part(value: Any, *path: str) -> Json:
    """A part of an object; empty where it is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text(value: Any, key: str) -> str:
    """A text of an object; empty where it is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def listed(value: Any, key: str) -> Iterator[Json]:
    """The objects of a list in an object."""
    found = value.get(key) if isinstance(value, dict) else None
    return (each for each in found or () if isinstance(each, dict))


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as it was read; ``version`` binds changes to it."""

    name: str
    version: str = ""
    pool: str = ""
    rack: str = ""
    """Its rack; where it has no label, a rack of its own."""
    slot: str | None = None
    """The fault for which it has a repair slot."""
    resetting: bool = False
    """Its accelerators are being reset, as its label says."""
    cordoned: bool = False
    leaving: bool = False
    kubelet: str = ""
    """Version of its kubelet."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Its annotations."""
    taints: tuple[Json, ...] = ()
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Status by type."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Message by type of condition."""
    provider: str = ""
    """Its provider ID, by which its host is found."""
    boot: str = ""
    """The boot of its system, without characters that end a part of a note."""

    @classmethod
    def of(cls, body: Json) -> Self:
        """The node of an object."""
        metadata, spec = body["metadata"], part(body, "spec")
        labels = part(metadata, "labels")
        seen = {text(each, "type"): each for each in listed(part(body, "status"), "conditions")}
        return cls(
            name=metadata["name"],
            version=text(metadata, "resourceVersion"),
            pool=text(labels, POOL),
            rack=text(labels, RACK) or metadata["name"],
            slot=labels.get(TURN),
            resetting=RESET in labels,
            cordoned=spec.get("unschedulable") is True,
            leaving="deletionTimestamp" in metadata,
            kubelet=text(part(body, "status", "nodeInfo"), "kubeletVersion"),
            notes=part(metadata, "annotations"),
            taints=tuple(listed(spec, "taints")),
            conditions={name: text(each, "status") for name, each in seen.items()},
            messages={name: text(each, "message") for name, each in seen.items()},
            provider=text(spec, "providerID"),
            boot=re.sub("[^0-9A-Za-z-]", "", text(part(body, "status", "nodeInfo"), "bootID")),
        )

    @property
    def ready(self) -> bool:
        """True if its kubelet says so."""
        return self.conditions.get("Ready") == "True"

    def device(self, condition: str) -> str:
        """The first PCI address that a condition names while it is True, without its function."""
        bad = self.conditions.get(condition) == "True"
        found = ADDRESS.search(self.messages.get(condition, "").lower()) if bad else None
        return found[0].partition(".")[0] if found else ""

    def has_taint(self, key: str) -> bool:
        """True if it has a taint of this key."""
        return any(each.get("key") == key for each in self.taints)


class Operation(NamedTuple):
    """A NodeOperation, and whether a remediation of its node owns it."""

    name: str
    node: str
    phase: str
    reason: str
    ours: bool

    @property
    def active(self) -> bool:
        """True if it has not ended."""
        return self.phase not in ("Completed", "Failed")


class Work(NamedTuple):
    """What a drain would end: the highest priority of a node's pods, and their number."""

    priority: int
    pods: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that is decided from. ``work``: by node, of idle ones nothing; None while unknown."""

    nodes: tuple[Node, ...]
    remediations: Mapping[str, str] = field(default_factory=dict)
    """The nodes of NodeRemediations, by their names."""
    operations: tuple[Operation, ...] = ()
    held: frozenset[str] = frozenset()
    """Names of the ConfigMaps that tell of held pools."""
    work: Mapping[str, Work] | None = None


def operations(bodies: Iterable[Json], remediations: Mapping[str, str]) -> Iterator[Operation]:
    """The operations of a list, each with whether it belongs to a repair of its node."""
    for body in bodies:
        node, status = text(part(body, "spec"), "nodeName"), part(body, "status")
        owners = [
            text(each, "name")
            for each in listed(part(body, "metadata"), "ownerReferences")
            if each.get("kind") == "NodeRemediation"
        ]
        ours = any(remediations.get(owner) == node for owner in owners)
        name, phase = body["metadata"]["name"], text(status, "phase")
        yield Operation(name, node, phase, text(status, "reason"), ours)


def work(bodies: Iterable[Json]) -> dict[str, Work]:
    """What a drain of each node would end: no pods that have ended, of DaemonSets, or static."""
    found: dict[str, Work] = {}
    for body in bodies:
        metadata, spec = body["metadata"], part(body, "spec")
        owners = {text(each, "kind") for each in listed(metadata, "ownerReferences")}
        static = "kubernetes.io/config.mirror" in part(metadata, "annotations")
        ended = text(part(body, "status"), "phase") in ("Succeeded", "Failed")
        if static or ended or "DaemonSet" in owners:
            continue
        node, priority = text(spec, "nodeName"), spec.get("priority")
        mine = priority if isinstance(priority, int) else 0
        before = found.get(node, Work(mine, 0))
        found[node] = Work(max(mine, before.priority), before.pods + 1)
    return found
