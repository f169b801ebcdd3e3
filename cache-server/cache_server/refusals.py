"""The server's answers where it refuses a request."""

import logging
import time
from collections.abc import Mapping
from functools import partial
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


bad_request = partial(Refusal, HTTPStatus.BAD_REQUEST)
"""The request is not one that this server understands."""
unauthorized_refusal = partial(
    Refusal, HTTPStatus.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"}
)
"""No token, or none that counts here (RFC 6750, section 3)."""
too_large = partial(Refusal, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
"""An object that can never be kept."""
full = partial(Refusal, HTTPStatus.INSUFFICIENT_STORAGE)
"""No room now, and nothing that may be evicted."""
unavailable = partial(Refusal, HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": "1"})
"""The server cannot tell now; ask again."""


class RefusalLog:
    """Tells why requests are refused, each reason now and then: a flood fills no log. A reason
    never holds anything of a token or of an object's name."""

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
        where = f"bucket {bucket}" if bucket else "no bucket"
        more = f", and {untold} more before" if untold else ""
        _LOG.info("refused: %s of %s: %d %s%s", method, where, kind[0], refusal.text, more)
