"""The needs of hosts at their first boot, as a site file says them."""

from typing import Annotated

from pydantic import Field

from schemas.model.addresses import Host, HostAddress, HttpUrl, Server
from schemas.model.object_cache import DataPath
from schemas.model.primitives import Model, RelativePath, text_form
from schemas.model.ssh_key import PublicKey
from schemas.model.vocabulary import DataFormat


class Ssh(Model):
    """SSH access to hosts."""

    user: Annotated[str, text_form("[a-z][a-z0-9-]{0,30}", "ops")]
    """Name of the user that is made on each host."""
    keys: Annotated[list[PublicKey], Field(min_length=1, max_length=50)]
    """Public keys that may log in."""


class Proxy(Model):
    """The HTTP proxy of hosts without a route to the outside."""

    http: HttpUrl
    """Proxy for http and https, without user or password."""
    exclude: Annotated[list[Host], Field(max_length=30)] = []
    """Names that are reached directly, besides the site's own networks."""


FolderName = Annotated[str, text_form("[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")]
"""The name of a folder."""


class DataFileSystem(Model):
    """The file system of the hosts' data disks, made at each installation: the disks of the
    hardware profile are wiped, joined by RAID 0 where there are several, and mounted."""

    mount: DataPath
    """Folder that it is mounted at, such as /srv/nvme."""
    filesystem: DataFormat = Field(default=DataFormat.XFS, strict=False)
    """Its format; the OS image needs the program that makes it."""
    folders: dict[FolderName, Annotated[int, Field(ge=0, le=2_147_483_647)]] = {}
    """Folders below the mount, with the user id of their owner: cache: 65532 for cache.data_path.
    They do not follow the cache, so that a change of it re-images no host."""


class FirstBoot(Model):
    """The needs of a host at its first boot, before it can join."""

    ntp: Annotated[list[Server], Field(min_length=1, max_length=8)]
    """Time servers: certificates fail on a host whose clock is off."""
    dns: Annotated[list[HostAddress], Field(min_length=1, max_length=3)]
    """Name servers; a resolver reads three at most."""
    ssh: Ssh
    """SSH access to hosts."""
    proxy: Proxy | None = None
    """HTTP proxy, where hosts have no route to the outside."""
    ca_certificates: Annotated[list[RelativePath], Field(max_length=16)] = []
    """Certificates (PEM) of authorities that hosts trust, files below sites/."""
    data_disks: DataFileSystem | None = None
    """File system of the data disks; without it the OS image makes what the site needs."""
