"""The object cache: a server on each node's NVMe, and Envoy, which finds the server of an object.
What must hold between values is in schemas/rules/object_cache.py."""

from typing import Annotated

from pydantic import Field

from schemas.kubernetes.forms import REGISTRY
from schemas.kubernetes.quantities import MIB, thousandths
from schemas.model.accelerators import VariableName
from schemas.model.primitives import DnsLabel, ImageReference, Ipv4, Model, PoolName, text_form
from schemas.model.sizes import Cores, DiskSpace, Memory
from schemas.model.vocabulary import CacheDiscovery

LARGEST_TABLE = 5_000_011
"""Envoy takes no larger one (envoy.config.cluster.v3.Cluster.MaglevLbConfig.table_size)."""
TABLE_SIZE = 1_048_573
"""Entries of the Maglev table unless a site says otherwise: one size for sites of every size, as
another size moves nearly every key. At 400 hosts the loss of one moves 0.40 % of the keys, 1.6
times its share; Envoy's own default of 65,537 moves 1.26 % (docs/object-cache.md)."""
UrlPath = Annotated[str, text_form("(/[A-Za-z0-9_.~-]+)+", "/healthz", longest=128)]
"""The path of a URL."""
BucketName = Annotated[str, text_form("[a-z0-9]([-a-z0-9.]{1,61}[a-z0-9])", "vision")]
"""A bucket's name: 3 to 63 lower-case letters, digits, dots and dashes, as in S3."""
RegistryHost = Annotated[
    str, text_form(REGISTRY, "docker.io", "registry.example:5000", longest=197)
]
"""A container registry as it stands in image references."""
ServiceName = Annotated[str, text_form("[a-z]([-a-z0-9]{0,53}[a-z0-9])?", "cache")]
"""The name of a Service (RFC 1035: a letter first), with room for the ``-servers`` of another."""
Port = Annotated[int, Field(ge=1024, le=32767)]
"""A TCP port that needs no rights, below those that the kernel gives to connections (32768 on)."""
_MOUNTED_PATH = r"(/[A-Za-z0-9_@+-][A-Za-z0-9_.@+-]*)+"
DataPath = Annotated[str, text_form(_MOUNTED_PATH, "/srv/nvme/cache", longest=256)]
"""A folder on a host that pods mount: without a colon (Kubernetes 1.34, volumeMounts.mountPath)."""
ConfigPath = Annotated[str, text_form(_MOUNTED_PATH, "/etc/cache/buckets.json", longest=256)]
"""A file in a container whose folder is mounted, so without a colon."""
Audience = Annotated[str, text_form("[A-Za-z0-9]([A-Za-z0-9._:/-]{0,126}[A-Za-z0-9])?", "cache")]
"""The audience of tokens."""


def rounded_servers(servers: int) -> int:
    """The number of servers that a quota is divided by: rounded up to two significant digits. So a
    few more or fewer seldom change a share: 400 for 391 to 400. Up to 99 it is exact."""
    step = int(10 ** max(0, len(str(servers)) - 2))
    return -(-servers // step) * step


def share(quota: str, servers: int) -> int:
    """The part of a bucket's quota that one of ``servers`` may keep, in bytes: whole MiB, at least
    1. All together are never above the quota, and from 100 servers on up to a tenth below it."""
    return max(1, thousandths(quota) // (1000 * rounded_servers(servers) * MIB)) * MIB


class CacheServer(Model):
    """The server that keeps objects on its node's disks, as the site builds it."""

    image: ImageReference
    """Image of the server."""
    command: Annotated[list[Annotated[str, Field(max_length=512)]], Field(max_length=16)] = []
    """Command in the image; default: its entry point."""
    args: Annotated[list[Annotated[str, Field(max_length=512)]], Field(max_length=64)] = []
    """Arguments of the command; $(CACHE_PORT) and so on stand for what this section says."""
    env: dict[VariableName, Annotated[str, Field(max_length=1024)]] = {}
    """Environment besides CACHE_CONFIG, CACHE_DATA, CACHE_CAPACITY (in bytes), CACHE_AUDIENCE,
    CACHE_PORT and CACHE_HOST (the host's address), which are always there; no secrets."""
    port: Port = 8081
    """TCP port that it serves objects on, at the node's own address."""
    health_path: UrlPath = "/healthz"
    """Path that answers 200 while the server works."""
    metrics_path: UrlPath | None = "/metrics"
    """Path of its metrics in Prometheus' format, on the same port; null where it has none."""
    config_path: ConfigPath = "/etc/cache/buckets.json"
    """File in which it finds its buckets; nothing else may be in that folder."""
    reloads_config: bool = False
    """True if it reads the file again when it changes; else its pods are restarted."""
    user: Annotated[int, Field(ge=1, le=2_147_483_647)] = 65532
    """User id that it runs as; it owns the data path on the hosts."""
    cpu: Cores = "1"
    """CPU request, in cores."""
    memory: Memory = "4Gi"
    """Memory request and limit."""


class CacheProxy(Model):
    """Envoy, which sends each request to the server that keeps the object."""

    image: ImageReference | None = None
    """Image of Envoy; default: the release's."""
    port: Port = 8080
    """TCP port in its pods; the Service listens on port 80."""
    workers: Annotated[int, Field(ge=1, le=64)] = 4
    """Threads that carry requests; one carries about 1.5 GB/s of large objects."""
    requests_per_second: Annotated[int, Field(ge=10, le=1_000_000)] | None = None
    """Requests a second that each Envoy takes from the pods of one namespace, and from an address
    that shows no valid token; more get 429. Default: no limit."""
    cpu: Cores = "1"
    """CPU request, in cores."""
    memory: Memory = "2Gi"
    """Memory request and limit."""


class Bucket(Model):
    """A bucket: objects that are counted, limited and shared together."""

    name: BucketName
    """Name of the bucket, as in the path of an object."""
    quota: DiskSpace
    """Space that it may use at the whole site. Each server keeps an equal share, at least 64Mi, and
    no object larger than its share: with 400 hosts, objects of 1 GiB need 400Gi."""
    public: bool = False
    """True if anybody may read it, without a token."""
    namespaces: Annotated[list[DnsLabel], Field(max_length=500)] = []
    """Namespaces whose pods may write it, and read it where it is not public. A public bucket
    without any may be written by every pod that shows a token."""

    @property
    def open(self) -> bool:
        """True if every pod that shows a token may write the bucket."""
        return self.public and not self.namespaces

    def readable_by(self, namespace: str) -> bool:
        """True if pods of a namespace may read the bucket."""
        return self.public or namespace in self.namespaces

    def writable_by(self, namespace: str) -> bool:
        """True if pods of a namespace may write the bucket."""
        return self.open or namespace in self.namespaces


class ImageLayers(Model):
    """Layers of container images, which hosts look for in the cache before they ask a registry."""

    bucket: BucketName
    """The bucket that holds them: public, as hosts have no token, and with the namespace that fills
    it, as a false layer breaks pulls."""
    registries: Annotated[list[RegistryHost], Field(min_length=1, max_length=20)]
    """Registries whose images are looked for."""


class Cache(Model):
    """The object cache of a site."""

    namespace: DnsLabel = "cache-service"
    """Namespace that it runs in."""
    service: ServiceName = "cache"
    """Name of its Service: pods reach it at http://<service>.<namespace>.svc/v1/objects/."""
    address: Ipv4 | None = None
    """Address of the Service, of the site's service network; default: one that the cluster picks.
    Needed for image_layers, as hosts do not know the cluster's names."""
    pools: Annotated[list[PoolName], Field(min_length=1, max_length=100)] | None = None
    """Pools whose hosts keep objects; default: all. Envoy runs on every host."""
    data_path: DataPath
    """Folder on the hosts' NVMe that holds the objects; the server sees it at the same place."""
    capacity: DiskSpace
    """Space that the cache may use on one host."""
    audience: Audience = "cache"
    """Audience of the tokens that pods show, and that the server expects."""
    token_seconds: Annotated[int, Field(ge=600, le=86400)] = 3600
    """Seconds for which a pod's token is valid; the kubelet renews it in time."""
    discovery: CacheDiscovery = Field(default=CacheDiscovery.HOSTS, strict=False)
    """How Envoy finds the servers."""
    table_size: Annotated[int, Field(ge=2, le=LARGEST_TABLE)] = TABLE_SIZE
    """Entries of the table that maps objects to servers, a prime number."""
    server: CacheServer
    """The server."""
    envoy: CacheProxy = CacheProxy()
    """Envoy, the proxy in front of the servers."""
    buckets: Annotated[list[Bucket], Field(min_length=1, max_length=1000)]
    """Buckets of the cache."""
    image_layers: ImageLayers | None = None
    """Image layers that hosts look for in the cache."""

    def bucket(self, name: str) -> Bucket | None:
        """The bucket of a name; None where there is none."""
        return next((each for each in self.buckets if each.name == name), None)

    def for_data(self) -> list[Bucket]:
        """The buckets of datasets and the like: all but that of image layers, which hosts trust."""
        layers = self.image_layers.bucket if self.image_layers else None
        return [each for each in self.buckets if each.name != layers]

    def url(self, bucket: str = "") -> str:
        """The prefix of the URLs of a bucket's objects, as pods write it; ends with a slash."""
        base = f"http://{self.service}.{self.namespace}.svc/v1/objects/"
        return f"{base}{bucket}/" if bucket else base
