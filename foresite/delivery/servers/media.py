"""The servers of OS images, the registry mirror and the BMCs of a site, as this machine sees them:
hosts and Ironic stand elsewhere, so that silence is no verdict."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from foresite.delivery.servers.doctor import TOLD, Finding, find
from foresite.delivery.servers.reach import UnreachedError, fetch, ping
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.masking import shorten
from schemas.model.hardware import BmcProtocol
from schemas.reading.host_list import Host

SECONDS = 5.0
"""For the answers of one image server, or of one BMC."""
BMC_SECONDS = 45.0
"""For all BMCs of a site; what was not asked by then is not asked."""
_AT_ONCE = 64
_SMALL = 1 << 20
"""Bytes; an OS image has more."""


def ask_images(site: Site) -> Iterator[Finding]:
    """The OS images of the pools by their digests, and the registry mirror."""
    base = site.file.sources.os_images.rstrip("/")
    wanted = {f"{base}/{each.file}": each.sha256 for each in map(site.os_image, site.file.pools)}
    if site.file.sources.registry_mirror:
        wanted[f"{site.file.sources.registry_mirror.rstrip('/')}/v2/"] = ""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(_reached, wanted, wanted.values())


def _reached(url: str, digest: str) -> Finding:
    where = {"url": url, "wanted": digest}
    try:
        until = time.monotonic() + SECONDS
        return _image(url, digest, until) if digest else _mirror(url, until)
    except UnreachedError as error:
        return find("image-unasked" if error.silent else "image-wrong", where, why=error)


def _mirror(url: str, until: float) -> Finding:
    status = fetch(url, until).status
    if status in (200, 401):  # OCI distribution 1.1, "Determining Support"; 401 wants a login
        return find("mirror", {"url": url})
    return find("image-wrong", {"url": url}, why=TOLD.say("status", status=status))


def _image(url: str, digest: str, until: float) -> Finding:
    """An OS image as its server tells of it; it is not downloaded."""
    answer = fetch(url, until, "HEAD")
    length = answer.head.get("content-length", "")[:18]
    kind = shorten(answer.head.get("content-type", ""))
    size = int(length) if length.isdecimal() else _SMALL
    if answer.status != 200 or kind.startswith("text/html") or size < _SMALL:
        why = TOLD.say("answer", status=answer.status, type=kind or "no type", bytes=length)
        return find("image-wrong", {"url": url}, why=why)
    beside = fetch(f"{url}.sha256", until)
    found = re.search(rb"\b[0-9a-f]{64}\b", beside.body) if beside.status == 200 else None
    where = {"url": url, "wanted": digest, "found": found[0].decode() if found else ""}
    if found and where["found"] != digest:
        return find("image-digest", where)
    return find("image" if found else "image-digestless", where, size=length or "unknown")


def ask_bmcs(site: Site) -> Iterator[Finding]:
    """The BMCs of all hosts by their answers, many at once, and for a given time in all."""
    protocols = {pool.name: site.profile(pool).bmc.protocol for pool in site.file.pools}
    end = time.monotonic() + BMC_SECONDS

    def ask(host: Host) -> UnreachedError | None:
        try:
            _bmc(host, protocols[host.pool], min(end, time.monotonic() + SECONDS))
        except UnreachedError as error:
            return error
        return None

    hosts = [host for host in site.hosts if not host.out]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(zip(hosts, pool.map(ask, hosts), strict=True))
    where = {"all": len(answers), "network": site.file.bmc.network, "site": site.name}
    if answers and all(error and error.silent for _, error in answers):
        yield find("bmcs-unasked", where, why=answers[0][1])
        return
    groups = group_by_key((str(error or ""), f"{e.name} ({e.bmc})") for e, error in answers)
    for why, names in groups.items():
        yield find("bmcs-wrong" if why else "bmcs", where, tuple(names), why=why)


def _bmc(host: Host, protocol: BmcProtocol, until: float) -> None:
    """Have a BMC say that it is one by Redfish's root, which needs no login (DSP0266 1.20, 13.3.1).
    Raises UnreachedError."""
    place = host.bmc.split("/")[0]
    if protocol is BmcProtocol.IPMI:
        ping(host.bmc_address, int(place.partition(":")[2] or 623), until)
        return
    scheme = "http" if protocol.value.endswith("+http") else "https"
    answer = fetch(f"{scheme}://{place}/redfish/v1/", until, trusting=True)
    if b'"RedfishVersion"' not in answer.body:
        raise UnreachedError(TOLD.say("redfish", status=answer.status))
