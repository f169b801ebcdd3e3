"""PriorityClasses, and what keeps a team out of those that are not its own.

Sources: Kubernetes 1.34, plugin/pkg/admission/priority (before quotas, it writes the default
PriorityClass into a pod that names none), pkg/quota/v1/evaluator/core/pods.go
(podMatchesScopeFunc).
"""

from components.making.manifest import Json, Manifest, site_object
from components.teams.names import metadata, priorities_of, resource_quotas
from schemas.facts.site import Site

SCOPE = "PriorityClass"
OTHER_PRIORITIES = "other-priorities"
"""The quota of PriorityClasses that are not a team's: whoever is refused reads its name."""


def priority_classes(site: Site) -> list[Manifest]:
    """A PriorityClass for each priority of the site file."""
    return [
        site_object(
            f"PriorityClass/{each.name}",
            "scheduling.k8s.io/v1",
            metadata(site, each.name),
            value=each.value,
            globalDefault=each.default,
            preemptionPolicy="PreemptLowerPriority" if each.preempts else "Never",
        )
        for each in site.scheduling.priorities
    ]


def priority_quotas(site: Site) -> list[Manifest]:
    """For each namespace of a team a quota of no pod of any PriorityClass but its own. It names
    those that are allowed, so that Kubernetes' own and those of others are refused too."""
    found = []
    for team in site.scheduling.teams:
        expressions: list[Json] = [{"scopeName": SCOPE, "operator": "Exists"}]
        if names := priorities_of(site, team):
            expressions.append({"scopeName": SCOPE, "operator": "NotIn", "values": names})
        spec = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": expressions}}
        found += resource_quotas(site, team, OTHER_PRIORITIES, spec, "priorities")
    return found
