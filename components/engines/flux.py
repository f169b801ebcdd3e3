"""Flux's objects for a fleet (flux.yaml): on each management cluster a source, a Kustomization for
each cluster, and a barrier for each ring that has sites there.

A barrier depends on the sites of its ring, and the sites of the next ring on the barrier: an edge
or two a site, where sites that depend on sites would need their product. Names of what is no site
have a dot, which no site's name has.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from components.engines.fleet import Fleet, Member
from components.making.manifest import SITE_LABEL, Json, Target, documents, fill, prune
from components.making.told import Told
from schemas.kubernetes.node_labels import OWN_DOMAIN

ENGINE = "flux"
TOLD = Told(__file__)
MANAGEMENT, RING = "fleet.management", "fleet.ring-{}"
SOAKED = (
    "dep.status.history[0].lastReconciledStatus == 'ReconciliationSucceeded' && "
    "timestamp(dep.status.history[0].lastReconciled) - "
    "timestamp(dep.status.history[0].firstReconciled) >= duration('{}m')"
)
"""True once Flux has found the same objects well for some minutes (fluxcd/pkg apis/meta,
history.go). An expression takes the place of Flux's own comparison of revisions, unless a feature
gate is on (kustomize-controller v1.9.4, checkDependencies): so it is a dependency of its own,
beside one without it."""
(_NAMESPACE, _SOURCE, _ROOT, _MANAGEMENT, _SITE, _OWN, _ROOM, _BARRIER, _NOTE) = documents(__file__)


def files(fleet: Fleet) -> dict[str, list[Json]]:
    """The objects by file. The root applies what is in ``fleet``; a person applies ``source.yaml``
    once."""
    found: dict[str, list[Json]] = {}
    said = {"namespace": fleet.manifests.namespace}
    for name, itself, rings in fleet.by_management():
        top, before = f"{name}/fleet", list[Json]()
        found[f"{top}/source.yaml"] = _source(fleet, name, itself, rings)
        if itself:
            path = _path(fleet, itself.name, Target.MANAGEMENT.value)
            found[f"{top}/management.yaml"] = [
                _made(_MANAGEMENT, **said, path=path, health=itself.health)
            ]
            before = [{"name": MANAGEMENT}]
        for number, sites in rings.items():
            for each in sites:
                found[f"{top}/sites/{each.name}.yaml"] = list(_site(fleet, each, before))
            below, ring = f"{name}/rings/{number}", {**said, "ring": RING.format(number)}
            path, edges = _path(fleet, ENGINE, below), [*before, *_edges(fleet, sites)]
            found[f"{top}/rings/{number}.yaml"] = [_made(_BARRIER, **ring, path=path, before=edges)]
            names = [
                " ".join(e.name for e in sites if e.waited is waited) for waited in (True, False)
            ]
            found[f"{below}/configmap.yaml"] = [
                _made(_NOTE, **ring, waited=names[0], others=names[1])
            ]
            before = [{"name": ring["ring"]}]
    return found


def advice(fleet: Fleet) -> Iterator[str]:
    """What Flux does not do with this fleet."""
    found = {name: ", ".join(map(str, rings)) for name, _, rings in fleet.by_management() if rings}
    if len(found) > 1:
        yield TOLD.say("apart", rings="; ".join(f"{name} {each}" for name, each in found.items()))
    yield TOLD.say("late")


def _made(template: Json, **values: Any) -> Json:
    """An object without what is empty."""
    return prune(fill(template, {key: each or None for key, each in values.items()}))


def _path(fleet: Fleet, *below: str) -> str:
    return f"./{fleet.folder(*below)}"


def _source(
    fleet: Fleet, name: str, itself: Member | None, rings: Mapping[int, list[Member]]
) -> list[Json]:
    """Where the manifests come from, without what is of other management clusters: each
    Kustomization unpacks all of it, each time. Of two patterns the later one holds."""
    there = sorted(each.name for sites in rings.values() for each in sites)
    taken = [
        fleet.folder(each)
        for each in (f"{ENGINE}/{name}", *([itself.name] if itself else ()), *there)
    ]
    given = fleet.manifests
    values = {
        "namespace": given.namespace,
        "repository": given.repository,
        "branch": given.branch,
        "credentials": {"name": given.secret} if given.secret else None,
        "ignore": "".join(f"{each}\n" for each in ("/*", *(f"!/{folder}" for folder in taken))),
        "path": _path(fleet, ENGINE, name, "fleet"),
    }
    return [_made(each, **values) for each in (_NAMESPACE, _SOURCE, _ROOT)]


def _site(fleet: Fleet, site: Member, before: list[Json]) -> Iterator[Json]:
    """A site's Kustomizations: one for each cluster that it has objects on."""
    labels = {SITE_LABEL: site.name, f"{OWN_DOMAIN}/ring": str(site.ring)}
    source = fleet.manifests.namespace
    ignore = [
        {
            "target": {"group": re.escape(group), "kind": kind},
            "paths": [f"/{each.replace('.', '/')}" for each in fields],
        }
        for (group, kind), fields in site.ignore.items()
    ]
    yield _made(
        _SITE,
        site=site.name,
        namespace=source,
        labels=labels,
        before=before,
        path=_path(fleet, site.name, Target.MANAGEMENT.value),
        ignore=ignore,
        health=site.health,
    )
    if Target.SITE in site.folders:
        yield _made(_ROOM, namespace=site.namespace)
        yield _made(
            _OWN,
            site=site.name,
            namespace=site.namespace,
            labels=labels,
            before=[{"name": site.name, "namespace": source}],
            source=source,
            path=_path(fleet, site.name, Target.SITE.value),
            kubeconfig=f"{site.cluster}-kubeconfig",
        )


def _edges(fleet: Fleet, sites: Iterable[Member]) -> Iterator[Json]:
    """The dependencies of a barrier on its ring's sites."""
    minutes = fleet.rings.soak_minutes
    for each in sites:
        if each.waited:
            yield {"name": each.name}
            if Target.SITE in each.folders:
                yield {"name": each.name, "namespace": each.namespace}
            if minutes:
                yield {"name": each.name, "readyExpr": SOAKED.format(minutes)}
