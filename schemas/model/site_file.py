"""The site file: what a person writes about one site, as strict, frozen types. Owns the shape and
what a single value may be. What must hold between values is in schemas/rules."""

from ipaddress import IPv4Address, IPv4Network
from typing import Annotated

from pydantic import Field

from schemas.model import addresses
from schemas.model.accelerators import AcceleratorSettings, Sharing
from schemas.model.access import Access
from schemas.model.adopted import Adopted, AdoptedPool
from schemas.model.cluster import Cluster
from schemas.model.extra import Extra
from schemas.model.first_boot import FirstBoot
from schemas.model.hardware import HardwareProfile
from schemas.model.host_agent import HostAgent
from schemas.model.host_networks import FurtherNetwork, NetworkName, NicLayout
from schemas.model.host_settings import HostSettings
from schemas.model.kubelet import Kubelet
from schemas.model.maintenance import Maintenance
from schemas.model.monitoring import Monitoring
from schemas.model.network_devices import NetworkDevices, PoolNetworkDevices
from schemas.model.object_cache import Cache
from schemas.model.own_components import Components
from schemas.model.patches import MOST_PATCHES, Patch
from schemas.model.policies import Sentence, SitePolicies
from schemas.model.primitives import (
    ContextName,
    DnsLabel,
    ImageName,
    ImageReference,
    Ipv4,
    LabelKey,
    LabelValue,
    Model,
    OsName,
    Percent,
    PoolName,
    SecretName,
    SiteName,
    ZoneName,
)
from schemas.model.remediation import Remediation
from schemas.model.scheduling import Scheduling
from schemas.model.secrets import Secrets
from schemas.model.vocabulary import Remedy, Role, RolloutStrategy, TaintEffect


class Decommission(Model):
    """The end of a site: its cluster is deleted and its hosts are wiped; they stay registered until
    its file is gone and somebody takes the rest away."""

    reason: Sentence
    """Why the site ends."""


class Zone(Model):
    """A network zone: the hosts that share one layer 3 network."""

    name: ZoneName
    """Name of the zone; nodes carry it as topology.kubernetes.io/zone."""
    network: addresses.HostNetwork
    """Network that the zone's hosts have their addresses in."""
    gateway: addresses.HostAddress
    """Default gateway of the network."""
    hosts: Annotated[list[Ipv4], Field(min_length=2, max_length=2)] | None = None
    """First and last address that machines may get; default: all of the network. The gateway, the
    endpoint, name servers and time servers are left out of it."""
    network6: addresses.Network6 | None = None
    """IPv6 network that the zone's hosts have a second address in, at the same place as in network;
    or the one in the host list's column ip6."""
    gateway6: addresses.HostAddress6 | None = None
    """Default gateway of IPv6."""

    @property
    def span(self) -> tuple[IPv4Address, IPv4Address]:
        """The first and the last address that a host may have; none where the first is larger."""
        network = IPv4Network(self.network)
        own = [IPv4Address(each) for each in self.hosts or ()]
        return max(network[1], *own[:1], network[1]), min(network[-2], *own[1:], network[-2])


class BmcAccess(Model):
    """How the hosts' BMCs are reached."""

    network: addresses.HostNetwork
    """Network that the BMC addresses lie in."""
    credentials: SecretName | None = None
    """Name of one Secret for all BMCs; default: a Secret for each host, named <host>-bmc."""


class Sources(Model):
    """The sources from which hosts fetch their software."""

    os_images: addresses.HttpUrl
    """Server of OS images, reachable from the provisioning network."""
    registry_mirror: addresses.RegistryUrl | None = None
    """Registry that hosts pull every container image through."""
    images: Annotated[dict[DnsLabel, ImageReference], Field(max_length=100)] = {}
    """Images by the names that a release gives them, where the site's release has none."""
    multi_arch: Annotated[list[ImageName], Field(max_length=100)] = []
    """Images, without tags, that are built for arm64 too, besides those of the release; needed for
    what runs on arm64 hosts."""


class Rollout(Model):
    """How machines are replaced when their template changes."""

    strategy: RolloutStrategy = Field(default=RolloutStrategy.ROLLING_UPDATE, strict=False)
    """When machines are replaced."""
    max_unavailable: Annotated[int, Field(ge=0, le=100)] = 1
    """Machines that may be unavailable at a time (in each zone, where by_zone is set)."""
    max_surge: Annotated[int, Field(ge=0, le=100)] = 0
    """Machines made before old ones are deleted; each needs a spare host."""
    by_zone: bool = False
    """True if each zone is its own MachineDeployment, with its own max_unavailable."""
    drain_timeout_seconds: Annotated[int, Field(ge=60, le=86400)] = 3600
    """Seconds that a drain may wait for pods; after that they are killed."""


class HealthCheck(Model):
    """The conditions under which Cluster API steps in for a machine, as the last resort."""

    remedy: Remedy = Field(default=Remedy.REBOOT, strict=False)
    """Action for a machine that fails."""
    unhealthy_timeout_seconds: Annotated[int, Field(ge=300, le=86400)] = 1800
    """Seconds that a node may be unready or unknown before its machine counts as failed."""
    max_unhealthy_percent: Percent = 10
    """Share of the pool, in percent, that may have failed. Above it Cluster API does nothing: the
    cause is then not a single machine."""
    reboot_retries: Annotated[int, Field(ge=1, le=5)] = 1
    """Further power cycles where the first did not help (remedy: reboot)."""
    reboot_timeout_seconds: Annotated[int, Field(ge=600, le=7200)] = 1800
    """Seconds that a power cycle may take until the node is ready (remedy: reboot)."""
    node_startup_timeout_seconds: Annotated[int, Field(ge=600, le=86400)] | None = None
    """Seconds until a new machine has to be a node (remedy: replace); default: twice a re-image."""


class Taint(Model):
    """A taint that nodes of a pool register with."""

    key: LabelKey
    """Key of the taint."""
    value: LabelValue = ""
    """Value of the taint."""
    effect: TaintEffect = Field(strict=False)
    """The effect on pods that do not tolerate the taint."""


class Pool(Model):
    """Hosts of one kind that are managed as one."""

    name: PoolName
    """Name of the pool; nodes carry it as node.cluster.x-k8s.io/pool."""
    role: Role = Field(default=Role.WORKER, strict=False)
    """Role of its machines in the cluster."""
    hardware: Annotated[DnsLabel, Field(examples=["v100-sxm2-32gb-x8"])]
    """Hardware profile of its hosts, from the catalogue or from this file."""
    os: OsName | None = None
    """Operating system, of those in the release; default: the release's."""
    spares: Annotated[int, Field(ge=0, le=1000)] = 0
    """Hosts kept without a Machine, at least: for a surge, or to replace a broken host. Lines of
    the host list that are ``out`` or ``spare`` count towards it."""
    rollout: Rollout = Rollout()
    """How machines are replaced."""
    health_check: HealthCheck = HealthCheck()
    """Cluster API's MachineHealthCheck of the pool."""
    labels: dict[LabelKey, LabelValue] = {}
    """Labels of its nodes."""
    taints: Annotated[list[Taint], Field(max_length=100)] | None = None
    """Taints of its nodes; default: kubeadm's for the role. [] means none."""
    labels_in_place: dict[LabelKey, LabelValue] = {}
    """Labels that Cluster API, told of their keys, keeps on nodes: a change restarts nothing."""
    taints_in_place: Annotated[list[Taint], Field(max_length=64)] = []
    """Taints that Cluster API, by a feature gate, keeps on its nodes: a change restarts nothing."""
    kubelet: Kubelet | None = None
    """Settings of the kubelet; default: all of the site's."""
    host_settings: HostSettings | None = None
    """Files, commands and kernel settings of its hosts; default: all of the site's."""
    first_boot: FirstBoot | None = None
    """First boot of this pool's hosts; default: the site's."""
    host_network: DnsLabel | None = None
    """NICs of its hosts, one of host_networks; default: the NIC that boots has the address."""
    sharing: Sharing | None = None
    """Division of its accelerators; default: a pod gets whole ones. Shares are a model of their
    own: <model>-1g-10gb, <model>-shared-4 or <model>-mps-4."""
    network_devices: PoolNetworkDevices = PoolNetworkDevices()
    """Network devices that its pods can request."""
    adopted: AdoptedPool | None = None
    """Names that it had before Foresite; they stay for ever."""


class SiteFile(Model):
    """One site: its cluster, zones, pools, and what its hosts need."""

    site: SiteName
    """Name of the site, equal to the name of its file."""
    region: Annotated[DnsLabel, Field(examples=["jp-east"])]
    """Region; nodes carry it as topology.kubernetes.io/region."""
    release: str
    """Release that pins every version and image digest."""
    management: ContextName
    """kubeconfig context of the management cluster that runs Cluster API for this site."""
    ring: Annotated[int, Field(ge=0, le=9)] = 1
    """Order in which merged changes are applied: lower rings first; 0 is the canary."""
    held: bool = False
    """True if no later ring waits until this site is healthy, such as one under repair."""
    maintenance: Maintenance | None = None
    """When merged changes may be applied; without it at all times."""
    cluster: Cluster
    """The site's Kubernetes cluster."""
    bmc: BmcAccess
    """How the hosts' BMCs are reached."""
    sources: Sources
    """Where hosts fetch what they run."""
    zones: Annotated[list[Zone], Field(min_length=1, max_length=64)]
    """Network zones."""
    networks: Annotated[dict[NetworkName, FurtherNetwork], Field(max_length=16)] = {}
    """Networks of hosts beside those of the zones, by name."""
    host_networks: Annotated[dict[DnsLabel, NicLayout], Field(max_length=32)] = {}
    """NICs, bonds and VLANs of hosts by name; pools name one."""
    first_boot: FirstBoot
    """Settings of a host's first boot."""
    pools: Annotated[list[Pool], Field(min_length=1, max_length=100)]
    """Pools of hosts."""
    kubelet: Kubelet = Kubelet()
    """Settings of the kubelet, on pools that have none of their own."""
    host_settings: HostSettings = HostSettings()
    """Files, commands and kernel settings of hosts, in pools that have none of their own."""
    host_agent: HostAgent | None = None
    """Settings that reach running workers in place; without it each of them re-images hosts."""
    hardware: dict[DnsLabel, HardwareProfile] = {}
    """Hardware profiles of this site, besides the catalogue's."""
    accelerators: AcceleratorSettings | None = None
    """How pods request accelerators; without it Foresite serves none."""
    network_devices: NetworkDevices = NetworkDevices()
    """How network devices get to pods."""
    scheduling: Scheduling | None = None
    """How pods are scheduled, and who may use what; without it the default scheduler does all."""
    cache: Cache | None = None
    """The object cache on the hosts' NVMe; without it there is none."""
    remediation: Remediation | None = None
    """How faults of hosts are detected and repaired; default: Cluster API's health checks alone."""
    monitoring: Monitoring | None = None
    """Alerts, targets and dashboards for Prometheus, Alertmanager and Grafana; default: none."""
    secrets: Secrets | None = None
    """Stores of External Secrets for the site's Secrets; without it, you make the Secrets."""
    extra: Annotated[list[Extra], Field(max_length=100)] = []
    """Manifests and charts that a team brings."""
    patches: Annotated[list[Patch], Field(max_length=MOST_PATCHES)] = []
    """Changes of generated objects that no field reaches, each with an end."""
    components: Components = Components()  # type: ignore[valid-type]  # made of what is installed
    """Components of one's own, by name, each with its settings."""
    access: Access | None = None
    """Staff who run or watch the site's cluster; teams name their own people."""
    adopted: Adopted | None = None
    """A cluster that ran before Foresite; without it Foresite made the cluster."""
    policies: SitePolicies = SitePolicies()
    """Rules of the site's own, and exceptions from rules."""
    decommission: Decommission | None = None
    """Planned end of the site. Only the file of a site with this field may be removed."""
