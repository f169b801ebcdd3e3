"""Hosts, ports, addresses and URLs: one type for each. A pattern says the form, so that an editor
knows it too; a validator gives each fault its own words."""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated

from pydantic import AfterValidator, Field

from schemas.kubernetes.forms import HOST, PORT
from schemas.kubernetes.host_ports import port_owner
from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.primitives import Ipv4, Network, fault, text_form
from schemas.model.texts import Words, words

AnyAddress = IPv4Address | IPv6Address
AnyNetwork = IPv4Network | IPv6Network
_TABLE = read_table(__file__)
_PATH = r"(/([A-Za-z0-9._~:@!+,=/-]|%[0-9A-Fa-f]{2})*)?"
_network = lru_cache(IPv4Network)


@lru_cache(maxsize=256)
def _reserved(network: str) -> str:
    """Words for the reserved addresses that lie in an IPv4 network or are it; else nothing."""
    own = IPv4Network(network)
    found = (each for each in _TABLE["reserved"].items() if _network(each[0]).overlaps(own))
    return next((f"{each}, {why}" for each, why in found), "")


def _demand_reachable(host: str) -> str:
    last = host.rpartition(".")[2]
    what = f"one of {found}" if last.isdecimal() and (found := _reserved(host)) else ""
    what = "the name of each machine itself" if last == "localhost" else what
    if what:
        raise fault(words("address-reserved", host, what))
    return host


def _demand_url(url: str) -> str:
    _, scheme, rest = url.partition("://")
    for row in _TABLE["url"] if scheme else ():
        if re.match(row["form"].replace("<HOST>", HOST).replace("<PORT>", PORT), rest):
            raise fault(Words(Code(row["code"]), row["message"], row["fix"]))
    _demand_reachable(re.split("[:/]", rest)[0])
    return url


def _demand_usable(network: str) -> str:
    if what := _reserved(network):
        raise fault(words("network-reserved", network, what))
    return network


def _demand_usable6(text: str) -> str:
    """An IPv6 address or network that machines can have, in the one form that all programs write;
    a router may have an address of its link."""
    try:
        found = str(ip_network(text, strict=False) if "/" in text else ip_address(text))
    except ValueError:
        raise fault(words("address6-malformed", text)) from None
    if found != text:
        raise fault(words("address6-not-short", text, found))
    own, linked = ip_network(text), "fe80::/10" if "/" in text else "::/128"
    for each in ("::/128", "::1/128", "::ffff:0:0/96", "ff00::/8", linked):
        if ip_network(each).overlaps(own):
            raise fault(words("address6-reserved", text, each))
    return text


def _demand_bare(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0]
    if rest != host:
        raise fault(words("registry-with-path", scheme, host))
    return url


def _demand_free(port: int) -> int:
    if owner := port_owner(port, control_plane=True):
        raise fault(words("api-port-taken", port, owner))
    return port


Host = Annotated[str, text_form(HOST, "10.16.0.2", longest=253)]
"""A DNS name or an IPv4 address."""
Server = Annotated[Host, AfterValidator(_demand_reachable)]
"""A host that other machines reach."""
HostAddress = Annotated[Ipv4, AfterValidator(_demand_reachable)]
"""An IPv4 address that a machine can have, and that others reach."""
HostNetwork = Annotated[Network, AfterValidator(_demand_usable)]
"""A network whose addresses machines, pods or Services can have."""
HostAddress6 = Annotated[
    str, text_form("[0-9a-f:]{2,39}", "2001:db8:a::1"), AfterValidator(_demand_usable6)
]
"""An IPv6 address that a machine can have, in the short form of RFC 5952."""
Network6 = Annotated[
    str,
    text_form("[0-9a-f:]{2,39}/(12[0-8]|1[01][0-9]|[1-9]?[0-9])", "2001:db8:a::/64"),
    AfterValidator(_demand_usable6),
]
"""An IPv6 network in CIDR notation and short form, with no bit set behind its prefix."""
ApiPort = Annotated[int, Field(ge=1, le=65535), AfterValidator(_demand_free)]
"""A TCP port of control planes that none of their own programs has."""
HttpUrl = Annotated[
    str,
    AfterValidator(_demand_url),
    text_form(f"https?://{HOST}(:{PORT})?{_PATH}", "https://registry.tokyo-1.example", longest=512),
]
"""An http or https URL of a server that other machines reach: no credentials, query, fragment."""
RegistryUrl = Annotated[HttpUrl, AfterValidator(_demand_bare)]
"""A container registry: a URL without a path, as containerd adds /v2 itself."""
