"""Settings of the control plane's programs: how people log in, what is logged, what is encrypted.
Texts of a site go into files and arguments of hosts, so they hold no braces: cloud-init would take
two of them for a template."""

from typing import Annotated

from pydantic import Field

from schemas.model.addresses import HttpUrl
from schemas.model.primitives import (
    AbsolutePath,
    DnsLabel,
    Model,
    RelativePath,
    SecretName,
    text_form,
)

Plain = Annotated[str, text_form("[ -z|~]+", "kubernetes", longest=1024)]
"""Printable ASCII without braces."""
Conditions = Annotated[dict[Plain, Plain], Field(max_length=20)]
"""Conditions in CEL by the message of whoever does not meet them."""
Flags = Annotated[
    dict[Annotated[str, text_form("[a-z][a-z0-9-]{0,62}", "v")], Plain], Field(max_length=50)
]
"""Arguments of a program by their names, without dashes before them."""


class Issuer(Model):
    """An OpenID Connect provider whose tokens the API server accepts."""

    url: HttpUrl
    """Address of the issuer (https), as its tokens spell it."""
    audiences: Annotated[list[Plain], Field(min_length=1, max_length=10)]
    """Audiences, one of which a token must have; usually the client's id."""
    prefix: Annotated[str, text_form("[a-z][a-z0-9.-]{0,30}:")] = "oidc:"
    """Prefix of all its users and groups: an issuer cannot name anybody else's."""
    username_claim: Plain = "sub"
    """Claim that holds the user's name; it must never pass to another person."""
    groups_claim: Plain = "groups"
    """Claim that holds the user's groups."""
    ca_certificate: RelativePath | None = None
    """Certificates (PEM) of the issuer's authority, a file below sites/; default: the host's."""
    claims_must: Conditions = {}
    """Conditions on a token's claims, such as claims.hd == 'example.com'."""
    users_must: Conditions = {}
    """Conditions on the user that a token gives, such as !user.username.startsWith('oidc:x-')."""


class Audit(Model):
    """The log of requests to the API server, on each control-plane host."""

    policy: RelativePath | None = None
    """Policy (audit.k8s.io/v1), a file below sites/; default: Foresite's."""
    days: Annotated[int, Field(ge=1, le=3650)] = 30
    """Days that a log file is kept."""
    files: Annotated[int, Field(ge=1, le=1000)] = 20
    """Log files that are kept at most."""
    megabytes: Annotated[int, Field(ge=1, le=1000)] = 100
    """Size in megabytes at which a new log file starts."""


class Encryption(Model):
    """Encryption of Secrets in etcd: by a KMS plugin, or by keys that somebody else fills in."""

    kms: DnsLabel | None = None
    """Name of a KMS v2 plugin; it becomes part of every Secret that is stored."""
    socket: AbsolutePath = "/var/run/kms/kms.sock"
    """Socket of the plugin on each control-plane host; the plugin is not Foresite's."""
    writes: bool = True
    """True if Secrets are written encrypted; false: encrypted ones are only read (kms)."""
    secret: SecretName | None = None
    """Secret on the management cluster with an EncryptionConfiguration as encryption.yaml."""


class Arguments(Model):
    """Further arguments of the control plane's programs; Foresite's own are refused here."""

    api_server: Flags = {}
    """Arguments of kube-apiserver."""
    controller_manager: Flags = {}
    """Arguments of kube-controller-manager."""
    scheduler: Flags = {}
    """Arguments of the default kube-scheduler."""
    etcd: Flags = {}
    """Arguments of etcd."""
