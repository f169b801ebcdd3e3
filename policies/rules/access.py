"""The rights of roles: none that leads to every right of a cluster."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from policies.embedded import bodies
from policies.pods import items
from policies.rule import Found, Json, Object, text, texts
from schemas.kubernetes.bodies import mapping

ROLES = frozenset({"Role", "ClusterRole"})
BINDINGS = frozenset({"RoleBinding", "ClusterRoleBinding"})
SYSTEM = "system:"
"""Prefix of the roles of Kubernetes' own programs."""
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
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
            found = [value for value in texts(rule.get(field)) if "*" in value]
            if found:
                named = f"{', '.join(found)} in {field}"
                message = f"{named} also means what later versions and other people add"
                yield Found(f"{place}.{field}", message, "name each that it needs")
    for place, body in bodies(each, ROLES):
        for label in mapping(body, "metadata", "labels"):
            if label.startswith(AGGREGATED):
                message = "its rules become part of a role that people already have"
                yield Found(f'{place}metadata.labels["{label}"]', message, "bind the role itself")
        for index, selector in items(mapping(body, "aggregationRule"), "clusterRoleSelectors"):
            labels = mapping(selector, "matchLabels")
            if not labels or BOOTSTRAPPING in labels:
                yield Found(
                    f"{place}aggregationRule.clusterRoleSelectors[{index}]",
                    "it aggregates the rules of roles that it does not name, cluster-admin "
                    "included",
                    "select by matchLabels a label that only the roles in question carry",
                )


def _roles_without_escalation(each: Object) -> Iterator[Found]:
    for place, rule, _ in rules_of(each):
        found = [verb for verb in ESCALATING if verb in texts(rule.get("verbs"))]
        if found:
            message = f"{', '.join(found)} can give itself the permissions of others"
            fix = "leave it out, and grant the permissions themselves"
            yield Found(f"{place}.verbs", message, fix)
        groups, resources = set(texts(rule.get("apiGroups"))), set(texts(rule.get("resources")))
        writes = WRITES if WRITING & set(texts(rule.get("verbs"))) else {}
        for (group, resource), message in (WAYS | writes).items():
            # All that RBAC takes for a subresource (Kubernetes 1.34, pkg/apis/rbac/v1/
            # evaluation_helpers.go).
            named = resources & {resource, f"*/{resource.partition('/')[2]}", "*"}
            if groups & {group, "*"} and named:
                fix = f"leave {', '.join(sorted(named))} out"
                yield Found(f"{place}.resources", message, fix)


def _secrets_of_one_namespace(each: Object) -> Iterator[Found]:
    for place, rule, kind in rules_of(each):
        core = {"", "*"} & set(texts(rule.get("apiGroups")))
        asked = {"secrets", "*"} & set(texts(rule.get("resources")))
        reads = READING & set(texts(rule.get("verbs")))
        named = texts(rule.get("resourceNames"))
        if kind == "ClusterRole" and core and asked and reads and not named:
            message = f"it may {', '.join(sorted(reads))} every Secret of the cluster"
            fix = "write a Role in the one namespace, with resourceNames"
            yield Found(f"{place}.resources", message, fix)


def _no_cluster_admin(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, BINDINGS):
        reference = body.get("roleRef")
        role = text(reference.get("name")) if isinstance(reference, dict) else ""
        own = role.startswith(SYSTEM) and role not in _TABLE["asking"]
        if own or role in _TABLE["all"]:
            message = f"{role} may do everything, or what leads to it"
            fix = "write a role with what it needs"
            yield Found(f"{place}roleRef.name", message, fix)
        for index, subject in items(body, "subjects"):
            named = text(subject.get("name"))
            every = named in _TABLE["everybody"] or named.startswith("system:serviceaccounts:")
            if every and subject.get("kind") in ("Group", "User"):
                message = f"{subject['name']} means everybody, or has all permissions for good"
                fix = "name the ServiceAccounts or groups of people"
                yield Found(f"{place}subjects[{index}].name", message, fix)
