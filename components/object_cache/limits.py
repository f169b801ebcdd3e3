"""The limit of requests by namespace: what Envoy and its pods need for it (``limits.yaml`` has what
they are, with sources)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from components.making.dump import dump_json
from components.making.manifest import Json, filled
from schemas.model.object_cache import Cache

TOKEN_FOLDER = "/etc/envoy/token"  # noqa: S105 - a folder
"""Where an Envoy finds the token of its pod, and the certificate authority of the API server."""
FILTER = "envoy.filters.http.local_ratelimit"


class Limits(NamedTuple):
    """Parts of the bootstrap, files beside it, and volumes of pods; empty without a limit."""

    filters: Sequence[Json] = ()
    clusters: Sequence[Json] = ()
    files: Mapping[str, str] = MappingProxyType({})
    volumes: Sequence[Json] = ()


def limits(cache: Cache) -> Limits:
    """The parts for a cache's ``envoy.requests_per_second``."""
    requests = cache.envoy.requests_per_second
    if requests is None:
        return Limits()
    (found,) = filled(__file__, requests=requests, audience=cache.audience)
    files = {"kubernetes.json": dump_json(found["secret"], indent=2)}
    return Limits(found["filters"], [found["cluster"]], files, [found["volume"]])
