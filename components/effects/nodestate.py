"""The state of a node, as somebody saw it last: what Git does not know, and a reviewer may give."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Condition(NamedTuple):
    """A condition of a node: ``status`` is True, False or Unknown, as Kubernetes writes it."""

    status: str
    message: str = ""


class NodeState(NamedTuple):
    """A node: its conditions by type, its labels, and its taints' values by key."""

    conditions: Mapping[str, Condition] = MappingProxyType({})
    labels: Mapping[str, str] = MappingProxyType({})
    taints: Mapping[str, str] = MappingProxyType({})
    cordoned: bool = False

    def status(self, kind: str) -> str:
        """The status of a condition; empty where nobody has told it."""
        found = self.conditions.get(kind)
        return found.status if found else ""
