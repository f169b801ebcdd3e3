"""What the server answers where it does not do what it was asked."""

from collections.abc import Mapping
from http import HTTPStatus


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
    """Why the server cannot start, in one line."""


def bad_request(text: str) -> Refusal:
    """The request is not one that this server understands."""
    return Refusal(HTTPStatus.BAD_REQUEST, text)


def unauthorized(text: str) -> Refusal:
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
