"""Who else writes an adopted cluster's objects, in which order they stop, and who would prune.

What cannot be asked is unknown, and unknown is no yes: a person says that such a one has stopped.
Sources: kustomize-controller v1.9.4, docs/spec/v1/kustomizations.md; Argo CD 3.2,
docs/user-guide/app_deletion.md and sync-options.md.
"""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from components.making.manifest import FIELD_MANAGER, Json
from foresite.adoption.bundle import engines, title
from foresite.adoption.kept import engine_of, owners
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError, RefusedError
from schemas.kubernetes.bodies import items, mapping, texts

_CONTROLLERS = re.compile(
    r"manager|clusterctl|(capi|capm3|cluster-api|baremetal|metal3|ip-address)[a-z0-9-]*"
    r"|kube-controller-manager"
)
"""Cluster API, its providers and the Bare Metal Operator, by the names of their programs."""
_FLUX = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
_ARGO = "/apis/argoproj.io/v1alpha1/applications"
_FINALIZER = "resources-finalizer.argocd.argoproj.io"


class Engine(NamedTuple):
    """One that writes for persons: how it is stopped, and why it may not be left running yet."""

    name: str
    managers: tuple[str, ...]
    objects: int
    stop: str
    open: tuple[str, ...] = ()


def others(live: Iterable[Json]) -> dict[str, list[Json]]:
    """The objects of each manager that is no controller and not Foresite."""
    found: dict[str, list[Json]] = {}
    for body in live:
        for name in dict.fromkeys(str(each.get("manager")) for each in owners(body)):
            if name != FIELD_MANAGER and (engine_of(name) or not _CONTROLLERS.fullmatch(name)):
                found.setdefault(name, []).append(body)
    return found


def engines_of(server: ApiServer, live: Iterable[Json], stopped: Collection[str]) -> list[Engine]:
    """The engines in the order in which they stop."""
    found, managed = [], others(live)
    for row in engines():
        mine = {m: each for m, each in managed.items() if engine_of(m) is row}
        if not mine:
            continue
        bodies = [body for each in mine.values() for body in each]
        why: list[str] = []
        if row["prunes"] and not set(mine) <= set(stopped):
            why = _asked(server, row["name"], bodies)
        found.append(Engine(row["name"], tuple(mine), len(bodies), row["stop"], tuple(why)))
    for manager, bodies in managed.items():
        if engine_of(manager) is None:
            known = manager in stopped
            why = [] if known else [f"nobody knows what {manager} is, such as {title(bodies[0])}"]
            stop = "find out who it is, and stop it if it applies these objects"
            found.append(Engine("unknown", (manager,), len(bodies), stop, tuple(why)))
    return found


def _asked(server: ApiServer, name: str, bodies: list[Json]) -> list[str]:
    """Why an engine would prune, as far as its own objects say it; unknown where they do not."""
    look = {"Flux (Kustomization)": (_FLUX, _flux), "Argo CD (Application)": (_ARGO, _argo)}
    unknown = "whether it prunes is not known; once it is stopped, say so with --stopped MANAGER"
    if name not in look:
        return [unknown]
    path, judge = look[name]
    try:
        listed = items(server.get(path) or {}, "items")
    except (NoAnswerError, RefusedError) as error:
        return [f"{unknown} ({error})"]
    mine = [each for each in listed if _has(each, bodies)]
    if not mine:
        return [f"{unknown} (no object of its own on this cluster lists them)"]
    where = ("/".join(each["metadata"][key] for key in ("namespace", "name")) for each in mine)
    return [f"{at}: {why}" for at, each in zip(where, mine, strict=True) for why in judge(each)]


def _has(engine: Json, bodies: list[Json]) -> bool:
    """True if an engine's object lists one of the objects as its own."""
    status, wanted = mapping(engine, "status"), set[tuple[str, ...]]()
    for body in bodies:
        group = body["apiVersion"].rpartition("/")[0]
        wanted.add((body["metadata"]["namespace"], body["metadata"]["name"], group, body["kind"]))
    flux = (str(e.get("id")).split("_") for e in items(mapping(status, "inventory"), "entries"))
    keys = ("namespace", "name", "group", "kind")
    argo = (tuple(str(e.get(key)) for key in keys) for e in items(status, "resources"))
    return not wanted.isdisjoint(map(tuple, flux)) or not wanted.isdisjoint(argo)


def _flux(engine: Json) -> list[str]:
    spec = mapping(engine, "spec")
    why = [f"spec.prune is {spec.get('prune')}"] if spec.get("prune") is not False else []
    if spec.get("deletionPolicy") != "Orphan":
        why.append("spec.deletionPolicy is not Orphan")
    return why + ([] if spec.get("suspend") is True else ["it is not suspended"])


def _argo(engine: Json) -> list[str]:
    finalizers = texts(mapping(engine, "metadata"), "finalizers")
    why = [f"it has the finalizer {e}" for e in finalizers if e.startswith(_FINALIZER)]
    automated = "automated" in mapping(engine, "spec", "syncPolicy")
    return why + (["it syncs by itself (spec.syncPolicy.automated)"] if automated else [])
