"""Rules on what a site and its parts are called, and which clusters it belongs to."""

import re
from collections.abc import Iterator, Mapping

from schemas.facts.site import Site
from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.model.hardware import Bmc, BmcProtocol, BootMode, HardwareProfile, RootDisk
from schemas.model.primitives import SiteName
from schemas.model.site_file import SiteFile
from schemas.model.vocabulary import Role
from schemas.reading.suggested_value import fits, tidy
from schemas.reading.wording import pattern_of
from schemas.rules.finding import Finding, HostCell, Path
from schemas.rules.namespaces import TAKEN

_PLACEHOLDER = re.compile(r"[a-z0-9]\.example(?![a-z0-9.-])|\bregistry\.example\b")
"""A host below ``.example``, which RFC 2606 keeps for examples."""


def placeholders(file: SiteFile) -> Iterator[Finding]:
    """Values of an example are not left over: each is the site's own to write."""
    written = file.model_dump(mode="json", exclude_unset=True)
    found = [path for path, text in _texts(written, ()) if _PLACEHOLDER.search(text)]
    if found:
        yield Finding(
            Code.PLACEHOLDER,
            found[0],
            f"{len(found)} {'value is' if len(found) == 1 else 'values are'} placeholders of an "
            "example, on hosts below .example",
            "write the site's own hosts, and digests of its own builds",
            also=tuple(found[1:]),
        )


def _texts(value: object, at: Path) -> Iterator[tuple[Path, str]]:
    """Every text below a value, and the path to it."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(each, (*at, key))


def site_name(file: SiteFile, name: str) -> Iterator[Finding]:
    """A site is called as its file is, by a name that a namespace can have."""
    pattern = pattern_of(SiteName)
    if not fits(name, pattern):
        better = file.site if file.site != name else tidy(name, pattern)
        yield Finding(
            Code.SITE_NAME_MISMATCH,
            ("site",),
            f"the file is named {shorten(name)}.yaml, which no site can be called",
            f"rename it to {better}.yaml, and the host list likewise"
            if better
            else "rename both files to 3 to 40 lower-case letters, digits and dashes, and write "
            "that name here",
        )
    elif file.site != name:
        yield Finding(
            Code.SITE_NAME_MISMATCH,
            ("site",),
            f"the site is called {file.site}, its file {name}.yaml",
            f"write {name}, or rename the files to {file.site}.yaml and {file.site}.hosts.csv",
        )
    if TAKEN.fullmatch(file.site):
        yield Finding(
            Code.RESERVED_NAME,
            ("site",),
            f"{file.site} is a namespace that the management cluster needs itself",
            "choose another name for the site and its files, such as the place it is in",
        )


def own_hardware(file: SiteFile, catalogue: Mapping[str, HardwareProfile]) -> Iterator[Finding]:
    """A site's own hardware profiles are named apart from the catalogue's, and name a disk."""
    for name, profile in file.hardware.items():
        if name in catalogue:
            yield Finding(
                Code.DUPLICATE_NAME,
                ("hardware", name),
                f"the catalogue already has a hardware profile {name}",
                "give this one another name, so that every site means the same by it",
                key=True,
            )
        disk = vars(profile).get("root_disk")
        hints = [*vars(disk).values()] if disk else []
        if hints == [None] * len(RootDisk.model_fields):
            yield Finding(
                Code.MISSING_FIELD,
                ("hardware", name, "root_disk"),
                "nothing says which disk takes the operating system, so any may be wiped",
                "write device_name (a link below /dev/disk/by-path), serial_number or wwn",
            )
        # A hint that could not be read is a fault of its own, and may be one that names the disk.
        elif disk and {*hints} != {None} and _has_several_disks(profile) and not disk.names_one:
            place = ("hardware", name, "root_disk")
            yield _unstable(disk, (*place, "device_name") if disk.unstable else place)
        protocol = vars(vars(profile).get("bmc") or Bmc()).get("protocol")
        secure = vars(profile).get("boot_mode") is BootMode.UEFI_SECURE_BOOT
        if secure and protocol is BmcProtocol.IPMI:
            yield Finding(
                Code.INVALID_VALUE,
                ("hardware", name, "boot_mode"),
                "secure boot cannot be set by ipmi; the Bare Metal Operator refuses it",
                "write boot_mode: UEFI, or another bmc.protocol",
            )


def host_root_disks(site: Site) -> Iterator[Finding]:
    """A host's own hints name one disk where its profile has several."""
    for pool in site.file.pools:
        profile = site.hardware.get(pool.hardware)
        if profile is None or not _has_several_disks(profile):
            continue
        for host in site.hosts_of(pool):
            disk = RootDisk.parse(host.root_disk) if host.root_disk else None
            if disk is not None and not disk.names_one:
                yield _unstable(disk, HostCell(host.line, "root_disk"))


def _has_several_disks(profile: HardwareProfile) -> bool:
    return any(vars(profile).get(each) for each in ("data_nvme_gb", "data_disks"))


def _unstable(disk: RootDisk, place: Path | HostCell) -> Finding:
    """A root disk's hints fit another disk as well, or after a reboot."""
    if disk.unstable:
        message = f"{disk.device_name} is another disk after a reboot where a host has several"
    else:
        message = "these hints may fit a data disk as well, which an install would wipe"
    fix = (
        "name its link below /dev/disk/by-path, its serial_number or its wwn, which "
        "`kubectl get hardwaredata HOST -o yaml` shows"
    )
    return Finding(Code.UNSTABLE_DISK, place, message, fix)


def object_names(site: Site) -> Iterator[Finding]:
    """No two MachineDeployments get one name: that of a pool, or of a pool and a zone."""
    owners: dict[str, str] = {}
    for index, pool in enumerate(site.file.pools):
        if pool.role is not Role.WORKER:
            continue
        by_zone = pool.rollout.by_zone
        names = [f"{pool.name}-{zone}" for zone in site.zones_of(pool)] if by_zone else []
        for name in names or [pool.name]:
            other = owners.setdefault(name, pool.name)
            if other != pool.name:
                yield Finding(
                    Code.RESERVED_NAME,
                    ("pools", index, "name"),
                    f"pools {other} and {pool.name} would both have a MachineDeployment {name}",
                    "give this pool a name that is not another's name and zone",
                )


def contexts(site: Site) -> Iterator[Finding]:
    """A site's own cluster is another one than its management cluster."""
    cluster = site.file.cluster
    if cluster.context is not None and cluster.context == site.file.management:
        yield Finding(
            Code.CONTEXT_CLASH,
            ("cluster", "context"),
            f"{cluster.context} is also the context of the management cluster",
            "write the context of the site's own cluster; leave it out until that answers",
        )
