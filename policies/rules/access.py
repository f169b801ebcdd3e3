"""What roles may do: nothing that leads to every right of a cluster."""

from collections.abc import Callable, Iterator

from policies.plain import bodies, text, texts
from policies.pods import items
from policies.rule import Found, Json, Object, ObjectRule, Rule, Severity

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
ESCALATING = ("bind", "escalate", "impersonate")
READING = frozenset({"get", "list", "watch", "*"})
WAYS = {
    ("", "serviceaccounts/token"): "it makes itself a token of any ServiceAccount",
    ("", "nodes/proxy"): "it runs commands in every pod, past admission and audit",
    ("certificates.k8s.io", "certificatesigningrequests/approval"): "it signs itself anybody's "
    "certificate",
}
"""Resources that lead to other rights, as (group, resource)."""
PRACTICES = "Kubernetes documentation, Role Based Access Control Good Practices"
RuleCheck = Callable[[Json, str], Iterator[tuple[str, str, str]]]
"""Looks at one rule of a role of a kind; yields field, message and fix."""


def _of_roles(check: RuleCheck) -> Callable[[Object], Iterator[Found]]:
    def checked(each: Object) -> Iterator[Found]:
        for place, body in bodies(each, ROLES):
            for index, rule in items(body, "rules"):
                for field, message, fix in check(rule, body["kind"]):
                    yield Found(f"{place}rules[{index}].{field}", message, fix)

    return checked


def _wildcards(rule: Json, _: str) -> Iterator[tuple[str, str, str]]:
    for field in ("verbs", "resources", "apiGroups", "nonResourceURLs"):
        if "*" in texts(rule.get(field)):
            yield (
                field,
                f"* in {field} also means what later versions and other people add",
                "name each that it needs",
            )


def _escalates(rule: Json, _: str) -> Iterator[tuple[str, str, str]]:
    found = [verb for verb in ESCALATING if verb in texts(rule.get("verbs"))]
    if found:
        yield (
            "verbs",
            f"{', '.join(found)} gives itself the rights of others",
            "leave it out, and give the rights themselves",
        )
    groups, resources = texts(rule.get("apiGroups")), texts(rule.get("resources"))
    for (group, resource), message in WAYS.items():
        if group in groups and resource in resources:
            yield "resources", message, f"leave {resource} out"


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
                    f"{subject['name']} is everybody, or has every right for ever",
                    "name the ServiceAccounts or groups of people",
                )


RULES: tuple[Rule, ...] = (
    ObjectRule(
        "roles-without-wildcards",
        Severity.MANDATORY,
        "roles name verbs, resources and groups, never *",
        "a right that nobody thought of when it was given is the one that is misused",
        PRACTICES,
        _of_roles(_wildcards),
    ),
    ObjectRule(
        "roles-without-escalation",
        Severity.MANDATORY,
        "no role may bind, escalate or impersonate, make tokens, reach kubelets by nodes/proxy or "
        "approve certificates",
        "each of these is every right of the cluster by one more step",
        PRACTICES,
        _of_roles(_escalates),
    ),
    ObjectRule(
        "no-cluster-admin",
        Severity.MANDATORY,
        "nothing is bound to cluster-admin, and no role to everybody or system:masters",
        "one program that is taken over is the whole cluster",
        f"{PRACTICES}; NSA/CISA Kubernetes Hardening Guide 1.2",
        _bindings,
    ),
    ObjectRule(
        "secrets-of-one-namespace",
        Severity.MANDATORY,
        "no ClusterRole reads every Secret",
        "tokens and keys of every team are in them",
        PRACTICES,
        _of_roles(_secrets),
    ),
)
"""Rules of access, which ownership joins to its own."""
