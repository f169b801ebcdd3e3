"""Rules on the programs of the object cache: what they get from their hosts is there, and is not
needed by others."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.kubernetes.host_ports import port_owner
from schemas.kubernetes.quantities import GIB, MIB, amount
from schemas.kubernetes.tables import read_table
from schemas.model.object_cache import Cache
from schemas.model.site_file import Pool
from schemas.model.vocabulary import LinkType, Role
from schemas.rules.finding import Finding, InPool, Path, say

_TABLE = read_table(__file__)
SERVER_VARIABLES: dict[str, str] = _TABLE["server_variables"]
PROXY_PORTS = {int(port): owner for port, owner in _TABLE["proxy_ports"].items()}
_HOST_FOLDERS, MOUNT_FOLDERS, _IMAGE_FOLDERS, _KERNEL_FOLDERS = (
    tuple(_TABLE[f"{name}_folders"]) for name in ("host", "mount", "image", "kernel")
)
_SERVER: Path = ("cache", "server")
_ENVOY: Path = ("cache", "envoy")
SMALLEST_MEMORY = 256 * MIB
"""Envoy alone takes 66 to 77 MiB before the first request, by its table (docs/hashing.md), and each
connection holds up to 256 KiB; beyond its limit a program is killed, on every host at once."""
PROXY_IMAGE = "envoy"
_WITHOUT_BASH = "distroless"
_KUBELET_VARIABLES = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
"""By these a program finds the Kubernetes API, which the server asks whether a token is good; what
a pod says itself goes before (Kubernetes 1.34, pkg/kubelet/kubelet_pods.go,
makeEnvironmentVariables)."""
JOB_PORTS = range(20_000, 30_000)
"""Ports that jobs in the hosts' network choose theirs from (components/training/job.py)."""


def server_port(site: Site, cache: Cache) -> Iterator[Finding]:
    """The server listens where no other program of its hosts does, as it has their network."""
    port = cache.server.port
    controls = any(pool.role is Role.CONTROL_PLANE for pool in site.cache_pools())
    owner = port_owner(port, control_plane=controls)
    if controls and port == site.file.cluster.port:
        owner = owner or "the Kubernetes API"
    rdma = (each for pool in site.file.pools for each in pool.network_devices.rdma)
    if port in JOB_PORTS and any(each.link is LinkType.ETHERNET for each in rdma):
        owner = f"jobs with RDMA over Ethernet, which choose of {JOB_PORTS[0]} to {JOB_PORTS[-1]}"
    if owner:
        usual = 8081 if port != 8081 else 8181
        yield say("server-port-taken", (*_SERVER, "port"), port, owner, usual)


def server_environment(cache: Cache) -> Iterator[Finding]:
    """Settings for which the cache has fields stand in those alone: Envoy, volumes and jobs go by
    them."""
    for name in cache.server.env:
        if name in SERVER_VARIABLES:
            field = SERVER_VARIABLES[name]
            instead = f", and write its value to {field}" if "." in field else ""
            yield say("server-variable-taken", (*_SERVER, "env", name), field, name, instead)
        elif name in _KUBELET_VARIABLES:
            yield say("server-variable-of-kubelet", (*_SERVER, "env", name), name)


def proxy_port(cache: Cache) -> Iterator[Finding]:
    """Envoy serves objects where it does not listen for other things."""
    if cache.envoy.port in PROXY_PORTS:
        yield say("envoy-port-taken", (*_ENVOY, "port"), cache, PROXY_PORTS[cache.envoy.port])


def taken_folder(path: str) -> str | None:
    """The folder of the system that a path lies in or holds; None where there is none."""
    return next((each for each in map("/".__add__, _HOST_FOLDERS) if _touches(path, each)), None)


def data_path(cache: Cache) -> Iterator[Finding]:
    """Objects lie in a folder that nothing else on the hosts needs."""
    path = cache.data_path
    taken = taken_folder(path)
    if taken:
        how = "holds" if below(taken, path) else "lies in"
        what = f"{path} {how} {taken}" if path != taken else f"{path} is there on every host"
        yield say("data-path-of-system", ("cache", "data_path"), what)
    elif path in MOUNT_FOLDERS:
        yield say("data-path-on-system-disk", ("cache", "data_path"), path)


def config_path(cache: Cache) -> Iterator[Finding]:
    """The folder of the buckets' file holds nothing else: it is mounted over what is there."""
    folder = cache.server.config_path.rpartition("/")[0]
    kernel = any(below(folder, each) for each in _KERNEL_FOLDERS)
    if folder.lstrip("/") in _IMAGE_FOLDERS or kernel:
        yield say("config-path-over-image", (*_SERVER, "config_path"), folder or "/")
    elif _touches(folder, cache.data_path):
        yield say("config-path-near-data", (*_SERVER, "config_path"), folder, cache)


def below(path: str, folder: str) -> bool:
    """True if a path is a folder, or lies in it."""
    return f"{path}/".startswith(f"{folder}/")


def _touches(path: str, folder: str) -> bool:
    """True if one of the two is the other, or lies in it."""
    return below(path, folder) or below(folder, path)


def proxy_image(site: Site, cache: Cache) -> Iterator[Finding]:
    """It is known which Envoy runs, and it can drain: its hook is a command of bash."""
    if cache.envoy.image is None and PROXY_IMAGE not in site.images:
        yield say("envoy-image-missing", _ENVOY, site, PROXY_IMAGE)
    elif cache.envoy.image and _WITHOUT_BASH in cache.envoy.image.lower():
        yield say("envoy-image-without-bash", (*_ENVOY, "image"))


def program_sizes(site: Site, cache: Cache) -> Iterator[Finding]:
    """The memory of the cache's programs is enough to start, and every host has it to give."""
    given = ((_SERVER, cache.server.memory, "4Gi"), (_ENVOY, cache.envoy.memory, "2Gi"))
    small = [each for each in given if amount(each[1]) < SMALLEST_MEMORY]
    for place, text, usual in small:
        yield say("cache-memory-too-small", (*place, "memory"), text, usual)
    keeping = {pool.name for pool in site.cache_pools()}
    for pool in site.file.pools if not small else ():
        if pool.hardware in site.hardware:
            found = list(_host_gives(site, cache, pool, keeps=pool.name in keeping))
            yield from found
            if found:
                return


def _host_gives(site: Site, cache: Cache, pool: Pool, *, keeps: bool) -> Iterator[Finding]:
    """The needs of the programs together with the pool's reserves are below what a host has."""
    profile, kept = site.profile(pool), site.kubelet(pool)
    servers = (cache.server.memory, cache.server.cpu) if keeps else ("0", "0")
    memory = sum(map(amount, (servers[0], cache.envoy.memory, kept.reserved_memory)))
    cores = sum(map(amount, (servers[1], cache.envoy.cpu, kept.reserved_cpu)))
    place = _SERVER if keeps else _ENVOY
    reserves = InPool(site, site.file.pools.index(pool), pool).kubelet_path()
    if memory >= profile.memory_gib * GIB:
        values = pool, memory / GIB, profile
        also: tuple[Path, ...] = ((*_ENVOY, "memory"), (*reserves, "reserved_memory"))
        yield say("cache-memory-beyond-host", (*place, "memory"), *values, also=also)
    if cores >= profile.cpu_cores:
        also = (*_ENVOY, "cpu"), (*reserves, "reserved_cpu")
        yield say("cache-cores-beyond-host", (*place, "cpu"), pool, cores, profile, also=also)
