"""The definition of a rule of a cluster, and the specs that an API server takes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

Json = dict[str, Any]

MANAGEMENT, SITE = "management", "site"
DOMAIN = "foresite.dev"
RELEASE_ANNOTATION = f"{DOMAIN}/may-be-deleted"
"""On an object of a site in its management cluster, or on the site's namespace there: why it may be
deleted. An empty reason is none."""


class Facts(NamedTuple):
    """The facts of a site that the rules need.

    ``remediator``: the user name of the program that marks nodes with faults; ``resetter``: of the
    one that asks for resets by a label; each empty where there is none. ``operators``: namespaces
    that Foresite makes for programs of others, which choose the images of their pods themselves.
    """

    site: str
    remediator: str = ""
    resetter: str = ""
    operators: tuple[str, ...] = ()


class Matched(NamedTuple):
    """Writes that a rule judges: of these resources of an API group. Of custom resources every
    version, as an older one that is still served would be a way around it."""

    group: str
    resources: tuple[str, ...]
    operations: tuple[str, ...]
    versions: tuple[str, ...] = ("v1",)


class Validation(NamedTuple):
    """CEL that is true of a good write, and CEL for what a person reads of another one."""

    expression: str
    message: str


@dataclass(frozen=True, slots=True)
class ClusterRule:
    """A rule that an API server holds.

    ``where`` are the objects that the binding is for (MatchResources); ``params`` the paramKind
    of the policy and the paramRef of the binding. What cannot be judged is refused
    (failurePolicy Fail): each expression has a value for whatever the schemas let through.
    """

    name: str
    cluster: str
    what: str
    why: str
    source: str
    matches: tuple[Matched, ...]
    validations: tuple[Validation, ...]
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    where: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    params: Sequence[Json] = ()


def policy(rule: ClusterRule) -> Json:
    """The spec of the rule's ValidatingAdmissionPolicy."""
    spec: Json = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [each.group],
                    "apiVersions": list(each.versions),
                    "operations": list(each.operations),
                    "resources": list(each.resources),
                }
                for each in rule.matches
            ]
        },
        "validations": [
            {
                "expression": each.expression,
                "messageExpression": each.message,
                "reason": "Forbidden",
            }
            for each in rule.validations
        ],
    }
    if rule.variables:
        named = rule.variables.items()
        spec["variables"] = [{"name": name, "expression": text} for name, text in named]
    if rule.params:
        spec["paramKind"] = rule.params[0]
    return spec


def binding(rule: ClusterRule, *, advisory: bool = False) -> Json:
    """The spec of the binding but for the policy's name; ``advisory``: what breaks the rule is let
    through, with a warning and an entry in the audit log."""
    spec: Json = {"validationActions": ["Warn", "Audit"] if advisory else ["Deny"]}
    if rule.where:
        spec["matchResources"] = dict(rule.where)
    if rule.params:
        spec["paramRef"] = rule.params[1]
    return spec


def object_name(rule: str, cluster: str, site: str = "") -> str:
    """The name of a rule's policy and binding. A management cluster has those of several sites."""
    return f"foresite-{site}-{rule}" if cluster == MANAGEMENT else f"{rule}.{DOMAIN}"
