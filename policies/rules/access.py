"""The rights of roles: none that leads to every right of a cluster."""

from collections.abc import Iterator

from policies.embedded import bodies
from policies.messages import say
from policies.pods import items
from policies.rule import Found, Json, Object, text
from schemas.kubernetes.bodies import mapping, texts
from schemas.kubernetes.tables import read_table

ROLES = frozenset({"Role", "ClusterRole"})
BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})
SYSTEM = "system:"
"""Prefix of the roles of Kubernetes' own programs."""
_TABLE = read_table(__file__)
BOOTSTRAPPING = "kubernetes.io/bootstrapping"
"""Label of all roles that Kubernetes makes itself."""
ESCALATING = ("bind", "escalate", "impersonate")
READING = frozenset({"get", "list", "watch", "*"})
WAYS, WRITES = (
    {(group, name): how for group, row in _TABLE[table].items() for name, how in row.items()}
    for table in ("ways", "writes")
)
"""Resources that lead to other rights, as (group, resource): whatever one may do with them, and to
whoever may write them."""
EVERYWHERE = {(group, name) for group, names in _TABLE["everywhere"].items() for name in names}
"""Resources that lead to more to whoever may write them in all namespaces."""
WRITING = frozenset({"create", "update", "patch", "*"})
AGGREGATED = "rbac.authorization.k8s.io/aggregate-to-"
"""Label by which a ClusterRole's rules become part of admin, edit or view."""


def rules_of(each: Object) -> Iterator[tuple[str, Json, str]]:
    """Each rule of a role, with its place and the kind of the role."""
    for place, body in bodies(each, ROLES):
        for index, rule in items(body, "rules"):
            yield f"{place}rules[{index}]", rule, body["kind"]


def _roles_without_wildcards(each: Object) -> Iterator[Found]:
    for place, rule, _ in rules_of(each):
        for field in ("verbs", "resources", "apiGroups", "nonResourceURLs"):
            found = [value for value in texts(rule, field) if "*" in value]
            if found:
                yield say("wildcards", f"{place}.{field}", (*found,), field)
    for place, body in bodies(each, ROLES):
        for label in mapping(body, "metadata", "labels"):
            if label.startswith(AGGREGATED):
                yield say("role-is-aggregated", f'{place}metadata.labels["{label}"]')
        for index, selector in items(mapping(body, "aggregationRule"), "clusterRoleSelectors"):
            labels = mapping(selector, "matchLabels")
            if not labels or BOOTSTRAPPING in labels:
                at = f"{place}aggregationRule.clusterRoleSelectors[{index}]"
                yield say("role-aggregates", at)


def _roles_without_escalation(each: Object) -> Iterator[Found]:
    for place, rule, _ in rules_of(each):
        found = [verb for verb in ESCALATING if verb in texts(rule, "verbs")]
        if found:
            yield say("escalating-verbs", f"{place}.verbs", (*found,))
        groups, resources = set(texts(rule, "apiGroups")), set(texts(rule, "resources"))
        writes = WRITES if WRITING & set(texts(rule, "verbs")) else {}
        for (group, resource), message in (WAYS | writes).items():
            # All that RBAC takes for a subresource (Kubernetes 1.34, pkg/apis/rbac/v1/
            # evaluation_helpers.go).
            named = resources & {resource, f"*/{resource.partition('/')[2]}", "*"}
            if groups & {group, "*"} and named:
                yield say("leads-to-others", f"{place}.resources", message, named)


def _secrets_of_one_namespace(each: Object) -> Iterator[Found]:
    for place, rule, kind in rules_of(each):
        core = {"", "*"} & set(texts(rule, "apiGroups"))
        asked = {"secrets", "*"} & set(texts(rule, "resources"))
        reads = READING & set(texts(rule, "verbs"))
        named = texts(rule, "resourceNames")
        if kind == "ClusterRole" and core and asked and reads and not named:
            yield say("reads-every-secret", f"{place}.resources", reads)


def _no_cluster_admin(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, BINDINGS):
        reference = body.get("roleRef")
        role = text(reference.get("name")) if isinstance(reference, dict) else ""
        own = role.startswith(SYSTEM) and role not in _TABLE["asking"]
        if own or role in _TABLE["all"]:
            yield say("cluster-admin", f"{place}roleRef.name", role)
        for index, subject in items(body, "subjects"):
            named = text(subject.get("name"))
            every = named in _TABLE["everybody"] or named.startswith("system:serviceaccounts:")
            if every and subject.get("kind") in ("Group", "User"):
                yield say("everybody", f"{place}subjects[{index}].name", subject["name"])
