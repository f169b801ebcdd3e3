"""Rules on how pods and hosts find the object cache: its address, its name, and its servers.

Sources: Kubernetes 1.34, cmd/kubeadm/app/constants/constants.go (GetAPIServerVirtualIP, GetDNSIP),
pkg/registry/core/service/ipallocator/ipallocator.go (calculateRangeOffset, of KEP-3070),
pkg/apis/core/types.go (MaxSecretSize, which ConfigMaps have too).
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.object_cache import ImageLayers
from schemas.model.vocabulary import CacheDiscovery
from schemas.rules.finding import Finding, Path

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
_API_AUDIENCES = ("https://kubernetes.default.svc", "kubernetes.default.svc", "api")
_DOCKER_INDEX = "index.docker.io"


def address(site: Site) -> Iterator[Finding]:
    """The address is the cache's alone, of those that Services are given by hand."""
    cache = site.file.cache
    if cache is None or cache.address is None:
        return
    services, found = IPv4Network(site.file.cluster.services), IPv4Address(cache.address)
    last = static_addresses(services)
    usual = services[min(USUAL_INDEX, last)]
    fix = f"write {usual}, or another one between {services[DNS_INDEX + 1]} and {services[last]}"
    said = ""
    if found not in services or found in (services[0], services[-1]):
        said = f"{found} is no address that a Service may have in {services}"
    elif found == services[API_INDEX]:
        said = f"{found} is the address of the Kubernetes API among the Services"
    elif found == services[DNS_INDEX]:
        said = f"{found} is the address of the cluster's DNS"
    elif found > services[last]:
        said = f"{found} may be any Service's: those up to {services[last]} are given by hand first"
    if said:
        yield Finding(Code.CACHE_UNREACHABLE, _ADDRESS, said, fix)


def static_addresses(services: IPv4Network) -> int:
    """How many addresses, from the first on, the API server gives to a Service only when asked for
    one or when there is no other: a sixteenth, 16 at least and 256 at most."""
    size = services.num_addresses
    return max(16, min(256, size // 16)) if size > 16 else size - 2


def audience(site: Site) -> Iterator[Finding]:
    """Tokens for the cache are good for the cache alone: they go through the network as text."""
    cache = site.file.cache
    if cache is None or cache.audience.removesuffix(".cluster.local") not in _API_AUDIENCES:
        return
    message = f"{cache.audience} is the audience of the Kubernetes API, which would take the tokens"
    fix = "write cache, or another audience that no other program has"
    yield Finding(Code.RESERVED_NAME, ("cache", "audience"), message, fix)


def discovery(site: Site) -> Iterator[Finding]:
    """The way in which Envoy learns of the servers carries as many as there are."""
    cache, hosts = site.file.cache, site.cache_hosts()
    if cache is None:
        return
    if cache.discovery is CacheDiscovery.DNS and len(hosts) > MOST_BY_DNS:
        message = (
            f"an answer of DNS holds {MOST_BY_DNS} addresses, and {len(hosts)} hosts keep objects"
        )
        fix = "write hosts, or remove it: then every Envoy has the same list, from Git"
        yield Finding(Code.CACHE_UNREACHABLE, ("cache", "discovery"), message, fix)
    size = sum(len(host.name) + len(host.ip) + ENDPOINT_BYTES for host in hosts)
    if size > LARGEST_CONFIG_MAP:
        message = (
            f"the list of {len(hosts)} servers takes {size:,} bytes, and a ConfigMap holds "
            f"{LARGEST_CONFIG_MAP:,}"
        )
        fix = "name fewer pools in cache.pools: Envoy reaches them from every host"
        yield Finding(Code.OUT_OF_BOUNDS, ("cache", "pools"), message, fix)


def bucket_file(site: Site) -> Iterator[Finding]:
    """The file of buckets fits the ConfigMap that servers read it from."""
    sizes = [
        len(each.name) + BUCKET_BYTES + sum(len(n) + NAMESPACE_BYTES for n in each.namespaces)
        for each in (site.file.cache.buckets if site.file.cache else ())
    ]
    if (size := sum(sizes)) > LARGEST_CONFIG_MAP:
        message = (
            f"with their namespaces the buckets take {size:,} bytes, and a ConfigMap holds "
            f"{LARGEST_CONFIG_MAP:,}"
        )
        fix = "let namespaces share buckets, or make one public that all may read"
        largest = sorted(range(len(sizes)), key=lambda index: -sizes[index])
        also = tuple(("cache", "buckets", index, "name") for index in largest)
        yield Finding(Code.OUT_OF_BOUNDS, ("cache", "buckets"), message, fix, key=True, also=also)


def image_layers(site: Site) -> Iterator[Finding]:
    """Hosts find the cache without the cluster's DNS, and read its layers without a token."""
    cache = site.file.cache
    layers = cache.image_layers if cache else None
    if cache is None or layers is None:
        return
    if cache.address is None:
        usual = IPv4Network(site.file.cluster.services)[USUAL_INDEX]
        message = "hosts do not know the cluster's names, and the cache has no address of its own"
        fix = f"add address: {usual} to cache, or another address that no Service has"
        yield Finding(Code.CACHE_UNREACHABLE, _LAYERS, message, fix, key=True)
    bucket = cache.bucket(layers.bucket)
    place = (*_LAYERS, "bucket")
    if bucket is None:
        names = [each.name for each in cache.buckets]
        near = nearest(layers.bucket, names)
        fix = f"write {near}" if near else f"write one of {', '.join(names)}, or add it to buckets"
        message = f"there is no bucket {layers.bucket}"
        yield Finding(Code.CACHE_UNREACHABLE, place, message, fix)
    elif not bucket.public:
        message = f"bucket {bucket.name} is private, and hosts have no token"
        fix = "name a public bucket, or write public: true there"
        yield Finding(Code.CACHE_NAMESPACE, place, message, fix)
    elif not bucket.namespaces:
        index = cache.buckets.index(bucket)
        message = (
            f"every pod may write bucket {bucket.name}, and a false layer breaks pulls of its "
            "image on all hosts"
        )
        fix = "add namespaces: the one that fills it, and no other"
        yield Finding(Code.CACHE_NAMESPACE, ("cache", "buckets", index), message, fix)
    yield from _registries(layers)


def _registries(layers: ImageLayers) -> Iterator[Finding]:
    """Registries are such as image references begin with, each once.

    A reference without a dot, a port or localhost at its start is one of docker.io (distribution
    reference 0.6, normalize.go, splitDockerDomain).
    """
    for index, name in enumerate(layers.registries):
        place = (*_LAYERS, "registries", index)
        host, _, port = name.partition(":")
        if name in layers.registries[:index]:
            message = f"registry {name} is there twice"
            yield Finding(Code.DUPLICATE_NAME, place, message, "remove one of the two")
        elif name == _DOCKER_INDEX:
            message = f"images of {name} are those of docker.io to containerd"
            yield Finding(Code.CACHE_UNREACHABLE, place, message, "write docker.io")
        elif host == "localhost" or host.startswith("127."):
            message = f"{name} is each host itself"
            fix = "write a registry that all hosts share, such as docker.io"
            yield Finding(Code.CACHE_UNREACHABLE, place, message, fix)
        elif "." not in host and not port:
            message = f"{name} without a dot or a port is a folder of docker.io to containerd"
            fix = "write the registry as image references begin, such as docker.io"
            yield Finding(Code.CACHE_UNREACHABLE, place, message, fix)
