"""A DeviceTaintRule for each device that a condition of its node names, as long as the node has it.
It names the device by the node's own pool of its driver, so it reaches no other host."""

import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple, Self

from node_repair.cluster import Cluster, ClusterError, Json
from node_repair.metrics import IN_USE
from node_repair.names import POOL
from node_repair.notes import ADDRESS, bad_devices
from node_repair.state import listed, part, text

LOG = logging.getLogger(__name__)
_ATTRIBUTE = re.compile(r"(?:.*/)?pcie?(?:busid|address)", re.IGNORECASE)
"""resource.kubernetes.io/pciBusID (Kubernetes 1.36), and what drivers called it before."""
_SLICES = "/apis/resource.k8s.io/v1/resourceslices"


class Device(NamedTuple):
    """A device that a driver publishes, with its PCI address."""

    node: str
    driver: str
    slices: str
    """The driver's pool that it is in."""
    name: str
    address: str


class Report(NamedTuple):
    """A condition of a node: its fault, status and message."""

    node: str
    pool: str
    fault: str
    status: str
    message: str


class Rule(NamedTuple):
    """A DeviceTaintRule: of a device, and the nodes' pool and fault for which it was made."""

    name: str
    pool: str
    driver: str
    slices: str
    device: str
    fault: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What is taken out, and how much of it."""

    api: str
    """apiVersion of DeviceTaintRule."""
    faults: Mapping[str, str]
    """The fault of each type of condition."""
    taint: str
    pools: tuple[str, ...]
    owner: tuple[str, str]
    """Label of the rules made here."""
    percent: int
    """Share of a pool's devices beyond which no more are taken out."""
    up_to: int = 0
    """Bad devices of a host beyond which no more of it are taken out; 0: half of them."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """The limits of an environment. Raises KeyError or ValueError where one is missing."""
        key, _, value = environment["DEVICETAINTS_OWNER"].partition("=")
        return cls(
            environment["DEVICETAINTS_API"],
            json.loads(environment["DEVICETAINTS_FAULTS"]),
            environment["DEVICETAINTS_TAINT"],
            tuple(environment["DEVICETAINTS_POOLS"].split(",")),
            (key, value),
            int(environment["DEVICETAINTS_PERCENT"]),
            int(environment.get("DEVICETAINTS_UP_TO", "0")),
        )

    @property
    def path(self) -> str:
        """The path of the rules."""
        return f"/apis/{self.api}/devicetaintrules"


class Outcome(NamedTuple):
    """Rules to make and names of rules to delete, and devices that stay in use, with the reason."""

    add: tuple[Rule, ...]
    delete: tuple[str, ...]
    kept: tuple[str, ...]


def decide_devices(
    percent: int,
    devices: Iterable[Device],
    reports: Iterable[Report],
    rules: Iterable[Rule],
    up_to: int = 0,
) -> Outcome:
    """Decide which devices are taken out of use and which are given back.

    At most ``percent`` of a pool's devices are out, and at most half of a host's, but always one.
    No further one of a host is, where more than ``up_to`` of it are bad. A node is known by its own
    name where its slices are gone, as drivers name their pools after it.
    """
    devices, rules = tuple(devices), tuple(rules)
    known = {(each.node, each.fault): each for each in reports}
    pools = {each.node: each.pool for each in known.values()}
    hosts = {each.slices: each.node for each in reversed(devices)}
    total = Counter(pools[each.node] for each in devices if each.node in pools)
    number = Counter(each.node for each in devices)
    out: Counter[str] = Counter()
    out_of: Counter[str] = Counter()
    add: list[Rule] = []
    delete: list[str] = []
    kept: list[str] = []
    for rule in rules:
        on = hosts.get(rule.slices, rule.slices)
        report = known.get((on, rule.fault))
        if on not in pools or (report and report.status == "False"):
            delete.append(rule.name)
        else:
            out[rule.pool] += 1
            out_of[on] += 1
    taken = {(each.slices, each.driver, each.device) for each in rules}
    for device, report in _named(devices, known.values()):
        on, pool, mine = device.node, report.pool, (device.slices, device.driver, device.name)
        if mine in taken:
            continue
        if 0 < up_to < (bad := bad_devices(report.message)):
            kept.append(f"{on}: {bad} devices are bad, {device.name} stays in use")
        elif out[pool] + 1 > max(1, total[pool] * percent // 100):
            counted = f"{out[pool]} of {total[pool]} devices are out"
            kept.append(f"pool {pool}: {counted}, {device.name} of {on} stays in use")
        elif (out_of[on] + 1) * 2 > number[on] > 1:
            counted = f"{out_of[on]} of {number[on]} devices are out"
            kept.append(f"{on}: {counted}, {device.name} stays in use: the fault is the host's")
        else:
            out[pool] += 1
            out_of[on] += 1
            taken.add(mine)
            add.append(
                Rule(f"{on}-{device.name}", pool, device.driver, device.slices, device.name,
                     report.fault)
            )  # fmt: skip
    return Outcome(tuple(add), tuple(delete), tuple(kept))


def in_use(
    devices: Iterable[Device], reports: Iterable[Report], rules: Iterable[Rule]
) -> dict[str, int]:
    """The number of bad devices that stay in use, by host."""
    hosts = {each.slices: each.node for each in devices}
    out = Counter(hosts.get(each.slices, each.slices) for each in rules)
    bad = {each.node: bad_devices(each.message) for each in reports if each.status == "True"}
    return {node: count - out[node] for node, count in bad.items() if count > out[node]}


def _named(devices: Iterable[Device], reports: Iterable[Report]) -> Iterator[tuple[Device, Report]]:
    """Each device with each True condition that names its address, or that of all its functions."""
    bad = [each for each in reports if each.status == "True"]
    for device in devices:
        for report in bad:
            found = ADDRESS.findall(report.message.lower()) if report.node == device.node else ()
            if {device.address, device.address.partition(".")[0]} & {*found}:
                yield device, report


def devices_of(slices: Iterable[Json]) -> Iterator[Device]:
    """The devices of ResourceSlices whose driver publishes their PCI address."""
    for each in slices:
        spec = part(each, "spec")
        for device in listed(spec, "devices") if text(spec, "nodeName") else ():
            addresses = (
                text(value, "string")
                for name, value in sorted(part(device, "attributes").items())
                if _ATTRIBUTE.fullmatch(name)
            )
            if address := next(filter(None, addresses), ""):
                of = text(spec, "nodeName"), text(spec, "driver"), text(part(spec, "pool"), "name")
                yield Device(*of, text(device, "name"), address.lower())


def _reports(limits: Limits, nodes: Iterable[Json]) -> Iterator[Report]:
    for node in nodes:
        metadata = node["metadata"]
        for each in listed(part(node, "status"), "conditions"):
            if fault := limits.faults.get(text(each, "type")):
                pool = text(part(metadata, "labels"), POOL)
                told = text(each, "status"), text(each, "message")
                yield Report(metadata["name"], pool, fault, *told)


def _rules(bodies: Iterable[Json]) -> Iterator[Rule]:
    for each in bodies:
        metadata, spec = each["metadata"], part(each, "spec")
        selector = part(spec, "deviceSelector")
        yield Rule(
            name=metadata["name"],
            pool=text(part(metadata, "labels"), POOL),
            driver=text(selector, "driver"),
            slices=text(selector, "pool"),
            device=text(selector, "device"),
            fault=text(part(spec, "taint"), "value"),
        )


def round_of(limits: Limits, cluster: Cluster, fence: Callable[[], None]) -> bool:
    """One round: True if all was done. Raises ClusterError where something was not read."""
    nodes = cluster.items("/api/v1/nodes", labelSelector=f"{POOL} in ({','.join(limits.pools)})")
    reports = tuple(_reports(limits, nodes))
    devices = tuple(devices_of(cluster.items(_SLICES)))
    owned = "=".join(limits.owner)
    rules = tuple(_rules(cluster.items(limits.path, labelSelector=owned)))
    found = decide_devices(limits.percent, devices, reports, rules, limits.up_to)
    IN_USE.clear()
    for node, number in in_use(devices, reports, (*rules, *found.add)).items():
        IN_USE.labels(node).set(number)
    for why in found.kept:
        LOG.info("%s", why)
    done = True
    for method, path, body in [
        *(("POST", limits.path, _body(limits, each)) for each in found.add),
        *(("DELETE", f"{limits.path}/{each}", None) for each in found.delete),
    ]:
        fence()
        try:
            cluster.request(method, path, body)
            LOG.info("%s %s", method, body["metadata"]["name"] if body else path)
        except ClusterError as error:
            if method != "DELETE" or error.status != HTTPStatus.NOT_FOUND:
                LOG.warning("not done: %s", error)
                done = False
    return done


def _body(limits: Limits, rule: Rule) -> Json:
    """NoSchedule: the pod that has the device keeps it until it ends."""
    key, value = limits.owner
    return {
        "apiVersion": limits.api,
        "kind": "DeviceTaintRule",
        "metadata": {"name": rule.name, "labels": {key: value, POOL: rule.pool}},
        "spec": {
            "deviceSelector": {"driver": rule.driver, "pool": rule.slices, "device": rule.device},
            "taint": {"key": limits.taint, "value": rule.fault, "effect": "NoSchedule"},
        },
    }
