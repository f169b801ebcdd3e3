"""Who is who in a cluster: which machines a pool has, which hosts they run on, which are spares."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from foresite.adoption.bundle import Bundle
from schemas.facts.adopted import CONTROL_PLANE, DEPLOYMENT, HOST
from schemas.kubernetes.bodies import Json, items, mapping
from schemas.kubernetes.selectors import has_labels
from schemas.model.hardware import BmcProtocol
from schemas.reading.host_list import COLUMNS

_OWNERS = {DEPLOYMENT: "MachineSet", CONTROL_PLANE: "Machine"}
"""What each kind of owner makes itself."""


class Shape(NamedTuple):
    """The cluster of a bundle. ``machines`` are those of each owner by kind and name; ``hosts`` the
    BareMetalHost by the name of its Machine; ``spares`` those without one, by owner."""

    cluster: str
    control_plane: Json
    infrastructure: Json
    workers: list[Json]
    machines: Mapping[tuple[str, str], list[Json]]
    hosts: Mapping[str, Json]
    spares: Mapping[tuple[str, str], list[Json]]
    left_out: list[str]

    @property
    def owners(self) -> list[Json]:
        """The control plane, where there is one, and the MachineDeployments."""
        return [each for each in (self.control_plane, *self.workers) if each]

    @property
    def held(self) -> set[str]:
        """The names of hosts that run a machine."""
        return {each["metadata"]["name"] for each in self.hosts.values()}


def key_of(body: Json) -> tuple[str, str]:
    """The kind and name of an object."""
    return str(body["kind"]), str(body["metadata"]["name"])


def shape_of(bundle: Bundle) -> Shape:
    """The shape of the one Cluster of a bundle; what it lacks is empty."""
    (cluster,) = bundle.of("Cluster")
    spec = mapping(cluster, "spec")
    names = {
        key: mapping(spec, key).get("name") for key in ("controlPlaneRef", "infrastructureRef")
    }
    control = bundle.get(CONTROL_PLANE, names["controlPlaneRef"]) or {}
    workers = bundle.of(DEPLOYMENT)
    hosts = _hosts(bundle)
    found = Shape(
        cluster["metadata"]["name"], control,
        bundle.get("Metal3Cluster", names["infrastructureRef"]) or {}, workers,
        {key_of(each): _machines(bundle, each) for each in (control, *workers) if each},
        hosts, {}, [],
    )  # fmt: skip
    spares: dict[tuple[str, str], list[Json]] = {}
    for host in bundle.of(HOST):
        if host["metadata"]["name"] not in found.held:
            owner = next((o for o in (*workers, control) if o and _takes(bundle, o, host)), None)
            if owner:
                spares.setdefault(key_of(owner), []).append(host)
            else:
                found.left_out.append(host["metadata"]["name"])
    return found._replace(spares=spares)


def _machines(bundle: Bundle, owner: Json) -> list[Json]:
    """The Machines of an owner, by name."""
    kind, name = key_of(owner)
    if _OWNERS[kind] == "MachineSet":
        sets = {each["metadata"]["name"] for each in bundle.of("MachineSet")
                if _is_owned(each, kind, {name})}  # fmt: skip
        return [each for each in bundle.of("Machine") if _is_owned(each, "MachineSet", sets)]
    return [each for each in bundle.of("Machine") if _is_owned(each, kind, {name})]


def _is_owned(body: Json, kind: str, names: set[str]) -> bool:
    owners = items(body["metadata"], "ownerReferences")
    return any(each.get("kind") == kind and each.get("name") in names for each in owners)


def _hosts(bundle: Bundle) -> dict[str, Json]:
    """The host of each Machine: it names the Metal3Machine that holds it."""
    holders = {}
    for host in bundle.of(HOST):
        holder = mapping(host, "spec", "consumerRef")
        if holder.get("kind") == "Metal3Machine":
            holders[holder.get("name")] = host
    found = {}
    for machine in bundle.of("Machine"):
        infrastructure = mapping(machine, "spec", "infrastructureRef").get("name")
        if infrastructure in holders:
            found[str(machine["metadata"]["name"])] = holders[infrastructure]
    return found


def template_of(bundle: Bundle, owner: Json) -> Json:
    """The spec of the Metal3Machines that an owner makes."""
    at = ("machineTemplate", "spec") if owner["kind"] == CONTROL_PLANE else ("template", "spec")
    name = mapping(owner, "spec", *at, "infrastructureRef").get("name")
    found = bundle.get("Metal3MachineTemplate", name) or {}
    return mapping(found, "spec", "template", "spec")


def _takes(bundle: Bundle, owner: Json, host: Json) -> bool:
    """True if a new machine of an owner may take a host. Expressions are not followed."""
    selector = mapping(template_of(bundle, owner), "hostSelector")
    labels = mapping(host, "metadata", "labels")
    return not items(selector, "matchExpressions") and has_labels(
        labels, mapping(selector, "matchLabels")
    )


class Bmc(NamedTuple):
    """The address of a BMC in its parts; ``cell`` is what a host list has of it."""

    protocol: str
    cell: str
    path: str


def protocol(host: Json) -> Bmc | None:
    """The parts of a host's BMC address; None where a host list cannot say it. Without a protocol
    it is IPMI (BMO v0.13.2, pkg/hardwareutils/bmc/access.go)."""
    address = str(mapping(host, "spec", "bmc").get("address", "")).rstrip("/")
    scheme, _, rest = address.rpartition("://")
    place, slash, path = rest.partition("/")
    known = [each.value for each in BmcProtocol]
    if (scheme or "ipmi") not in known or not re.fullmatch(COLUMNS["bmc"].pattern, place):
        return None
    return Bmc(scheme or "ipmi", place, slash + path)
