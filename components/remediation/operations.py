"""The actions of Node Operation Controller on a node, and their time: templates for each remediator
and pool."""

from components.making.faults import CONDITIONS, TURN_LABEL
from components.making.manifest import Json, Manifest, Target
from components.remediation.names import NODEOPS_API, metadata, remediated_pools, remediator_labels
from components.remediation.reboot import job
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.remediation import Remediator
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Eviction

STRATEGIES = {Eviction.EVICT: "Evict", Eviction.DELETE: "Delete", Eviction.WAIT: "None"}
"""NodeOperation ``evictionStrategy`` of each way in which pods leave."""


def templates(site: Site) -> list[Manifest]:
    """The templates of operations, and of what starts them."""
    found: list[Manifest] = []
    for remediator, pool in remediated_pools(site):
        found.append(_operation(site, remediator, pool))
        found += [
            _remediation(site, remediator, pool, each) for each in site.repairs(pool, remediator)
        ]
    return found


def _operation(site: Site, remediator: Remediator, pool: Pool) -> Manifest:
    """Taint, drain, and the Job that reboots; the API server wants the template's metadata."""
    ours = remediator_labels(remediator, pool)
    name = f"{remediator.name}-{pool.name}"
    body = {
        "apiVersion": NODEOPS_API,
        "kind": "NodeOperationTemplate",
        "metadata": metadata(site, name, **ours),
        "spec": {
            "template": {
                "metadata": {"labels": ours},
                "spec": {
                    "evictionStrategy": STRATEGIES[remediator.eviction],
                    "nodeDisruptionBudgetSelector": ours,
                    "jobTemplate": job(site, pool, ours),
                },
            }
        },
    }
    title = f"NodeOperationTemplate/{remediator.name}/{pool.name}"
    return Manifest(title, body, target=Target.SITE)


def _remediation(site: Site, remediator: Remediator, pool: Pool, fault: str) -> Manifest:
    """One fault of one pool, on nodes whose turn it is: conditions of one rule all have to hold,
    so each fault has a rule of its own, and a node has one turn at a time."""
    ours = remediator_labels(remediator, pool)
    rule: Json = {"conditions": [{"type": CONDITIONS[fault], "status": "True"}]}
    body = {
        "apiVersion": NODEOPS_API,
        "kind": "NodeRemediationTemplate",
        "metadata": metadata(site, f"{remediator.name}-{pool.name}-{fault}", **ours),
        "spec": {
            "nodeSelector": {POOL_LABEL: pool.name, TURN_LABEL: f"{fault}"},
            "template": {
                "metadata": {"labels": ours},
                "spec": {
                    "nodeOperationTemplateName": f"{remediator.name}-{pool.name}",
                    "rule": rule,
                },
            },
        },
    }
    title = f"NodeRemediationTemplate/{remediator.name}/{pool.name}/{fault}"
    return Manifest(title, body, target=Target.SITE)
