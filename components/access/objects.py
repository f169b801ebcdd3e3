"""Roles of people, and who has them: data (roles.toml), bound to groups and users of the site file.

Researchers get a ClusterRole by a RoleBinding in each namespace of their team, so it holds nowhere
else. Staff get theirs in the whole cluster.

Sources: Kubernetes 1.34, pkg/registry/core/pod/rest/subresources.go (exec by a WebSocket is a
``get``); kubectl 1.34, pkg/drain (cordon patches a node, drain creates evictions).
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from components.making.manifest import Json, Manifest, Target, annotate, labels
from components.making.rights import API, GROUP, READ, bind, rule
from schemas.facts.site import Site
from schemas.model.access import People

COMPONENT = "access"
RESEARCHER, VIEWER, OPERATOR = "researcher", "viewer", "operator"
WRITE = ["create", "delete", "deletecollection", *READ, "patch", "update"]


def objects(site: Site) -> list[Manifest]:
    """The roles that somebody has, and their bindings; nothing where the site names nobody."""
    spaces = {
        space: People(groups=team.groups, users=team.users)
        for team in site.scheduling.teams
        for space in team.namespaces
        if team.groups or team.users
    }
    made = []
    if spaces:
        made = [_role(site, RESEARCHER, (RESEARCHER,))]
        made += [_binding(site, RESEARCHER, who, space) for space, who in spaces.items()]
    staff = site.file.access
    for role, who, parts in (
        (VIEWER, staff and staff.viewers, (VIEWER,)),
        (OPERATOR, staff and staff.operators, (VIEWER, OPERATOR)),
    ):
        if who and (who.groups or who.users):
            made += [_role(site, role, parts), _binding(site, role, who)]
    return annotate(made)


def rules(site: Site, part: str) -> Iterator[Json]:
    """The rules of a part of a role, as far as the site's schedulers know its kinds."""
    kinds = {backend.kind.value for backend in site.scheduling.backends}
    for row in _rows()[part]:
        if row.get("backend", "") in {"", *kinds}:
            verbs = {"read": READ, "write": WRITE}.get(str(row["verbs"]), row["verbs"])
            yield rule(row["group"], row["resources"], verbs)


@cache
def _rows() -> Json:
    return tomllib.loads(Path(__file__).with_name("roles.toml").read_text("utf-8"))


def _metadata(site: Site, name: str, namespace: str = "") -> Json:
    where = {"namespace": namespace} if namespace else {}
    return {"name": name, **where, "labels": labels(site.name, COMPONENT)}


def _role(site: Site, name: str, parts: tuple[str, ...]) -> Manifest:
    found = [each for part in parts for each in rules(site, part)]
    metadata = _metadata(site, f"foresite-{name}")
    body = {"apiVersion": API, "kind": "ClusterRole", "metadata": metadata, "rules": found}
    return Manifest(f"ClusterRole/{name}", body, target=Target.SITE)


def _binding(site: Site, role: str, who: People, namespace: str = "") -> Manifest:
    """A binding in a namespace, or in the whole cluster where none is given."""
    every = (*(("Group", name) for name in who.groups), *(("User", name) for name in who.users))
    subjects = [{"apiGroup": GROUP, "kind": kind, "name": name} for kind, name in every]
    metadata = _metadata(site, f"foresite-{role}", namespace)
    body = bind("ClusterRole", f"foresite-{role}", metadata, *subjects)
    body["kind"] = "RoleBinding" if namespace else "ClusterRoleBinding"
    return Manifest(f"{body['kind']}/{namespace or role}", body, target=Target.SITE)
