"""Rules that must hold in a cluster whoever deploys, as CEL for ValidatingAdmissionPolicies.

Plain data (rules.yaml): ``cluster_rules`` gives the rules of a site, ``policy`` and ``binding`` the
specs that the API server takes. What teams' pods may be, which PriorityClasses, queues and
accelerators they may name, and the order of an upgrade are held by policies of the components
themselves.

Nobody is named whom a cluster may call otherwise: who may change the rule's own binding may do what
the rule forbids, as nothing would keep them from it. So no administrator, no Cluster
API and no Pulumi is locked out. Deletions on the management cluster are refused to all, as the
slips of administrators are what they are about, until an annotation says that they are meant.

Sources: Kubernetes 1.34, api admissionregistration/v1; apiserver pkg/admission/plugin/policy
(matching/matching.go, validating/dispatcher.go), plugin/cel/condition.go (namespaceObject).
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import yaml

from policies.cluster.rule import (
    DOMAIN,
    MANAGEMENT,
    RELEASE_ANNOTATION,
    SITE,
    ClusterRule,
    Facts,
    Json,
    Matched,
    Validation,
    binding,
    object_name,
    policy,
)
from schemas.kubernetes.node_labels import TEAM_LABEL
from schemas.kubernetes.pod_security import ENFORCE, PREFIX

__all__ = [
    "MANAGEMENT",
    "RELEASE_ANNOTATION",
    "RESET",
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
RESET = f"remediation.{DOMAIN}/reset"
"""The label of a node whose accelerators are being reset."""
TAINTS = (f"remediation.{DOMAIN}/faulty", f"remediation.{DOMAIN}/quarantined")
"""The taints of nodes that are not to be used: with a fault, and with one that repairs left."""
_VALUES = {
    "domain": DOMAIN,
    "release": RELEASE_ANNOTATION,
    "enforce": ENFORCE,
    "security": PREFIX,
    "team": TEAM_LABEL,
    "taints": ", ".join(f"'{each}'" for each in TAINTS),
}


@cache
def _data() -> Json:
    text = Path(__file__).with_name("rules.yaml").read_text("utf-8")
    found: Json = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


def cluster_rules(facts: Facts) -> tuple[ClusterRule, ...]:
    """The rules of a site: of its management cluster first, then of its own."""
    return tuple(
        _rule(name, cluster, said, facts)
        for cluster in (MANAGEMENT, SITE)
        for name, said in _data()[cluster].items()
    )


def _rule(name: str, cluster: str, said: Json, facts: Facts) -> ClusterRule:
    by_remediator = f"request.userInfo.username == '{facts.remediator}' || "
    by_resetter = f"!(k == '{RESET}' && request.userInfo.username == '{facts.resetter}') && "
    values = {
        **_VALUES,
        "site": facts.site,
        "policy": object_name(name, cluster, facts.site),
        "remediator": by_remediator if facts.remediator else "",
        "resetter": by_resetter if facts.resetter else "",
    }
    for names in (said.get("names", {}), _data()["shared"]):
        # A rule without labels of its own has no use for the text on them.
        values |= {key: Template(text).safe_substitute(values) for key, text in names.items()}
    found: Json = _fill({key: each for key, each in said.items() if key != "names"}, values)
    if name == "image-digest" and facts.operators:
        but = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}
        expressions = found["where"]["namespaceSelector"]["matchExpressions"]
        expressions.append({**but, "values": list(facts.operators)})
    matches = tuple(_matched(**each) for each in found.pop("matches"))
    validations = tuple(Validation(**each) for each in found.pop("validations"))
    return ClusterRule(name, cluster, matches=matches, validations=validations, **found)


def _matched(group: str, **said: list[str]) -> Matched:
    return Matched(group, **{field: tuple(values) for field, values in said.items()})


def _fill(said: Any, values: Mapping[str, str]) -> Any:
    """Data with each value in its place."""
    if isinstance(said, str):
        return Template(said).substitute(values)
    if isinstance(said, list):
        return [_fill(each, values) for each in said]
    return {_fill(key, values): _fill(each, values) for key, each in said.items()}
