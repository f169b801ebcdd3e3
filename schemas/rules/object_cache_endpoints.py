"""Rules on how pods and hosts find the object cache: its address, its name, and its servers.

Sources: Kubernetes 1.34, cmd/kubeadm/app/constants/constants.go (GetAPIServerVirtualIP, GetDNSIP),
pkg/registry/core/service/ipallocator/ipallocator.go (calculateRangeOffset, of KEP-3070),
pkg/apis/core/types.go (MaxSecretSize, which ConfigMaps have too).
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from schemas.facts.site import Site
from schemas.model.object_cache import Cache, ImageLayers
from schemas.model.vocabulary import CacheDiscovery
from schemas.rules.finding import Finding, Path, advise, say

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


def audience(cache: Cache) -> Iterator[Finding]:
    """Tokens for the cache are good for the cache alone: they go through the network as text."""
    if cache.audience.removesuffix(".cluster.local") in _API_AUDIENCES:
        yield say("audience-of-kubernetes", ("cache", "audience"), cache)


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
    if bucket is None:
        names = [each.name for each in cache.buckets]
        others = f"write one of {', '.join(names)}, or add it to buckets"
        advice = advise(layers.bucket, names, others)
        yield say("layers-bucket-unknown", place, layers.bucket, advice)
    elif not bucket.public:
        yield say("layers-bucket-private", place, bucket)
    elif not bucket.namespaces:
        index = cache.buckets.index(bucket)
        yield say("layers-bucket-open-to-pods", ("cache", "buckets", index), bucket)
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
            yield say("listed-twice", place, f"registry {name}")
        elif name == _DOCKER_INDEX:
            yield say("registry-docker-index", place, name)
        elif host == "localhost" or host.startswith("127."):
            yield say("registry-is-host", place, name)
        elif "." not in host and not port:
            yield say("registry-is-folder", place, name)
