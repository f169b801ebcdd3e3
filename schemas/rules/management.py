"""Management clusters: their files read with all that these name, and their fit for sites.

Sources: Cluster API v1.13.5, docs/book/src/reference/versions.md; Bare Metal Operator v0.13.2,
pkg/hardwareutils/bmc (schemes); Ironic Standalone Operator v0.9.0, pkg/ironic/validation.go.
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from typing import NamedTuple

from schemas.facts.addresses import host_ranges, reserved
from schemas.facts.management import PREALLOCATION, Managed
from schemas.facts.site import Site
from schemas.kubernetes.bodies import identity
from schemas.kubernetes.manifests import read_manifests
from schemas.kubernetes.masking import shorten
from schemas.kubernetes.node_labels import copied_to_nodes
from schemas.model.codes import Code
from schemas.model.hardware import BmcProtocol
from schemas.model.management import FOLDER, ManagementFile
from schemas.model.primitives import DnsLabel, minor, version_numbers
from schemas.model.problem import Problem, whole_file
from schemas.model.texts import words
from schemas.reading.catalogue import catalogue_of, load_release, release_names
from schemas.reading.literal_secrets import in_file, merge_literals
from schemas.reading.site_files import SITE_FILE, names_in, read
from schemas.reading.tree import Folder, Refused
from schemas.reading.typed_document import parse, place
from schemas.reading.wording import pattern_of
from schemas.reading.yaml_reader import Document, read_yaml
from schemas.rules.finding import Finding, HostCell, InPool, TextPlace, say
from schemas.rules.versions import SUPPORTED_MINORS, release_findings

KUBERNETES = {13: (32, 36)}
"""Kubernetes minors of management clusters by Cluster API minor."""
OPERATOR = "ironic-standalone-operator"
IRONIC = {
    8: ("34.0", "33.0", "32.0"), 9: ("35.0", "34.0", "33.0"),
    10: ("37.0", "35.0", "34.0", "33.0"), 11: ("38.0", "37.0", "35.0"),
}  # fmt: skip
"""Versions of Ironic by minor of the Ironic Standalone Operator (v0.8.2 to v0.11.0,
api/v1alpha1/ironic_types.go, SupportedVersions)."""
VIRTUAL_MEDIA = {each for each in BmcProtocol if "virtualmedia" in each}
"""Protocols by which hosts boot without a provisioning network."""


class Read(NamedTuple):
    """A management file, as far as it can be read, and its problems."""

    managed: Managed | None
    document: Document | None
    problems: tuple[Problem, ...]


def read_management(root: Folder, name: str) -> Read | None:
    """The management cluster of that name; None where it has no file."""
    shown, data = (
        f"{FOLDER}/{shorten(name, 200)}{SITE_FILE}",
        read(root / FOLDER, name + SITE_FILE, FOLDER),
    )
    if not _is_name(name) or (isinstance(data, Refused) and data.code is Code.FILE_MISSING):
        return None
    if isinstance(data, Refused):
        return Read(None, None, (whole_file(shown, data.code, data.message, data.fix),))
    file, document, problems = _typed(data, shown)
    if file is None or document is None or problems:
        return Read(None, document, problems)
    release, faults = load_release(file.release, catalogue_of(root))
    found = [*_own(file, name)]
    texts = dict(_vendored(root / FOLDER, file, found))
    if release is None and not faults:
        names = ", ".join(release_names(catalogue_of(root))) or "none"
        found.append(say("management-release", ("release",), file.release, names))
    managed = Managed(file, release, texts) if release else None
    found += _fit(managed) if managed and not found else ()
    placed = (
        place(document, each.place, each.code, each.message, each.fix)
        for each in found
        if not isinstance(each.place, HostCell | TextPlace)
    )
    problems = (*faults, *placed)
    return Read(None if problems else managed, document, problems)


@functools.lru_cache(maxsize=16)
def _typed(
    data: bytes, shown: str
) -> tuple[ManagementFile | None, Document | None, tuple[Problem, ...]]:
    document, problems = read_yaml(data, shown)
    file, more = parse(ManagementFile, document) if document else (None, [])
    return file, document, tuple(merge_literals([*problems, *in_file(shown, data), *more]))


def management_problems(root: Folder) -> Iterator[Problem]:
    """The problems of all files of management clusters, also of those that no site names."""
    for name in names_in(root / FOLDER):
        if (found := read_management(root, name)) is not None:
            yield from found.problems
        else:
            fault = "region-of-other-ending" if _is_name(name) else "management-unnamable"
            yield whole_file(f"{FOLDER}/{shorten(name, 200)}{SITE_FILE}", *words(fault))


def named_management(root: Folder, name: object) -> tuple[Managed | None, list[Problem | Finding]]:
    """The file that a site names, and its problems; none where no management cluster has any."""
    known = names_in(root / FOLDER)
    if not isinstance(name, str) or not known:
        return None, []
    if (found := read_management(root, name)) is not None:
        return found.managed, [*found.problems]
    names = ", ".join(known[:10])
    return None, [say("management-unknown", ("management",), shorten(name), names)]


def _is_name(name: str) -> bool:
    return bool(re.fullmatch(pattern_of(DnsLabel), name))


@functools.lru_cache(maxsize=16)
def _digest(data: bytes) -> str:
    """The SHA-256 of a file: of megabytes, which all sites of a cluster share."""
    return hashlib.sha256(data).hexdigest()


@functools.lru_cache(maxsize=16)
def _text(data: bytes) -> str:
    """The text of a file: the same object each time, by which its objects are found at once."""
    return data.decode("utf-8")


def _vendored(
    folder: Folder, file: ManagementFile, found: list[Finding]
) -> Iterator[tuple[str, str]]:
    """The manifests by path; of one that is not what was locked an empty text."""
    seen: dict[tuple[str, ...], str] = {}
    for number, each in enumerate(file.manifests):
        data, at = read(folder, each.file, FOLDER), ("manifests", number, "file")
        if isinstance(data, Refused):
            found.append(Finding(data.code, at, data.message, data.fix))
            continue
        if (digest := _digest(data)) != each.sha256:
            found.append(say("management-changed", (*at[:2], "sha256"), each, digest))
            continue
        try:
            text = _text(data)
            bodies = read_manifests(text)
        except ValueError as error:
            found.append(say("management-unreadable", at, each, getattr(error, "line", 1), error))
            continue
        for body in bodies:
            if body["kind"] == "Secret":
                found.append(say("management-secret", at, each, body["metadata"]["name"]))
            key = identity(body)
            if key in seen:
                found.append(say("management-twice", at, each, " ".join(key), seen[key]))
            seen[key] = f"management/{each.file}"
        yield each.file, text


def _own(file: ManagementFile, name: str) -> Iterator[Finding]:
    """The faults of a file by itself."""
    if file.management != name:
        yield say("management-other-name", ("management",), name, file.management)
    if file.providers and (file.providers.source == "oci") != bool(file.providers.registry):
        yield say("management-registry", ("providers", "source"))
    for field in ("sync_labels", "taints_in_place"):
        if getattr(file, field) and file.providers is None:
            yield say("management-idle", (field,), field)
    if (dhcp := file.ironic.dhcp) is None:
        return
    at, network = ("ironic", "dhcp"), IPv4Network(dhcp.network)
    first, last = IPv4Address(dhcp.first), IPv4Address(dhcp.last)
    every = {"first": dhcp.first, "last": dhcp.last, "gateway": dhcp.gateway}
    for key, address in {**every, "address": file.ironic.address}.items():
        where = ("ironic", key) if key == "address" else (*at, key)
        if address and not network[0] < IPv4Address(address) < network[-1]:
            yield say("management-dhcp-outside", where, key, address, network)
        elif address and key not in ("first", "last") and first <= IPv4Address(address) <= last:
            yield say("management-dhcp-taken", (*at, "first"), dhcp, address, key)
    size = int(last) - int(first) + 1
    if size < file.provisioning_limit:
        yield say("management-dhcp-small", (*at, "last"), max(0, size), file.provisioning_limit)


def _fit(managed: Managed) -> Iterator[Finding]:
    """Faults of a file beside its release, or its manifests."""
    for each in release_findings(managed.release):
        yield say("release-unfit", ("release",), each)
    core, version = managed.release.cluster_api.core, managed.file.kubernetes
    low, high = KUBERNETES.get(minor(core), (0, minor(version)))
    if not low <= minor(version) <= high:
        yield say("management-kubernetes", ("kubernetes",), core, low, high, version)
    if f"{PREALLOCATION}=true" not in managed.arguments():
        yield say("management-preallocation", ("manifests",), PREALLOCATION)
    yield from _ironic(managed)


def _ironic(managed: Managed) -> Iterator[Finding]:
    """Ironic in a version that its operator runs; where that is not in the manifests, that any
    does. Of an operator beyond the table, or without a version as its tag, nothing is said."""
    found = [re.match(r"(?:v|release-)?0\.([0-9]+)", tag) for tag in managed.tags(OPERATOR)]
    for minors in [[int(each[1])] for each in found if each] if found else [[*IRONIC]]:
        runs = dict.fromkeys(one for each in minors[::-1] for one in IRONIC.get(each, ()))
        if runs and (version := managed.file.ironic.version) not in runs:
            which = f"0.{minors[0]}" if found else f"0.{min(IRONIC)} to 0.{max(IRONIC)}"
            at = ("ironic", "version")
            yield say("management-ironic", at, which, ", ".join(runs), version)


def management_versions(site: Site) -> Iterator[Finding]:
    """The management cluster runs what the site's objects are written for, or newer."""
    if (managed := site.managed) is None:
        return
    theirs, mine = managed.release.cluster_api, site.release.cluster_api
    for part in type(mine).model_fields:
        its, own = getattr(theirs, part), getattr(mine, part)
        if version_numbers(its) < version_numbers(own):
            said = managed, part.replace("_", " "), its, own, site.file.release
            yield say("management-older", ("release",), *said)
    low, high = SUPPORTED_MINORS.get(minor(theirs.core), (0, 999))
    for key in ("kubernetes", "workers") if theirs.core != mine.core else ():
        version = getattr(site.file.cluster, key)
        if version and not low <= minor(version) <= high:
            said = managed, theirs.core, low, high, version
            yield say("management-workers", ("cluster", key), *said)


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
    profile, ironic = at.site.hardware.get(at.pool.hardware), managed.file.ironic
    if profile and profile.bmc.protocol not in VIRTUAL_MEDIA and ironic.dhcp is None:
        yield say("management-boot", at.path("hardware"), managed, at.pool.hardware, profile)
    if profile and profile.arch not in ironic.ramdisk:
        yield say("management-ramdisk", at.path("hardware"), managed, at.pool.hardware, profile)


def management_addresses(site: Site) -> Iterator[Finding]:
    """No address of the site, and none that its zones give, is one that Ironic gives to hosts."""
    if site.managed is None or (dhcp := site.managed.file.ironic.dhcp) is None:
        return
    first, last = IPv4Address(dhcp.first), IPv4Address(dhcp.last)
    for address, what in reserved(site).items():
        if first <= IPv4Address(address) <= last:
            yield say("management-range", ("management",), site.managed, dhcp, address, what)
    for number, zone in enumerate(site.file.zones):
        if any(low <= last and first <= high for low, high in host_ranges(site, zone)):
            where = ("zones", number, "hosts" if zone.hosts else "network")
            yield say("management-range-of-zone", where, site.managed, dhcp, zone)
