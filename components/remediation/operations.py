"""What Node Operation Controller does to nodes, and to how many at a time: for each remediator and
pool a NodeDisruptionBudget, a template of operations, and what starts them for each fault."""

from components.making.faults import CONDITIONS, QUARANTINED_TAINT, TURN_LABEL
from components.making.manifest import Json, Manifest, by_kind, documents, fill
from components.remediation.names import metadata, remediated_pools, remediator_labels
from components.remediation.reboot import job
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.vocabulary import Eviction, Role

STRATEGIES = {Eviction.EVICT: "Evict", Eviction.DELETE: "Delete", Eviction.WAIT: "None"}
"""NodeOperation ``evictionStrategy`` of each way in which pods leave."""
OUT_TAINTS = (
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
"""Taints of nodes that are out for another reason: cordoned by a rollout or a person, or dead. The
controller counts its own taint by itself."""
CONTROL_PLANE_TAINTS = (*OUT_TAINTS, QUARANTINED_TAINT)
"""A control plane that is quarantined may come to nothing any minute, so no other goes out."""


def operations(site: Site) -> list[Manifest]:
    """All budgets, then the templates of each remediator and pool."""
    budget, operation, remediation = documents(__file__)
    budgets: list[Manifest] = []
    found: list[Manifest] = []
    for remediator, pool in remediated_pools(site):
        ours, name = remediator_labels(remediator, pool), f"{remediator.name}-{pool.name}"
        out = CONTROL_PLANE_TAINTS if pool.role is Role.CONTROL_PLANE else OUT_TAINTS
        values: Json = {
            "metadata": metadata(site, name, **ours),
            "ours": ours,
            "operation": name,
            "pool": {POOL_LABEL: pool.name},
            "number": remediator.max_unavailable,
            "targets": [{"key": key, "operator": "Exists"} for key in out],
            "strategy": STRATEGIES[remediator.eviction],
            "job": job(site, pool, ours),
        }
        title = f"{remediator.name}/{pool.name}"
        budgets += by_kind([fill(budget, values)], title)
        found += by_kind([fill(operation, values)], title)
        for fault in site.repairs(pool, remediator):
            own = {
                "metadata": metadata(site, f"{name}-{fault}", **ours),
                "chosen": {POOL_LABEL: pool.name, TURN_LABEL: f"{fault}"},
                "condition": CONDITIONS[fault],
            }
            found += by_kind([fill(remediation, {**values, **own})], f"{title}/{fault}")
    return [*budgets, *found]
