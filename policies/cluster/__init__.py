"""Rules that must hold in a cluster whoever deploys, as CEL for ValidatingAdmissionPolicies.

Plain data: ``cluster_rules`` gives the rules of a site, ``policy`` and ``binding`` the specs that
the API server takes. What teams' pods may be, which PriorityClasses, queues and accelerators they
may name, and the order of an upgrade are held by policies of the components themselves.

Nobody is named whom a cluster may call otherwise: who may change the rule's own binding may do what
the rule forbids, as nothing would keep them from it. So no administrator, no Cluster
API and no Pulumi is locked out. Deletions on the management cluster are refused to all, as the
slips of administrators are what they are about, until an annotation says that they are meant.

Sources: Kubernetes 1.34, api admissionregistration/v1; apiserver pkg/admission/plugin/policy
(matching/matching.go, validating/dispatcher.go), plugin/cel/condition.go (namespaceObject).
"""

from policies.cluster.management import management_rules
from policies.cluster.rule import (
    MANAGEMENT,
    RELEASE_ANNOTATION,
    SITE,
    ClusterRule,
    Facts,
    Matched,
    Validation,
    binding,
    object_name,
    policy,
)
from policies.cluster.site import TAINTS, site_rules

__all__ = [
    "MANAGEMENT",
    "RELEASE_ANNOTATION",
    "SITE",
    "TAINTS",
    "ClusterRule",
    "Facts",
    "Matched",
    "Validation",
    "binding",
    "cluster_rules",
    "object_name",
    "policy",
]


def cluster_rules(facts: Facts) -> tuple[ClusterRule, ...]:
    """The rules of a site: of its management cluster first, then of its own."""
    return (*management_rules(facts), *site_rules(facts))
