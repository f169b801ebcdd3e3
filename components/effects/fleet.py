"""The machines of one side of a change, as effects see them: nothing here is Foresite's own.

``components/machines/fleet.py`` fills the record from a typed site. Another reader may fill it from
the Cluster API objects of anyone: a group is a MachineDeployment or a control plane, its hosts are
those that its template's selector admits. How many machines may be out at a time stands in the
objects themselves, and is read there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from components.making.manifest import Json
from schemas.kubernetes.grouping import group_by_key
from schemas.model.management import PROVISIONING_LIMIT

OUT = "out"
"""The state of a host that may run no machine."""


class Host(NamedTuple):
    """A host that may run a machine of ``pool``. ``labels`` are those of its node that others of
    the pool may lack; its name is the value of ``kubernetes.io/hostname``. ``state`` is ``OUT`` for
    one that may run none."""

    name: str
    pool: str
    zone: str
    labels: tuple[tuple[str, str], ...] = ()
    state: str = ""


class Pace(NamedTuple):
    """How long the machines of a group take: ``install_minutes`` for each, ``drain_seconds`` at
    most before it, ``startup_seconds`` until a new one counts as failed (0: no limit)."""

    install_minutes: int
    drain_seconds: int
    startup_seconds: int


class Accelerators(NamedTuple):
    """The model of a host's accelerators, and how many it has; empty and 0 for none."""

    model: str = ""
    each: int = 0


class Group(NamedTuple):
    """Machines that one object makes: a MachineDeployment, or the control plane.

    ``owner`` is that object's component and logical name. A pool is one group, or one for each zone
    where these are rolled out apart; ``zone`` is empty otherwise. ``labels`` and ``taints`` are
    those of all its nodes. ``replicas`` of the ``hosts`` have a machine; Git does not say which.
    The health check acts while at most ``unhealthy_percent`` of the pool have failed. ``domain`` is
    the label of nodes by which hosts share an NVLink domain; empty where none does.
    """

    owner: tuple[str, str]
    pool: str
    zone: str
    control_plane: bool
    hosts: tuple[Host, ...]
    replicas: int
    labels: Mapping[str, str]
    taints: tuple[Json, ...]
    pace: Pace
    unhealthy_percent: int
    accelerators: Accelerators = Accelerators()
    domain: str = ""


@dataclass(frozen=True)
class Fleet:
    """All machines of a site on one side.

    ``hosts`` are in the order in which people list them. ``about`` has, by component and logical
    name, the groups that an object makes, looks after, or is a template of. ``label_keys`` are the
    labels of nodes that are in Git; others may be there or not. ``context`` and ``management`` name
    the clusters that objects are applied to, None where the site's own has no name yet.
    ``endpoint_announced``: something on the control plane answers for the cluster's address.
    """

    hosts: tuple[Host, ...]
    groups: tuple[Group, ...]
    about: Mapping[tuple[str, str], tuple[Group, ...]]
    label_keys: frozenset[str]
    context: str | None
    management: str
    endpoint_announced: bool
    decommissioned: bool = False
    at_once: int = PROVISIONING_LIMIT
    """Hosts that the Bare Metal Operator provisions at a time, over all sites of its cluster."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all hosts."""
        return tuple(host.name for host in self.hosts)

    @cached_property
    def out(self) -> frozenset[str]:
        """The names of the hosts that are out."""
        return frozenset(host.name for host in self.hosts if host.state == OUT)

    @cached_property
    def pools(self) -> Mapping[str, tuple[Group, ...]]:
        """The groups of each pool."""
        found = group_by_key((group.pool, group) for group in self.groups)
        return {pool: tuple(groups) for pool, groups in found.items()}

    @cached_property
    def group_of_owner(self) -> Mapping[tuple[str, str], Group]:
        """The group that each object makes."""
        return {group.owner: group for group in self.groups}

    @cached_property
    def group_of_host(self) -> Mapping[str, Group]:
        """The group that each host belongs to, by the host's name."""
        return {host.name: group for group in self.groups for host in group.hosts}

    def hosts_of(self, pool: str, zone: str = "") -> tuple[Host, ...]:
        """The hosts of a pool (in one zone), in the order of all hosts."""
        groups = self.pools.get(pool, ())
        hosts = groups[0].hosts if len(groups) == 1 else self.hosts
        hosts = tuple(host for host in hosts if host.state != OUT)
        return tuple(host for host in hosts if host.pool == pool and zone in ("", host.zone))

    def replicas(self, pool: str, zone: str = "") -> int:
        """How many machines a pool (or its group of one zone) is to have."""
        groups = self.pools.get(pool, ())
        return sum(group.replicas for group in groups if zone in ("", group.zone))


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
