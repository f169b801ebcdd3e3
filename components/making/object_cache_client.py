"""The needs of a pod that uses the object cache: a token of its own, and the cache's address.

The token is bound to the pod and has the cache's audience: it ends with the pod, and the API server
does not take it. PFIO reads its path from the environment. It has no variable for the cache's URL;
code reads that one: ``pfio.v2.from_url(url, http_cache=os.environ["CACHE_URL"])``.

Sources: pfio 2.10.0, pfio/cache/http_cache.py (HTTPConnector); Kubernetes 1.34,
pkg/volume/projected/projected.go (the pod's user can read the file), pkg/kubelet/token (it is
renewed when 80 % of its time is over), pkg/apis/core/validation/validation.go (names of volumes and
paths of mounts are unique; a token is good for at least 600 s).
"""

from itertools import count
from typing import NamedTuple

from components.making.manifest import Json
from schemas.model.object_cache import Cache

URL_VARIABLE = "CACHE_URL"
"""The variable with the URL before an object's name; it ends with a slash."""
TOKEN_VARIABLE = "PFIO_HTTP_BEARER_TOKEN_PATH"  # noqa: S105  the name of a variable
"""Where PFIO finds the token."""
VOLUME = "cache-token"
FOLDER = "/var/run/secrets/cache"
FILE = "token"
TOKEN_PATH = f"{FOLDER}/{FILE}"


class CacheClient(NamedTuple):
    """How pods use a bucket: its URL, the audience of their tokens, and the ``seconds`` of one."""

    url: str
    audience: str
    seconds: int

    def environment(self) -> list[Json]:
        """The variables of a container."""
        return [{"name": name, "value": value} for name, value in self.variables().items()]

    def variables(self) -> dict[str, str]:
        """The variables by name."""
        return {URL_VARIABLE: self.url, TOKEN_VARIABLE: TOKEN_PATH}

    def volume(self, name: str = VOLUME) -> Json:
        """The pod's volume with the token."""
        token = {"audience": self.audience, "expirationSeconds": self.seconds, "path": FILE}
        return {"name": name, "projected": {"sources": [{"serviceAccountToken": token}]}}


def cache_client(cache: Cache, bucket: str) -> CacheClient:
    """How pods use a bucket of a cache."""
    return CacheClient(cache.url(bucket), cache.audience, cache.token_seconds)


def mount(volume: str = VOLUME) -> Json:
    """The mount of the token in a container; a folder, as a single file would not be renewed."""
    return {"name": volume, "mountPath": FOLDER, "readOnly": True}


def with_cache(spec: Json, client: CacheClient) -> Json:
    """A copy of a pod's spec whose containers use the cache; variables that one has already stay.
    ValueError where another volume is mounted at the token's place."""
    volumes = list(spec.get("volumes") or [])
    name = _volume_name(volumes, client)
    if all(each["name"] != name for each in volumes):
        volumes.append(client.volume(name))
    boxes = [_container(each, name, client) for each in spec["containers"]]
    return {**spec, "containers": boxes, "volumes": volumes}


def _volume_name(volumes: list[Json], client: CacheClient) -> str:
    """The volume that is the token already, else a name that no volume has."""
    for each in volumes:
        if each == client.volume(each["name"]):
            return str(each["name"])
    taken = {each["name"] for each in volumes}
    names = (VOLUME if number == 1 else f"{VOLUME}-{number}" for number in count(1))
    return next(name for name in names if name not in taken)


def _container(box: Json, volume: str, client: CacheClient) -> Json:
    mounts, env = list(box.get("volumeMounts") or []), list(box.get("env") or [])
    there = next((each for each in mounts if each["mountPath"].rstrip("/") == FOLDER), None)
    if there is None:
        mounts.append(mount(volume))
    elif there["name"] != volume:
        raise ValueError(f"container {box['name']} has volume {there['name']} at {FOLDER}")
    named = {each["name"] for each in env}
    env += [each for each in client.environment() if each["name"] not in named]
    return {**box, "env": env, "volumeMounts": mounts}
