"""Rules on how the object cache is found, by its address, its name and its servers; and on its
programs: what they get from their hosts is there, and is not needed by others.

Sources: Kubernetes 1.34, cmd/kubeadm/app/constants/constants.go (GetAPIServerVirtualIP, GetDNSIP),
pkg/registry/core/service/ipallocator/ipallocator.go (calculateRangeOffset, of KEP-3070),
pkg/apis/core/types.go (MaxSecretSize, which ConfigMaps have too).
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from schemas.facts.site import Site
from schemas.kubernetes.host_ports import port_owner
from schemas.kubernetes.quantities import GIB, MIB, amount
from schemas.kubernetes.tables import read_table
from schemas.model.object_cache import Cache, ImageLayers
from schemas.model.site_file import Pool
from schemas.model.vocabulary import CacheDiscovery, LinkType, Role
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
    """What the cache has fields for stands in those alone: Envoy, volumes and jobs go by them."""
    for name in cache.server.env:
        if name in SERVER_VARIABLES:
            field = SERVER_VARIABLES[name]
            instead = f", and write its value to {field}" if "." in field else ""
            yield say("server-variable-taken", (*_SERVER, "env", name), field, name, instead)


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


_ADDRESS: Path = ("cache", "address")
_LAYERS: Path = ("cache", "image_layers")
API_INDEX, DNS_INDEX, USUAL_INDEX = 1, 10, 80
MOST_BY_DNS = 64
"""Addresses that one answer of DNS over UDP holds with any name of a Service: 16 bytes each of the
1,232 that c-ares and CoreDNS agree on, after 12 of a header, 11 for that agreement and at most 151
for the name (RFC 1035, 4.1; RFC 6891). Beyond, each Envoy asks twice each time, and over TCP."""
LARGEST_CONFIG_MAP = 2**20
BUCKET_BYTES, NAMESPACE_BYTES = 100, 4
"""Bytes of a bucket in the file of buckets, and of each of its namespaces, besides their names
(components/object_cache/buckets.py)."""
ENDPOINT_BYTES = 152
"""Bytes of a server in the file of endpoints, besides its name and address (components/
object_cache/endpoints.py)."""


def address(site: Site, cache: Cache) -> Iterator[Finding]:
    """The address is the cache's alone, of those that Services are given by hand."""
    if cache.address is None:
        return
    services, found = IPv4Network(site.file.cluster.services), IPv4Address(cache.address)
    last = static_addresses(services)
    usual = services[min(USUAL_INDEX, last)]
    values = found, services, usual, services[DNS_INDEX + 1], services[last]
    if found not in services or found in (services[0], services[-1]):
        yield say("address-of-no-service", _ADDRESS, *values)
    elif found == services[API_INDEX]:
        yield say("address-of-kubernetes", _ADDRESS, *values)
    elif found == services[DNS_INDEX]:
        yield say("address-of-dns", _ADDRESS, *values)
    elif found > services[last]:
        yield say("address-of-any-service", _ADDRESS, *values)


def static_addresses(services: IPv4Network) -> int:
    """How many addresses, from the first on, the API server gives to a Service only when asked for
    one or when there is no other: a sixteenth, 16 at least and 256 at most."""
    size = services.num_addresses
    return max(16, min(256, size // 16)) if size > 16 else size - 2


def discovery(site: Site, cache: Cache) -> Iterator[Finding]:
    """The way in which Envoy learns of the servers carries as many as there are."""
    hosts = site.cache_hosts()
    if cache.discovery is CacheDiscovery.DNS and len(hosts) > MOST_BY_DNS:
        yield say("discovery-beyond-dns", ("cache", "discovery"), MOST_BY_DNS, len(hosts))
    size = sum(len(host.name) + len(host.ip) + ENDPOINT_BYTES for host in hosts)
    if size > LARGEST_CONFIG_MAP:
        values = len(hosts), size, LARGEST_CONFIG_MAP
        yield say("servers-beyond-config-map", ("cache", "pools"), *values)


def bucket_file(cache: Cache) -> Iterator[Finding]:
    """The file of buckets fits the ConfigMap that servers read it from."""
    sizes = [
        len(each.name) + BUCKET_BYTES + sum(len(n) + NAMESPACE_BYTES for n in each.namespaces)
        for each in cache.buckets
    ]
    if (size := sum(sizes)) > LARGEST_CONFIG_MAP:
        largest = sorted(range(len(sizes)), key=lambda index: -sizes[index])
        also = tuple(("cache", "buckets", index, "name") for index in largest)
        place: Path = ("cache", "buckets")
        yield say("buckets-beyond-config-map", place, size, LARGEST_CONFIG_MAP, also=also)


def image_layers(site: Site, cache: Cache, layers: ImageLayers) -> Iterator[Finding]:
    """Hosts find the cache without the cluster's DNS, and read its layers without a token."""
    if cache.address is None:
        usual = IPv4Network(site.file.cluster.services)[USUAL_INDEX]
        yield say("layers-without-address", _LAYERS, usual)
    bucket = cache.bucket(layers.bucket)
    place = (*_LAYERS, "bucket")
    if bucket and not bucket.public:
        yield say("layers-bucket-private", place, bucket)
    elif bucket and not bucket.namespaces:
        index = cache.buckets.index(bucket)
        yield say("layers-bucket-open-to-pods", ("cache", "buckets", index), bucket)
