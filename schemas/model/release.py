"""A release: every version and digest that a site runs, in one file, by name. Changing the one word
by which a site names it is how a site is upgraded."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from schemas.model.primitives import (
    DnsLabel,
    ImageReference,
    KubernetesVersion,
    Model,
    OsName,
    RelativePath,
    Sha256,
    text_form,
)

Semver = Annotated[str, text_form(r"v[0-9]+\.[0-9]+\.[0-9]+")]


class OsFamily(StrEnum):
    """The distribution whose tools a first boot uses (trust store, service names)."""

    DEBIAN = "debian"
    RHEL = "rhel"


class DiskFormat(StrEnum):
    """Format of an OS image: Metal3MachineTemplate ``image.diskFormat``."""

    QCOW2 = "qcow2"
    RAW = "raw"


class OsFile(Model):
    """A file that hosts are installed from."""

    file: RelativePath
    """File name below the site's image server."""
    sha256: Sha256
    """SHA-256 of the file."""
    format: DiskFormat = Field(default=DiskFormat.QCOW2, strict=False)
    """Format of the file."""


class OsImage(OsFile):
    """One build of an operating system for one Kubernetes version, for amd64."""

    arm64: OsFile | None = None
    """The same build for arm64; without it no host of that architecture can have it."""


class OperatingSystem(Model):
    """An operating system, with its builds by Kubernetes version."""

    family: OsFamily = Field(strict=False)
    """Which distribution's tools a first boot uses."""
    images: dict[KubernetesVersion, OsImage]
    """Builds by the Kubernetes version that they hold."""


class ClusterApi(Model):
    """Versions of the controllers on the management cluster, which objects are written for."""

    core: Semver
    """Cluster API, with its kubeadm bootstrap and control plane providers."""
    metal3: Semver
    """Cluster API Provider Metal3."""
    baremetal_operator: Semver
    """Bare Metal Operator."""
    ipam: Semver
    """Metal3 IP Address Manager."""


class Release(Model):
    """Versions and digests of everything that Foresite puts on a site."""

    release: Annotated[str, text_form(r"20[0-9]{2}\.(0[1-9]|1[0-2])(\.[0-9]+)?(-[a-z0-9]{1,20})?")]
    """Name of the release, equal to the name of its file; one of your own: 2026.12-ours."""
    cluster_api: ClusterApi
    """Versions of the controllers on the management cluster."""
    kubernetes: list[KubernetesVersion]
    """Kubernetes versions that this release was made for, oldest first."""
    default_os: OsName
    """Operating system of a pool that names none."""
    operating_systems: dict[OsName, OperatingSystem]
    """Operating systems by name."""
    kube_vip: ImageReference
    """Image that holds the control plane's virtual IP."""
    images: dict[DnsLabel, ImageReference] = {}
    """Images of everything else by name, such as nvidia-device-plugin."""
    multi_arch: list[DnsLabel] = []
    """Images by name (and kube-vip) whose digest is of a list with arm64, as no digest says so."""
