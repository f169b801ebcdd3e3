"""The files of an adopted site: what the live objects say, and a mark for what only a person knows.

Nothing of these files reaches a machine while its objects are kept, but for the number of machines.
So the same files with stand-ins for the marks are what is proved.
"""

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, ip_interface
from typing import Any, NamedTuple

from pydantic.alias_generators import to_snake

from components.making.dump import dump, dump_all
from components.making.manifest import Json, filled, prune
from foresite.adoption.bundle import Bundle
from foresite.adoption.kept import kept_objects
from foresite.adoption.shape import Shape, key_of, protocol, template_of
from schemas.kubernetes.bodies import items, mapping, texts
from schemas.model.hardware import RootDisk
from schemas.reading.host_list import COLUMNS
from schemas.reading.typed_document import TODO

_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + 42 * "A" + "A"
"""A key whose bytes are zero: it belongs to nobody."""


class Unknown(NamedTuple):
    """A value that no object says: a note for the person who does, and a stand-in for the proof."""

    note: str
    stand_in: Any


class Row(NamedTuple):
    """A host of the site, by the columns of a host list."""

    name: str
    pool: str
    zone: str
    rack: str
    bmc: str
    mac: str
    ip: str
    serial: str


class Pool(NamedTuple):
    """A pool: its name, the object that makes its machines, its hosts, and how many are spares."""

    name: str
    owner: Json
    hosts: list[Json]
    spares: int


class Zone(NamedTuple):
    """A network that hosts have addresses in; the gateway where an IPPool says it."""

    name: str
    network: IPv4Network
    gateway: str


class Facts(NamedTuple):
    """What a plan knows besides the bundle."""

    site: str
    region: str
    release: str


def texts_of(bundle: Bundle, shape: Shape, facts: Facts, *, marks: bool) -> dict[str, str]:
    """The files by path, with marks for what is not known, or with stand-ins."""
    pools = list(_pools(shape))
    zones = _zones(bundle, shape)
    rows = list(_rows(bundle, shape, pools, zones))
    site = _settled(_site(bundle, shape, facts, pools, zones), marks=marks)
    lines = [",".join(COLUMNS), *(",".join(each) for each in rows)]
    objects = dump_all(list(kept_objects(bundle, shape, [each.name for each in rows])))
    return {
        f"sites/{facts.site}.yaml": dump(site),
        f"sites/{facts.site}.hosts.csv": "\n".join(lines) + "\n",
        f"sites/adopted/{facts.site}.yaml": objects,
    }


def _settled(value: Any, *, marks: bool) -> Any:
    if isinstance(value, Unknown):
        return f"{TODO}: {value.note}" if marks else value.stand_in
    if isinstance(value, dict):
        return {key: _settled(each, marks=marks) for key, each in value.items()}
    return [_settled(each, marks=marks) for each in value] if isinstance(value, list) else value


def _pools(shape: Shape) -> Iterator[Pool]:
    taken: set[str] = set()
    for owner in shape.owners:
        name = "control-plane"
        if owner is not shape.control_plane:
            name = re.sub(r"^[^a-z]+|[^a-z0-9-]", "", owner["metadata"]["name"])[:27].strip("-")
            name = name or "workers"
            name = next(n for n in (name, *(f"{name}-{i}" for i in range(2, 99))) if n not in taken)
        taken.add(name)
        machines, spares = shape.machines[key_of(owner)], shape.spares.get(key_of(owner), [])
        held = [shape.hosts[each["metadata"]["name"]] for each in machines]
        hosts = sorted((*held, *spares), key=lambda each: str(each["metadata"]["name"]))
        yield Pool(name, owner, hosts, len(spares))


def _addresses(bundle: Bundle, shape: Shape) -> dict[str, str]:
    """The IPv4 address of each host that runs a machine: of those that IPPools gave its machine the
    one that its node shows; a test mode shows one address on every host."""
    given: dict[object, list[str]] = {}
    for each in bundle.of("IPAddress"):
        claim = bundle.get("IPClaim", mapping(each, "spec", "claim").get("name"))
        for data in (bundle.get("Metal3Data", o.get("name")) for o in _owners(claim)):
            for owner in _owners(data):
                given.setdefault(owner.get("name"), []).append(str(each["spec"].get("address")))
    found = {}
    for machine in (each for owned in shape.machines.values() for each in owned):
        told = items(mapping(machine, "status"), "addresses")
        shown = [str(e.get("address")) for e in told if e.get("type") == "InternalIP"]
        claimed = given.get(mapping(machine, "spec", "infrastructureRef").get("name"), [])
        own = [e for e in claimed if e in shown] or sorted(claimed) or shown
        host = shape.hosts[machine["metadata"]["name"]]["metadata"]["name"]
        found[host] = next((each for each in own if ":" not in each), "")
    return {host: address for host, address in found.items() if address}


def _owners(body: Json | None) -> list[Json]:
    return items(body["metadata"], "ownerReferences") if body else []


def _zones(bundle: Bundle, shape: Shape) -> list[Zone]:
    """The networks of the IPPools that hosts have addresses in; else a /24 around each address."""
    known: dict[IPv4Network, str] = {}
    for pool in bundle.of("IPPool"):
        spec = mapping(pool, "spec")
        for each in items(spec, "pools"):
            start = str(each.get("subnet") or each.get("start", ""))
            prefix = each.get("prefix") or spec.get("prefix") or 24
            text = start if "/" in start else f"{start}/{prefix}"
            if start and ":" not in start:
                network = IPv4Network(text, strict=False)
                known[network] = str(each.get("gateway") or spec.get("gateway") or "")
    found: dict[IPv4Network, str] = {}
    for address in _addresses(bundle, shape).values():
        own = next((n for n in sorted(known) if IPv4Address(address) in n), None)
        network = own or IPv4Network(f"{address}/24", strict=False)
        found[network] = known.get(network, "")
    return [Zone(f"zone-{n}", each, found[each]) for n, each in enumerate(sorted(found), start=1)]


def _rows(bundle: Bundle, shape: Shape, pools: list[Pool], zones: list[Zone]) -> Iterator[Row]:
    addresses = _addresses(bundle, shape)
    endpoint = mapping(shape.infrastructure, "spec", "controlPlaneEndpoint").get("host")
    taken = {*addresses.values(), str(endpoint), *(zone.gateway for zone in zones)}
    free = (str(a) for zone in zones[:1] for a in reversed(list(zone.network.hosts())[1:-1]))
    for pool in pools:
        for host in pool.hosts:
            name, spec = host["metadata"]["name"], mapping(host, "spec")
            ip = addresses.get(name) or next((a for a in free if a not in taken), "")
            taken.add(ip)
            zone = next((z.name for z in zones if ip and IPv4Address(ip) in z.network), "")
            bmc, usual = protocol(host), protocol(pool.hosts[0])
            cell = bmc.cell + (bmc.path if usual and bmc.path != usual.path else "") if bmc else ""
            labels = mapping(host, "metadata", "labels")
            rack = next((str(v) for k, v in labels.items() if k.rpartition("/")[2] == "rack"), "")
            vendor = mapping(host, "status", "hardware", "systemVendor")
            serial = str(vendor.get("serialNumber") or f"unknown-{name}")
            mac = str(spec.get("bootMACAddress", "")).lower()
            yield Row(name, pool.name, zone, rack or "unknown", cell, mac, ip, serial)


def _site(bundle: Bundle, shape: Shape, facts: Facts, pools: list[Pool], zones: list[Zone]) -> Json:
    cluster = bundle.get("Cluster", shape.cluster) or {}
    image = mapping(template_of(bundle, pools[0].owner), "image").get("url")
    config = mapping(shape.control_plane, "spec", "kubeadmConfigSpec")
    (found,) = filled(
        __file__,
        site=facts.site,
        region=facts.region or Unknown("region", "adopted"),
        release=facts.release,
        management=bundle.context or Unknown("kubeconfig context of it", "management"),
        cluster=_cluster(shape, mapping(cluster, "spec", "clusterNetwork")),
        objects=f"adopted/{facts.site}.yaml",
        namespace=bundle.namespace,
        name=shape.cluster,
        control_plane=shape.control_plane["metadata"]["name"],
        bmc=_bmc(pools),
        images=str(image).rpartition("/")[0] if image else Unknown("of OS images", "http://a.lan"),
        zones=[
            {"name": each.name, "network": str(each.network),
             "gateway": each.gateway or Unknown("default gateway", str(each.network[1]))}
            for each in zones
        ],
        boot=_first_boot(bundle, config, zones),
        hardware={f"of-{each.name}": _hardware(each) for each in pools},
        pools=[_pool(shape, each) for each in pools],
    )  # fmt: skip
    return found


def _cluster(shape: Shape, network: Json) -> Json:
    control = mapping(shape.control_plane, "spec")
    endpoint = mapping(shape.infrastructure, "spec", "controlPlaneEndpoint")
    version = control.get("version")
    workers = {mapping(o, "spec", "template", "spec").get("version") for o in shape.workers}
    files = items(mapping(control, "kubeadmConfigSpec"), "files")
    announced = any("kube-vip" in str(each.get("path")) for each in files)
    found: Json = {
        "kubernetes": version,
        "workers": next(iter(workers - {version}), None),
        "endpoint": endpoint.get("host"),
        "port": endpoint.get("port"),
        "virtual_ip": "arp" if announced else "external",
    }
    for key in ("pods", "services"):
        blocks = texts(mapping(network, key), "cidrBlocks")
        found[key] = blocks[0] if blocks else Unknown(f"network of {key}", "10.244.0.0/16")
        found[f"{key}6"] = blocks[1] if blocks[1:] else None
    return prune(found)


def _bmc(pools: list[Pool]) -> Json:
    hosts = [host for pool in pools for host in pool.hosts]
    cells = [bmc.cell.partition(":")[0] for host in hosts if (bmc := protocol(host))]
    network = ip_interface(f"{cells[0]}/24").network
    while not all(IPv4Address(each) in network for each in cells):
        network = network.supernet()
    names = {mapping(host, "spec", "bmc").get("credentialsName") for host in hosts}
    credentials = names.pop() if len(names) == 1 and hosts[1:] else None
    return prune({"network": str(network), "credentials": credentials})


def _first_boot(bundle: Bundle, config: Json, zones: list[Zone]) -> Json:
    gateway = zones[0].gateway or str(zones[0].network[1]) if zones else "10.0.0.1"
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
    cpu, memory, bmc = mapping(found, "cpu"), found.get("ramMebibytes"), protocol(host)
    hints = {to_snake(key): each for key, each in mapping(spec, "rootDeviceHints").items()}
    hints = {key: each for key, each in hints.items() if key in RootDisk.model_fields}
    access = {
        "protocol": bmc.protocol if bmc else None,
        "system_path": bmc.path or None if bmc else None,
        "verify_certificate": not mapping(spec, "bmc").get("disableCertificateVerification", False),
    }
    mode = spec.get("bootMode") or mapping(host, "status", "provisioning").get("bootMode")
    return prune({
        "description": f"hosts of {pool.owner['kind']} {pool.owner['metadata']['name']}",
        "cpu_cores": cpu.get("count") or Unknown("physical cores", 64),
        "memory_gib": memory // 1024 if memory else Unknown("memory in GiB", 256),
        "arch": "arm64" if cpu.get("arch") == "aarch64" else "amd64",
        "bmc": access,
        "boot_mode": mode or "UEFI",
        "root_disk": hints or {"device_name": Unknown("its link", "/dev/sda")},
    })  # fmt: skip


def _pool(shape: Shape, pool: Pool) -> Json:
    found: Json = {"name": pool.name, "hardware": f"of-{pool.name}"}
    if pool.spares:
        found["spares"] = pool.spares
    if pool.owner is shape.control_plane:
        return {**found, "role": "control-plane"}
    selector = mapping(pool.owner, "spec", "selector", "matchLabels")
    return {
        **found,
        "adopted": {"deployment": pool.owner["metadata"]["name"], "selector": selector},
    }
