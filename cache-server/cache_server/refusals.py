"""The server's answers where it refuses a request."""

import logging
import time
from collections.abc import Mapping
from http import HTTPStatus

_LOG = logging.getLogger(__name__)
_PAUSE_SECONDS = 10.0
_KINDS = 1024


class Refusal(Exception):
    """A request that is answered with an error; the text goes to the client."""

    def __init__(
        self, status: HTTPStatus, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = dict(headers or {})


class StartError(Exception):
    """The reason why the server cannot start, in one line."""


def bad_request(text: str) -> Refusal:
    """The request is not one that this server understands."""
    return Refusal(HTTPStatus.BAD_REQUEST, text)


def unauthorized_refusal(text: str) -> Refusal:
    """No token, or none that counts here (RFC 6750, section 3)."""
    return Refusal(HTTPStatus.UNAUTHORIZED, text, {"WWW-Authenticate": "Bearer"})


def too_large(text: str) -> Refusal:
    """An object that can never be kept."""
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)


def full(text: str) -> Refusal:
    """No room now, and nothing that may be evicted."""
    return Refusal(HTTPStatus.INSUFFICIENT_STORAGE, text)


def unavailable(text: str) -> Refusal:
    """The server cannot tell now; ask again."""
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, text, {"Retry-After": "1"})


class RefusalLog:
    """Tells why requests are refused, each reason now and then: a flood fills no log.

    A reason never holds anything of a token or of an object's name.
    """

    def __init__(self) -> None:
        self._kinds: dict[tuple[int, str, str], tuple[float, int]] = {}

    def tell(self, method: str, bucket: str, refusal: Refusal) -> None:
        """A request is refused; ``bucket`` is empty where there is no such bucket."""
        kind = (int(refusal.status), bucket, refusal.text)
        now = time.monotonic()
        due, untold = self._kinds.get(kind, (now, 0))
        if now < due:
            self._kinds[kind] = (due, untold + 1)
            return
        if len(self._kinds) >= _KINDS:
            self._kinds.clear()
        self._kinds[kind] = (now + _PAUSE_SECONDS, 0)
        where, more = f"bucket {bucket}" if bucket else "no bucket", f", and {untold} more before"
        text = more if untold else ""
        _LOG.info("refused: %s of %s: %d %s%s", method, where, kind[0], refusal.text, text)
