"""Whose token it is, remembered for a short while; tokens themselves are kept nowhere."""

import asyncio
import hashlib
import random
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from cache_server.claims import never_good, seconds_left
from cache_server.metrics import Metrics
from cache_server.refusals import unauthorized_refusal
from cache_server.review import Unavailable

_ACCEPTED = 65_536
_REFUSED = 8_192
"""Judgements that are remembered, about 300 bytes each. Refusals have room of their own: whoever
sends bad tokens pushes no good one out."""
WAITING = 512
"""Tokens that are being asked about or wait for it; at 16 a time and 10 ms each that is 0.3 s."""
_SPREAD = 0.1
"""Judgements end up to this share early, so that those that began together are not all due."""

Judge = Callable[[str], Awaitable[str | None]]
"""Says the namespace of a token, None where it does not count; Unavailable if unknown."""


class Policy(NamedTuple):
    """The tokens that count, and for how many seconds a verdict does."""

    audience: str
    accepted_seconds: float
    refused_seconds: float


class _Memory:
    """A cache of verdicts on the tokens that were shown last."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._known: OrderedDict[bytes, tuple[str | None, float]] = OrderedDict()

    def keep(self, key: bytes, namespace: str | None, seconds: float) -> None:
        seconds *= 1 - random.uniform(0, _SPREAD)  # noqa: S311 - no secret
        self._known[key] = (namespace, time.monotonic() + seconds)
        self._known.move_to_end(key)
        if len(self._known) > self._largest:
            self._known.popitem(last=False)

    def find(self, key: bytes) -> tuple[str | None] | None:
        """The judgement, in a tuple as it may be None; None where there is none any more."""
        known = self._known.get(key)
        if known is None or known[1] <= time.monotonic():
            return None
        self._known.move_to_end(key)
        return (known[0],)


class Tokens:
    """Judges tokens: by what they say, by what is remembered, and else by the API server."""

    def __init__(self, judge: Judge, policy: Policy, metrics: Metrics) -> None:
        self._judge = judge
        self._policy = policy
        self._metrics = metrics
        # The hash is of no use outside of this process.
        self._salt = secrets.token_bytes(16)
        self._accepted = _Memory(_ACCEPTED)
        self._refused = _Memory(_REFUSED)
        self._asking: dict[bytes, asyncio.Task[str | None]] = {}

    async def namespace(self, token: str) -> str:
        """The namespace of a token; a Refusal where it does not count, Unavailable if unknown."""
        reason = never_good(token, self._policy.audience)
        if reason is not None:
            self._metrics.reviews_spared.inc()
            raise unauthorized_refusal(f"the token does not count here: {reason}")
        namespace = await self._review(token)
        if namespace is None:
            raise unauthorized_refusal("the token does not count here: the API server refuses it")
        return namespace

    async def _review(self, token: str) -> str | None:
        key = hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._salt).digest()
        known = self._accepted.find(key) or self._refused.find(key)
        if known is not None:
            self._metrics.review_hits.inc()
            return known[0]
        task = self._asking.get(key)
        if task is None:
            if len(self._asking) >= WAITING:
                self._metrics.reviews.labels("error").inc()
                raise Unavailable("too many tokens are to be reviewed")
            task = self._asking[key] = asyncio.create_task(self._ask(key, token))
            task.add_done_callback(lambda done: self._end_review(key, done))
        # Who goes away takes the answer from nobody else.
        return await asyncio.shield(task)

    def _end_review(self, key: bytes, task: asyncio.Task[str | None]) -> None:
        del self._asking[key]
        if not task.cancelled():
            # Where nobody waits any longer, nobody needs to hear of a failure.
            task.exception()

    async def _ask(self, key: bytes, token: str) -> str | None:
        try:
            namespace = await self._judge(token)
        except Unavailable:
            self._metrics.reviews.labels("error").inc()
            raise
        self._metrics.reviews.labels("refused" if namespace is None else "accepted").inc()
        if namespace is None:
            self._refused.keep(key, None, self._policy.refused_seconds)
        else:
            seconds = min(self._policy.accepted_seconds, seconds_left(token))
            self._accepted.keep(key, namespace, seconds)
        return namespace
