"""The taints that nodes of a pool have, and what lets pods onto these nodes all the same."""

from collections.abc import Iterable

from components.making.manifest import Json
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Role

CONTROL_PLANE_LABEL = "node-role.kubernetes.io/control-plane"
"""Label and taint that kubeadm gives to nodes of a control plane (kubeadm, constants.go)."""
KEEPS_PODS_OUT = ("NoSchedule", "NoExecute")
"""The effects that a pod needs a toleration for; the third only makes a node the last choice."""


def node_taints(pool: Pool) -> list[Json]:
    """The taints of a pool's nodes: the pool's, or kubeadm's for its role, and those in place."""
    given = (*(pool.taints or ()), *pool.taints_in_place)
    found = [{"key": e.key, "value": e.value, "effect": e.effect.value} for e in given]
    if pool.taints is None and pool.role is Role.CONTROL_PLANE:
        return [{"key": CONTROL_PLANE_LABEL, "value": "", "effect": "NoSchedule"}, *found]
    return found


def tolerations(pools: Iterable[Pool]) -> list[Json]:
    """Tolerations that let pods onto nodes of some pools with taints, each once; PreferNoSchedule
    is not tolerated, so that a node of last choice stays one."""
    every = [t for pool in pools for t in node_taints(pool) if t["effect"] in KEEPS_PODS_OUT]
    kept = dict.fromkeys((t["key"], t["value"], t["effect"]) for t in every)
    return [
        {
            "key": key,
            "effect": effect,
            **({"operator": "Equal", "value": value} if value else {"operator": "Exists"}),
        }
        for key, value, effect in kept
    ]
