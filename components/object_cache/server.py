"""The cache's servers: one on each host that keeps objects, with what they may do.

A DaemonSet for each pool, as pools are changed, drained and re-imaged one at a time. On the host's
own network, so that a server's address is its host's, which Git knows: a restarted pod moves no
object. The program is the site's, and so are its arguments; what the cache has fields for it finds
in its environment, so that nothing has to be written twice.
"""

from components.making.daemons import Daemon, on_pool
from components.making.manifest import Json, Manifest, by_kind, content_digest, filled, prune
from components.making.pod_security import SECURITY, pod_security
from components.making.rights import account, role_and_binding, rule, subject
from components.object_cache import names
from components.object_cache.buckets import bucket_text
from components.object_cache.containers import resources, scrape_annotations
from schemas.facts.site import Site
from schemas.kubernetes.quantities import in_bytes
from schemas.model.object_cache import Cache

PORT_NAME = "objects"
SETTLE_SECONDS = 30
"""Seconds that a server must be ready before the next ones of its pool restart: Envoys ask a
failed one every 15 s, and take it back after two answers (bootstrap.yaml)."""


def servers(site: Site, cache: Cache) -> list[Manifest]:
    """The DaemonSets."""
    text = "" if cache.server.reloads_config else bucket_text(site, cache)
    return [on_pool(site, pool, _daemon(cache, text)) for pool in site.cache_pools()]


def _daemon(cache: Cache, text: str) -> Daemon:
    """The server; ``text`` is what its pods are restarted for when it changes."""
    server = cache.server
    annotations = scrape_annotations(server.port, server.metrics_path)
    annotations |= content_digest(text) if text else {}
    container, pod = filled(
        __file__,
        name=names.SERVER,
        image=server.image,
        command=list(server.command) or None,
        args=list(server.args) or None,
        env=_environment(cache),
        port=server.port,
        health=server.health_path,
        resources=resources(server.cpu, server.memory),
        security=SECURITY,
        data=cache.data_path,
        folder=server.config_path.rpartition("/")[0],
        buckets=names.BUCKETS,
        pod_security=pod_security(server.user),
    )
    return Daemon(
        name=names.SERVER,
        namespace=cache.namespace,
        component=names.COMPONENT,
        containers=[prune(container)],
        volumes=pod.pop("volumes"),
        pod=pod,
        annotations=annotations,
        min_ready_seconds=SETTLE_SECONDS,
        vital=True,
    )


def environment(cache: Cache) -> dict[str, str]:
    """The site file's settings of the cache, as a server finds them in its environment: the names
    are those of the reference server, which needs no arguments
    (cache-server/cache_server/settings.py).

    The space is in bytes, so that it reads the same in any unit.
    """
    return {
        names.CONFIG_VARIABLE: cache.server.config_path,
        names.DATA_VARIABLE: cache.data_path,
        names.CAPACITY_VARIABLE: str(in_bytes(cache.capacity)),
        names.AUDIENCE_VARIABLE: cache.audience,
        names.PORT_VARIABLE: str(cache.server.port),
    }


def _environment(cache: Cache) -> list[Json]:
    """First what every server is told: the site's own variables, and the arguments, may use it as
    ``$(CACHE_PORT)`` (Kubernetes 1.34, EnvVar.value and Container.args). The address is the host's
    first one, which pods in its network have and are probed at (status.hostIP)."""
    own = cache.server.env
    every = {**environment(cache), **{name: own[name] for name in sorted(own)}}
    host = {"name": names.HOST_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}
    return [host, *({"name": name, "value": value} for name, value in every.items())]


def rights(site: Site, cache: Cache) -> list[Manifest]:
    """The servers' ServiceAccount, which may ask whether a token is good, and nothing else: not
    system:auth-delegator, which may ask what anybody is allowed, too."""
    reviews = rule("authentication.k8s.io", ["tokenreviews"], ["create"])
    who = subject(names.SERVER, cache.namespace)
    made = [
        account(names.of_program(site, cache, names.SERVER, names.SERVER)),
        *role_and_binding("ClusterRole", names.metadata(site, names.TOKENS_ROLE), [reviews], who),
    ]
    return by_kind(made, names.SERVER)
