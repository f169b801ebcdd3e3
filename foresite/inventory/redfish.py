"""Hosts as their BMCs describe them, by Redfish, with Ironic's own client (sushy 5)."""

import base64
import itertools
import logging
import re
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from ipaddress import IPv4Network
from types import SimpleNamespace
from urllib.parse import urljoin, urlsplit

from foresite.command import UsageError
from foresite.https import ask, server_url, token_of
from foresite.inventory.records import Intake, Rules, explain, say
from schemas.kubernetes.bodies import Json
from schemas.kubernetes.masking import shorten

MAX_BMCS = 4096
MAX_BYTES = 4 * 1024 * 1024
"""Bytes of one answer of a BMC, at most."""
SECONDS = 120.0
"""Time for all answers of a BMC; one may take a third of it."""
MAX_ANSWERS = 1024
"""Answers of one BMC, at most: two for a system, and one for each NIC."""
_AT_ONCE = 32


def addresses(said: list[str]) -> list[str]:
    """The URLs of BMCs that are said as addresses, networks or URLs. Raises UsageError."""
    found: list[str] = []
    for each in said:
        try:
            found += map(str, itertools.islice(IPv4Network(each).hosts(), MAX_BMCS + 1))
        except ValueError:
            if re.fullmatch(r"[0-9.]+/[0-9]+", each):
                raise UsageError(f"--bmc {each}: write the network's own address") from None
            found.append(each)  # with a port, or a URL
    if not 0 < len(found) <= MAX_BMCS:
        raise UsageError(f"--bmc: name 1 to {MAX_BMCS} addresses of BMCs, or their networks")
    return [server_url("--bmc", e if "://" in e else f"https://{e}") for e in found]


def read(urls: list[str], rules: Rules) -> Intake:
    """The systems of BMCs as hosts; a BMC that does not answer is a problem."""
    why = "it is the account of the BMCs"
    account = [token_of(f"REDFISH_{each}", why) for each in ("USERNAME", "PASSWORD")]
    if ":" in account[0]:  # RFC 7617, section 2
        raise UsageError("REDFISH_USERNAME has a colon, which no login by Basic can have")
    logging.getLogger("sushy").setLevel(logging.CRITICAL)  # a BMC that is silent is a problem
    intake = Intake(rules)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = pool.map(lambda url: _systems(url, account), urls)
        for url, found in zip(urls, answers, strict=True):
            if isinstance(found, str):
                intake.problems.append(say("bmc-silent", url, {"column": "bmc", "why": found}))
                continue
            for body in found:
                place = f"https://{body['address']}"
                intake.add(place, f"redfish {place}", body)
    return intake


def _line(url: str, account: list[str]) -> SimpleNamespace:
    """What sushy asks one BMC by. It refuses whatever leads away from the BMC, which would get the
    account: a link of its answers, a redirect, a proxy."""
    until, count = time.monotonic() + SECONDS, itertools.count()
    word = base64.b64encode(":".join(account).encode())
    headers = {"Accept": "application/json", "Authorization": f"Basic {word.decode()}"}

    def get(path: str = "", **_: object) -> SimpleNamespace:
        asked = urljoin(f"{url}/", path)
        if urlsplit(asked)[:2] != urlsplit(url)[:2]:
            raise OSError(f"it leads to another address, which was not asked: {shorten(asked)}")
        left = until - time.monotonic()
        if left <= 0 or next(count) >= MAX_ANSWERS:
            raise OSError(f"it has not ended after {SECONDS:.0f} s or {MAX_ANSWERS} answers")
        body = ask(asked, headers, MAX_BYTES, min(SECONDS / 3, max(left, 1)), direct=True)
        return SimpleNamespace(json=lambda: body, content=True, headers={}, status_code=200)

    nothing = lambda *_: None  # noqa: E731 the account is in the headers
    return SimpleNamespace(get=get, set_auth=nothing, set_http_basic_auth=nothing)


def _systems(url: str, account: list[str]) -> list[Json] | str:
    """The systems of a BMC, with the MACs of their NICs; or why it has none."""
    try:
        import sushy
    except ImportError:
        raise UsageError("install what asks BMCs: pip install 'foresite[inventory]'") from None
    try:
        root = sushy.Sushy(url, auth=sushy.auth.BasicAuth(*account), connector=_line(url, account))
        found = []
        for system in root.get_system_collection().get_members():
            nics = system.ethernet_interfaces.get_members()
            macs = {nic.permanent_mac_address or nic.mac_address: nic.identity for nic in nics}
            macs.pop(None, None)
            address = urlsplit(url).netloc + system.path
            found.append({**system.json, "EthernetInterfaces": macs, "address": address})
    except (AttributeError, KeyError, TypeError) as error:
        return f"the answer is no Redfish ({type(error).__name__})"
    except (sushy.exceptions.SushyError, HTTPException, OSError, ValueError) as error:
        return explain(error, "redfish")
    return found
