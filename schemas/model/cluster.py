"""The Kubernetes cluster of a site: its versions, addresses and pod network."""

from typing import Annotated

from pydantic import Field

from schemas.model.addresses import ApiPort, HostAddress, HostNetwork, Network6, Server
from schemas.model.control_plane import Arguments, Audit, Encryption, Issuer
from schemas.model.etcd_snapshots import EtcdSnapshots
from schemas.model.extra import RENDERED, Allowed
from schemas.model.primitives import ContextName, KubernetesVersion, Model, RelativePath, text_form
from schemas.model.vocabulary import PodNetworkInstall, VirtualIp

_PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_PathOrNone = Annotated[
    str, text_form(f"({_PART}(/{_PART})*)?", "pod-network/flannel.yaml", longest=200)
]
"""A file or folder below ``sites/``; empty where there is none."""


class PodNetwork(Model):
    """The network between pods; without it no node gets ready."""

    manifests: _PathOrNone = ""
    """Kubernetes manifests (YAML) of the pod network, a file below sites/."""
    chart: _PathOrNone = ""
    """Folder below sites/ of a chart that ``foresite chart`` has rendered, instead of manifests."""
    install: PodNetworkInstall = Field(default=PodNetworkInstall.CLUSTER_RESOURCE_SET, strict=False)
    """How the manifests are applied to the cluster."""
    allow: Annotated[list[Allowed], Field(max_length=20)] = []
    """Dangers of the pod network that are known and accepted; with a chart, or where it is not
    empty, its objects are judged as third-party."""

    @property
    def file(self) -> str:
        """The file with the objects, below sites/."""
        return f"{self.chart}/{RENDERED}" if self.chart else self.manifests


class Cluster(Model):
    """The site's Kubernetes cluster."""

    kubernetes: KubernetesVersion
    """Version of the control plane, and of workers unless they are held back."""
    workers: KubernetesVersion | None = None
    """Version that workers stay at while the control plane is upgraded; default: the same."""
    endpoint: HostAddress
    """Address of the Kubernetes API; no host may have it."""
    port: ApiPort = 6443
    """TCP port of the Kubernetes API."""
    virtual_ip: VirtualIp = Field(default=VirtualIp.ARP, strict=False)
    """How the endpoint is reached: by a virtual IP, or by an external load balancer."""
    pods: Annotated[HostNetwork, Field(examples=["10.64.0.0/12"])]
    """Network of pods; each node takes a /24 of it. Their IPv6 is pods6."""
    services: HostNetwork
    """Network of service addresses. Their IPv6 is services6."""
    pods6: Network6 | None = None
    """IPv6 network of pods, if nodes, pods and Services have both families; a /64 for each node."""
    services6: Network6 | None = None
    """IPv6 network of service addresses."""
    pod_network: PodNetwork
    """The pod network (CNI)."""
    kube_proxy: bool = True
    """False if the pod network does the work of kube-proxy, which kubeadm then leaves out."""
    certificate_names: Annotated[list[Server], Field(max_length=100)] = []
    """Further names and addresses in the API server's certificates."""
    authentication: Annotated[list[Issuer], Field(max_length=10)] = []
    """OpenID Connect providers by whose tokens people log in."""
    audit: Audit | None = None
    """Log of requests to the API server; without it there is none."""
    encryption: Encryption | None = None
    """Encryption of Secrets in etcd; without it they lie there in plain text."""
    admission: RelativePath | None = None
    """AdmissionConfiguration of the API server, a file below sites/; its plugins are enabled."""
    arguments: Arguments = Arguments()
    """Further arguments of the control plane's programs."""
    context: Annotated[ContextName, Field(examples=["tokyo-1"])] | None = None
    """kubeconfig context of this cluster; set it when the cluster answers."""
    renew_certificates_days: Annotated[int, Field(ge=7, le=300)] = 30
    """Days before its certificates end at which Cluster API replaces a control-plane machine."""
    etcd_snapshots: EtcdSnapshots | None = None
    """Snapshots of etcd; without it nothing that is only in the cluster can be restored."""
