"""Configuration of the SR-IOV network operator: the division of interfaces, its pace, its hosts."""

import json

from components.making.manifest import Json, Manifest, documents, fill, prune, site_object
from components.making.rdma import network_name
from components.network_devices.names import OPERATOR_API, metadata
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL, SRIOV_LABEL
from schemas.model.network_devices import Sriov
from schemas.model.site_file import Pool
from schemas.model.vocabulary import LinkType, SriovBy

LINK_TYPES = {LinkType.ETHERNET: "eth", LinkType.INFINIBAND: "ib"}
_SETTINGS, _PACE, _POLICY, _NETWORK = documents(__file__)


def operator(site: Site) -> list[Manifest]:
    """The objects in the operator's namespace; none where no pool divides interfaces."""
    at_once = site.file.network_devices.max_unavailable
    pools = [pool for pool in site.file.pools if pool.network_devices.sriov]
    if not pools:
        return []
    found = [_settings(site)]
    for pool in pools:
        pace = {"pool": {POOL_LABEL: pool.name}, "at_once": at_once}
        logical = f"SriovNetworkPoolConfig/{pool.name}"
        found.append(_object(site, logical, pool.name, fill(_PACE, pace)))
        found += [_policy(site, pool, each) for each in pool.network_devices.sriov]
    # A resource of several pools is one network: the rules see to it that they agree.
    resources = {each.name: each for pool in pools for each in pool.network_devices.sriov}
    teams = site.file.scheduling.teams if site.file.scheduling else []
    spaces = dict.fromkeys(space for team in teams for space in team.namespaces)
    return found + [_network(site, each, space) for each in resources.values() for space in spaces]


def _settings(site: Site) -> Manifest:
    """The operator's settings. Kept when the last policy goes: the operator needs them to take the
    functions back, and all that runs on hosts for it is deleted with them."""
    webhooks = site.file.network_devices.operator_webhooks
    spec = {"hosts": {SRIOV_LABEL: SriovBy.OPERATOR.value}, "webhooks": webhooks}
    found = _object(site, "SriovOperatorConfig/default", "default", fill(_SETTINGS, spec))
    return found._replace(keep=True)


def _policy(site: Site, pool: Pool, sriov: Sriov) -> Manifest:
    values = {
        "resource": sriov.name,
        "pool": {POOL_LABEL: pool.name},
        "interfaces": sorted(sriov.interfaces),
        "functions": sriov.functions,
        "driver": sriov.driver.value,
        "rdma": sriov.rdma,
        "link": LINK_TYPES[sriov.link],
        "mtu": sriov.mtu,
    }
    # A resource's name holds no two dashes, so where the pool's ends is certain.
    name, logical = f"{pool.name}--{sriov.name.replace('_', '-')}", f"{pool.name}/{sriov.name}"
    return _object(site, f"SriovNetworkNodePolicy/{logical}", name, fill(_POLICY, values))


def _network(site: Site, sriov: Sriov, namespace: str) -> Manifest:
    infiniband = sriov.link is LinkType.INFINIBAND
    ipam = {"type": "whereabouts", "range": sriov.addresses} if sriov.addresses else {}
    values = {
        "resource": sriov.name,
        "namespace": namespace,
        "ipam": json.dumps(ipam),
        "vlan": None if infiniband else sriov.vlan,
    }
    logical = f"Sriov{'IB' * infiniband}Network/{sriov.name}/{namespace}"
    return _object(site, logical, network_name(sriov, namespace), fill(_NETWORK, values))


def _object(site: Site, logical: str, name: str, spec: Json) -> Manifest:
    named = metadata(site, name, site.file.network_devices.operator_namespace)
    return site_object(logical, OPERATOR_API, named, spec=prune(spec))
