"""Rules on what a site and its parts are called, which clusters it belongs to, and who logs in; and
on the host list: each host has a place in the site, and shares nothing with another."""

import re
from collections.abc import Iterator, Mapping

from schemas.facts.site import Site
from schemas.kubernetes.masking import shorten
from schemas.model.hardware import Bmc, BmcProtocol, BootMode, HardwareProfile, RootDisk
from schemas.model.primitives import SiteName
from schemas.model.site_file import SiteFile
from schemas.model.vocabulary import Role
from schemas.reading.paths import each_at, leaves
from schemas.reading.suggested_value import fits, tidy
from schemas.reading.wording import pattern_of
from schemas.rules.finding import Finding, HostCell, Path, advise, say
from schemas.rules.namespaces import TAKEN

_PLACEHOLDER = re.compile(r"[a-z0-9]\.example(?![a-z0-9.-])|\bregistry\.example\b")
"""A host below ``.example``, which RFC 2606 keeps for examples."""
_LEFT = re.compile(
    rf"{_PLACEHOLDER.pattern}|AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA|\bexample-ca\.pem"
)
"""The same, and the SSH key and the authority of Foresite's example sites."""
_SITES = ("lab-1", "sapporo-1", "tokyo-1", "tsukuba-1")
_CLUSTERS = ("mgmt-lab", "mgmt-jp-east", "mgmt-jp-north")
"""Foresite's example sites and their management clusters. Any other site is real, and so is one of
these on another cluster; but not a site of the trial API server, on which nothing is installed."""


def placeholders(file: SiteFile) -> Iterator[Finding]:
    """Values of an example are not left over: each is the site's own to write."""
    written = file.model_dump(mode="json", exclude_unset=True)
    example = (file.site in _SITES and file.management in _CLUSTERS) or file.management == "trial"
    row, values = ("placeholder-left", _PLACEHOLDER) if example else ("example-left", _LEFT)
    found = [path for path, text in leaves(written) if values.search(str(text))]
    if found:
        noun = "value is a placeholder" if len(found) == 1 else "values are placeholders"
        yield say(row, found[0], len(found), noun, also=tuple(found[1:]))


def site_name(file: SiteFile, name: str) -> Iterator[Finding]:
    """A site is called as its file is, by a name that a namespace can have."""
    pattern = pattern_of(SiteName)
    if not fits(name, pattern):
        better = file.site if file.site != name else tidy(name, pattern)
        row = "site-file-name-unfit" if better else "site-file-name-meaningless"
        yield say(row, ("site",), shorten(name), better)
    elif file.site != name:
        yield say("site-name-differs", ("site",), file, name)
    if TAKEN.fullmatch(file.site):
        yield say("site-name-reserved", ("site",), file)


def own_hardware(file: SiteFile, catalogue: Mapping[str, HardwareProfile]) -> Iterator[Finding]:
    """A site's own hardware profiles are named apart from the catalogue's, and name a disk."""
    for name, profile in file.hardware.items():
        if name in catalogue:
            yield say("profile-in-catalogue", ("hardware", name), name)
        disk = vars(profile).get("root_disk")
        hints = [*vars(disk).values()] if disk else []
        if hints == [None] * len(RootDisk.model_fields):
            yield say("root-disk-missing", ("hardware", name, "root_disk"))
        # A hint that could not be read is a fault of its own, and may be one that names the disk.
        elif disk and {*hints} != {None} and _has_several_disks(profile) and not disk.names_one:
            place = ("hardware", name, "root_disk")
            yield _unstable(disk, (*place, "device_name") if disk.unstable else place)
        protocol = vars(vars(profile).get("bmc") or Bmc()).get("protocol")
        secure = vars(profile).get("boot_mode") is BootMode.UEFI_SECURE_BOOT
        if secure and protocol is BmcProtocol.IPMI:
            yield say("secure-boot-by-ipmi", ("hardware", name, "boot_mode"))


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
    return say("root-disk-unstable" if disk.unstable else "root-disk-ambiguous", place, disk)


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
                yield say("deployment-name-taken", ("pools", index, "name"), other, pool, name)


def empty_sections(site: Site) -> Iterator[Finding]:
    """A section that would do something is not left empty."""
    for name in ("monitoring", "remediation", "secrets"):
        if name in site.file.model_fields_set and getattr(site.file, name) is None:
            yield say(f"{name}-empty", (name,))


def contexts(site: Site) -> Iterator[Finding]:
    """A site's own cluster is another one than its management cluster."""
    cluster = site.file.cluster
    if cluster.context is not None and cluster.context == site.file.management:
        yield say("context-of-management", ("cluster", "context"), cluster)


_PEOPLE = ("access.*.*.*", "scheduling.teams.*.groups.*", "scheduling.teams.*.users.*")


def people(site: Site) -> Iterator[Finding]:
    """Where issuers are given, each group and user has the prefix of one."""
    prefixes = tuple(each.prefix for each in site.file.cluster.authentication)
    for place, name in each_at(site.file, *_PEOPLE):
        if prefixes and not name.startswith(prefixes):
            yield say("access-name-without-issuer", place, name, prefixes)


UNIQUE_COLUMNS = ("name", "bmc", "mac", "ip", "serial")
"""Columns in which no two hosts of a fleet have the same value."""


def host_pools(site: Site) -> Iterator[Finding]:
    """Each host names a pool that the site has."""
    yield from _strangers(site, "pool", [each.name for each in site.file.pools])


def host_zones(site: Site) -> Iterator[Finding]:
    """Each host names a zone that the site has."""
    yield from _strangers(site, "zone", [each.name for each in site.file.zones])


def _strangers(site: Site, column: str, known: list[str]) -> Iterator[Finding]:
    strange = set(site.cells(column)).difference(known, ("",))
    for host, value in zip(site.hosts, site.cells(column), strict=True) if strange else ():
        if value in strange:
            advice = advise(value, known, f"write one of {', '.join(known)}, or add it")
            yield say(f"{column}-of-host-unknown", HostCell(host.line, column), value, advice)


def host_duplicates(site: Site) -> Iterator[Finding]:
    """No two hosts share a name, BMC, MAC, address or serial number, and no address is a BMC's, as
    their networks are apart. Of a returned host the serial number alone counts."""
    for column in UNIQUE_COLUMNS:
        hosts = (*site.hosts, *site.returned) if column == "serial" else site.hosts
        values = [getattr(host, column) for host in hosts]
        if len(set(values)) == len(hosts):
            continue
        first: dict[object, int] = {}
        for host, value in zip(hosts, values, strict=True):
            line = first.setdefault(value, host.line)
            if value and line != host.line:
                yield say("host-value-twice", HostCell(host.line, column), column, value, line)
