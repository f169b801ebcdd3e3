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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from schemas.kubernetes.node_labels import TEAM_LABEL
from schemas.kubernetes.pod_security import ENFORCE, PREFIX

Json = dict[str, Any]

MANAGEMENT, SITE = "management", "site"
DOMAIN = "foresite.dev"
RELEASE_ANNOTATION = f"{DOMAIN}/may-be-deleted"
"""On an object of a site in its management cluster, or on the site's namespace there: why it may be
deleted. An empty reason is none."""
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


class Facts(NamedTuple):
    """The facts of a site that the rules need.

    ``remediator``: the user name of the program that marks nodes with faults; ``resetter``: of the
    one that asks for resets by a label; each empty where there is none. ``operators``: namespaces
    that Foresite makes for programs of others, which choose the images of their pods themselves.
    ``namespace`` and ``cluster`` are those of an adopted site on its management cluster.
    """

    site: str
    remediator: str = ""
    resetter: str = ""
    operators: tuple[str, ...] = ()
    namespace: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class ClusterRule:
    """A rule that an API server holds.

    ``matches`` and ``validations`` are as in rules.yaml; ``where`` are the objects that the
    binding is for (MatchResources); ``params`` the paramKind of the policy and the paramRef of
    the binding. What cannot be judged is refused (failurePolicy Fail): each expression has a
    value for whatever the schemas let through.
    """

    name: str
    cluster: str
    what: str
    why: str
    source: str
    matches: Sequence[Json]
    validations: Sequence[Json]
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    where: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    params: Sequence[Json] = ()


@cache
def _data() -> Json:
    text = Path(__file__).with_name("rules.yaml").read_text("utf-8")
    found: Json = yaml.load(text, Loader=yaml.CSafeLoader)
    return found


@lru_cache(maxsize=4)  # both sides of a change have mostly the same facts
def cluster_rules(facts: Facts) -> tuple[ClusterRule, ...]:
    """The rules of a site: of its management cluster first, then of its own."""
    rows = ((cluster, row) for cluster in (MANAGEMENT, SITE) for row in _data()[cluster].items())
    return tuple(_rule(name, cluster, said, facts) for cluster, (name, said) in rows)


def _rule(name: str, cluster: str, said: Json, facts: Facts) -> ClusterRule:
    by_remediator = f"request.userInfo.username == '{facts.remediator}' || "
    by_resetter = f"!(k == '{RESET}' && request.userInfo.username == '{facts.resetter}') && "
    values = {
        **_VALUES,
        "site": facts.site,
        "namespace": facts.namespace or facts.site,
        "of": facts.cluster or facts.site,
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
    return ClusterRule(name, cluster, **found)


def _fill(said: Any, values: Mapping[str, str]) -> Any:
    """Data with each value in its place."""
    if isinstance(said, str):
        return Template(said).substitute(values) if "$" in said else said
    if isinstance(said, list):
        return [_fill(each, values) for each in said]
    return {_fill(key, values): _fill(each, values) for key, each in said.items()}


def policy(rule: ClusterRule) -> Json:
    """The spec of the rule's ValidatingAdmissionPolicy."""
    resources = []
    for each in rule.matches:
        head = {"apiGroups": [each["group"]], "apiVersions": each.get("versions", ["v1"])}
        resources.append({**head, **{key: each[key] for key in ("operations", "resources")}})
    validations = [
        {"expression": e["expression"], "messageExpression": e["message"], "reason": "Forbidden"}
        for e in rule.validations
    ]
    matched = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": resources}}
    spec: Json = {**matched, "validations": validations}
    if rule.variables:
        named = rule.variables.items()
        spec["variables"] = [{"name": name, "expression": text} for name, text in named]
    if rule.params:
        spec["paramKind"] = rule.params[0]
    return spec


def binding(rule: ClusterRule, *, advisory: bool = False) -> Json:
    """The binding's spec without the policy's name; ``advisory``: only warn and audit."""
    spec: Json = {"validationActions": ["Warn", "Audit"] if advisory else ["Deny"]}
    if rule.where:
        spec["matchResources"] = dict(rule.where)
    if rule.params:
        spec["paramRef"] = rule.params[1]
    return spec


def object_name(rule: str, cluster: str, site: str = "") -> str:
    """The name of a rule's policy and binding. A management cluster has those of several sites."""
    return f"foresite-{site}-{rule}" if cluster == MANAGEMENT else f"{rule}.{DOMAIN}"
