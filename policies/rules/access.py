"""The rights of roles: none that leads to every right of a cluster."""

from collections.abc import Callable, Iterator

from policies.plain import bodies, text, texts
from policies.pods import items, mapping
from policies.rule import Checks, Found, Json, Object

ROLES = frozenset({"Role", "ClusterRole"})
BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})
ALL = ("cluster-admin",)
EVERYBODY = (
    "system:masters",
    "system:anonymous",
    "system:unauthenticated",
    "system:authenticated",
)
"""Groups and users that hold everybody, or have every right for ever."""
BOOTSTRAPPING = "kubernetes.io/bootstrapping"
"""Label of all roles that Kubernetes makes itself."""
ESCALATING = ("bind", "escalate", "impersonate")
READING = frozenset({"get", "list", "watch", "*"})
WAYS = {
    ("", "serviceaccounts/token"): "it makes itself a token of any ServiceAccount",
    ("", "nodes/proxy"): "it runs commands in every pod, past admission and audit",
    ("certificates.k8s.io", "certificatesigningrequests/approval"): "it signs itself anybody's "
    "certificate",
}
"""Resources that lead to other rights, as (group, resource)."""
RuleCheck = Callable[[Json, str], Iterator[tuple[str, str, str]]]
"""Looks at one rule of a role of a kind; yields field, message and fix."""


def _of_roles(check: RuleCheck) -> Callable[[Object], Iterator[Found]]:
    def check_roles(each: Object) -> Iterator[Found]:
        for place, body in bodies(each, ROLES):
            for index, rule in items(body, "rules"):
                for field, message, fix in check(rule, body["kind"]):
                    yield Found(f"{place}rules[{index}].{field}", message, fix)

    return check_roles


def _wildcards(rule: Json, _: str) -> Iterator[tuple[str, str, str]]:
    for field in ("verbs", "resources", "apiGroups", "nonResourceURLs"):
        found = [value for value in texts(rule.get(field)) if "*" in value]
        if found:
            named = f"{', '.join(found)} in {field}"
            yield (
                field,
                f"{named} also means what later versions and other people add",
                "name each that it needs",
            )


def _aggregates(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, ROLES):
        for index, selector in items(mapping(body, "aggregationRule"), "clusterRoleSelectors"):
            labels = mapping(selector, "matchLabels")
            if not labels or BOOTSTRAPPING in labels:
                yield Found(
                    f"{place}aggregationRule.clusterRoleSelectors[{index}]",
                    "it aggregates the rules of roles that it does not name, cluster-admin "
                    "included",
                    "select by matchLabels a label that only the roles in question carry",
                )


def _wildcard_rights(each: Object) -> Iterator[Found]:
    yield from _of_roles(_wildcards)(each)
    yield from _aggregates(each)


def _escalates(rule: Json, _: str) -> Iterator[tuple[str, str, str]]:
    found = [verb for verb in ESCALATING if verb in texts(rule.get("verbs"))]
    if found:
        yield (
            "verbs",
            f"{', '.join(found)} can give itself the permissions of others",
            "leave it out, and grant the permissions themselves",
        )
    groups, resources = set(texts(rule.get("apiGroups"))), set(texts(rule.get("resources")))
    for (group, resource), message in WAYS.items():
        # All that RBAC takes for a subresource (Kubernetes 1.34, pkg/apis/rbac/v1/
        # evaluation_helpers.go).
        named = resources & {resource, f"*/{resource.partition('/')[2]}", "*"}
        if groups & {group, "*"} and named:
            yield "resources", message, f"leave {', '.join(sorted(named))} out"


def _secrets(rule: Json, kind: str) -> Iterator[tuple[str, str, str]]:
    core = {"", "*"} & set(texts(rule.get("apiGroups")))
    asked = {"secrets", "*"} & set(texts(rule.get("resources")))
    reads = READING & set(texts(rule.get("verbs")))
    if kind == "ClusterRole" and core and asked and reads and not texts(rule.get("resourceNames")):
        yield (
            "resources",
            f"it may {', '.join(sorted(reads))} every Secret of the cluster",
            "write a Role in the one namespace, with resourceNames",
        )


def _bindings(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, BINDINGS):
        reference = body.get("roleRef")
        role = text(reference.get("name")) if isinstance(reference, dict) else ""
        if role in ALL:
            yield Found(
                f"{place}roleRef.name",
                f"{role} may do everything, to every object",
                "write a role with what it needs",
            )
        for index, subject in items(body, "subjects"):
            if subject.get("name") in EVERYBODY and subject.get("kind") in ("Group", "User"):
                yield Found(
                    f"{place}subjects[{index}].name",
                    f"{subject['name']} means everybody, or has all permissions for good",
                    "name the ServiceAccounts or groups of people",
                )


RULES: Checks = {
    "roles-without-wildcards": _wildcard_rights,
    "roles-without-escalation": _of_roles(_escalates),
    "no-cluster-admin": _bindings,
    "secrets-of-one-namespace": _of_roles(_secrets),
}
