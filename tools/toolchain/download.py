"""Downloads over HTTP, bounded in time and size. The proxies of the environment are respected."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from queue import Empty, SimpleQueue
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

CONNECT_SECONDS = 3.0
"""Seconds that a host may take to answer; all hosts are asked at the same time."""
STALL_SECONDS = 20.0
"""Seconds that a download may pause."""
OVERALL_SECONDS = 600.0
"""Seconds that one download may take: a build of the same part takes no longer."""
MOST_BYTES = 512 * 1024**2
_CHUNK_BYTES = 1 << 16
_FAILURES = (OSError, HTTPException, ValueError)


class UnavailableError(Exception):
    """A file cannot be had; the message is one line that says why."""


class UnreachedError(UnavailableError):
    """The host, or the way to it, is at fault: its other files cannot be had either."""


def is_offline(environ: Mapping[str, str] = os.environ) -> bool:
    """True if FORESITE_OFFLINE forbids downloads."""
    return environ.get("FORESITE_OFFLINE", "") not in ("", "0")


def host_of(url: str) -> str:
    """The host of a URL, with its port where it names one."""
    return urlsplit(url).netloc


def silent_hosts(urls: Iterable[str]) -> dict[str, str]:
    """The hosts of ``urls`` that do not answer, each with the reason. All are asked at once, in
    threads that are left behind, so that none takes longer than CONNECT_SECONDS."""
    answers: SimpleQueue[tuple[str, str]] = SimpleQueue()
    asked = {host_of(url): url for url in urls}
    for host, url in asked.items():
        Thread(target=lambda *of: answers.put(_ask(*of)), args=(host, url), daemon=True).start()
    silent = dict.fromkeys(asked, f"no answer in {CONNECT_SECONDS:g} s")
    end = time.monotonic() + CONNECT_SECONDS
    for _ in asked:
        try:
            host, reason = answers.get(timeout=max(0.0, end - time.monotonic()))
        except Empty:
            break
        silent[host] = reason
    return {host: reason for host, reason in silent.items() if reason}


def chunks(url: str, most: int) -> Iterator[tuple[bytes, int]]:
    """The content of ``url`` piece by piece, each with the size of the whole (0 if unknown).
    UnavailableError, also for less than was announced, or more than ``most`` bytes."""
    try:
        with _open(url, "GET", STALL_SECONDS) as response:
            yield from _pieces(response, most)
    except HTTPError as error:
        raise UnavailableError(f"{url}: {error.code} {error.reason}") from error
    except _FAILURES as error:
        raise UnreachedError(f"{url}: {_reason(error)}") from error


def text_of(url: str) -> str:
    """The content of a small text file. Raises UnavailableError."""
    return b"".join(piece for piece, _ in chunks(url, 8 * 1024**2)).decode(errors="replace")


def _pieces(response: HTTPResponse, most: int) -> Iterator[tuple[bytes, int]]:
    end = time.monotonic() + OVERALL_SECONDS
    total, taken = response.length or 0, 0
    # read1 returns with what has come, so that a trickle cannot outlast the bound.
    while (not total or taken < total) and (piece := response.read1(_CHUNK_BYTES)):
        taken += len(piece)
        if max(taken, total) > most:
            raise OSError(f"larger than {megabytes(most)} MB")
        if time.monotonic() > end:
            raise OSError(f"too slow: {megabytes(taken)} MB in {OVERALL_SECONDS:g} s")
        yield piece, total
    if taken < total:
        raise OSError(f"cut off after {megabytes(taken)} of {megabytes(total)} MB")


def megabytes(size: int) -> str:
    """A size in bytes as megabytes, for people."""
    return f"{size / 1e6:.1f}"


def _ask(host: str, url: str) -> tuple[str, str]:
    """The host, and why it does not answer; any answer at all is one."""
    try:
        with _open(url, "HEAD", CONNECT_SECONDS):
            return host, ""
    except HTTPError:
        return host, ""
    except _FAILURES as error:
        return host, _reason(error)


def _open(url: str, method: str, timeout: float) -> HTTPResponse:
    # The URL is one of tools/versions.toml, where a test holds that it is https.
    request = Request(url, method=method, headers={"User-Agent": "foresite"})  # noqa: S310
    response: HTTPResponse = build_opener().open(request, timeout=timeout)
    return response


def _reason(error: Exception) -> str:
    inner = error.reason if isinstance(error, URLError) else error
    text = " ".join(str(inner).split()) or type(inner).__name__
    return text.removeprefix(f"[Errno {getattr(inner, 'errno', None)}] ")
