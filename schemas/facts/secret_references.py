"""The Secrets that a site refers to, never seen: where each is, and what is read. Components write
the names into objects; people, or the External Secrets Operator, fill them by this list."""

from collections.abc import Iterator
from typing import NamedTuple

from schemas.facts.adopted import HOST, kept, management_names
from schemas.facts.site import Site
from schemas.kubernetes.bodies import mapping
from schemas.model.etcd_snapshots import CREDENTIALS_KEY, NAMESPACE
from schemas.model.vocabulary import RemediatorKind

ENCRYPTION_KEY = "encryption.yaml"
"""The key under which a Secret has the API server's EncryptionConfiguration."""


class SecretReference(NamedTuple):
    """A Secret that some object of the site names, and the keys of its data that are read; on the
    management cluster (``management``), or on the site's own."""

    management: bool
    namespace: str
    name: str
    keys: tuple[str, ...]


def secret_references(site: Site) -> list[SecretReference]:
    """Every Secret that the site refers to, each once with all keys that are read of it; but not
    those in the manifests of its pod network, before which External Secrets cannot run."""
    found: dict[tuple[bool, str, str], dict[str, None]] = {}
    parts = (_bmcs, _keys, _reboots, _receivers, _snapshots)
    for each in (reference for part in parts for reference in part(site)):
        found.setdefault(each[:3], {}).update(dict.fromkeys(each.keys))
    return [SecretReference(*where, tuple(keys)) for where, keys in found.items()]


def bmc_secret(host: str, credentials: str | None) -> str:
    """The name of the Secret with which a host's BMC is logged in to."""
    return credentials or f"{host}-bmc"


def _bmcs(site: Site) -> Iterator[SecretReference]:
    """Bare Metal Operator 0.13, internal/controller/metal3.io/baremetalhost_controller.go
    (buildAndValidateBMCCredentials): the keys username and password, in the host's namespace."""
    stay, namespace = kept(site), management_names(site).namespace
    for host in site.hosts:
        own = mapping(stay.get((HOST, host.name), {}), "spec", "bmc").get("credentialsName")
        name = str(own or bmc_secret(host.name, site.file.bmc.credentials))
        yield SecretReference(True, namespace, name, ("username", "password"))


def _keys(site: Site) -> Iterator[SecretReference]:
    """Cluster API 1.13, bootstrap/kubeadm/internal/controllers/kubeadmconfig_controller.go
    (resolveFiles): without the Secret no control-plane host gets its user data, and none joins."""
    encryption = site.file.cluster.encryption
    if encryption and encryption.secret:
        namespace = management_names(site).namespace
        yield SecretReference(True, namespace, encryption.secret, (ENCRYPTION_KEY,))


def _reboots(site: Site) -> Iterator[SecretReference]:
    """The kubeconfigs of reboot programs for the management cluster (Node Operation Controller)."""
    remediation = site.file.remediation
    every = ((pool, each) for pool in site.file.pools for each in site.remediators_of(pool))
    healers = {each.kind for pool, each in every if site.repairs(pool, each)}
    if remediation and RemediatorKind.NODE_OPERATION_CONTROLLER in healers:
        name = remediation.reboot.credentials
        yield SecretReference(False, remediation.namespace, name, ("kubeconfig",))


def _receivers(site: Site) -> Iterator[SecretReference]:
    if monitoring := site.file.monitoring:
        for receiver in monitoring.receivers:
            yield SecretReference(False, monitoring.namespace, receiver.secret, (receiver.key,))


def _snapshots(site: Site) -> Iterator[SecretReference]:
    snapshots = site.file.cluster.etcd_snapshots
    if snapshots is not None and snapshots.store.startswith("https:"):
        yield SecretReference(False, NAMESPACE, snapshots.secret, (CREDENTIALS_KEY,))
