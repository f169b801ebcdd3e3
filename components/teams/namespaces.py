"""The namespaces of teams: to whom they belong, what pods in them may be, and their disk space."""

from collections.abc import Iterable, Iterator
from enum import StrEnum

from components.making.manifest import Json, Manifest, site_object
from components.making.pod_security import pod_security_labels
from components.making.rdma import needs
from components.making.taints import node_taints
from components.teams import names
from schemas.facts.pod_network import isolates_teams
from schemas.facts.quotas import Holder, compute_share, models_held_by, usable_pools
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN, TEAM_LABEL
from schemas.model.scheduling import Team
from schemas.model.site_file import Pool

RDMA_LABEL = f"{OWN_DOMAIN}/rdma"
"""On a team's namespace: what RDMA lets its pods do beyond Pod Security's baseline."""
QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
"""The queue of a namespace's PodGroups that name none (Volcano 1.15.1, mutate_podgroup.go)."""
EPHEMERAL_STORAGE = "ephemeral-storage"


class Rdma(StrEnum):
    """The needs of a team's pods for RDMA."""

    IPC_LOCK = "ipc-lock"
    """To lock memory."""
    HOST_NETWORK = "host-network"
    """Also the network of their host: addresses of RoCE belong to its interfaces."""


def namespaces(site: Site) -> list[Manifest]:
    """The namespaces of all teams. Protected: everything in them goes with them."""
    return [each for team in site.scheduling.teams for each in _namespaces(site, team)]


def _namespaces(site: Site, team: Team) -> Iterator[Manifest]:
    rdma = rdma_of(site, team)
    # Pod Security has no level between baseline, which refuses to add IPC_LOCK, and privileged,
    # which refuses nothing: where RDMA needs more, a policy says what baseline says (podrules.py).
    level = "privileged" if rdma else "baseline"
    more = {TEAM_LABEL: team.name, **({RDMA_LABEL: rdma.value} if rdma else {})}
    notes = annotations(site, team)
    for name in team.namespaces:
        named = names.metadata(site, name, **pod_security_labels(level), **more)
        named |= {"annotations": notes} if notes else {}
        yield site_object(f"Namespace/{name}", "v1", named)._replace(protect=True)


def annotations(site: Site, team: Team) -> dict[str, str]:
    """The annotations that policies and Volcano read on a team's namespace. A key without a value
    stands where no pool of others has it."""
    found = {}
    own = _taints(usable_pools(site, team))
    if own:
        others = {key for key, _ in _taints(site.file.pools) - own}
        alone = {key for key, _ in own if key not in others}
        found[names.TOLERATIONS_ANNOTATION] = ",".join(sorted({f"{k}={v}" for k, v in own} | alone))
    if models_held_by(site, Holder.KUEUE):
        found[names.PRIORITIES_ANNOTATION] = ",".join(names.priorities_of(site, team))
    if models_held_by(site, Holder.VOLCANO):
        found[QUEUE_ANNOTATION] = team.name
    return found


def _taints(pools: Iterable[Pool]) -> set[tuple[str, str]]:
    """The keys and values of the pools' taints."""
    return {(taint["key"], taint["value"]) for pool in pools for taint in node_taints(pool)}


def rdma_of(site: Site, team: Team) -> Rdma | None:
    """The needs of a team's pods for RDMA on the pools that it can use; None for nothing."""
    found = [needs(site, pool, team.namespaces[0]) for pool in usable_pools(site, team)]
    if any(each.host_network for each in found):
        return Rdma.HOST_NETWORK
    return Rdma.IPC_LOCK if any(each.capabilities for each in found) else None


def limit_ranges(site: Site) -> list[Manifest]:
    """Space on disk for containers of each namespace that say nothing, and at most."""
    teams = site.scheduling.teams
    return [_limit_range(site, team, name) for team in teams for name in team.namespaces]


def _limit_range(site: Site, team: Team, namespace: str) -> Manifest:
    given = team.ephemeral_storage or site.scheduling.ephemeral_storage
    limits: Json = {
        "type": "Container",
        "defaultRequest": {EPHEMERAL_STORAGE: given.request},
        "default": {EPHEMERAL_STORAGE: given.limit},
        "max": {EPHEMERAL_STORAGE: given.max},
    }
    if compute_share(site, team):
        # A quota of requests refuses a container without any.
        limits["defaultRequest"] |= {"cpu": "1", "memory": "4Gi"}
    named = names.metadata(site, EPHEMERAL_STORAGE, namespace)
    return site_object(f"LimitRange/{namespace}", "v1", named, spec={"limits": [limits]})


def network_policies(site: Site) -> list[Manifest]:
    """For each namespace of a team who may connect to its pods: the team, what runs in namespaces
    of no team, and hosts where it uses their network. Outgoing connections are free."""
    if not isolates_teams(site):
        return []
    teams = site.scheduling.teams
    return [_network_policy(site, team, name) for team in teams for name in team.namespaces]


def _network_policy(site: Site, team: Team, namespace: str) -> Manifest:
    nobodys = {"matchExpressions": [{"key": TEAM_LABEL, "operator": "DoesNotExist"}]}
    allowed = [{"namespaceSelector": each} for each in (names.of_team(team), nobodys)]
    if rdma_of(site, team) is Rdma.HOST_NETWORK:
        # Pods on the host's network, such as workers, connect from an address of their host.
        networks = [each for zone in site.file.zones for each in (zone.network, zone.network6)]
        allowed += [{"ipBlock": {"cidr": each}} for each in networks if each]
    api, named = "networking.k8s.io/v1", names.metadata(site, "teams", namespace)
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": allowed}]}
    return site_object(f"NetworkPolicy/{namespace}", api, named, spec=spec)
