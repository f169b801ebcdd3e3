"""Effects of changes to rights and admission: roles, service accounts, policies, webhooks.

None of them touches what runs. More rights harm nothing; a program that loses one may do anything,
as may one whose writes are changed or refused.

Source: Kubernetes 1.34, pkg/apis/rbac/validation/validation.go, plugin/pkg/auth/authorizer/rbac,
pkg/apis/admissionregistration.
"""

from collections.abc import Iterator

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange, kinds
from components.effects.applying import LABELS, effect, not_known
from components.effects.table import read_kinds
from components.making.manifest import Json, Manifest
from schemas.kubernetes.bodies import items, mapping, texts

RBAC = "Kubernetes 1.34, plugin/pkg/auth/authorizer/rbac/rbac.go"
AGGREGATION = "Kubernetes 1.34, pkg/controller/clusterroleaggregation"
ADMISSION = "Kubernetes 1.34, apiserver pkg/admission/plugin/policy, plugin/webhook"
AGGREGATED = "rbac.authorization.k8s.io/aggregate-to-"

NODES_LIVE_BY = {"*", "nodes", "leases", "pods", "bindings", "csinodes", "serviceaccounts"}
"""Resources that a node lives by: one whose status and lease cannot be written counts as failed."""


def keeps_rights(_site: SiteChange, change: ObjectChange, _field: Field) -> bool:
    """True if each rule of a role that was there is still covered by one of the new."""
    new = _rules(change.after)
    return all(any(_covers(wide, each) for wide in new) for each in _rules(change.before))


def _rules(manifest: Manifest | None) -> list[Json]:
    return items(manifest.body, "rules") if manifest else []


def _covers(wide: Json, narrow: Json) -> bool:
    """True if a rule gives all that another one gives."""
    if wide.get("resourceNames") and not narrow.get("resourceNames"):
        return False
    if wide.get("resourceNames") and not _within(narrow, wide, "resourceNames"):
        return False
    keys = ("verbs", "apiGroups", "resources", "nonResourceURLs")
    return all(_within(narrow, wide, key) for key in keys)


def _within(narrow: Json, wide: Json, key: str) -> bool:
    given = texts(wide, key)
    return "*" in given or set(texts(narrow, key)) <= set(given)


def keeps_subjects(_site: SiteChange, change: ObjectChange, _field: Field) -> bool:
    """True if nobody loses a role."""
    both = (items(side.body, "subjects") if side else [] for side in change.both)
    old, new = ({str(sorted(each.items())) for each in those} for those in both)
    return old <= new


def role_labels(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """By its labels a ClusterRole's rules become part of others."""
    labels = (mapping(side.body, "metadata", "labels") for side in change.both if side)
    keys = {key for each in labels for key in each if key.startswith(AGGREGATED)}
    if keys and (field is None or len(field.path) < 3 or field.path[2] in keys):
        why = "a label that aggregates its rules into other roles, or no longer does"
        return not_known(why, AGGREGATION)(site, change, field)
    return LABELS(site, change, field)


def admission(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Checks of writes: nodes and pods must be able to go on writing; of others nothing changes
    before the next write."""
    found: set[str] = set()
    for side, manifest in ((site.before, change.before), (site.after, change.after)):
        policy = manifest
        if manifest is not None and manifest.group_kind == kinds.POLICY_BINDING:
            named = mapping(manifest.body, "spec").get("policyName")
            every = side.objects.values() if side else ()
            policies = (each for each in every if each.group_kind == kinds.POLICY)
            policy = next((each for each in policies if each.key[3] == named), None)
            found |= {"*"} if policy is None else set()
        found |= set(_matched_resources(policy)) if policy else set()
    if not found or found & NODES_LIVE_BY:
        why = "it validates writes of nodes or pods: a refusal may stop them from working"
        return not_known(why, ADMISSION)(site, change, field)
    why = f"it validates later writes of {', '.join(sorted(found))}; what is there stays as it is"
    return [effect(change, field, Impact.NONE, why, ADMISSION)]


def _matched_resources(manifest: Manifest) -> Iterator[str]:
    """The resources whose writes a policy or a webhook configuration judges, without subresource;
    ``*`` where it does not say."""
    rules = items(mapping(manifest.body, "spec", "matchConstraints"), "resourceRules")
    for each in items(manifest.body, "webhooks"):
        rules = [*rules, *items(each, "rules")]
    for rule in rules:
        yield from (each.partition("/")[0] for each in texts(rule, "resources") or ["*"])


_TABLE = read_kinds(globals())
ACCESS = _TABLE.kinds
OPENED = _TABLE.judges["opened"]
