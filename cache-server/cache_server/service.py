"""The HTTP service: who asks for what, and what is answered."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

from aiohttp import hdrs, web

from cache_server import answers, metrics
from cache_server.buckets import Bucket, Buckets
from cache_server.health import Health
from cache_server.names import Target, target
from cache_server.refusals import Refusal, RefusalLog, unauthorized_refusal, unavailable
from cache_server.review import Unavailable
from cache_server.store import Store
from cache_server.tokens import Tokens
from cache_server.uploads import Uploads
from cache_server.writer import StorageError

_LOG = logging.getLogger(__name__)
_READS = frozenset({"GET", "HEAD"})
_METHODS = _READS | {"PUT"}
_PARTIAL = (
    hdrs.RANGE,
    hdrs.IF_MATCH,
    hdrs.IF_NONE_MATCH,
    hdrs.IF_MODIFIED_SINCE,
    hdrs.IF_UNMODIFIED_SINCE,
)
"""Headers that ask for something else than the whole object."""


@dataclass(slots=True)
class Service:
    """Answers requests: ``buckets`` as configured now, ``under_way`` answers not yet sent."""

    store: Store
    uploads: Uploads
    tokens: Tokens
    health: Health
    metrics: metrics.Metrics
    buckets: Buckets = field(default_factory=dict)
    under_way: int = 0
    _ending: bool = False
    _refusals: RefusalLog = field(default_factory=RefusalLog)

    def end(self) -> None:
        """Tell whoever asks to go elsewhere from now on."""
        self._ending = True
        self.health.ending = True

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; the text of an answer never holds anything of a token."""
        begin = time.perf_counter()
        bucket = ""
        self.under_way += 1
        response: web.StreamResponse | None = None
        try:
            found = target(request.raw_path)
            if found is None:
                response = await self._other(request)
            else:
                bucket = found.bucket if found.bucket in self.buckets else ""
                response = await self._object(request, found)
        except Refusal as refusal:
            if refusal.status != HTTPStatus.NOT_FOUND:
                # Other methods are what a client makes up.
                method = request.method if request.method in _METHODS else "another method"
                self._refusals.tell(method, bucket, refusal)
            response = answers.refusal_response(refusal)
        except ConnectionError:
            # The client is gone; aiohttp knows what to do.
            raise
        except (StorageError, sqlite3.Error, OSError) as error:
            _LOG.error("the disk does not do what it should: %s", error)
            response = answers.refusal_response(unavailable("the disk does not do what it should"))
        finally:
            # A file is sent after this, and tells when that is done.
            if not isinstance(response, answers.WholeFile | answers.PartOfFile):
                self._leave()
        if self._ending:
            response.force_close()
        seconds = time.perf_counter() - begin
        self.metrics.count_request(request.method, bucket, response.status, seconds)
        return response

    def _leave(self) -> None:
        self.under_way -= 1

    async def _other(self, request: web.BaseRequest) -> web.Response:
        path = request.raw_path.partition("?")[0]
        if path not in {"/healthz", "/livez", "/metrics"}:
            raise Refusal(HTTPStatus.NOT_FOUND, "there is nothing here")
        _allow(request, _READS)
        if path == "/metrics":
            return await self._show_metrics()
        # That it is answered is all that /livez says.
        reason = self.health.failing() if path == "/healthz" else None
        if reason is not None:
            raise unavailable(reason)
        return web.Response(text="ok\n")

    async def _show_metrics(self) -> web.Response:
        usage = await self.store.usage()
        self.metrics.show_buckets(self.buckets, usage)
        self.metrics.reserved.set(self.store.reserved_bytes())
        # A thousand buckets make a text that takes a while.
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(self.store.readers, self.metrics.text)
        return web.Response(body=text, headers={"Content-Type": metrics.CONTENT_TYPE})

    async def _object(self, request: web.BaseRequest, found: Target) -> web.StreamResponse:
        _allow(request, _METHODS)
        bucket = await self._admit(request, found.bucket)
        if request.method in _READS:
            return await self._read(request, found)
        size = await self.uploads.take(request, bucket, found)
        self.metrics.received.labels(bucket.name).inc(size)
        return web.Response(status=HTTPStatus.CREATED)

    async def _admit(self, request: web.BaseRequest, name: str) -> Bucket:
        """The bucket, if who asks may do so. Whether there is one is told to known pods alone."""
        reads = request.method in _READS
        bucket = self.buckets.get(name)
        if bucket is not None and bucket.open_to_all(reads):
            return bucket
        namespace = await self._namespace(request.headers)
        # The configuration may have changed while the API server was asked.
        bucket = self.buckets.get(name)
        if bucket is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "there is no such bucket")
        if not bucket.admits(namespace, reads):
            text = f"namespace {namespace} may not do this in bucket {name}"
            raise Refusal(HTTPStatus.FORBIDDEN, text)
        return bucket

    async def _namespace(self, headers: Mapping[str, str]) -> str:
        """The namespace of who asks, by the token shown."""
        scheme, _, token = headers.get(hdrs.AUTHORIZATION, "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise unauthorized_refusal("a bearer token is needed")
        try:
            return await self.tokens.namespace(token)
        except Unavailable as error:
            raise unavailable("the token cannot be checked now") from error

    async def _read(self, request: web.BaseRequest, wanted: Target) -> web.StreamResponse:
        gets, headers = request.method == "GET", request.headers
        whole = gets and not any(name in headers for name in _PARTIAL)
        found = await self.store.find(wanted.key, whole)
        if gets:
            counter = self.metrics.misses if found is None else self.metrics.hits
            counter.labels(wanted.bucket).inc()
        if found is None:
            raise Refusal(HTTPStatus.NOT_FOUND, "there is no such object")
        sent = self.metrics.sent.labels(wanted.bucket)
        if isinstance(found, bytes):
            sent.inc(len(found))
            return web.Response(body=found, headers=answers.HEADERS)
        sending = answers.Sending(*found, sent.inc, self._leave)
        return answers.WholeFile(sending) if whole else answers.PartOfFile(sending)


def _allow(request: web.BaseRequest, methods: frozenset[str]) -> None:
    if request.method not in methods:
        allowed = ", ".join(sorted(methods))
        raise Refusal(HTTPStatus.METHOD_NOT_ALLOWED, f"use {allowed}", {"Allow": allowed})
