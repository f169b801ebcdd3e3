"""Policies in the namespaces of teams: what pods may be, and what may be put into a queue."""

from collections.abc import Mapping
from types import MappingProxyType

from components.making.admission import in_force
from components.making.manifest import Json, Manifest, documents, fill, prune
from components.making.told import Told
from components.teams import isolation
from components.teams.names import PRIORITIES_ANNOTATION, metadata, of_any_team
from components.teams.podrules import RULES, VARIABLES
from schemas.facts.quotas import Holder, models_held_by
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN, TEAM_LABEL

PODS = "pods.teams"
PRIORITIES = "tiers.teams"
QUEUES = "queues.teams"
ISOLATION = "isolation.teams"
BINDINGS = "bindings.teams"
ENVIRONMENT = "environment.teams"
_ANY_WRITE = ["CREATE", "UPDATE"]
TOLD = Told(__file__)
_WRITES, _SPEC, _BINDING = documents(__file__)
NEW: Json = {"name": "what-is-judged-is-new", "expression": isolation.CHANGED}


def policies(site: Site) -> list[Manifest]:
    """The policies, each with its binding to the namespaces of teams; none without teams."""
    if not site.scheduling.teams:
        return []
    found = _policy(site, PODS, RULES, VARIABLES)
    found += _policy(site, ISOLATION, isolation.rules(site), isolation.variables(site))
    found += _policy(site, BINDINGS, TOLD.rows("binding"))
    found += _policy(site, ENVIRONMENT, isolation.rules(site, "environment"))
    if models_held_by(site, Holder.KUEUE):
        priorities = TOLD.rows("priority", priorities=PRIORITIES_ANNOTATION)
        found += _policy(site, PRIORITIES, priorities)
    if models_held_by(site, Holder.VOLCANO):
        found += _policy(site, QUEUES, TOLD.rows("queue", team=TEAM_LABEL))
    return found


def _writes(name: str) -> list[Json]:
    """The writes that a policy judges; of isolation those of templates of pods too."""
    found: list[Json] = list(_WRITES[name.partition(".")[0]])
    for group, names in isolation.TEMPLATES if name == ISOLATION else ():
        head = {"apiGroups": [group], "apiVersions": ["*" if "." in group else "v1"]}
        found += [{**head, "operations": _ANY_WRITE, "resources": [each]} for each in names]
    return found


def _policy(
    site: Site, name: str, rules: list[Json], variables: Mapping[str, str] = MappingProxyType({})
) -> list[Manifest]:
    named = [{"name": key, "expression": text} for key, text in variables.items()]
    values: Json = {"writes": _writes(name), "variables": named or None, "rules": rules}
    values |= {"conditions": [NEW] if name == ISOLATION else None, "teams": of_any_team()}
    spec, binding = (prune(fill(each, values)) for each in (_SPEC, _BINDING))
    return in_force(name, metadata(site, f"{name}.{OWN_DOMAIN}"), spec, binding)
