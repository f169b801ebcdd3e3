"""Roles of people, and who has them: rules as data (people.toml), subjects from the site file."""

from components.making.manifest import Json, Manifest, by_kind, site_object
from components.making.rights import API, GROUP, READ, bind, rule
from components.making.told import Told
from components.teams.names import metadata
from schemas.facts.racks import domain_settings
from schemas.facts.site import Site
from schemas.model.access import Access, People
from schemas.model.scheduling import Team

VERBS = {"read": READ, "write": ["create", "delete", "deletecollection", *READ, "patch", "update"]}
TOLD = Told(__file__)


def people(site: Site) -> list[Manifest]:
    """The roles that somebody has, and their bindings; nothing where the site names nobody."""
    staff = site.file.access or Access()
    who: list[tuple[str, str, People | Team]] = [
        ("researcher", space, team) for team in site.scheduling.teams for space in team.namespaces
    ]
    who += [("viewer", "", staff.viewers), ("operator", "", staff.operators)]
    there = [each for each in who if each[2].groups or each[2].users]
    roles = dict.fromkeys(role for role, _, _ in there)
    return [*(_role(site, each) for each in roles), *(_binding(site, *each) for each in there)]


def rules(site: Site, role: str) -> list[Json]:
    """The rules of a role on kinds that the site has; an operator may do all that a viewer may."""
    kinds = {"", *(backend.kind.value for backend in site.scheduling.backends)}
    kinds |= {"compute-domains"} if domain_settings(site) else set()
    rows = TOLD.rows(role) + (TOLD.rows("viewer") if role == "operator" else [])
    return [
        rule(row["group"], row["resources"], VERBS.get(str(row["verbs"])) or row["verbs"])
        for row in rows
        if row.get("backend", row.get("with", "")) in kinds
    ]


def _role(site: Site, role: str) -> Manifest:
    named = metadata(site, f"foresite-{role}")
    return site_object(f"ClusterRole/{role}", API, named, rules=rules(site, role))


def _binding(site: Site, role: str, namespace: str, who: People | Team) -> Manifest:
    """A binding in a namespace, or in the whole cluster where none is given."""
    every = (*(("Group", name) for name in who.groups), *(("User", name) for name in who.users))
    subjects = [{"apiGroup": GROUP, "kind": kind, "name": name} for kind, name in every]
    name = f"foresite-{role}"
    body = bind("ClusterRole", name, metadata(site, name, namespace), *subjects)
    body["kind"] = "RoleBinding" if namespace else "ClusterRoleBinding"
    return by_kind([body], namespace or role)[0]
