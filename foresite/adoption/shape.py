"""Who is who in a cluster: which machines a pool has, which hosts they run on, which are spares."""

import re
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import NamedTuple

from components.machines.names import CONTROL_PLANE_LABEL, DEPLOYMENT_LABEL
from foresite.adoption.bundle import Bundle, Key
from schemas.facts.adopted import CONTROL_PLANE, DEPLOYMENT, HOST
from schemas.kubernetes.bodies import Json, items, mapping
from schemas.kubernetes.selectors import has_labels
from schemas.model.hardware import BmcProtocol
from schemas.reading.host_list import COLUMNS


class Shape(NamedTuple):
    """The one Cluster of a bundle; what it lacks is empty. ``machines`` are those of each owner,
    ``hosts`` the BareMetalHost of each Machine by its name, ``spares`` those of each owner that
    have none, and ``left_out`` those that no owner takes."""

    cluster: Json
    control_plane: Json
    infrastructure: Json
    workers: list[Json]
    machines: Mapping[Key, list[Json]]
    hosts: Mapping[str, Json]
    spares: Mapping[Key, list[Json]]
    left_out: list[str]

    @property
    def owners(self) -> list[Json]:
        """The control plane, where there is one, and the MachineDeployments."""
        return [each for each in (self.control_plane, *self.workers) if each]

    @property
    def held(self) -> set[str]:
        """The names of hosts that run a machine."""
        return {each["metadata"]["name"] for each in self.hosts.values()}


def key_of(body: Json) -> Key:
    """The kind and name of an object."""
    return str(body["kind"]), str(body["metadata"]["name"])


def references_of(owner: Json) -> list[Json]:
    """What an object makes machines from, or a Cluster consists of."""
    spec = mapping(owner, "spec")
    if owner["kind"] == "Cluster":
        return [mapping(spec, "controlPlaneRef"), mapping(spec, "infrastructureRef")]
    if owner["kind"] == CONTROL_PLANE:
        return [mapping(spec, "machineTemplate", "spec", "infrastructureRef")]
    spec = mapping(spec, "template", "spec")
    return [mapping(spec, "infrastructureRef"), mapping(spec, "bootstrap", "configRef")]


def shape_of(bundle: Bundle) -> Shape:
    """The shape of the one Cluster of a bundle."""
    (cluster,) = bundle.of("Cluster")
    control, infrastructure = (bundle.get(str(each.get("kind")), each.get("name")) or {}
                               for each in references_of(cluster))  # fmt: skip
    workers = bundle.of(DEPLOYMENT)
    machines: dict[Key, list[Json]] = {key_of(each): [] for each in (control, *workers) if each}
    holders = {mapping(h, "spec", "consumerRef").get("name"): h for h in bundle.of(HOST)}
    hosts = {}
    for each in bundle.of("Machine"):
        labels, name = mapping(each, "metadata", "labels"), str(each["metadata"]["name"])
        key = DEPLOYMENT, str(labels.get(DEPLOYMENT_LABEL))
        owner = key_of(control) if control and CONTROL_PLANE_LABEL in labels else key
        machines.get(owner, []).append(each)
        infrastructure_name = mapping(each, "spec", "infrastructureRef").get("name")
        if infrastructure_name and infrastructure_name in holders:
            hosts[name] = holders[infrastructure_name]
    found = Shape(cluster, control, infrastructure, workers, machines, hosts, {}, [])
    spares: dict[Key, list[Json]] = {}
    for host in bundle.of(HOST):
        if host["metadata"]["name"] not in found.held:
            takers = (o for o in (*workers, control) if o and _takes(bundle, o, host))
            if owner_of := next(takers, None):
                spares.setdefault(key_of(owner_of), []).append(host)
            else:
                found.left_out.append(host["metadata"]["name"])
    return found._replace(spares=spares)


def template_of(bundle: Bundle, owner: Json) -> Json:
    """The spec of the Metal3Machines that an owner makes."""
    name = references_of(owner)[0].get("name")
    return mapping(bundle.get("Metal3MachineTemplate", name) or {}, "spec", "template", "spec")


def _takes(bundle: Bundle, owner: Json, host: Json) -> bool:
    """True if a new machine of an owner may take a host. Expressions are not followed."""
    selector = mapping(template_of(bundle, owner), "hostSelector")
    labels, wanted = mapping(host, "metadata", "labels"), mapping(selector, "matchLabels")
    return not items(selector, "matchExpressions") and has_labels(labels, wanted)


class Bmc(NamedTuple):
    """The address of a BMC in its parts; ``cell`` is what a host list has of it."""

    protocol: str
    cell: str
    path: str


def bmc_of(host: Json) -> Bmc | None:
    """The parts of a host's BMC address; None where a host list cannot say it. Without a protocol
    it is IPMI (BMO v0.13.2, pkg/hardwareutils/bmc/access.go)."""
    address = str(mapping(host, "spec", "bmc").get("address", "")).rstrip("/")
    scheme, _, rest = address.rpartition("://")
    place, slash, path = rest.partition("/")
    known = [each.value for each in BmcProtocol]
    if (scheme or "ipmi") not in known or not re.fullmatch(COLUMNS["bmc"].pattern, place):
        return None
    return Bmc(scheme or "ipmi", place, slash + path)


def addresses_of(bundle: Bundle, shape: Shape) -> dict[str, str]:
    """The IPv4 address of each host with a machine: the one of IPPools that its node shows."""
    given: dict[object, list[str]] = {}
    for each in bundle.of("IPAddress"):
        claim = bundle.get("IPClaim", mapping(each, "spec", "claim").get("name"))
        for data in (bundle.get("Metal3Data", o.get("name")) for o in _owners(claim)):
            for owner in _owners(data):
                given.setdefault(owner.get("name"), []).append(str(each["spec"].get("address")))
    found: dict[str, str] = {}
    for machine in (each for owned in shape.machines.values() for each in owned):
        told = items(mapping(machine, "status"), "addresses")
        shown = [str(e.get("address")) for e in told if e.get("type") == "InternalIP"]
        claimed = given.get(mapping(machine, "spec", "infrastructureRef").get("name"), [])
        own = [e for e in claimed if e in shown] or sorted(claimed) or shown
        host = shape.hosts[machine["metadata"]["name"]]["metadata"]["name"]
        if ipv4 := [each for each in own if ":" not in each]:
            found[host] = ipv4[0]
    return found


def _owners(body: Json | None) -> list[Json]:
    return items(body["metadata"], "ownerReferences") if body else []


Zone = tuple[str, IPv4Network, str]
"""The name of a zone, its network, and its gateway where an IPPool says it."""


def zones_of(bundle: Bundle, addresses: Iterable[str]) -> list[Zone]:
    """The networks of the IPPools that hosts have addresses in; else a /24 around each address."""
    known: dict[IPv4Network, str] = {}
    for spec in (mapping(pool, "spec") for pool in bundle.of("IPPool")):
        for each in items(spec, "pools"):
            start = str(each.get("subnet") or each.get("start", ":"))
            prefix = each.get("prefix") or spec.get("prefix") or 24
            if ":" not in start:
                text = start if "/" in start else f"{start}/{prefix}"
                gateway = str(each.get("gateway") or spec.get("gateway") or "")
                known[IPv4Network(text, strict=False)] = gateway
    found: dict[IPv4Network, str] = {}
    for address in addresses:
        own = (each for each in sorted(known) if IPv4Address(address) in each)
        network = next(own, IPv4Network(f"{address}/24", strict=False))
        found[network] = known.get(network, "")
    return [(f"zone-{n}", each, found[each]) for n, each in enumerate(sorted(found), start=1)]
