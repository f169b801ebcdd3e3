"""REST APIs of forges, as little as a comment needs: bounded, patient, careful with the token.

One client for GitHub, GitHub Enterprise Server, GitLab and Forgejo; what differs between them is a
table (forge_api.toml). Only the standard library, as this runs with a token that may write.

A token has one home: the server that CI names beside it, else GitHub's public one. It goes
nowhere else: another ``--api`` is refused, no redirect is followed, and the next page of a list is
asked for by its number, whatever address the answer has for it.
"""

import argparse
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from foresite.command import UsageError
from foresite.https import exchange, server_url, token_of
from schemas.kubernetes.masking import shorten
from schemas.kubernetes.quantities import digits
from schemas.kubernetes.tables import read_table
from schemas.reading.bounded import parse_json, read_regular

T = TypeVar("T")
Item = dict[str, Any]
FORGES: dict[str, Any] = read_table(__file__)
_TRIES = 5
_LONGEST = 60.0
"""Seconds that a forge may ask to wait before another try."""
_SECONDS = 60.0
"""Time for one answer."""
_PAGES = 100
_PAGE = 100
_RIGHT = "is --api right?"
MAX_ANSWER = 16 * 1024 * 1024


class _PassingError(Exception):
    """It may work in a while; ``after`` is how many seconds the forge asks for, if it does."""

    def __init__(self, message: str, after: int | None = None) -> None:
        super().__init__(message)
        self.after = after


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository on a forge. Raises UsageError."""

    forge: dict[str, Any]
    api: str
    name: str
    token: str = field(repr=False)

    def patiently(self, work: Callable[[], T]) -> T:
        """``work`` anew from its start, a few times, while the forge fails in passing."""
        for number in range(_TRIES):
            try:
                return work()
            except _PassingError as error:
                if number == _TRIES - 1:
                    raise UsageError(f"{error}; tried {_TRIES} times") from None
                time.sleep(2.0**number if error.after is None else min(error.after, _LONGEST))
        raise AssertionError("the last try returns or raises")

    def all(self, path: str, **query: str) -> Iterator[Item]:
        """Every item of a list, page by page."""
        for number in range(1, _PAGES + 1):
            asked = urlencode({**query, self.forge["size"]: _PAGE, "page": number})
            items, headers = self._once("GET", f"{self._own}{path}?{asked}")
            if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
                raise UsageError(f"{path}: the answer is no list of {self.title}; {_RIGHT}")
            yield from items
            if 'rel="next"' not in headers.get("Link", ""):
                return
        raise UsageError(f"{path} has more than {_PAGES} pages")

    def one(self, method: str, path: str, body: Item | None = None) -> Item:
        """The forge's answer to one request."""
        return self._map(method, self._own + path, body)

    def me(self) -> str:
        """The account that the token belongs to."""
        name = self.text(self._map("GET", "/user"), "username")
        if not name:
            raise UsageError(f"{self.title} does not say whose the token is; {_RIGHT}")
        return name

    def text(self, item: Item, path: str) -> str:
        """The text at a path of an answer; nothing is an empty one."""
        found = _dig(item, path)
        if found is None or isinstance(found, str):
            return found or ""
        raise UsageError(f"{path} in an answer of {self.title} is no text; {_RIGHT}")

    def number(self, item: Item, path: str) -> int:
        """The number at a path of an answer."""
        found = _dig(item, path)
        if isinstance(found, int):
            return found
        raise UsageError(f"{path} in an answer of {self.title} is no number; {_RIGHT}")

    @property
    def title(self) -> str:
        """The forge's name for a person."""
        return str(self.forge["title"])

    @property
    def _own(self) -> str:
        return str(self.forge["repository"].format(name=self.name, quoted=quote(self.name, "")))

    def _map(self, method: str, path: str, body: Item | None = None) -> Item:
        answer, _ = self._once(method, path, body)
        if isinstance(answer, dict):
            return answer
        raise UsageError(f"{path}: the answer is none of {self.title}; {_RIGHT}")

    def _once(self, method: str, path: str, body: Item | None = None) -> tuple[Any, Message]:
        request = urllib.request.Request(  # noqa: S310 - ``connect`` looks at the scheme
            f"{self.api}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                **self.forge["headers"], self.forge["header"]: self.forge["scheme"] + self.token,
                "Content-Type": "application/json", "User-Agent": "foresite",
            },
        )  # fmt: skip
        what = f"{method} {path.removeprefix(self._own).partition('?')[0]}"
        try:
            return exchange(request, MAX_ANSWER, _SECONDS)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error, what) from None
        except ValueError:  # half an answer, or a page to sign in
            raise _PassingError(f"{what}: the answer is no JSON; {_RIGHT}") from None
        except (OSError, http.client.HTTPException) as error:
            raise _PassingError(f"{what}: {getattr(error, 'reason', error)}") from None

    def _refusal(self, error: urllib.error.HTTPError, what: str) -> Exception:
        code, said = error.code, shorten(_message(error), 300)
        text = f"{self.title} answers {code} to {what}: {said}"
        after = error.headers.get("Retry-After", "")
        gone = code == 404 and what.startswith(self.forge["change"])  # deleted since it was listed
        if code >= 500 or code == 429 or gone or (code == 403 and after):
            return _PassingError(text, digits(after))
        hints = self.forge["hints"]
        hint = hints.get(str(code)) or hints.get(str(code // 100))
        return UsageError(f"{text}; {hint}" if hint else text)


def _dig(item: Any, path: str) -> Any:
    for step in path.split("."):
        item = item.get(step) if isinstance(item, dict) else None
    return item


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(parse_json(error.read(MAX_ANSWER))["message"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)


def connect(options: argparse.Namespace) -> Repository:
    """A repository with the token of the environment. Raises UsageError."""
    name, api = options.repository, options.api
    forge = FORGES[options.forge]
    token = token_of(forge["token"], f"give the step env: {forge['token']}")
    home = server_url(forge["server"], os.environ.get(forge["server"]) or forge["api"])
    server = home if api is None else server_url("--api", api)
    if _origin(server) != _origin(home):
        raise UsageError(
            f"--api {shorten(server)}: {forge['token']} belongs to {home}, and goes nowhere else; "
            f"with a token of that server, set {forge['server']} to it as well"
        )
    parts = name.split("/")
    if (len(parts) != 2 and "{quoted}" not in forge["repository"]) or not (
        len(parts) > 1 and all(re.fullmatch(r"(?=.*\w)[\w.-]+", each, re.ASCII) for each in parts)
    ):
        raise UsageError(f"--repository {shorten(name)}: write owner/name")
    return Repository(forge, server, name, token)


def _origin(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"https": 443}.get(parts.scheme, 80)


def read_event(path: Path) -> dict[str, Any]:
    """The event that started a workflow, from ``$GITHUB_EVENT_PATH``. Raises UsageError."""
    try:
        event = parse_json(read_regular(path, MAX_ANSWER))
    except ValueError as error:
        raise UsageError(f"{path} is no event: it is no JSON ({error})") from None
    if not isinstance(event, dict):
        raise UsageError(f"{path} is no event: it is no map")
    return event
