"""Hosts as their BMCs describe them, by Redfish, with Ironic's own client (sushy 5)."""

import io
import logging
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from foresite.command import UsageError
from foresite.https import server_url, token_of
from foresite.inventory.records import Intake, Rules, say
from schemas.kubernetes.bodies import Json

MAX_BMCS = 4096
MAX_BYTES = 4 * 1024 * 1024
"""Bytes of one answer of a BMC, at most."""
SECONDS = 120.0
"""Time for all answers of a BMC; one is waited for a sixth of it."""
_AT_ONCE = 32


def addresses(said: list[str]) -> list[str]:
    """The URLs of BMCs that are said as addresses, networks or URLs. Raises UsageError."""
    found: list[str] = []
    for each in said:
        try:
            found += map(str, islice(ip_network(each).hosts(), MAX_BMCS + 1))
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


def _line(url: str) -> Any:
    """What asks one BMC, and refuses whatever leads away from it: a link of its answers, a
    redirect, or a proxy, which would get the account."""
    import requests
    import sushy
    import urllib3

    parts, until = urlsplit(url), time.monotonic() + SECONDS
    origin = f"{parts.scheme}://{parts.netloc}/".lower()  # as requests writes URLs

    class Own(requests.adapters.HTTPAdapter):
        def send(self, request: Any, *rest: Any, **options: Any) -> Any:
            if not request.url.startswith(origin):
                raise requests.exceptions.InvalidURL("the BMC leads to another address: not asked")
            answer = super().send(request, *rest, **{**options, "stream": True})
            found = b""
            while part := answer.raw.read1(1 << 16):
                found += part
                if len(found) > MAX_BYTES or time.monotonic() > until:
                    raise requests.exceptions.InvalidURL("the answer is too long or too slow")
            self.close()  # BMCs choke on lines that stay open
            answer.raw = urllib3.HTTPResponse(io.BytesIO(found), preload_content=False)
            return answer

    line = sushy.connector.Connector(
        url, verify=os.environ.get("SSL_CERT_FILE") or True,
        default_request_timeout=SECONDS / 6, connect_timeout=SECONDS / 6,
    )  # fmt: skip
    session = vars(line)["_session"]
    session.trust_env, session.adapters = False, {"": Own()}
    return line


def _systems(url: str, account: list[str]) -> list[Json] | str:
    """The systems of a BMC, with the MACs of their NICs; or why it has none."""
    try:
        import sushy
        from urllib3.exceptions import HTTPError
    except ImportError:
        raise UsageError("install what asks BMCs: pip install 'foresite[inventory]'") from None
    try:
        root = sushy.Sushy(url, auth=sushy.auth.BasicAuth(*account), connector=_line(url))
        found = []
        for system in root.get_system_collection().get_members():
            nics = system.ethernet_interfaces.get_members()
            macs = {nic.permanent_mac_address or nic.mac_address: nic.identity for nic in nics}
            macs.pop(None, None)
            address = urlsplit(url).netloc + system.path
            found.append({**system.json, "EthernetInterfaces": macs, "address": address})
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        return f"the answer is no Redfish ({type(error).__name__})"
    except (sushy.exceptions.SushyError, HTTPError, OSError, ValueError) as error:
        return str(error).partition("\n")[0]
    return found
