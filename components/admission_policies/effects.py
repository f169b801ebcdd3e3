"""Effects of policy changes on machines: nothing to existing ones. Each effect names the writes
that are refused from now on.

Ours let controllers, kubelets, Cluster API and Pulumi do their work (policies/cluster). What a rule
of the site's own says nobody knows before: one that judges what nodes live by, outside namespaces
of teams, is unknown.
"""

from collections.abc import Iterator

from components.admission_policies.names import OWN_SUFFIX, WHAT
from components.effects import Effects, Field, Impact, ObjectChange, Side, SiteChange, kinds
from components.effects.access import ADMISSION, OPENED, admission
from components.effects.applying import Kind, effect, rules
from components.making.manifest import Json, Manifest
from components.source import site_of
from schemas.kubernetes.bodies import items, mapping, texts


def judging(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A policy or its binding that comes or changes."""
    name = change.one.name.partition("/")[2]
    sides = ((site.before, change.before), (site.after, change.after))
    own = change.one.body["metadata"]["name"].endswith(OWN_SUFFIX)
    if own and not all(_of_teams(side, name) for side, manifest in sides if manifest):
        for each in admission(site, change, field):
            yield each._replace(why=f"{each.why} ({_summary(change.one)})")
        return
    bound = [texts(spec, "validationActions") for spec in _bindings(site.after, name)]
    action = "refuses" if all("Deny" in each for each in bound) else "warns of"
    why = f"from now on the API server {action} later writes that break it: {_summary(change.one)}"
    yield effect(change, field, Impact.NONE, f"{why}; what is there stays", ADMISSION)


def _summary(manifest: Manifest) -> str:
    """The condition of a policy, in its own words."""
    return str(mapping(manifest.body, "metadata", "annotations").get(WHAT, ""))


def _bindings(side: Side | None, name: str) -> Iterator[Json]:
    """The spec of a rule's binding on one side."""
    for each in side.objects.values() if side else ():
        if each.group_kind == kinds.POLICY_BINDING and each.name == f"{each.kind}/{name}":
            yield mapping(each.body, "spec")


def _of_teams(side: Side | None, name: str) -> bool:
    """True if a rule of the site's own holds in namespaces of teams alone."""
    teams = site_of(side).scheduling.teams if side else []
    theirs = {space for team in teams for space in team.namespaces}
    found = [_bound_namespaces(spec) for spec in _bindings(side, name)]
    return bool(found) and all(chosen and chosen <= theirs for chosen in found)


def _bound_namespaces(spec: Json) -> set[str]:
    """The namespaces that a binding names; none where it leaves some out."""
    selector = mapping(spec, "matchResources", "namespaceSelector")
    return {
        value
        for each in items(selector, "matchExpressions")
        if each.get("operator") == "In"
        for value in texts(each, "values")
    }


_KINDS = (kinds.POLICY, kinds.POLICY_BINDING)
RULES = rules(*(Kind(each, judging, OPENED, (("spec", judging),)) for each in _KINDS))
"""For the kinds of this component; Kubernetes' rules come behind them."""
