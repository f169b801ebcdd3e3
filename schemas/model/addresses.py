"""Hosts, ports, addresses and URLs: one type for each, used wherever a site file has one.

A pattern says the form, so that an editor knows it too; a validator says the rest, each fault with
words of its own.
"""

import re
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Network
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from schemas.kubernetes.forms import HOST, PORT
from schemas.kubernetes.host_ports import port_owner
from schemas.model.codes import Code
from schemas.model.primitives import Ipv4, Network, fault

_PATH = r"(/([A-Za-z0-9._~:@!+,=/-]|%[0-9A-Fa-f]{2})*)?"
_URL = rf"https?://{HOST}(:{PORT})?{_PATH}"
_HOST, _PORT = re.compile(HOST), re.compile(PORT)
_AUTHORITY = re.compile(r"https?://([^/?#\\]*)")
_ODD = re.compile(r"[^A-Za-z0-9._~:@!+,=/%?#\"'\\\s-]|%(?![0-9A-Fa-f]{2})")
"""A character that a path has only escaped; a query, quotes and spaces are refused as such."""
_RESERVED = {
    "0.0.0.0/8": "which name no machine",
    "127.0.0.0/8": "at which each machine finds itself",
    "169.254.0.0/16": "link-local, which no router forwards",
    "224.0.0.0/4": "of multicast groups, which no machine has as its own",
    "255.255.255.255/32": "of a broadcast",
}
"""Networks of which no machine, pod or Service has an address (RFC 6890). Kubernetes refuses most
of them too (1.34, pkg/apis/core/validation/validation.go, ValidateNonSpecialIP)."""


class Wrong(NamedTuple):
    """A fault of a value: its code, what is wrong, what to write instead."""

    code: Code
    message: str
    fix: str


@lru_cache(maxsize=1)
def _reserved_networks() -> tuple[tuple[IPv4Network, str], ...]:
    return tuple((IPv4Network(text), words) for text, words in _RESERVED.items())


@lru_cache(maxsize=256)
def reserved(network: str) -> str:
    """Words for the reserved addresses that lie in an IPv4 network or are it; else nothing."""
    own = IPv4Network(network)
    found = ((each, words) for each, words in _reserved_networks() if each.overlaps(own))
    return next((f"{each}, {words}" for each, words in found), "")


def url_fault(url: str) -> Wrong | None:
    """What is wrong with an http URL; None where nothing is, or it is no such URL at all."""
    found = _AUTHORITY.match(url)
    if found is None:
        return None
    wrong, message, fix = Code.INVALID_VALUE, "", ""
    server = found[1].rpartition("@")[2]
    host, colon, port = server.partition(":")
    if server != found[1]:
        wrong, message = Code.SECRET_IN_FILE, "the URL holds a user or a password"
        fix = "leave them out: let the proxy or mirror accept the hosts' addresses"
    elif "{" in url or "}" in url:
        wrong, message = Code.TEMPLATE_MARK, "the URL has braces, which mark a template"
        fix = "write the URL without braces"
    elif server.startswith("["):
        message = "the URL has an IPv6 address, and Foresite configures IPv4 alone"
        fix = "write a DNS name or an IPv4 address"
    elif not host:
        message = "the URL names no server"
        fix = "write the server's name after ://, such as https://registry.example"
    elif colon and not _PORT.fullmatch(port):
        message = f"{port[:20]} is no TCP port" if port else "no port is after the colon"
        fix = "write a port from 1 to 65535, or no colon"
    if message:
        return Wrong(wrong, message, fix)
    return _host_fault(url, host) or _path_fault(url[found.end() :])


def _path_fault(path: str) -> Wrong | None:
    odd = _ODD.search(path)
    if odd is None:
        return None
    message = f"{odd[0]} in the path of a URL means something else to some programs"
    escaped = "".join(f"%{byte:02X}" for byte in odd[0].encode("utf-8", "replace"))
    return Wrong(Code.INVALID_VALUE, message, f"escape it as {escaped}")


def _host_fault(url: str, host: str) -> Wrong | None:
    if not host.isascii():
        fix = "write the name in ASCII, as its DNS zone has it (xn--…)"
        with suppress(UnicodeError):
            fix = f"write {url.replace(host, host.encode('idna').decode(), 1)}"
        message = "the server's name is not ASCII, and programs translate it differently"
        return Wrong(Code.INVALID_VALUE, message, fix)
    if not _HOST.fullmatch(host):
        message = f"{host[:80]} is no DNS name and no IPv4 address"
        fix = "correct the server's name: letters, digits and dashes between dots"
        return Wrong(Code.INVALID_VALUE, message, fix)
    return _unreachable(host)


def _unreachable(host: str) -> Wrong | None:
    """The fault of a server at which other machines find nothing."""
    last = host.rpartition(".")[2]
    words = reserved(host) if last.isdecimal() else ""
    if host == "localhost" or last == "localhost":
        words = "the name of each machine itself"
    if not words:
        return None
    message = f"{host} is one of {words}" if last.isdecimal() else f"{host} is {words}"
    fix = "write the address or the name that other machines reach it by"
    return Wrong(Code.ADDRESS_RESERVED, message, fix)


def _demand_url(value: str) -> str:
    return _demand(value, url_fault(value))


def _demand_reachable(value: str) -> str:
    return _demand(value, _unreachable(value))


def _demand(value: str, wrong: Wrong | None) -> str:
    if wrong is not None:
        raise fault(*wrong)
    return value


def _demand_usable(value: str) -> str:
    words = reserved(value)
    if words:
        message = f"{value} has addresses of {words}"
        fix = "choose a network of your own, such as one in 10.0.0.0/8"
        raise fault(Code.ADDRESS_RESERVED, message, fix)
    return value


def _bare(value: str) -> str:
    scheme, _, rest = value.partition("://")
    host = rest.partition("/")[0]
    if rest != host:
        raise fault(
            Code.INVALID_VALUE,
            "the URL of a registry has no path",
            f"write {scheme}://{host}, as containerd adds /v2 itself",
        )
    return value


def _demand_free(value: int) -> int:
    owner = port_owner(value, control_plane=True)
    if owner:
        message = f"port {value} of a control plane's hosts is that of {owner}"
        fix = "write 6443, or another port that no program of the hosts has"
        raise fault(Code.PORT_TAKEN, message, fix)
    return value


Host = Annotated[str, Field(pattern=rf"^{HOST}$", max_length=253, examples=["10.16.0.2"])]
"""A DNS name or an IPv4 address."""

Server = Annotated[Host, AfterValidator(_demand_reachable)]
"""A host that other machines reach."""

HostAddress = Annotated[Ipv4, AfterValidator(_demand_reachable)]
"""An IPv4 address that a machine can have, and that others reach."""

HostNetwork = Annotated[Network, AfterValidator(_demand_usable)]
"""A network whose addresses machines, pods or Services can have."""

ApiPort = Annotated[int, Field(ge=1, le=65535), AfterValidator(_demand_free)]
"""A TCP port of control planes that none of their own programs has."""

HttpUrl = Annotated[
    str,
    AfterValidator(_demand_url),
    Field(pattern=rf"^{_URL}$", max_length=512, examples=["https://registry.tokyo-1.example"]),
]
"""An http or https URL of a server that other machines reach, without credentials, query or
fragment."""

RegistryUrl = Annotated[HttpUrl, AfterValidator(_bare)]
"""A container registry: a URL without a path, as containerd adds /v2 itself."""
