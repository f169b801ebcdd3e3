"""How many nodes of a pool a remediator may take out at a time: a NodeDisruptionBudget for each."""

from components.making.faults import QUARANTINED_TAINT
from components.making.manifest import Json, Manifest, Target
from components.remediation.names import NODEOPS_API, metadata, remediated_pools, remediator_labels
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.vocabulary import Role

OUT_TAINTS = (
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
"""Taints of nodes that are out for another reason: cordoned by a rollout or a person, or dead. The
controller counts its own taint by itself."""
CONTROL_PLANE_TAINTS = (*OUT_TAINTS, QUARANTINED_TAINT)
"""A control plane that is quarantined may come to nothing any minute, so no other goes out."""


def budgets(site: Site) -> list[Manifest]:
    """A budget for each remediator and pool.

    The controller holds an operation back while *any* budget that the operation's selector chooses
    is used up, whether the node is the budget's or not (node-operation-controller 0ac94deb,
    controllers/nodeoperation_controller.go, doesViolateNDB). So each budget carries labels of its
    own, and the operations of its pool choose it by these alone.
    """
    found = []
    for remediator, pool in remediated_pools(site):
        out = CONTROL_PLANE_TAINTS if pool.role is Role.CONTROL_PLANE else OUT_TAINTS
        targets: list[Json] = [{"key": key, "operator": "Exists"} for key in out]
        name = f"{remediator.name}-{pool.name}"
        body = {
            "apiVersion": NODEOPS_API,
            "kind": "NodeDisruptionBudget",
            "metadata": metadata(site, name, **remediator_labels(remediator, pool)),
            "spec": {
                "selector": {POOL_LABEL: pool.name},
                "maxUnavailable": remediator.max_unavailable,
                "taintTargets": targets,
            },
        }
        title = f"NodeDisruptionBudget/{remediator.name}/{pool.name}"
        found.append(Manifest(title, body, target=Target.SITE))
    return found
