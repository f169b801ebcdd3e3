"""A management cluster as a file: what runs Cluster API and Metal3 for the sites that name it.
Sources: Cluster API Operator v0.28.0, api/v1alpha2; Ironic Standalone Operator v0.9.0,
api/v1alpha1/ironic_types.go; Bare Metal Operator v0.13.2, pkg/provisioner/ironic/factory.go."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.model.addresses import HostAddress, HostNetwork, HttpUrl
from schemas.model.hardware import Arch
from schemas.model.primitives import (
    DNS_LABEL_PATTERN,
    ImageReference,
    KubernetesVersion,
    Model,
    RelativePath,
    SecretName,
    Sha256,
    text_form,
)

FOLDER = "management"
STACK = f"{FOLDER}."
"""Start of the names of stacks of management clusters; no site's name has a dot."""
PROVISIONING_LIMIT = 20
"""Hosts that the Bare Metal Operator provisions at a time where nobody says another number (BMO
v0.13.2, pkg/provisioner/ironic/ironic.go)."""
LABELS = r"\^?([A-Za-z0-9/_.-]|\\[.-])+(\.\*)?\$?"
"""Expressions that Go and Python read alike, and that take no more time than their length."""
Part = Literal["core", "bootstrap", "control-plane", "ipam", "infrastructure"]
Architecture = Annotated[Arch, Field(strict=False)]


class Providers(Model):
    """Providers of Cluster API, installed by the Cluster API Operator."""

    source: Literal["github", "oci", "config-maps"]
    """Where the operator takes components from: github; oci, an artifact of a registry of yours;
    config-maps, labelled ``provider-components: <part>`` in the provider's namespace."""
    registry: (
        Annotated[str, text_form(r"[a-z0-9][A-Za-z0-9._:/-]*[A-Za-z0-9]", "registry.example/capi")]
        | None
    ) = None
    """Registry and path of the artifacts ``<registry>/<part>:<version>``, with oci."""
    images: dict[Part, ImageReference] = {}
    """Images of managers by part, in place of those that the components name."""


class Dhcp(Model):
    """The network in which hosts boot by PXE."""

    network: HostNetwork
    """Provisioning network, one layer 2 network with Ironic's node."""
    first: HostAddress
    """First address that hosts get while they are installed."""
    last: HostAddress
    """Last one."""
    gateway: HostAddress | None = None
    """Gateway that hosts get."""
    dns: HostAddress | None = None
    """Name server that hosts get."""


class Ramdisk(Model):
    """The deploy ramdisk (Ironic Python Agent) of one architecture."""

    kernel: HttpUrl
    """URL of the kernel."""
    initramfs: HttpUrl
    """URL of the initial RAM disk."""


class Ironic(Model):
    """Ironic, run by the Ironic Standalone Operator with the feature gate Overrides."""

    version: Annotated[str, text_form(r"[1-9][0-9]\.[0-9]", "35.0")]
    """Version of Ironic, which the operator has to know (v0.9.0: 35.0, 34.0, 33.0)."""
    image: ImageReference
    """Image of Ironic."""
    address: HostAddress
    """Address of Ironic for hosts, and for BMCs that fetch virtual media from it."""
    interface: Annotated[str, text_form(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}", "em2")] | None = None
    """Interface of its node that has the address; default: the one that has it."""
    dhcp: Dhcp | None = None
    """Network for hosts that boot by PXE; without it all boot by virtual media."""
    ramdisk: Annotated[dict[Architecture, Ramdisk], Field(min_length=1)]
    """Deploy ramdisks by the architecture of hosts; Ironic downloads none by itself."""
    certificate: SecretName | None = None
    """Secret with Ironic's TLS certificate; without it Ironic speaks plain HTTP."""
    bmc_ca: SecretName | None = None
    """Secret with the authorities of BMCs' certificates."""


class Vendored(Model):
    """A file of manifests as its project publishes it."""

    file: RelativePath
    """File in a folder below management/."""
    sha256: Sha256
    """SHA-256 of it, so that nobody changes it unseen."""


class ManagementFile(Model):
    """What runs on a management cluster."""

    management: Annotated[str, Field(pattern=DNS_LABEL_PATTERN, examples=["mgmt-jp-east"])]
    """Name of the cluster: that of the file, and the kubeconfig context that sites write."""
    release: str
    """Release whose ``cluster_api`` says the versions."""
    kubernetes: KubernetesVersion
    """Kubernetes version of the management cluster itself."""
    providers: Providers | None = None
    """Providers by the Cluster API Operator; without it they are among ``manifests``."""
    ironic: Ironic
    """Ironic, which installs the hosts."""
    provisioning_limit: Annotated[int, Field(ge=1, le=500)] = PROVISIONING_LIMIT
    """Hosts that the Bare Metal Operator provisions at a time, over all sites."""
    sync_labels: Annotated[
        list[Annotated[str, text_form(LABELS, r"^example\.com/mig$", longest=200)]],
        Field(max_length=50),
    ] = []
    """Regular expressions (literals, ``.``, and ``.*`` at the end) of the labels that Cluster API
    keeps on nodes, for ``labels_in_place``."""
    taints_in_place: bool = False
    """True if Cluster API keeps taints on nodes (feature gate MachineTaintPropagation, alpha)."""
    manifests: Annotated[list[Vendored], Field(max_length=50)] = []
    """Manifests of cert-manager, operators, or providers, applied as they are."""
