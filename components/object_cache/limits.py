"""The limit of requests by namespace: what Envoy and its pods need for it.

What they are is in ``limits.yaml``, with its sources.
"""

from pathlib import Path
from string import Template
from typing import NamedTuple

import yaml

from components.making.dump import dump_json
from components.making.manifest import Json
from schemas.model.object_cache import Cache

TOKEN_FOLDER = "/etc/envoy/token"  # noqa: S105 - a folder
"""Where an Envoy finds the token of its pod, and the certificate authority of the API server."""
FILTER = "envoy.filters.http.local_ratelimit"
_TEXT = Path(__file__).with_suffix(".yaml")


class Limits(NamedTuple):
    """Parts of the bootstrap, files beside it, and volumes of pods; empty without a limit."""

    filters: tuple[Json, ...] = ()
    clusters: tuple[Json, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    volumes: tuple[Json, ...] = ()


def limits(cache: Cache) -> Limits:
    """The parts for a cache's ``envoy.requests_per_second``."""
    requests = cache.envoy.requests_per_second
    if requests is None:
        return Limits()
    text = Template(_TEXT.read_text("utf-8"))
    found: Json = yaml.load(
        text.substitute(requests=requests, audience=cache.audience), Loader=yaml.CSafeLoader
    )
    secret = ("kubernetes.json", dump_json(found["secret"], indent=2))
    return Limits(tuple(found["filters"]), (found["cluster"],), (secret,), (found["volume"],))
