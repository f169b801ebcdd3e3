"""What is asked only of objects that a team brings: Foresite answers for its own. A chart may need
any of it, so each is a danger that somebody allows (policies/third_party.toml)."""

from collections.abc import Iterator, Sequence

from policies.embedded import bodies
from policies.messages import say
from policies.pods import Pod, items
from policies.rule import Found, Json, Object, text
from policies.rules.accelerators import is_extended
from policies.rules.access import BINDINGS, EVERYWHERE, ROLES, WRITING, rules_of
from policies.rules.network import POLICIES, WEBHOOKS
from policies.rules.ownership import component_of
from schemas.kubernetes.bodies import mapping, texts
from schemas.kubernetes.tables import read_table

TEAMS = "teams"
"""The component that makes the namespaces of teams, and their limits."""
LIMITS = frozenset({"LimitRange", "NetworkPolicy", "ResourceQuota"})
BETWEEN = read_table(__file__)
"""What stands between writers and the API server, by kind: the field, and what it does."""
DELETING = frozenset({"delete", "deletecollection"})


def _devices_held(pod: Pod) -> Iterator[Found]:
    if pod.ends:
        return
    for each in pod.containers:
        resources = mapping(each.body, "resources")
        for name in dict.fromkeys((*mapping(resources, "requests"), *mapping(resources, "limits"))):
            if is_extended(text(name)):
                yield say("devices-held", f"{each.path}.resources", each.name, name, value=name)
    for index, claim in items(pod.spec, "resourceClaims"):
        named = text(claim.get("resourceClaimTemplateName") or claim.get("resourceClaimName"))
        yield say("claim-held", f"{pod.path}.resourceClaims[{index}]", named, value=named)


def _writes_everywhere(each: Object) -> Iterator[Found]:
    for place, rule, kind in rules_of(each):
        groups, resources = {*texts(rule, "apiGroups")}, {*texts(rule, "resources")}
        named = {name for group, name in EVERYWHERE if {group, "*"} & groups} & resources
        may = (WRITING | DELETING) & {*texts(rule, "verbs")}
        if kind == "ClusterRole" and named and may and not texts(rule, "resourceNames"):
            yield say("writes-everywhere", f"{place}.resources", may, named)


def _roles_of_others(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    makers: dict[tuple[str, ...], set[str]] = {}
    for each in objects:
        for _, body in bodies(each, ROLES):
            role = each.cluster, body["kind"], *_named(body)
            makers.setdefault(role, set()).add(component_of(each))
    for each in objects:
        for place, body in bodies(each, BINDINGS):
            named = mapping(body, "roleRef")
            kind, name = text(named.get("kind")), text(named.get("name"))
            space = _named(body)[0] if kind == "Role" else ""
            found = makers.get((each.cluster, kind, space, name), set())
            if found and component_of(each) not in found:
                whose = " and ".join(sorted(found))
                yield each, say("roles-of-others", f"{place}roleRef.name", kind, name, whose)


def _named(body: Json) -> tuple[str, str]:
    metadata = mapping(body, "metadata")
    return text(metadata.get("namespace")), text(metadata.get("name"))


def _admission_of_others(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, WEBHOOKS):
        for index, hook in items(body, "webhooks"):
            if _of_kubernetes(hook, "rules"):
                yield Found(f"{place}webhooks[{index}].rules", BETWEEN["webhook"])
    for place, body in bodies(each, BETWEEN["kinds"]):
        path, message = BETWEEN["kinds"][body["kind"]]
        part = mapping(body, *path.split("."))
        own = body["kind"] in POLICIES
        if part and (not own or _of_kubernetes(mapping(part, "matchConstraints"), "resourceRules")):
            yield Found(f"{place}{path}", message)


def _of_kubernetes(body: Json, field: str) -> bool:
    """True if rules are over kinds of Kubernetes, or say no group."""
    groups = [group for _, rule in items(body, field) for group in texts(rule, "apiGroups")]
    return not groups or any("." not in e or e.endswith((".k8s.io", "metal3.io")) for e in groups)


def _limits_of_teams(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    named = (each for each in objects if each.kind == "Namespace")
    spaces = {(each.cluster, each.name) for each in named if component_of(each) == TEAMS}
    for each in objects:
        if each.kind in LIMITS and (each.cluster, each.namespace) in spaces:
            yield each, say("limits-of-teams", "spec", each.namespace)
