"""Settings of hosts beyond Foresite's own: files, commands, and what the kernel is told. Bounds:
Cluster API v1.13.6, api/bootstrap/kubeadm/v1beta2/kubeadmconfig_types.go (a file has 10240
characters). The bootstrap data is one Secret, of 1 MiB at most."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from schemas.model.primitives import AbsolutePath, Model, RelativePath, text_form

ShellLine = Annotated[str, text_form("[ -~]{1,1000}", "systemctl restart rsyslog")]
"""A line for a shell, in ASCII."""
KernelArgument = Annotated[
    str, text_form("[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(=[A-Za-z0-9_.,:/@+=-]{1,190})?", "iommu=pt")
]
"""An argument of the kernel, with its value."""
Sysctl = Annotated[
    str,
    text_form(
        r"[a-z0-9_-]{1,32}(\.[A-Za-z0-9_-]{1,64}(/[0-9]{1,4})?){1,7}",
        "net.core.rmem_max",
        "net.ipv4.conf.bond0/210.rp_filter",
    ),
]
"""A setting of the kernel below /proc/sys, with dots; / is the dot of a VLAN (sysctl.d(5))."""
TEXT_OR_NUMBER = (
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    Field(json_schema_extra={"type": ["string", "integer"]}),
)
"""A whole number need not be in quotes."""
SysctlValue = Annotated[
    str, text_form("[A-Za-z0-9_./:,|%-][A-Za-z0-9_./:,|% -]{0,199}"), *TEXT_OR_NUMBER
]
"""The value of a sysctl."""
ModuleName = Annotated[str, text_form("[A-Za-z0-9_][A-Za-z0-9_-]{0,62}", "br_netfilter")]
"""A module of the kernel."""


class HostFile(Model):
    """A file that hosts have before they join."""

    path: AbsolutePath
    """Its path on the host."""
    content: Annotated[str, Field(max_length=10_240)] | None = None
    """Text of the file."""
    source: RelativePath | None = None
    """A file below sites/ with its text, in place of ``content``."""
    permissions: Annotated[str, text_form("0[0-7]{3}")] = "0644"
    """Permissions of the file."""
    owner: Annotated[str, text_form("[a-z_][a-z0-9_-]{0,30}:[a-z_][a-z0-9_-]{0,30}")] = "root:root"
    """Its user and group, which the OS image has."""


class HostSettings(Model):
    """Files, commands and kernel settings of hosts; a change re-images them."""

    files: Annotated[list[HostFile], Field(max_length=50)] = []
    """Files that hosts have before they join."""
    before_join: Annotated[list[ShellLine], Field(max_length=50)] = []
    """Lines of a shell that run as root after the files are there, once an installation. One that
    fails stops the join."""
    after_join: Annotated[list[ShellLine], Field(max_length=50)] = []
    """Lines of a shell that run as root after the host has joined, or kubeadm has failed."""
    kernel_arguments: Annotated[list[KernelArgument], Field(max_length=50)] = []
    """Arguments of the kernel; the host reboots once for them, before it joins."""
    sysctls: dict[Sysctl, SysctlValue] = Field(default={}, max_length=100)
    """Settings of the kernel below /proc/sys."""
    modules: Annotated[list[ModuleName], Field(max_length=50)] = []
    """Kernel modules that are loaded at each boot."""
