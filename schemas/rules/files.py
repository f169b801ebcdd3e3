"""Rules on files that a site names: certificates are such, and manifests fit their way in."""

import base64
import json
import re
from collections.abc import Iterator

from schemas.facts.brought import Brought
from schemas.facts.pod_network import MAX_MANIFEST_BYTES
from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_documents, read_objects
from schemas.kubernetes.secret_scan import kind_of
from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.extra import LOCK, RENDERED, VALUES
from schemas.model.site_file import SiteFile
from schemas.model.vocabulary import PodNetworkInstall
from schemas.reading.paths import each_at
from schemas.reading.site_files import MAX_FILES, matching, read
from schemas.reading.tree import Folder, Refused
from schemas.rules.extra import brought_faults
from schemas.rules.finding import Finding, Path, TextPlace, say

MAX_FILE_CHARACTERS = 10_240
"""Characters that one file of a host's first boot may hold (KubeadmConfigSpec, files[].content)."""
MANIFESTS: Path = ("cluster", "pod_network", "manifests")
_FILES, _CERTIFICATES, _CHARTS, HOST_FILES = (
    tuple(read_table(__file__)[name]) for name in ("files", "certificates", "charts", "host_files")
)
"""Where a site file names files, or patterns of such, folders of charts, and files of hosts."""
_NETWORK = re.compile(r'"Network":\s*"([0-9./]+)"')
_NETWORK6 = re.compile(r'"IPv6Network":\s*"([0-9a-f:/]+)"')
_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_BASE64 = re.compile(r"[A-Za-z0-9+/]{1,76}={0,2}")


def site_file_references(file: SiteFile) -> Iterator[tuple[str, Path]]:
    """Each file below sites/ that a site names, or a pattern of such, with where it is named."""
    for place, path in each_at(file, *_FILES, *_CERTIFICATES):
        if path:
            yield path, place
    for place, folder in each_at(file, *_CHARTS):
        for name in (LOCK, VALUES, RENDERED) if folder else ():
            yield f"{folder}/{name}", place
    for place, each in each_at(file, *HOST_FILES):
        if source := vars(each).get("source"):
            yield source, place


def site_texts(
    folder: Folder, file: SiteFile, findings: list[Finding]
) -> Iterator[tuple[str, str]]:
    """The content of each file that the site names, by its path; ``findings`` get what is wrong."""
    for path, where in _named(folder, file, findings):
        data = read(folder, path)
        if isinstance(data, Refused):
            fix = "add the file, or correct the path" if data.fix == "add the file" else data.fix
            findings.append(Finding(data.code, where, data.message, fix))
            continue
        try:
            yield path, data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            findings.append(say("file-not-utf8", TextPlace(f"sites/{path}", line, 1, where), path))


def _named(folder: Folder, file: SiteFile, findings: list[Finding]) -> Iterator[tuple[str, Path]]:
    """Each file that the site names, by its path or by a pattern, and the place that names it."""
    for pattern, where in site_file_references(file):
        paths = matching(folder, pattern)
        if not 0 < len(paths) <= MAX_FILES:
            findings.append(say("files-too-many", where, pattern, len(paths), MAX_FILES))
        yield from ((path, where) for path in paths[:MAX_FILES])


def certificates(site: Site) -> Iterator[Finding]:
    """Each file of certificates holds certificates alone, and fits into a host's first boot."""
    for place, path in each_at(site.file, *_CERTIFICATES):
        text = site.texts.get(path)
        if text is not None:
            yield from _certificate(f"sites/{path}", text.replace("\r\n", "\n"), place)


def _certificate(file: str, text: str, place: Path) -> Iterator[Finding]:
    if kind_of(text):
        return  # schemas/reading/literal_secrets.py reports it, and the rest follows from it
    fault = _certificate_fault(text)
    if fault is not None:
        line, message = fault
        at = TextPlace(file, line, 1, place)
        yield say("certificates-damaged", at, message, _BEGIN, _END)
    elif len(text) > MAX_FILE_CHARACTERS:
        yield say("certificates-too-long", place, file, len(text), MAX_FILE_CHARACTERS)


def _certificate_fault(text: str) -> tuple[int, str] | None:
    """The first line that is no part of a certificate, and what is wrong with it."""
    block: list[str] | None = None
    count = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if block is None and line == _BEGIN:
            block = []
        elif block is None and line.strip():
            return number, "this is no part of a certificate"
        elif block is not None and line == _END:
            if not _is_der("".join(block)):
                return number, "the certificate that ends here is damaged"
            block, count = None, count + 1
        elif block is not None and not _BASE64.fullmatch(line):
            return number, "this is no part of a certificate"
        elif block is not None:
            block.append(line)
    if block is not None:
        return text.count("\n") + 1, "the certificate has no end"
    return None if count else (1, "there is no certificate")


def _is_der(text: str) -> bool:
    """True if base64 text holds one whole DER sequence, as every certificate is."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    if len(data) < 4 or data[0] != 0x30 or data[1] not in (0x81, 0x82, 0x83):
        return False
    size = data[1] - 0x80
    return len(data) == 2 + size + int.from_bytes(data[2 : 2 + size], "big")


def pod_network(site: Site) -> Iterator[Finding]:
    """The pod network's manifests are objects that can be applied, for the site's own networks."""
    network = site.file.cluster.pod_network
    path, named = network.file, (*MANIFESTS[:2], "chart") if network.chart else MANIFESTS
    text, file = site.texts.get(path), f"sites/{path}"
    if text is None:
        return
    found = brought_faults(Brought(path, text, named))
    yield from found
    if any(each.code is Code.FILE_CONTENT for each in found):
        return
    yield from _twice(file, text)
    yield from _other_network(site, file, text)
    if site.file.cluster.pod_network.install is PodNetworkInstall.CLUSTER_RESOURCE_SET:
        yield from _resource_set(file, text)


def _twice(file: str, text: str) -> Iterator[Finding]:
    seen = set()
    for item, _ in read_objects(text):
        metadata = item["metadata"]
        key = (item["apiVersion"], item["kind"], metadata.get("namespace"), metadata["name"])
        if key in seen:
            yield say("manifest-twice", MANIFESTS, file, item["kind"], metadata["name"])
        seen.add(key)


def _other_network(site: Site, file: str, text: str) -> Iterator[Finding]:
    cluster = site.file.cluster
    for match in (*_NETWORK.finditer(text), *_NETWORK6.finditer(text)):
        name, pods = "pods", cluster.pods
        if match.re is _NETWORK6:
            name, pods = "pods6", cluster.pods6 or "none"
        if match[1] != pods:
            line = text.count("\n", 0, match.start(1)) + 1
            column = match.start(1) - text.rfind("\n", 0, match.start(1))
            at = TextPlace(file, line, column, MANIFESTS)
            yield say("flannel-other-network", at, match[1], pods, name)
    if cluster.pods6 and _NETWORK.search(text) and not _NETWORK6.search(text):
        yield say("flannel-without-ipv6", MANIFESTS, file, cluster.pods6)


def _resource_set(file: str, text: str) -> Iterator[Finding]:
    """A text meets the conditions of Cluster API's ClusterResourceSet."""
    for item, line in read_objects(text) if len(text) > MAX_MANIFEST_BYTES // 4 else ():
        size = len(json.dumps(item, ensure_ascii=False).encode())
        if size > MAX_MANIFEST_BYTES:
            at, named = TextPlace(file, line, 1, MANIFESTS), item["metadata"]["name"]
            yield say("manifest-too-large", at, item["kind"], named, size, MAX_MANIFEST_BYTES)
    for document, line in read_documents(text):
        if document.get("kind") == "List":
            yield say("manifest-list", TextPlace(file, line, 1, MANIFESTS))
