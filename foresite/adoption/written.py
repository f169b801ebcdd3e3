"""The files of an adopted site: what the live objects say, with marks for what only a person knows.
While its objects are kept, nothing of these but the number of machines reaches a machine: so the
files with stand-ins for the marks are what is proved."""

import os
import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import Any, NamedTuple

from pydantic.alias_generators import to_snake

from components.making.dump import dump, dump_all
from components.making.manifest import ARGO_OPTIONS, FLUX_GUARD, Json, filled, prune
from foresite.adoption.bundle import Bundle
from foresite.adoption.engines import of_engines
from foresite.adoption.refusals import TOLD
from foresite.adoption.shape import Shape, Zone, addresses_of, bmc_of, key_of, template_of, zones_of
from policies.exceptions import today
from schemas.facts.adopted import HOST, KINDS
from schemas.kubernetes.bodies import items, mapping, nodes, texts
from schemas.kubernetes.grouping import group_by_key
from schemas.model.hardware import RootDisk
from schemas.reading.host_list import COLUMNS
from schemas.reading.suggested_value import fits
from schemas.reading.typed_document import TODO

_WRITTEN_BY_CAPM3 = (
    "image", "userData", "metaData", "networkData", "consumerRef", "customDeploy",
)  # fmt: skip
_MARKS = re.compile(
    r"kubectl\.kubernetes\.io/|argocd\.argoproj\.io/|kustomize\.toolkit\.fluxcd\.io/"
    r"|helm\.toolkit\.fluxcd\.io/|meta\.helm\.sh/|pulumi\.com/|reboot\.metal3\.io"
)
"""Labels and annotations by which an engine knows its objects, or that ask for something once."""
_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + 43 * "A"
"""A key whose bytes are zero: it belongs to nobody."""


class Unknown(NamedTuple):
    """A value that no object says: a note for the person who does, and a stand-in for the proof."""

    note: str
    stand_in: Any


class Pool(NamedTuple):
    """A pool: its name, the object that makes its machines, its hosts, and how many are spares."""

    name: str
    owner: Json
    hosts: list[Json]
    spares: int


def texts_of(
    bundle: Bundle, shape: Shape, site: str, region: str, release: str, *, marks: bool
) -> dict[str, str]:
    """The files by path, with marks for what is not known, or with stand-ins."""
    pools = list(_pools(shape))
    addresses = addresses_of(bundle, shape)
    zones = zones_of(bundle, addresses.values())
    rows = [*_rows(shape, pools, zones, addresses)]
    hosts = [host for pool in pools for host in pool.hosts]
    config = mapping(shape.control_plane, "spec", "kubeadmConfigSpec")
    image = str(mapping(template_of(bundle, pools[0].owner), "image").get("url"))
    (found,) = filled(
        __file__,
        site=site, region=region or Unknown("region", "adopted"), release=release,
        management=bundle.context or Unknown("kubeconfig context of it", "management"),
        cluster=_cluster(shape, config), objects=f"adopted/{site}.yaml",
        namespace=bundle.namespace, name=shape.cluster["metadata"]["name"],
        control_plane=shape.control_plane["metadata"]["name"], bmc=_bmc(hosts),
        images=image.rpartition("/")[0] or Unknown("of OS images", "http://a.lan"),
        zones=[*map(_zone, zones)], boot=_first_boot(bundle, config, str(zones[0][1][1])),
        hardware={f"of-{each.name}": _hardware(each) for each in pools},
        pools=[_pool(shape, each) for each in pools],
        owner=Unknown("who answers for it", "platform"),
        until=Unknown("last day of it", today(os.environ).isoformat()),
    )  # fmt: skip
    if bundle.namespace != "default":  # clusterctl's, where Foresite itself makes nothing
        del found["policies"]
    lines = [",".join(COLUMNS), *map(",".join, rows)]
    stay = (shape.cluster, shape.infrastructure, *shape.owners, *hosts)
    return {
        f"sites/{site}.yaml": dump(_settled(found, marks=marks)),
        f"sites/{site}.hosts.csv": "\n".join(lines) + "\n",
        f"sites/adopted/{site}.yaml": dump_all([*map(_kept, stay)]),
    }


def _settled(value: Any, *, marks: bool) -> Any:
    if isinstance(value, Unknown):
        return f"{TODO}: {value.note}" if marks else value.stand_in
    if isinstance(value, dict):
        return {key: _settled(each, marks=marks) for key, each in value.items()}
    return [_settled(each, marks=marks) for each in value] if isinstance(value, list) else value


def _pools(shape: Shape) -> Iterator[Pool]:
    taken = ["control-plane"]
    for owner in shape.owners:
        name = "control-plane"
        if owner is not shape.control_plane:
            name = re.sub(r"^[^a-z]+|[^a-z0-9-]", "", owner["metadata"]["name"])[:27].strip("-")
            name = f"{name}-{len(taken)}" if name in taken or not name else name
            taken.append(name)
        held = [shape.hosts[each["metadata"]["name"]] for each in shape.machines[key_of(owner)]]
        spares = shape.spares.get(key_of(owner), [])
        yield Pool(name, owner, sorted([*held, *spares], key=key_of), len(spares))


def _rows(
    shape: Shape, pools: list[Pool], zones: list[Zone], addresses: dict[str, str]
) -> Iterator[tuple[str, ...]]:
    """The lines of the host list. A spare gets an address that nobody has."""
    endpoint = mapping(shape.infrastructure, "spec", "controlPlaneEndpoint").get("host")
    taken = {*addresses.values(), str(endpoint), *(gateway for _, _, gateway in zones)}
    free = (a for _, net, _ in zones for i in range(3, net.num_addresses - 1)
            if (a := str(net[-i])) not in taken)  # fmt: skip
    for pool in pools:
        for host in pool.hosts:
            name, spec = host["metadata"]["name"], mapping(host, "spec")
            ip = addresses.get(name) or next(free, "")
            zone = next((z for z, network, _ in zones if IPv4Address(ip) in network), "")
            bmc, usual = bmc_of(host), bmc_of(pool.hosts[0])
            cell = bmc.cell + (bmc.path if usual and bmc.path != usual.path else "") if bmc else ""
            labels = mapping(host, "metadata", "labels")
            rack = next((str(v) for k, v in labels.items() if k.rpartition("/")[2] == "rack"), "")
            rack = rack if fits(rack, COLUMNS["rack"].pattern) else "unknown"
            vendor = mapping(host, "status", "hardware", "systemVendor")
            serial = str(vendor.get("serialNumber", ""))  # or what a board came with: Not Specified
            serial = serial if fits(serial, COLUMNS["serial"].pattern) else f"unknown-{name}"
            mac = str(spec.get("bootMACAddress", "")).lower()
            yield name, pool.name, zone, rack, cell, mac, ip, serial


def _cluster(shape: Shape, config: Json) -> Json:
    endpoint = mapping(shape.infrastructure, "spec", "controlPlaneEndpoint")
    version = mapping(shape.control_plane, "spec").get("version")
    workers = {mapping(o, "spec", "template", "spec").get("version") for o in shape.workers}
    announced = any("kube-vip" in str(each.get("path")) for each in items(config, "files"))
    found: Json = {
        "kubernetes": version, "workers": next(iter(workers - {version}), None),
        "endpoint": endpoint.get("host"), "port": endpoint.get("port"),
        "virtual_ip": "arp" if announced else "external",
    }  # fmt: skip
    for key in ("pods", "services"):
        blocks = texts(mapping(shape.cluster, "spec", "clusterNetwork", key), "cidrBlocks")
        found[key] = blocks[0] if blocks else Unknown(f"network of {key}", "10.244.0.0/16")
        found[f"{key}6"] = blocks[1] if blocks[1:] else None
    return prune(found)


def _bmc(hosts: list[Json]) -> Json:
    cells = [bmc.cell.partition(":")[0] for host in hosts if (bmc := bmc_of(host))]
    network = IPv4Network(f"{cells[0]}/24", strict=False)
    while not all(IPv4Address(each) in network for each in cells):
        network = network.supernet()
    names = {mapping(host, "spec", "bmc").get("credentialsName") for host in hosts}
    return prune({"network": str(network), "credentials": names.pop() if len(names) == 1 else None})


def _zone(zone: Zone) -> Json:
    name, network, gateway = zone
    known = gateway or Unknown("default gateway", str(network[1]))
    return {"name": name, "network": str(network), "gateway": known}


def _first_boot(bundle: Bundle, config: Json, gateway: str) -> Json:
    dns = [n for p in bundle.of("IPPool") for n in texts(mapping(p, "spec"), "dnsServers")]
    ntp = texts(mapping(config, "ntp"), "servers")
    user: Json = next((e for e in items(config, "users") if texts(e, "sshAuthorizedKeys")), {})
    return {
        "ntp": ntp or [Unknown("time servers", gateway)],
        "dns": list(dict.fromkeys(dns))[:3] or [Unknown("name servers", gateway)],
        "ssh": {
            "user": user.get("name") or Unknown("user on hosts", "ops"),
            "keys": texts(user, "sshAuthorizedKeys") or [Unknown("public keys", _KEY)],
        },
    }


def _hardware(pool: Pool) -> Json:
    """The profile of a pool's hosts, as the inspection of the first one found it."""
    host = pool.hosts[0]
    spec, found = mapping(host, "spec"), mapping(host, "status", "hardware")
    cpu, memory, bmc = mapping(found, "cpu"), found.get("ramMebibytes"), bmc_of(host)
    hints = {to_snake(key): each for key, each in mapping(spec, "rootDeviceHints").items()}
    hints = {key: each for key, each in hints.items() if key in RootDisk.model_fields}
    mode = spec.get("bootMode") or mapping(host, "status", "provisioning").get("bootMode")
    return prune({
        "description": f"hosts of {pool.owner['kind']} {pool.owner['metadata']['name']}",
        "cpu_cores": cpu.get("count") or Unknown("physical cores", 64),
        "memory_gib": memory // 1024 if memory else Unknown("memory in GiB", 256),
        "arch": "arm64" if cpu.get("arch") == "aarch64" else "amd64",
        "bmc": {
            "protocol": bmc and bmc.protocol,
            "system_path": (bmc and bmc.path) or None,
            "verify_certificate": spec["bmc"].get("disableCertificateVerification") is not True,
        },
        "boot_mode": mode or "UEFI",
        "root_disk": hints or {"device_name": Unknown("its link", "/dev/sda")},
    })  # fmt: skip


def _pool(shape: Shape, pool: Pool) -> Json:
    found: Json = {"name": pool.name, "hardware": f"of-{pool.name}"}
    found |= {"spares": pool.spares} if pool.spares else {}
    if pool.owner is shape.control_plane:
        return {**found, "role": "control-plane"}
    labels = mapping(pool.owner, "spec", "selector", "matchLabels")
    return {**found, "adopted": {"deployment": pool.owner["metadata"]["name"], "selector": labels}}


def kept_secrets(bundle: Bundle) -> Iterator[str]:
    """The sentences for secrets in what would be kept; what else holds one is not written."""
    for key, found in group_by_key((each[0], each[1:]) for each in bundle.secrets).items():
        kept = {at for at, _ in nodes(_kept(bundle.objects[key]))} if key[0] in KINDS else set()
        yield from (TOLD.say("secret", said=said) for place, said in found if place in kept)


def _kept(body: Json) -> Json:
    metadata = {key: body["metadata"][key] for key in ("name", "namespace")}
    for field in ("labels", "annotations"):
        own = persons_keys(body, field)
        given = {k: v for k, v in mapping(body, "metadata", field).items() if k in own}
        if given:
            metadata[field] = dict(sorted(given.items()))
    spec = dict(body["spec"])
    if body["kind"] == HOST:
        spec = {key: each for key, each in spec.items() if key not in _WRITTEN_BY_CAPM3}
        owned = (mapping(each, "fieldsV1", "f:spec") for each in of_engines(body))
        if not any("f:automatedCleaningMode" in each for each in owned):
            spec.pop("automatedCleaningMode", None)  # CAPM3's, and the API server's default
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata,
            "spec": spec}  # fmt: skip


def persons_keys(body: Json, field: str) -> set[str]:
    """The keys of labels or annotations that an engine owns, but for its own marks."""
    owned = (mapping(e, "fieldsV1", "f:metadata", f"f:{field}") for e in of_engines(body))
    found = {key[2:] for each in owned for key in each if key.startswith("f:")}
    guards = {ARGO_OPTIONS, *FLUX_GUARD}
    return {key for key in found if not _MARKS.match(key)} - guards
