"""GitHub's REST API, as little as a comment needs: bounded, patient, and careful with its token.

Only the standard library, as this runs with a token that may write. A redirect is refused, as
urllib would send the token along.
"""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from foresite.command import UsageError
from foresite.https import opener, server_url, token_of
from schemas.kubernetes.masking import shorten
from schemas.reading.bounded import parse_json, read_regular

T = TypeVar("T")
API = "https://api.github.com"
_TRIES = 5
_LONGEST = 60.0
"""Seconds that GitHub may ask to wait before another try."""
_SECONDS = 30.0
_PAGES = 100
_PAGE = 100
MAX_ANSWER = 16 * 1024 * 1024
_HINTS = {
    401: "GITHUB_TOKEN is not valid any more",
    403: "the job needs permissions: pull-requests: write",
    404: "is --repository right, and may the token see it?",
}


class _PassingError(Exception):
    """It may work in a while; ``after`` is how many seconds GitHub asks for, if it does."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


@dataclass(frozen=True, slots=True)
class GitHub:
    """One repository on GitHub. Raises UsageError."""

    api: str
    repository: str
    token: str = field(repr=False)

    def patiently(self, work: Callable[[], T]) -> T:
        """``work`` anew from its start, a few times, while GitHub fails in passing."""
        for number in range(_TRIES):
            try:
                return work()
            except _PassingError as error:
                if number == _TRIES - 1:
                    raise UsageError(f"{error}; tried {_TRIES} times") from None
                time.sleep(2.0**number if error.after is None else min(error.after, _LONGEST))
        raise AssertionError("the last try returns or raises")

    def all(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        """Every item of a list, page by page."""
        for number in range(1, _PAGES + 1):
            asked = urlencode({**query, "per_page": _PAGE, "page": number})
            items, headers = self._once("GET", f"{path}?{asked}")
            yield from items
            if 'rel="next"' not in headers.get("Link", ""):
                return
        raise UsageError(f"{path} has more than {_PAGES} pages")

    def one(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """GitHub's answer to one request."""
        answer: dict[str, Any] = self._once(method, path, body)[0]
        return answer

    def _once(
        self, method: str, path: str, body: dict[str, Any] | None = None
    ) -> tuple[Any, Message]:
        request = urllib.request.Request(  # noqa: S310 - ``connect`` looks at the scheme
            f"{self.api}/repos/{self.repository}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "User-Agent": "foresite",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        what = f"{method} {path.partition('?')[0]}"
        try:
            with opener(request.full_url).open(request, timeout=_SECONDS) as answer:
                return parse_json(answer.read(MAX_ANSWER)), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error, what) from None
        except (OSError, http.client.HTTPException, ValueError) as error:  # half an answer, say
            raise _PassingError(f"{what}: {getattr(error, 'reason', error)}") from None


def _refusal(error: urllib.error.HTTPError, what: str) -> Exception:
    said = shorten(_message(error), 300)
    text = f"GitHub answers {error.code} to {what}: {said}"
    after = error.headers.get("Retry-After", "")
    passing = error.code >= 500 or error.code == 429 or (error.code == 403 and after)
    if passing:
        return _PassingError(text, float(after) if after.isdigit() else None)
    hint = _HINTS.get(error.code)
    return UsageError(f"{text}; {hint}" if hint else text)


def _message(error: urllib.error.HTTPError) -> str:
    try:
        return str(parse_json(error.read(MAX_ANSWER))["message"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)


def connect(api: str, repository: str) -> GitHub:
    """GitHub with the token of the environment. Raises UsageError."""
    token = token_of("GITHUB_TOKEN", "give the step env: GITHUB_TOKEN")
    server = server_url("--api", api)
    owner, _, name = repository.partition("/")
    if not all(part.replace("-", "").replace("_", "").replace(".", "").isalnum()
               for part in (owner, name)):  # fmt: skip
        raise UsageError(f"--repository {shorten(repository)}: write owner/name")
    return GitHub(server, repository, token)


def read_event(path: Path) -> dict[str, Any]:
    """The event that started a workflow, from ``$GITHUB_EVENT_PATH``. Raises UsageError."""
    try:
        event = parse_json(read_regular(path, MAX_ANSWER))
    except ValueError as error:
        raise UsageError(f"{path} is no event: it is no JSON ({error})") from None
    if not isinstance(event, dict):
        raise UsageError(f"{path} is no event: it is no map")
    return event
