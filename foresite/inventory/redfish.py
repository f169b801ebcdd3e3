"""Hosts as their BMCs describe them, by Redfish, with Ironic's own client (sushy 5)."""

import logging
import os
import re
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from itertools import islice
from urllib.parse import urlsplit

from foresite.command import UsageError
from foresite.https import server_url, token_of
from foresite.inventory.records import Intake, Rules, say
from schemas.kubernetes.bodies import Json

MAX_BMCS = 4096
_AT_ONCE, _SECONDS = 32, 20


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


def _systems(url: str, account: list[str]) -> list[Json] | str:
    """The systems of a BMC, with the MACs of their NICs; or why it has none."""
    try:
        import sushy
    except ImportError:
        raise UsageError("install what asks BMCs: pip install 'foresite[inventory]'") from None
    try:
        root = sushy.Sushy(
            url, auth=sushy.auth.BasicAuth(*account),
            verify=os.environ.get("SSL_CERT_FILE") or True, server_side_retries=0,
            read_timeout=_SECONDS, connect_timeout=_SECONDS,
        )  # fmt: skip
        found = []
        for system in root.get_system_collection().get_members():
            nics = system.ethernet_interfaces.get_members()
            macs = {nic.permanent_mac_address or nic.mac_address: nic.identity for nic in nics}
            macs.pop(None, None)
            address = urlsplit(url).netloc + system.path
            found.append({**system.json, "EthernetInterfaces": macs, "address": address})
    except (AttributeError, KeyError, TypeError) as error:
        return f"the answer is no Redfish ({type(error).__name__})"
    except (sushy.exceptions.SushyError, OSError, ValueError) as error:
        return str(error).partition("\n")[0]
    return found
