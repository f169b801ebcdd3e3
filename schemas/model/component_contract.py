"""The contract of a component of one's own: what its package hands over, and what it gets. Packages
import it as ``foresite.own``. ``CONTRACT`` is raised whenever something here changes its meaning;
what is added with a default leaves it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from schemas.model.extra import Allowed, Owner, OwnersRule
from schemas.model.policies import Sentence
from schemas.model.primitives import Model

CONTRACT = 1
"""The version of the contract."""


class Settings(Model):
    """Settings of a component in the site file; a component adds its own fields."""

    why: Sentence
    """Reason why the site has the component."""
    owner: Owner
    """Who answers for it."""
    allow: Annotated[list[Allowed], Field(max_length=20)] = []
    """Dangers of its objects that are known and accepted."""


class PoolView(Model):
    """A pool of hosts."""

    name: str
    """Name of the pool; its nodes carry it as node.cluster.x-k8s.io/pool."""
    role: str
    """Role of its machines: control-plane or worker."""
    machines: int
    """Machines of the pool: its hosts less the spares."""
    model: str | None
    """Model of its accelerators."""
    resource: str | None
    """Resource that pods request for an accelerator."""
    labels: dict[str, str]
    """Labels of its nodes."""
    taints: list[dict[str, str]]
    """Taints of its nodes that the site file names (key, value, effect)."""


class HostView(Model):
    """A host of the host list."""

    name: str
    """Name of the host and of its node."""
    pool: str
    """Name of its pool."""
    zone: str
    """Name of its zone."""
    address: str
    """Its address; empty where the site chooses it."""
    rack: str
    """Its rack; may be empty."""


class SiteView(Model):
    """A site as a component of one's own sees it."""

    name: str
    """Name of the site."""
    region: str
    """Name of its region."""
    kubernetes: str
    """Kubernetes version of its control plane."""
    endpoint: str
    """Address of the API server."""
    pods: str
    """Network of pods."""
    services: str
    """Network of Services."""
    zones: dict[str, str]
    """Networks of the zones by their names."""
    pools: list[PoolView]
    """Pools, in the order of the site file."""
    hosts: list[HostView]
    """Hosts, in the order of the host list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A component of one's own, as its entry point in ``foresite.components`` names it."""

    contract: int
    """Version of the contract that it is written for."""
    name: str
    """Its name, equal to that of the entry point; its section is ``components.<name>``."""
    what: str
    """What it is, in a sentence; editors show it."""
    settings: type[Settings]
    """Type of its settings."""
    objects: Callable[[SiteView, Any], Iterable[Mapping[str, Any]]]
    """Its objects as plain data. A pure function: no network, no clock, no chance."""
    crds: tuple[Path, ...] = ()
    """YAML files of its package with definitions of kinds."""
    namespaces: tuple[str, ...] = ()
    """Namespaces that it makes, with the Pod Security level restricted."""
    effects: tuple[OwnersRule, ...] = ()
    """What changes of its own kinds do to machines; what no row covers is unknown."""
    cluster: Literal["site", "management"] = "site"
    """Cluster that its objects are for."""
    protect: bool = False
    """True if deleting one of its objects destroys something."""
