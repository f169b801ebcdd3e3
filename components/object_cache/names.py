"""Names of the cache's objects, and the labels by which they find each other."""

from functools import partial

from components.making.manifest import Json, metadata_of
from schemas.facts.site import Site
from schemas.model.object_cache import Cache

COMPONENT = "object-cache"
NAME_LABEL = "app.kubernetes.io/name"
SERVER, ENVOY = "cache-server", "envoy"
"""The two programs: the values of NAME_LABEL on their pods."""
BUCKETS = "cache-buckets"
"""The ConfigMap with the buckets."""
BOOTSTRAP, ENDPOINTS = "envoy-bootstrap", "envoy-endpoints"
"""The ConfigMaps with what Envoy reads when it starts, and with what it watches."""
OBJECTS_PORT = "http"
"""The port of Envoy's pods that the Service sends to, by its name."""
DRAIN_OPTION = "--drain-time-s"
"""Envoy's option for the seconds that requests have to end when its pod stops."""
CONFIG_VARIABLE, DATA_VARIABLE, CAPACITY_VARIABLE, AUDIENCE_VARIABLE, PORT_VARIABLE = (
    f"CACHE_{each}" for each in ("CONFIG", "DATA", "CAPACITY", "AUDIENCE", "PORT")
)
"""The variables by which servers are told what the site file says of the cache."""
HOST_VARIABLE = "CACHE_HOST"
"""The variable by which a server is told its host's address."""
TOKENS_ROLE = "foresite:cache-server:tokens"
"""The ClusterRole of the servers: apart from those of anybody else."""
OBJECTS_PATH = "/v1/objects/"
"""Prefix of the paths of all objects."""
CLUSTER = "cache"
"""The servers, as Envoy's bootstrap, its endpoints and its statistics call them."""
metadata = partial(metadata_of, COMPONENT)


def of_program(site: Site, cache: Cache, name: str, program: str) -> Json:
    """The metadata of an object that belongs to one of the two programs."""
    return metadata(site, name, cache.namespace, **{NAME_LABEL: program})


def headless(cache: Cache) -> str:
    """The Service whose names in DNS are the servers' addresses: never the name of the other."""
    return f"{cache.service}-servers"
