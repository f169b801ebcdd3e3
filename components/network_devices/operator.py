"""Configuration of the SR-IOV network operator: the division of interfaces, its pace, and its
hosts.

It reads policies and networks in its own namespace alone (main.go, DefaultNamespaces), and makes
the networks' attachments in the namespaces that they name.

Source: sriov-network-operator 1.6.0, api/v1, controllers, pkg/webhook.
"""

import json

from components.making.manifest import Json, Manifest, metadata_of, prune, site_object
from components.making.rdma import network_name
from components.network_devices.names import COMPONENT, OPERATOR_API
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL, SRIOV_LABEL
from schemas.model.network_devices import Sriov
from schemas.model.site_file import Pool
from schemas.model.vocabulary import LinkType, SriovBy

LINK_TYPES = {LinkType.ETHERNET: "eth", LinkType.INFINIBAND: "ib"}
LOWEST_PRIORITY = 99
"""The operator's webhook would write it too: a policy that a person makes by hand comes first."""


def operator(site: Site) -> list[Manifest]:
    """The objects in the operator's namespace; none where no pool divides interfaces."""
    pools = [pool for pool in site.file.pools if pool.network_devices.sriov]
    if not pools:
        return []
    found = [_settings(site)]
    for pool in pools:
        found.append(_pace(site, pool))
        found += [_policy(site, pool, each) for each in pool.network_devices.sriov]
    # A resource of several pools is one network: the rules see to it that they agree.
    resources = {each.name: each for pool in pools for each in pool.network_devices.sriov}
    teams = site.file.scheduling.teams if site.file.scheduling else []
    spaces = dict.fromkeys(space for team in teams for space in team.namespaces)
    return found + [_network(site, each, space) for each in resources.values() for space in spaces]


def _settings(site: Site) -> Manifest:
    """The operator's settings. Its chart makes none unless it is told to, and without any the
    operator does nothing; the nodes that it looks for by default have a label that kubeadm does
    not set. Drains stay on: else functions would be taken from pods that use them.

    Kept when the last policy goes: the operator needs it to take the functions back, and all that
    runs on hosts for it is deleted with it.
    """
    serves = site.file.network_devices.operator_webhooks
    spec = {
        "configDaemonNodeSelector": {SRIOV_LABEL: SriovBy.OPERATOR.value},
        "configurationMode": "daemon",
        "disableDrain": False,
        "enableInjector": serves,
        "enableOperatorWebhook": serves,
    }
    return _object(site, "SriovOperatorConfig/default", "default", spec)._replace(keep=True)


def _pace(site: Site, pool: Pool) -> Manifest:
    """How many hosts of a pool are drained at a time; nodes may be in one such object only."""
    spec = {
        "nodeSelector": {"matchLabels": {POOL_LABEL: pool.name}},
        "maxUnavailable": site.file.network_devices.max_unavailable,
    }
    return _object(site, f"SriovNetworkPoolConfig/{pool.name}", pool.name, spec)


def _policy(site: Site, pool: Pool, sriov: Sriov) -> Manifest:
    """How the interfaces of a resource are divided. All that the webhook would fill in is written,
    so that it changes nothing."""
    spec = {
        "resourceName": sriov.name,
        "nodeSelector": {POOL_LABEL: pool.name},
        "nicSelector": {"pfNames": sorted(sriov.interfaces)},
        "numVfs": sriov.functions,
        "priority": LOWEST_PRIORITY,
        "deviceType": sriov.driver.value,
        "isRdma": sriov.rdma,
        "linkType": LINK_TYPES[sriov.link],
        "mtu": sriov.mtu,
    }
    # A resource's name holds no two dashes, so where the pool's ends is certain.
    name = f"{pool.name}--{sriov.name.replace('_', '-')}"
    return _object(site, f"SriovNetworkNodePolicy/{pool.name}/{sriov.name}", name, spec)


def _network(site: Site, sriov: Sriov, namespace: str) -> Manifest:
    """The network that pods of a namespace join with a function."""
    infiniband = sriov.link is LinkType.INFINIBAND
    kind = "SriovIBNetwork" if infiniband else "SriovNetwork"
    ipam = {"type": "whereabouts", "range": sriov.addresses} if sriov.addresses else {}
    spec = {
        "resourceName": sriov.name,
        "networkNamespace": namespace,
        "ipam": json.dumps(ipam),
        "vlan": None if infiniband else sriov.vlan,
    }
    logical = f"{kind}/{sriov.name}/{namespace}"
    return _object(site, logical, network_name(sriov, namespace), spec)


def _object(site: Site, logical: str, name: str, spec: Json) -> Manifest:
    metadata = metadata_of(COMPONENT, site, name, site.file.network_devices.operator_namespace)
    return site_object(logical, OPERATOR_API, metadata, spec=prune(spec))
