"""Asks the API server who a token belongs to (TokenReview, authentication.k8s.io/v1)."""

import asyncio
import logging
import random
import ssl
import time
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from cache_server.claims import ACCOUNT

_LOG = logging.getLogger(__name__)
_SECONDS = 5.0
_AT_ONCE = 16
"""Reviews under way at a time: what comes from outside must not press the API server harder."""
_PATIENCE_SECONDS = 2.0
"""Seconds in which a review is retried if the API server is too busy: PFIO gives up after 3 s
(pfio 2.10, cache/http_cache.py)."""
_FIRST_PAUSE_SECONDS = 0.1


class Unavailable(Exception):
    """The API server did not say; whose token it is stays unknown."""


class _Busy(Exception):
    """The API server has no time; ``seconds`` is when it wants to be asked again, if it says."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__("busy")
        self.seconds = seconds


class Api(NamedTuple):
    """The API server's address, and the files by which the server knows it and is known to it."""

    url: str
    authority: Path
    token: Path


class Reviewer:
    """One connection pool to the API server. The files are read each time: they are rotated."""

    def __init__(self, api: Api, audience: str) -> None:
        self._api = api
        self._audience = audience
        self._limit = asyncio.Semaphore(_AT_ONCE)
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS))
        self._tls: tuple[str, ssl.SSLContext] | None = None

    async def close(self) -> None:
        """Close its connections."""
        await self._session.close()

    async def namespace(self, token: str) -> str | None:
        """The namespace whose ServiceAccount the token belongs to, for our audience; else None.
        Raises Unavailable where the API server gives no judgement."""
        async with self._limit:
            try:
                status = await self._ask_patiently(token)
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
                # The kind alone: what a library says of a request may hold some of it.
                _LOG.error("the API server cannot be asked: %s", type(error).__name__)
                raise Unavailable from error
        return _namespace(status, self._audience)

    async def _ask_patiently(self, token: str) -> dict[str, Any]:
        """Ask, and again after a pause while the API server has too much to do (429)."""
        give_up = time.monotonic() + _PATIENCE_SECONDS
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return await self._ask(token)
            except _Busy as busy:
                seconds = pause if busy.seconds is None else busy.seconds
                # Those that were refused together do not come back together.
                seconds *= 1 + random.uniform(0, 0.25)  # noqa: S311 - no secret
                if time.monotonic() + seconds > give_up:
                    _LOG.error("the API server has no time for a TokenReview (429)")
                    raise Unavailable from busy
            pause *= 2
            await asyncio.sleep(seconds)

    async def _ask(self, token: str) -> dict[str, Any]:
        own, tls = await asyncio.to_thread(self._credentials)
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [self._audience]},
        }
        url = f"{self._api.url}/apis/authentication.k8s.io/v1/tokenreviews"
        headers = {"Authorization": f"Bearer {own}"}
        try:
            return await self._post(url, review, headers, tls)
        except aiohttp.ServerDisconnectedError:
            # A kept connection that the API server had closed.
            return await self._post(url, review, headers, tls)

    async def _post(
        self, url: str, review: dict[str, Any], headers: dict[str, str], tls: ssl.SSLContext | bool
    ) -> dict[str, Any]:
        async with self._session.post(
            url, json=review, headers=headers, ssl=tls, allow_redirects=False
        ) as answer:
            if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
                raise _Busy(_seconds(answer.headers.get("Retry-After")))
            if answer.status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
                _LOG.error("the API server answers a TokenReview with %d", answer.status)
                raise Unavailable
            content = await answer.json()
        status = content.get("status") if isinstance(content, dict) else None
        if not isinstance(status, dict):
            raise ValueError("no status")
        return status

    def _credentials(self) -> tuple[str, ssl.SSLContext | bool]:
        """Our own token, and what the API server's certificate is checked with."""
        own = self._api.token.read_text("ascii").strip()
        if not self._api.url.startswith("https:"):
            return own, True
        authority = self._api.authority.read_text("ascii")
        if self._tls is None or self._tls[0] != authority:
            context = ssl.create_default_context(cadata=authority)
            # Kubernetes' own certificates lack the key identifiers that newer Pythons insist on.
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            self._tls = (authority, context)
        return own, self._tls[1]


def _seconds(text: str | None) -> float | None:
    """A Retry-After in seconds, which is how Kubernetes gives it; else None."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else None


def _namespace(status: dict[str, Any], audience: str) -> str | None:
    """The namespace that a judgement means; None where it does not say yes to all that counts."""
    audiences, user = status.get("audiences"), status.get("user")
    if status.get("authenticated") is not True:
        return None
    # An API server that does not know of audiences leaves them out: that token is for anybody.
    if not isinstance(audiences, list) or audience not in audiences or not isinstance(user, dict):
        return None
    name = user.get("username")
    account = ACCOUNT.fullmatch(name) if isinstance(name, str) else None
    return None if account is None else account[1]
