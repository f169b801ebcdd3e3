"""The Envoys: one on each host of the site, as pods that read objects are on all of them."""

from components.making.daemons import Daemon, on_pool
from components.making.manifest import Json, Manifest, content_digest, filled
from components.making.pod_security import SECURITY, pod_security
from components.object_cache import bootstrap
from components.object_cache.containers import resources, scrape_annotations
from components.object_cache.limits import TOKEN_FOLDER, limits
from components.object_cache.names import BOOTSTRAP, COMPONENT, DRAIN_OPTION, ENDPOINTS, ENVOY
from schemas.facts.site import Site
from schemas.model.object_cache import Cache
from schemas.model.vocabulary import CacheDiscovery

USER = 101
"""The image's user envoy. The image starts as root and changes to it in its entry point, which is
passed by here: as this user from the start it needs no rights at all."""
BOOTSTRAP_FOLDER = "/etc/envoy/bootstrap"
DRAIN_SECONDS = 45
"""Between the call to drain and the end: the Service must stop sending connections, and what is
under way must end (1 GiB at 25 MB/s)."""
STOP_SECONDS = DRAIN_SECONDS + 15


def envoys(site: Site, cache: Cache) -> list[Manifest]:
    """The DaemonSets, one for each pool."""
    daemon = _daemon(site, cache)
    return [on_pool(site, pool, daemon) for pool in site.file.pools]


def _daemon(site: Site, cache: Cache) -> Daemon:
    text, added = bootstrap.bootstrap_text(cache), limits(cache)
    hosts = cache.discovery is CacheDiscovery.HOSTS
    folders = {"bootstrap": BOOTSTRAP, **({"endpoints": ENDPOINTS} if hosts else {})}
    maps = [{"name": each, "configMap": {"name": name}} for each, name in folders.items()]
    return Daemon(
        name=ENVOY,
        namespace=cache.namespace,
        component=COMPONENT,
        containers=[_container(site, cache, [*folders, *(each["name"] for each in added.volumes)])],
        volumes=[*maps, *added.volumes],
        pod={"terminationGracePeriodSeconds": STOP_SECONDS, "securityContext": pod_security(USER)},
        annotations={
            **scrape_annotations(bootstrap.METRICS_PORT, bootstrap.METRICS),
            # It reads its bootstrap when it starts and never again.
            **content_digest(text),
        },
        vital=True,
    )


def _container(site: Site, cache: Cache, folders: list[str]) -> Json:
    paths = {"bootstrap": BOOTSTRAP_FOLDER, "endpoints": bootstrap.ENDPOINTS_FOLDER}
    paths["token"] = TOKEN_FOLDER
    return filled(
        __file__,
        image=cache.envoy.image or site.images[ENVOY],
        args=arguments(cache.envoy.workers),
        port=cache.envoy.port,
        probes_port=bootstrap.PROBES_PORT,
        metrics_port=bootstrap.METRICS_PORT,
        ready={"path": bootstrap.READY, "port": "probes"},
        drain=drain(),
        resources=resources(cache.envoy.cpu, cache.envoy.memory),
        security=SECURITY,
        mounts=[{"name": each, "mountPath": paths[each], "readOnly": True} for each in folders],
    )[0]


def arguments(workers: int) -> list[str]:
    """The arguments of Envoy; it takes no "=" between a name and its value."""
    values = {
        "--config-path": f"{BOOTSTRAP_FOLDER}/{bootstrap.FILE}",
        "--service-node": "$(NODE_NAME)",
        "--concurrency": str(workers),
        # Every answer from the call on asks the client to close, instead of more and more of them.
        "--drain-strategy": "immediate",
        DRAIN_OPTION: str(DRAIN_SECONDS),
        "--log-level": "warning",
    }
    words = [word for pair in values.items() for word in pair]
    # One process in a container hands nothing over to a next one.
    return [*words, "--disable-hot-restart"]


def drain() -> str:
    """The bash commands that ask Envoy to drain and wait, before it is stopped; also where it does
    not answer, as the Service needs the time all the same."""
    request = (
        rf"POST {bootstrap.DRAIN} HTTP/1.1\r\nHost: {bootstrap.ADMIN}\r\n"
        r"Content-Length: 0\r\nConnection: close\r\n\r\n"
    )
    to = f"/dev/tcp/{bootstrap.LOOPBACK}/{bootstrap.ADMIN_PORT}"
    return f"exec 3<>{to} && printf '{request}' >&3 && cat <&3; sleep {DRAIN_SECONDS}"
