"""Settings that reach running hosts without an installation, and which of them do."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from schemas.model.primitives import Model

AGENT_IMAGE = "busybox"
"""The agent's image, as a release names it: with a shell, tar and nsenter."""


class InPlace(StrEnum):
    """Settings of a host that the agent applies."""

    REGISTRIES = "registries"
    """Where containerd looks for images: sources.registry_mirror and the cache's image layers."""
    PROXY = "proxy"
    """The proxy of containerd, first_boot.proxy; the mirror is among what it leaves out."""
    TIME_SERVERS = "time_servers"
    """Servers of time: first_boot.ntp."""
    CERTIFICATES = "certificates"
    """Certificates of authorities: first_boot.ca_certificates."""
    KUBELET = "kubelet"
    """Settings of the kubelet that running pods do not depend on."""


class HostAgent(Model):
    """An agent on workers that applies changed settings to running hosts."""

    applies: Annotated[
        list[Annotated[InPlace, Field(strict=False)]], Field(min_length=1, max_length=len(InPlace))
    ]
    """What it applies; hosts are installed again for everything else."""
