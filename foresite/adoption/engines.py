"""Who else writes an adopted cluster's objects, in which order they stop, and who would prune. What
cannot be asked is unknown, and no yes: a person says that such a one has stopped."""

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from components.making.manifest import FIELD_MANAGER, Json
from components.making.told import Told
from foresite.adoption.bundle import title
from foresite.adoption.refusals import sentences
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError, RefusedError
from schemas.kubernetes.bodies import identity, items, mapping

TOLD = Told(__file__)
_ENGINES = TOLD.rows("engines")
"""Those who write objects on behalf of persons, and how each is stopped."""
_CONTROLLERS = re.compile(
    r"manager|clusterctl|(capi|capm3|cluster-api|baremetal|metal3|ip-address)[a-z0-9-]*"
)
"""Cluster API, its providers and the Bare Metal Operator, by the names of their programs."""
_SETS = "/apis/argoproj.io/v1alpha1/namespaces/{}/applicationsets"
_NAMED = ("group", "kind", "namespace", "name")


class Engine(NamedTuple):
    """One that writes for persons: how it is stopped, and why it may not be left running yet."""

    name: str
    managers: tuple[str, ...]
    stop: str
    open: tuple[str, ...] = ()


def owners(body: Json) -> list[Json]:
    """The entries of managedFields that are about the object itself, not its status."""
    found = items(mapping(body, "metadata"), "managedFields")
    return [each for each in found if not each.get("subresource")]


def of_engines(body: Json) -> list[Json]:
    """Those of ``owners`` that engines made, on behalf of persons."""
    return [each for each in owners(body) if engine_of(str(each.get("manager"))) is not None]


def engine_of(manager: str) -> Json | None:
    """The row of an engine that writes for persons; None for controllers and Foresite."""
    if manager == FIELD_MANAGER:
        return None
    return next((row for row in _ENGINES if re.fullmatch(row["manager"], manager)), None)


def engines_of(server: ApiServer, live: Iterable[Json], stopped: Collection[str]) -> list[Engine]:
    """The engines in the order in which they stop."""
    managed: dict[str, list[Json]] = {}
    for body in live:
        for name in dict.fromkeys(str(each.get("manager")) for each in owners(body)):
            if name != FIELD_MANAGER and (engine_of(name) or not _CONTROLLERS.fullmatch(name)):
                managed.setdefault(name, []).append(body)
    found = []
    for row in _ENGINES:
        mine = {m: each for m, each in managed.items() if engine_of(m) is row}
        bodies = [body for each in mine.values() for body in each]
        asks = row["prunes"] and not set(mine) <= set(stopped)
        why = _asked(server, row, bodies, next(iter(mine))) if mine and asks else []
        found += [Engine(row["name"], tuple(mine), row["stop"], tuple(why))] * bool(mine)
    for name, bodies in managed.items():
        if engine_of(name) is None:
            why = [TOLD.say("stranger", manager=name, title=title(bodies[0]))]
            stop = "find out who it is, and stop it if it applies these objects"
            found.append(Engine("unknown", (name,), stop, () if name in stopped else tuple(why)))
    return found


def _asked(server: ApiServer, row: Json, bodies: list[Json], manager: str) -> list[str]:
    """Why an engine would prune, as far as its own objects say it; unknown where they do not."""
    why = "it has no object that says so"
    if "path" in row:
        try:
            answer = server.get(row["path"]) or {}
        except (NoAnswerError, RefusedError) as error:
            answer, why = {}, str(error)
        kind = str(answer.get("kind")).removesuffix("List")
        wanted = {identity(body) for body in bodies}
        mine = [{"kind": kind, **e} for e in items(answer, "items") if _listed(e) & wanted]
        left = wanted.difference(*map(_listed, mine))
        if mine and not left:  # else another one applies the others, on another cluster, say
            every = [*(above for each in mine for above in _makers(server, each)), *mine]
            return list(dict.fromkeys(said for each in every for said in sentences(each, TOLD)))
    return [TOLD.say("unknown", why=why, manager=manager)]


def _makers(server: ApiServer, engine: Json) -> Iterator[Json]:
    """The ApplicationSets that make an Application, and put back what it lacks; one that may not be
    read has no field that says it does not."""
    space = mapping(engine, "metadata").get("namespace")
    for each in items(mapping(engine, "metadata"), "ownerReferences"):
        if each.get("kind") == "ApplicationSet":
            found: Json | None = None
            with contextlib.suppress(NoAnswerError, RefusedError):
                found = server.get(f"{_SETS.format(space)}/{quote(str(each.get('name')))}")
            yield {**(found or {"metadata": {"name": each.get("name")}}), "kind": each["kind"]}


def _listed(engine: Json) -> set[tuple[str, ...]]:
    """The objects that an engine's object lists as its own, as ``identity`` has them."""
    status = mapping(engine, "status")
    flux = [str(e.get("id")).split("_") for e in items(mapping(status, "inventory"), "entries")]
    argo = (tuple(str(e.get(key) or "") for key in _NAMED) for e in items(status, "resources"))
    return {*((*each[2:], *each[:2]) for each in flux), *argo}
