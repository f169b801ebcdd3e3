"""The Kubernetes cluster of a site: its versions, addresses and pod network."""

from typing import Annotated

from pydantic import Field

from schemas.model.addresses import ApiPort, HostAddress, HostNetwork
from schemas.model.primitives import ContextName, KubernetesVersion, Model, RelativePath
from schemas.model.vocabulary import PodNetworkInstall, VirtualIp


class PodNetwork(Model):
    """The network between pods; without it no node gets ready."""

    manifests: RelativePath
    """Kubernetes manifests (YAML) of the pod network, a file below sites/."""
    install: PodNetworkInstall = Field(default=PodNetworkInstall.CLUSTER_RESOURCE_SET, strict=False)
    """How the manifests are applied to the cluster."""


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
    """Network of pods; each node takes a /24 of it."""
    services: HostNetwork
    """Network of service addresses."""
    pod_network: PodNetwork
    """The pod network (CNI)."""
    context: Annotated[ContextName, Field(examples=["tokyo-1"])] | None = None
    """kubeconfig context of this cluster; set it when the cluster answers."""
