"""Hosts compared with what was inspected: whether each is what its line and its profile say. What
nobody has inspected, and what HardwareData does not say, is not known, and never fine. Sources:
Bare Metal Operator 0.13, HardwareData; ironic, find_devices_by_hints (sizes are GiB);
ironic-python-agent, which counts logical processors."""

from collections.abc import Iterator, Mapping
from typing import Any

from foresite.command import few
from foresite.inventory.records import SOURCES, at_path, say
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.kubernetes.bodies import Json, items, texts
from schemas.model.hardware import HardwareProfile, RootDisk
from schemas.model.problem import Problem
from schemas.reading.host_list import Host, cell_column

_ARCH = {"x86_64": "amd64", "aarch64": "arm64"}
_NEAR = 0.02
"""Share by which memory and disks may differ from a profile: firmware keeps some, makers round."""

_Check = tuple[str, str, list[str], str]
"""A difference: the column that says it, what it is, and both values, if known."""


def compare(site: Site, file: str, lines: list[str], known: Mapping[str, Json]) -> list[Problem]:
    """The findings on a site's hosts, in the order of the list, whose ``lines`` are given."""
    owners = {host.serial.casefold(): host for host in site.hosts}
    owners |= {mac: host for host in site.hosts for mac in _macs(host).values()}
    profiles = {pool.name: site.profile(pool) for pool in site.file.pools}
    namespace = management_names(site).namespace
    problems = []
    for host in site.hosts:
        said: Json = {"name": host.name, "namespace": namespace}
        if host.name not in known:
            problems.append(say("unseen", file, said, (host.line, 1)))
            continue
        for column, what, found, wanted in _checks(host, profiles[host.pool], known[host.name]):
            at = host.line, cell_column(lines[host.line - 1], lines[0].split(","), column)
            owner = next((o for each in found if (o := owners.get(each.casefold()))), host)
            whose = f": that is {owner.name} of line {owner.line}" if owner != host else ""
            fix = SOURCES["fixes"].get(column[:3], SOURCES["fixes"]["other"])
            said |= {"column": column, "what": what, "found": few(found, 4), "wanted": wanted}
            more = {"whose": whose, "fix": fix}
            problems.append(say("is-not" if found else "unsaid", file, {**said, **more}, at))
    return problems


def _macs(host: Host) -> dict[str, str]:
    return {"mac": host.mac, **{name: mac for name, mac in host.more if name[:4] == "mac_"}}


def _checks(host: Host, profile: HardwareProfile, known: Json) -> Iterator[_Check]:
    serial = at_path(known, "systemVendor.serialNumber")
    if serial.casefold() != host.serial.casefold():
        yield "serial", "serial", [serial] if serial else [], host.serial
    nics = [(at_path(e, "mac").lower(), e.get("pxe")) for e in items(known, "nics")]
    macs, booted = sorted({mac for mac, _ in nics}), sorted({mac for mac, pxe in nics if pxe})
    for column, mac in _macs(host).items():
        if mac not in macs:
            yield column, "NICs", macs, mac
        elif column == "mac" and booted and mac not in booted:
            yield column, "the boot NIC", booted, mac
    arch, cores = at_path(known, "cpu.arch"), at_path(known, "cpu.count")
    if _ARCH.get(arch) != profile.arch.value:
        yield "pool", "architecture", [arch] if arch else [], profile.arch.value
    if cores not in {str(profile.cpu_cores * threads) for threads in (1, 2)}:
        wanted = f"those of {profile.cpu_cores} cores"
        yield "pool", "logical processors", [cores] if cores else [], wanted
    memory = _number(known, "ramMebibytes") / 1024
    yield from _amount("memory", memory, profile.memory_gib, "GiB")
    yield from _disks(host, profile, items(known, "storage"))


def _amount(what: str, found: float, wanted: int | None, unit: str) -> Iterator[_Check]:
    if wanted and abs(found - wanted) > _NEAR * wanted:
        yield "pool", what, [f"{found:.0f} {unit}"] if found else [], f"{wanted} {unit}"


def _disks(host: Host, profile: HardwareProfile, disks: list[Json]) -> Iterator[_Check]:
    root = RootDisk.parse(host.root_disk) if host.root_disk else profile.root_disk
    hints = {name: value for name, value in root.hints.items() if value is not None}
    names = [" ".join(at_path(each, path) for path in ("name", "model")) for each in disks]
    own = next((each for each in disks if _fits(each, hints)), None)
    if own is None and not profile.raid:  # volumes are made after the inspection
        wanted = ", ".join(f"{name} {value}" for name, value in hints.items())
        yield "root_disk" if host.root_disk else "pool", "disks", names, wanted
    data, nvme = profile.data_disks, [e for e in disks if e.get("type") == "NVME" and e is not own]
    if data and data.count and len(nvme) != data.count:
        yield "pool", "NVMe data disks", [str(len(nvme))], str(data.count)
    links = {link for each in disks for link in _links(each)}
    missing = [each for each in data.devices if each not in links] if data else []
    if missing:
        yield "pool", "disks", names, few(missing, 4)
    space = sum(_number(each, "sizeBytes") for each in nvme) / 1e9
    yield from _amount("NVMe space beside the root disk", space, profile.data_nvme_gb, "GB")


def _number(body: Json, path: str) -> int:
    found = body.get(path)
    return found if isinstance(found, int) and abs(found) < 2**63 else 0


def _links(disk: Json) -> list[str]:
    return [at_path(disk, "name"), *texts(disk, "alternateNames")]


def _fits(disk: Json, hints: Mapping[str, Any]) -> bool:
    """True if every hint fits a disk, as Ironic compares them: without case."""
    for name, value in hints.items():
        found, wanted = at_path(disk, name).casefold(), str(value).casefold()
        if name == "deviceName":
            fitting = value in _links(disk)
        elif name == "minSizeGigabytes":
            fitting = _number(disk, "sizeBytes") >= value * 2**30
        elif name == "rotational":
            fitting = bool(disk.get(name)) is value
        else:
            fitting = wanted in found if name in ("model", "vendor") else wanted == found
        if not fitting:
            return False
    return True
