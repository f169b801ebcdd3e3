"""tokyo-1 with network devices on its pools, and nothing of its own that would be in the way."""

from typing import Any

from schemas.facts.site import Site
from schemas.model.network_devices import NetworkDevices, PoolNetworkDevices
from schemas.model.scheduling import Scheduling
from tests.kit.effects_cases import of, tokyo

RAILS = ["ibs0", "ibs1", "ibs2", "ibs3"]
SHARED: dict[str, Any] = {"rdma": [{"name": "hca", "interfaces": RAILS, "by_rail": True}]}
CARD: dict[str, Any] = {"name": "fabric", "interfaces": ["ens1f0"], "functions": 8, "rdma": True}
DIVIDED: dict[str, Any] = {"sriov": [CARD]}
TEAMS: dict[str, Any] = {"teams": [{"name": "vision", "namespaces": ["vision", "vision-dev"]}]}


def site(pools: dict[str, dict[str, Any]], *, teams: bool = True, **settings: Any) -> Site:
    """tokyo-1, whose own cluster answers, with these devices on its pools and no others."""
    base = tokyo()
    changed = []
    for pool in base.file.pools:
        devices = PoolNetworkDevices.model_validate(pools.get(pool.name, {}))
        changed.append(pool.model_copy(update={"network_devices": devices}))
    parts = {
        "pools": changed,
        "network_devices": NetworkDevices.model_validate(settings),
        "scheduling": Scheduling.model_validate(TEAMS) if teams else None,
        "accelerators": None,
    }
    return of(base, file=base.file.model_copy(update=parts))


def card(**changed: Any) -> dict[str, Any]:
    """Devices of a pool: the card of ``CARD``, changed."""
    return {"sriov": [{**CARD, **changed}]}
