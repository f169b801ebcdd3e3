"""Whose token it is, remembered for a short while; tokens themselves are kept nowhere."""

import asyncio
import base64
import hashlib
import json
import random
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from cache_server.metrics import Metrics
from cache_server.review import Unavailable

_LARGEST = 65_536
"""Judgements that are remembered; about 20 MiB."""
_SPREAD = 0.1
"""Judgements end up to this share early, so that those that began together are not all due."""


class Judge(Protocol):
    """Who says whose a token is."""

    async def namespace(self, token: str) -> str | None:
        """The namespace of a token, None where it does not count; Unavailable if unknown."""


@dataclass(frozen=True, slots=True)
class _Known:
    namespace: str | None
    until: float


class Tokens:
    """The judgements of the last ``seconds``; refusals are remembered for ``refused_seconds``."""

    def __init__(
        self, judge: Judge, seconds: float, refused_seconds: float, metrics: Metrics
    ) -> None:
        self._judge = judge
        self._seconds = seconds
        self._refused_seconds = refused_seconds
        self._metrics = metrics
        # The hash is of no use outside of this process.
        self._salt = secrets.token_bytes(16)
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._asking: dict[bytes, asyncio.Task[str | None]] = {}

    async def namespace(self, token: str) -> str | None:
        """The namespace of a token; None where it does not count, Unavailable if unknown."""
        key = hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._salt).digest()
        known = self._known.get(key)
        if known is not None and known.until > time.monotonic():
            self._known.move_to_end(key)
            self._metrics.review_hits.inc()
            return known.namespace
        task = self._asking.get(key)
        if task is None:
            task = self._asking[key] = asyncio.create_task(self._ask(key, token))
            task.add_done_callback(lambda done: self._asked(key, done))
        # Who goes away takes the answer from nobody else.
        return await asyncio.shield(task)

    def _asked(self, key: bytes, task: asyncio.Task[str | None]) -> None:
        del self._asking[key]
        if not task.cancelled():
            # Where nobody waits any longer, nobody needs to hear of a failure.
            task.exception()

    async def _ask(self, key: bytes, token: str) -> str | None:
        try:
            namespace = await self._judge.namespace(token)
        except Unavailable:
            self._metrics.reviews.labels("error").inc()
            raise
        self._metrics.reviews.labels("refused" if namespace is None else "accepted").inc()
        seconds = self._refused_seconds if namespace is None else self._seconds
        seconds *= 1 - random.uniform(0, _SPREAD)  # noqa: S311 - no secret
        if namespace is not None:
            seconds = min(seconds, _seconds_left(token))
        self._known[key] = _Known(namespace, time.monotonic() + seconds)
        self._known.move_to_end(key)
        if len(self._known) > _LARGEST:
            self._known.popitem(last=False)
        return namespace


def _seconds_left(token: str) -> float:
    """How long a token is good for by its own claim ``exp`` (RFC 7519, section 4.1.4).

    The API server has checked the signature; what cannot be read is not remembered.
    """
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return float(claims["exp"]) - time.time()
    except (IndexError, KeyError, TypeError, ValueError):
        return 0.0
