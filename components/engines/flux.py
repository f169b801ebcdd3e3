"""Flux's objects for a fleet (flux.yaml): on each management cluster a source, a Kustomization for
each cluster, and a barrier for each ring that has sites there.

A barrier depends on the sites of its ring, and the sites of the next ring on the barrier: five
edges a site, where sites that depend on sites would need their product. Names of what is no site
have a dot, which no site's name has.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from components.engines.fleet import Fleet, Member, named
from components.making.manifest import Json, Target, documents, fill, labels, prune
from components.making.told import Told

ENGINE = "flux"
TOLD = Told(__file__)
(_NAMESPACE, _SOURCE, _ROOT, _MANAGEMENT, _SITE, _OWN, _ROOM, _BARRIER, _NOTE) = documents(__file__)


def files(fleet: Fleet) -> dict[str, list[Json]]:
    """The objects by file. The root applies what is in ``fleet``; a person applies ``source.yaml``
    once."""
    found: dict[str, list[Json]] = {}
    for name, itself, rings in fleet.by_management():
        top, before = f"{name}/fleet", [{"name": "fleet.root"}]
        taken = [e.name for e in itself] + sorted(e.name for sites in rings.values() for e in sites)
        found[f"{top}/source.yaml"] = _source(fleet, name, taken)
        for each in itself:
            path = fleet.folder(each.name, Target.MANAGEMENT.value)
            body = _made(_MANAGEMENT, path=path, health=each.health)
            found[f"{top}/management.yaml"], before = [body], [{"name": body["metadata"]["name"]}]
        for number, sites in rings.items():
            for each in sites:
                found[f"{top}/sites/{each.name}.yaml"] = list(_site(fleet, each, before))
            ring = {"ring": f"fleet.ring-{number}"}
            path = f"{name}/rings/{number}"
            edges = [*before, *_edges(fleet, sites)]
            body = _made(_BARRIER, **ring, path=fleet.folder(ENGINE, path), before=edges)
            waited = [" ".join(e.name for e in sites if e.waited is w) for w in (True, False)]
            note = _made(_NOTE, **ring, waited=waited[0], others=waited[1])
            found[f"{top}/rings/{number}.yaml"] = [body]
            found[f"{path}/configmap.yaml"] = [note]
            before = [{"name": ring["ring"]}]
    return found


def advice(fleet: Fleet) -> Iterator[str]:
    """What Flux does not do with this fleet."""
    every = ((name, ", ".join(map(str, rings))) for name, _, rings in fleet.by_management())
    found = [f"{name} ({rings})" for name, rings in every if rings]
    yield from named(TOLD, "apart", found if len(found) > 1 else [])
    yield TOLD.say("late")


def _made(template: Json, **values: Any) -> Json:
    """An object without what is empty."""
    return prune(fill(template, {key: each or None for key, each in values.items()}))


def _source(fleet: Fleet, name: str, taken: Iterable[str]) -> list[Json]:
    """Where the manifests come from, without what is of other management clusters: each
    Kustomization unpacks all of it, each time. Of two patterns the later one holds."""
    given, folders = fleet.manifests, (f"{ENGINE}/{name}", *taken)
    values = given.model_dump(include={"repository", "branch"}) | {
        "credentials": given.secret and {"name": given.secret},
        "ignore": "/*\n" + "".join(f"!/{fleet.folder(each)}\n" for each in folders),
        "path": fleet.folder(ENGINE, name, "fleet"),
    }
    return [_made(each, **values) for each in (_NAMESPACE, _SOURCE, _ROOT)]


def _site(fleet: Fleet, site: Member, before: list[Json]) -> Iterator[Json]:
    """A site's Kustomizations: one for each cluster that it has objects on."""
    said = {"site": site.name, "labels": labels(site.name, ENGINE), "number": str(site.ring)}
    ignore = [
        {"target": {"group": re.escape(group), "kind": kind}, "paths": fields}
        for (group, kind), fields in site.ignore.items()
    ]
    path, own = (fleet.folder(site.name, each.value) for each in Target)
    yield _made(_SITE, **said, before=before, path=path, health=site.health, ignore=ignore)
    if Target.SITE in site.places:
        where, config = {"namespace": site.namespace}, f"{site.cluster}-kubeconfig"
        yield _made(_ROOM, **where)
        yield _made(_OWN, **said, **where, path=own, kubeconfig=config)


def _edges(fleet: Fleet, sites: Iterable[Member]) -> Iterator[Json]:
    """The dependencies of a barrier on its ring's sites."""
    minutes = fleet.rings.soak_minutes
    for each in (each for each in sites if each.waited):
        yield {"name": each.name}
        if Target.SITE in each.places:
            yield {"name": each.name, "namespace": each.namespace}
        if minutes:
            yield {"name": each.name, "readyExpr": TOLD.say("soaked", minutes=minutes)}
