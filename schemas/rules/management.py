"""Management clusters: their files read with all that these name, and their fit for sites.

Sources: Cluster API v1.13.5, docs/book/src/reference/versions.md; Bare Metal Operator v0.13.2,
pkg/hardwareutils/bmc (schemes); Ironic Standalone Operator v0.9.0, pkg/ironic/validation.go.
"""

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import NamedTuple

from schemas.facts.addresses import host_ranges, reserved
from schemas.facts.management import PREALLOCATION, Managed
from schemas.facts.site import Site
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.kubernetes.masking import shorten
from schemas.kubernetes.node_labels import copied_to_nodes
from schemas.model.codes import Code
from schemas.model.hardware import BmcProtocol
from schemas.model.management import FOLDER, Dhcp, ManagementFile
from schemas.model.primitives import DnsLabel, minor
from schemas.model.problem import Problem, whole_file
from schemas.model.texts import words
from schemas.reading.catalogue import catalogue_of, load_release, release_names
from schemas.reading.literal_secrets import in_file, merge_literals
from schemas.reading.site_files import SITE_FILE, names_in, read
from schemas.reading.tree import Folder, Refused
from schemas.reading.typed_document import parse, place
from schemas.reading.wording import pattern_of
from schemas.reading.yaml_reader import Document, read_yaml
from schemas.rules.finding import Finding, HostCell, InPool, InZone, Path, TextPlace, say
from schemas.rules.versions import SUPPORTED_MINORS, release_findings

MANAGEMENT_MINORS = {13: (32, 36)}
"""Kubernetes minors of management clusters by Cluster API minor."""
VIRTUAL_MEDIA = {each for each in BmcProtocol if "virtualmedia" in each}
"""Protocols by which hosts boot without a provisioning network."""
PARTS = ("core", "metal3", "baremetal_operator", "ipam")


class Read(NamedTuple):
    """A management file, as far as it can be read, and its problems; None for what is faulty."""

    managed: Managed | None
    document: Document | None
    problems: tuple[Problem, ...]


def read_management(root: Folder, name: str) -> Read | None:
    """The management cluster of that name; None where it has no file."""
    folder, shown = root / FOLDER, f"{FOLDER}/{shorten(name, 200)}{SITE_FILE}"
    data = read(folder, name + SITE_FILE, FOLDER)
    if not _is_name(name) or (isinstance(data, Refused) and data.code is Code.FILE_MISSING):
        return None
    if isinstance(data, Refused):
        return Read(None, None, (whole_file(shown, data.code, data.message, data.fix),))
    file, document, problems = _typed(data, shown)
    if file is None or document is None or problems:
        return Read(None, document, problems)
    found, texts = list(_own(file, name)), {}
    for number, each in enumerate(file.manifests):
        text = _vendored(folder, each.file, each.sha256, ("manifests", number), found)
        texts[each.file] = text
    release, faults = load_release(file.release, catalogue_of(root))
    if release is None and not faults:
        found.append(say("management-release", ("release",), file.release, _releases(root)))
    managed = Managed(file, release, texts) if release else None
    found += _fit(managed) if managed else ()
    problems = (*faults, *_placed(document, found))
    return Read(None if problems else managed, document, problems)


@functools.lru_cache(maxsize=16)
def _typed(
    data: bytes, shown: str
) -> tuple[ManagementFile | None, Document | None, tuple[Problem, ...]]:
    document, problems = read_yaml(data, shown)
    problems += in_file(shown, data)
    file, more = parse(ManagementFile, document) if document else (None, [])
    return file, document, tuple(merge_literals([*problems, *more]))


def management_problems(root: Folder) -> list[Problem]:
    """The problems of all files of management clusters, also of those that no site names."""
    found: list[Problem] = []
    for name in names_in(root / FOLDER):
        read_one, shown = read_management(root, name), f"{FOLDER}/{shorten(name, 200)}{SITE_FILE}"
        if read_one is not None:
            found += read_one.problems
        else:
            fault = "region-of-other-ending" if _is_name(name) else "management-unnamable"
            found.append(whole_file(shown, *words(fault)))
    return found


def named_management(root: Folder, name: object) -> tuple[Managed | None, list[Problem | Finding]]:
    """What a site names, with its problems; nothing where no management cluster has a file."""
    known = names_in(root / FOLDER)
    if not isinstance(name, str) or not known:
        return None, []
    found = read_management(root, name)
    if found is not None:
        return found.managed, list(found.problems)
    fix = f"add the file, or write one of {', '.join(known[:10])}"
    return None, [say("management-unknown", ("management",), shorten(name), fix)]


def _placed(document: Document, found: list[Finding]) -> Iterator[Problem]:
    for each in found:
        if not isinstance(each.place, HostCell | TextPlace):
            yield place(document, each.place, each.code, each.message, each.fix)


def _is_name(name: str) -> bool:
    return bool(re.fullmatch(pattern_of(DnsLabel), name))


def _releases(root: Folder) -> str:
    return ", ".join(release_names(catalogue_of(root))) or "none"


def _vendored(folder: Folder, file: str, sha256: str, at: Path, found: list[Finding]) -> str:
    """The text of a file of manifests; empty where it is not what was locked."""
    data = read(folder, file, FOLDER)
    if isinstance(data, Refused):
        found.append(Finding(data.code, (*at, "file"), data.message, data.fix))
        return ""
    digest = hashlib.sha256(data).hexdigest()
    if digest != sha256:
        found.append(say("management-changed", (*at, "sha256"), file, digest))
        return ""
    try:
        text = data.decode("utf-8")
        objects = read_objects(text)
    except UnicodeDecodeError:
        found.append(say("management-not-utf8", (*at, "file"), file))
        return ""
    except ManifestError as error:
        where = f"{FOLDER}/{file}:{error.line}:{error.column}: {error}"
        found.append(Finding(Code.FILE_CONTENT, (*at, "file"), where, error.fix))
        return ""
    for body, _ in objects:
        if body["kind"] == "Secret":
            found.append(say("management-secret", (*at, "file"), file, body["metadata"]["name"]))
    return text


def _own(file: ManagementFile, name: str) -> Iterator[Finding]:
    """What a file says by itself."""
    if file.management != name:
        yield say("management-other-name", ("management",), name, file.management)
    if (each := file.providers) and (each.source == "oci") != bool(each.registry):
        oci = each.source == "oci"
        has, fix = ("needs a", "add registry") if oci else ("has no use for a", "remove registry")
        yield say("management-registry", ("providers", "source"), each.source, has, fix)
    if file.ironic.keepalived and not file.ironic.interface:
        yield say("management-keepalived", ("ironic", "keepalived"))
    if file.ironic.dhcp:
        yield from _dhcp(file, file.ironic.dhcp)
    files = [each.file for each in file.manifests]
    for number, each_file in enumerate(files):
        if each_file in files[:number]:
            yield say("management-file-twice", ("manifests", number, "file"), each_file)


def _dhcp(file: ManagementFile, dhcp: Dhcp) -> Iterator[Finding]:
    at, network = ("ironic", "dhcp"), IPv4Network(dhcp.network)
    own = {"address": file.ironic.address, "first": dhcp.first, "last": dhcp.last}
    for key, address in {**own, "gateway": dhcp.gateway}.items():
        if address and (IPv4Address(address) not in network.hosts()):
            where = ("ironic", key) if key == "address" else (*at, key)
            said = key, address, network, network[1], network[-2]
            yield say("management-dhcp-outside", where, *said)
    first, last = IPv4Address(dhcp.first), IPv4Address(dhcp.last)
    size = int(last) - int(first) + 1
    if size < 1:
        yield say("management-dhcp-order", (*at, "last"), dhcp)
    elif size < file.provisioning_limit:
        yield say("management-dhcp-small", (*at, "last"), size, file.provisioning_limit)
    taken = {file.ironic.address: "Ironic's own", dhcp.gateway: "the gateway", dhcp.dns: "the DNS"}
    for each, what in taken.items():
        if each and first <= IPv4Address(each) <= last:
            yield say("management-dhcp-taken", (*at, "first"), dhcp, each, what)


def _fit(managed: Managed) -> Iterator[Finding]:
    """What a file says fits its release, and its manifests."""
    for each in release_findings(managed.release):
        yield say("release-unfit", ("release",), each)
    core, version = managed.release.cluster_api.core, managed.file.kubernetes
    low, high = MANAGEMENT_MINORS.get(minor(core), (0, minor(version)))
    if not low <= minor(version) <= high:
        yield say("management-kubernetes", ("kubernetes",), core, low, high, version)
    if all(managed.texts.values()) and f"{PREALLOCATION}=true" not in managed.arguments():
        yield say("management-preallocation", ("manifests",), PREALLOCATION)


def management_versions(site: Site) -> Iterator[Finding]:
    """The management cluster runs what the site's objects are written for, or newer."""
    if (managed := site.managed) is None:
        return
    theirs, mine = managed.release.cluster_api, site.release.cluster_api
    for part in PARTS:
        its, own = getattr(theirs, part), getattr(mine, part)
        if _number(its) < _number(own):
            said = managed, part.replace("_", " "), its, own, site.file.release
            yield say("management-older", ("release",), *said)
    low, high = SUPPORTED_MINORS.get(minor(theirs.core), (0, 999))
    cluster = site.file.cluster
    for key, version in (("kubernetes", cluster.kubernetes), ("workers", cluster.workers)):
        if version and theirs.core != mine.core and not low <= minor(version) <= high:
            at = ("cluster", key)
            yield say("management-workers", at, managed, theirs.core, low, high, version)


def _number(version: str) -> list[int]:
    return [int(part) for part in version[1:].split(".")]


def management_pools(at: InPool) -> Iterator[Finding]:
    """The management cluster does for a pool what that asks of it."""
    if (managed := at.site.managed) is None:
        return
    for key in at.pool.labels_in_place:
        if not copied_to_nodes(key) and not managed.syncs(key):
            said = managed, key, re.escape(key)
            yield say("management-labels", at.path("labels_in_place", key), *said, key=True)
    if at.pool.taints_in_place and not managed.keeps_taints:
        yield say("management-taints", at.path("taints_in_place"), managed)
    profile = at.site.profile(at.pool)
    if profile.bmc.protocol not in VIRTUAL_MEDIA and managed.file.ironic.dhcp is None:
        said = managed, at.pool.hardware, profile.bmc.protocol.value
        yield say("management-boot", at.path("hardware"), *said)
    if profile.arch not in managed.file.ironic.ramdisk:
        said = managed, profile.arch.value, at.pool.hardware
        yield say("management-ramdisk", at.path("hardware"), *said)


def management_addresses(site: Site) -> Iterator[Finding]:
    """No address of the site is one that Ironic gives to hosts while it installs them."""
    dhcp = site.managed.file.ironic.dhcp if site.managed else None
    if dhcp is None:
        return
    first, last = IPv4Address(dhcp.first), IPv4Address(dhcp.last)
    own: Mapping[str, str] = {each.ip: f"the address of host {each.name}" for each in site.hosts}
    for address, what in {**own, **reserved(site)}.items():
        if first <= IPv4Address(address) <= last:
            yield say("management-range", ("management",), site.managed, dhcp, address, what)


def management_zones(at: InZone) -> Iterator[Finding]:
    """No zone has a range of addresses that overlaps the one of Ironic."""
    managed = at.site.managed
    dhcp = managed.file.ironic.dhcp if managed else None
    if dhcp is None:
        return
    first, last = IPv4Address(dhcp.first), IPv4Address(dhcp.last)
    for low, high in host_ranges(at.site, at.zone):
        if low <= last and first <= high:
            where = at.path("hosts") if at.zone.hosts else at.path("network")
            yield say("management-range-of-zone", where, managed, at.zone.name, low, high)
            return
