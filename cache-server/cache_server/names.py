"""The object that a request means: its name is the one that the client sent, byte for byte."""

import hashlib
import re
from typing import NamedTuple

from cache_server.refusals import bad_request

PREFIX = "/v1/objects/"

_MIRROR_QUERY = re.compile(r"\?ns=[A-Za-z0-9._%-]+\Z")
"""The query that containerd adds to each request to a mirror: its registry (containerd v2.4.2,
resolver.go, ``addNamespace``). It is no part of a name: who fills the cache need not know it."""


class Target(NamedTuple):
    """An object's bucket, and the key that its bucket and name are kept under."""

    bucket: str
    key: bytes


def target(raw: str) -> Target | None:
    """The object that a request target means; None where it is not below :data:`PREFIX`.

    ``raw`` is the target as it stands in the request. Nothing is decoded, merged or resolved, as
    PFIO encodes nothing either (pfio 2.10, cache/http_cache.py): a question mark is part of an S3
    key there, and two keys that differ behind it are two objects.
    """
    if not raw.startswith("/"):
        raise bad_request("the request target must be a path")
    if not raw.startswith(PREFIX):
        return None
    bucket, slash, name = _MIRROR_QUERY.sub("", raw[len(PREFIX) :]).partition("/")
    if not (bucket and slash and name):
        raise bad_request(f"an object is at {PREFIX}<bucket>/<object>")
    # A bucket's name has no slash, so no two pairs give one text; on disk no part of a name is ever
    # a path.
    text = f"{bucket}/{name}".encode("utf-8", "surrogateescape")
    return Target(bucket, hashlib.sha256(text).digest())
