"""Policies in the namespaces of teams: what pods may be, and what may be put into a queue.

Sources: Kubernetes 1.34, apiserver pkg/admission/plugin/policy; Kueue 0.19.2,
apis/kueue/v1beta2/workload_types.go (a Workload's priority is the job's choice, and counts before
any pod is there that a quota could refuse); Volcano 1.15.1, PodGroup (any queue may be named).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from components.making.admission import in_force
from components.making.manifest import Json, Manifest, prune
from components.teams import isolation
from components.teams.names import PRIORITIES_ANNOTATION, metadata, of_any_team
from components.teams.podrules import VARIABLES, Rule, rules
from schemas.facts.quotas import Holder, models_held_by
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN, TEAM_LABEL


class Judged(NamedTuple):
    """The writes that a policy judges: the API group and version, and operations by resource."""

    group: str
    version: str
    writes: Mapping[str, Sequence[str]]

    def rules(self) -> list[Json]:
        """The rules of a policy that match these writes."""
        return [
            {
                "apiGroups": [self.group],
                "apiVersions": [self.version],
                "operations": list(operations),
                "resources": [resource],
            }
            for resource, operations in self.writes.items()
        ]


PODS = "pods.teams"
PRIORITIES = "tiers.teams"
QUEUES = "queues.teams"
ISOLATION = "isolation.teams"
BINDINGS = "bindings.teams"
ENVIRONMENT = "environment.teams"
# Of a pod that runs nothing changes that is judged, but that containers are added to it; its
# controllers have to be able to write it still when it is judged in another way.
NEW_PODS = Judged("", "v1", {"pods": ["CREATE"], "pods/ephemeralcontainers": ["UPDATE"]})
_ANY_WRITE = ("CREATE", "UPDATE")
ALL_PODS = Judged("", "v1", {"pods": _ANY_WRITE, "pods/ephemeralcontainers": ["UPDATE"]})
NEW_BINDINGS = Judged("", "v1", {"pods/binding": ["CREATE"], "bindings": ["CREATE"]})
VALUES = Judged("", "v1", {"configmaps": _ANY_WRITE, "secrets": _ANY_WRITE})
NEW: Json = {"name": "what-is-judged-is-new", "expression": isolation.CHANGED}
WORKLOADS = Judged("kueue.x-k8s.io", "v1beta2", {"workloads": _ANY_WRITE})
POD_GROUPS = Judged("scheduling.volcano.sh", "v1beta1", {"podgroups": _ANY_WRITE})

PRIORITY_RULE: Rule = (
    (
        "!has(object.spec.priorityClassRef)"
        " || (oldObject != null"
        " && oldObject.spec.?priorityClassRef == object.spec.?priorityClassRef)"
        " || object.spec.priorityClassRef.name in "
        f"namespaceObject.metadata.?annotations[?'{PRIORITIES_ANNOTATION}'].orValue('').split(',')"
    ),
    "the job names a PriorityClass that is not the team's",
)
QUEUE_RULE: Rule = (
    f"object.spec.?queue.orValue('default') == namespaceObject.metadata.labels['{TEAM_LABEL}']",
    "the job names a queue that is not the team's",
)


def policies(site: Site) -> list[Manifest]:
    """The policies, each with its binding to the namespaces of teams; none without teams."""
    if not site.scheduling.teams:
        return []
    found = _policy(site, PODS, [NEW_PODS], rules(), VARIABLES)
    found += _policy(site, ISOLATION, _isolated(), isolation.rules(site), isolation.variables(site))
    found += _policy(site, BINDINGS, [NEW_BINDINGS], [isolation.BINDING_RULE])
    found += _policy(site, ENVIRONMENT, [VALUES], isolation.environment_rules(site))
    if models_held_by(site, Holder.KUEUE):
        found += _policy(site, PRIORITIES, [WORKLOADS], [PRIORITY_RULE])
    if models_held_by(site, Holder.VOLCANO):
        found += _policy(site, QUEUES, [POD_GROUPS], [QUEUE_RULE])
    return found


def _isolated() -> list[Judged]:
    """Pods, also when they are changed, and templates of pods."""
    kinds = [(group, dict.fromkeys(names, _ANY_WRITE)) for group, names in isolation.templates()]
    return [ALL_PODS, *(Judged(group, "*" if "." in group else "v1", w) for group, w in kinds)]


def _policy(
    site: Site,
    name: str,
    judged: Sequence[Judged],
    rules: Sequence[Rule],
    variables: Mapping[str, str] = MappingProxyType({}),
) -> list[Manifest]:
    spec: Json = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule for each in judged for rule in each.rules()]},
        "matchConditions": [NEW] if name == ISOLATION else None,
        "variables": [{"name": key, "expression": text} for key, text in variables.items()] or None,
        "validations": [{"expression": text, "message": message} for text, message in rules],
    }
    binding: Json = {
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": of_any_team()},
    }
    return in_force(name, metadata(site, f"{name}.{OWN_DOMAIN}"), prune(spec), binding)
