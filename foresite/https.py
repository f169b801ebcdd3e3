"""Requests with a token: they go over TLS, to the server that was named alone."""

import os
import re
import time
import urllib.request
from email.message import Message
from typing import Any
from urllib.parse import urlsplit

from foresite.command import UsageError
from schemas.kubernetes.forms import HOST
from schemas.kubernetes.masking import shorten
from schemas.reading.bounded import parse_json


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, as urllib would send the token along."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none."""


def ask(url: str, headers: dict[str, str], most: int, seconds: float, *, direct: bool) -> Any:
    """The JSON of an answer, in so many bytes and about so long. Raises OSError, HTTPException, and
    ValueError for what is no JSON."""
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 server_url
    return exchange(request, most, seconds, direct=direct)[0]


def exchange(
    request: urllib.request.Request, most: int, seconds: float, *, direct: bool = False
) -> tuple[Any, Message]:
    """The JSON of the answer to any request to what ``server_url`` has passed, as ``ask``, and the
    answer's headers. Without TLS no proxy gets the request."""
    until, found = time.monotonic() + seconds, b""
    direct = direct or request.full_url.startswith("http:")
    proxies = [urllib.request.ProxyHandler({})] if direct else []
    opener = urllib.request.build_opener(NoRedirect, *proxies)
    with opener.open(request, timeout=seconds / 2) as answer:
        while part := answer.read1(1 << 20):
            found += part
            if len(found) > most:
                raise OSError(f"more than {most} bytes")
            if time.monotonic() > until:
                raise OSError(f"no whole answer in {seconds:.0f} s")
        return parse_json(found), answer.headers


def token_of(variable: str, how: str) -> str:
    """The token or password that a variable of the environment holds, as it stands there. Raises
    UsageError, which never shows it, where it holds none, or what servers read in several ways."""
    token = os.environ.get(variable, "")
    if not token.strip():
        raise UsageError(f"{variable} is not set; {how}")
    if token != token.strip():
        raise UsageError(f"{variable} begins or ends with white space; write it without")
    if not (token.isascii() and token.isprintable()):
        raise UsageError(f"{variable} has characters that are not printable ASCII; set another one")
    return token


def server_url(option: str, url: str) -> str:
    """The URL of a server that may get a token. Raises UsageError for any other."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a number that is no port is found only when it is asked for
    except ValueError as error:
        raise UsageError(f"{option} {shorten(url)}: {error}") from None
    loopback = parts.hostname in ("127.0.0.1", "localhost")
    if not re.fullmatch(HOST, parts.hostname or "") or "@" in parts.netloc:
        how = "the server's name in ASCII, or its IPv4 address, without a user"
        raise UsageError(f"{option}: write https:// and {how}")
    if re.search(r"[?#\\]|[^!-~]", url):  # behind a query, all paths would be part of it
        raise UsageError(f"{option}: write it in ASCII, without a space, a query or a fragment")
    if parts.scheme != "https" and not (parts.scheme == "http" and loopback):
        raise UsageError(f"{option} {shorten(url)}: a token goes over https only")
    return url.rstrip("/")
