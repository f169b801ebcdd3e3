"""Every object of a site that a cluster holds, whatever its kind: found by the site's label. An
object is ours where our field manager applied it: others copy labels, as a Service's to its
EndpointSlices. All kinds are asked for, as a run that was killed may have made one of a kind that
neither the state nor the site has by now. Applied objects that are there no longer are counted."""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from components.making.manifest import FIELD_MANAGER, SITE_LABEL, Json, Target
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, NoAnswerError, RefusedError
from foresite.delivery.servers.served import Kind, find_groups, group_kinds, group_name, is_stale
from foresite.delivery.stack.engine import EngineError
from foresite.delivery.stack.live import Key
from foresite.delivery.stack.stated import Ident, Stated, ident
from schemas.kubernetes.bodies import mapping

PATIENCE = 60.0
"""Seconds for the whole look: a server that has just started makes room for each kind first."""
_THREADS = 8
_NAMES_ALONE = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_NEVER = {"Event", "Lease", "ComponentStatus"}
_LIMIT = 10.0
"""Seconds for a kind that only an orphan may be of: the server behind an APIService may be gone."""
_DENIED = (403, 405)

DENIED = "this account may not list them"
NO_ANSWER = "they do not answer"
"""Why kinds or groups were not looked at."""

Wanted = Mapping[tuple[str, str], str]
"""The version of a kind, by group and kind, in which the site writes it."""


class Inventory(NamedTuple):
    """The objects of a site in one cluster; and what was not looked at, by why: kinds, or groups
    of which nothing can be asked."""

    objects: dict[Ident, Json]
    unseen: Mapping[str, tuple[str, ...]] = {}


def take(kubectl: Kubectl, context: str, target: Target, site: str, wanted: Wanted) -> Inventory:
    """Look at one cluster. Raises NoAnswerError and RefusedError, of kinds that the site or its
    state has; what may only hold orphans is left out where it does not answer."""
    unseen: dict[str, list[str]] = {}
    objects: dict[Ident, Json] = {}
    with ApiServer(kubectl, context, PATIENCE) as server, ThreadPoolExecutor(_THREADS) as pool:
        kinds, stale = served_kinds(server, wanted)
        if stale:
            unseen[NO_ANSWER] = stale
        answers = pool.map(lambda kind: _read_objects(server, kind, site, wanted), kinds)
        for kind, found in zip(kinds, answers, strict=True):
            if isinstance(found, str):
                unseen.setdefault(found, []).append(kind.title)
            else:
                objects |= {ident(target, body): body for body in found}
    return Inventory(objects, {why: tuple(what) for why, what in unseen.items()})


def applied_fields(body: Json) -> list[Json]:
    """The fields of an object that Foresite's runs applied, as its API server keeps account."""
    every = body["metadata"].get("managedFields", ())
    mine = (e for e in every if (e.get("manager"), e.get("operation")) == (FIELD_MANAGER, "Apply"))
    return [each.get("fieldsV1") or {} for each in mine]


def ours(body: Json) -> bool:
    """True if Foresite's runs applied an object, and no controller copied it."""
    return bool(applied_fields(body))


def versions(bodies: Iterable[Json]) -> dict[tuple[str, str], str]:
    """The version in which each kind is written, by group and kind."""
    return {
        (body["apiVersion"].rpartition("/")[0], body["kind"]): body["apiVersion"] for body in bodies
    }


def served_kinds(server: ApiServer, wanted: Wanted) -> tuple[list[Kind], list[str]]:
    """The kinds to list, and of stale groups, whose own server (as an APIService's) does not
    answer, those wanted. NoAnswerError where one of these is unknown: it is not taken for lost."""
    every = find_groups(server, wanted)
    stale = [group_name(each) for each in every if is_stale(each)]
    kinds = [kind for each in every for kind in _choose_versions(each, wanted)]
    return [kind for kind in kinds if kind.group not in stale or kind.key in wanted], stale


def _choose_versions(group: Json, wanted: Wanted) -> Iterable[Kind]:
    """Each kind of a group, once: in the version in which the site has it, or the preferred."""
    chosen: dict[str, Kind] = {}
    for each in group_kinds(group):
        if each.kind not in chosen or each.api == wanted.get(each.key):
            chosen[each.kind] = each
    return (each for kind, each in chosen.items() if kind not in _NEVER)


def _read_objects(server: ApiServer, kind: Kind, site: str, wanted: Wanted) -> list[Json] | str:
    """The objects of a kind; why they are not seen, where the site can do without."""
    if kind.key in wanted:
        return list_objects(server, kind, site)
    try:
        return list_objects(server, kind, site, limit=_LIMIT)
    except (NoAnswerError, RefusedError) as error:
        denied = isinstance(error, RefusedError) and error.status in _DENIED
        return DENIED if denied else NO_ANSWER


def list_objects(
    server: ApiServer,
    kind: Kind,
    site: str,
    accept: str = "application/json",
    limit: float | None = None,
) -> list[Json]:
    """The site's objects of a kind. Raises NoAnswerError and RefusedError."""
    query = urlencode({"labelSelector": f"{SITE_LABEL}={site}"})
    answer = server.get(f"{kind.path()}?{query}", accept, limit) or {}
    named = {"apiVersion": kind.api, "kind": kind.kind}  # a list says it once for all
    return [{**item, **named} for item in answer.get("items") or ()]


def delete(kubectl: Kubectl, context: str, body: Json) -> None:
    """Ask for the deletion of an object, which its finalizers may delay. Raises EngineError."""
    metadata = {k: body["metadata"][k] for k in ("name", "namespace") if k in body["metadata"]}
    named = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata}
    how = ("--filename", "-", "--ignore-not-found", "--wait=false", "--cascade=background")
    done = kubectl.run("--context", context, "delete", *how, given=json.dumps(named))
    if done.returncode:
        raise EngineError(f"kubectl: {done.stderr.strip().removeprefix('Error from server ')}")


class Look(NamedTuple):
    """The objects that a cluster has, of those that the state records: the ``same`` that were made,
    ``other`` ones of their names, created again by somebody, ``lost``: not there. ``unseen``: why
    nobody looked; empty where somebody did."""

    context: str
    same: tuple[Stated, ...] = ()
    other: tuple[Stated, ...] = ()
    lost: tuple[Stated, ...] = ()
    unseen: str = ""

    @property
    def foreign(self) -> bool:
        """True if it has none of them: it was emptied, or is another cluster."""
        return bool(self.other or self.lost) and not self.same


def look(
    kubectl: Kubectl | None, site: str, contexts: Mapping[Target, str], state: Mapping[Key, Stated]
) -> list[Look]:
    """The objects left in each cluster of a site, by a list of names for each kind. Pulumi compares
    a site with its state, and misses what was deleted by hand, or an etcd that was lost. Raises
    NoAnswerError where one is silent."""
    found, every = [], state.values()
    own = [e for e in every if mapping(e.body, "metadata", "labels").get(SITE_LABEL) == site]
    for target, context in contexts.items():
        mine = [each for each in own if each.target is target]
        if kubectl is None:
            found.append(Look(context, unseen="no kubectl"))
        elif mine:
            with ApiServer(kubectl, context) as server:
                found.append(_look(server, target, site, mine))
    return found


def _look(server: ApiServer, target: Target, site: str, mine: list[Stated]) -> Look:
    wanted = versions(each.body for each in mine)
    there: dict[Ident, str] = {}
    try:
        kinds = [each for each in served_kinds(server, wanted)[0] if each.key in wanted]
        with ThreadPoolExecutor(_THREADS) as pool:
            ask = partial(list_objects, server, site=site, accept=_NAMES_ALONE)
            for found in pool.map(ask, kinds):
                there |= {ident(target, body): body["metadata"]["uid"] for body in found}
    except RefusedError as error:
        return Look(server.context, unseen=str(error))
    rows: dict[str, list[Stated]] = {"same": [], "other": [], "lost": []}
    for each in mine:
        uid = there.get(each.ident)
        rows["lost" if uid is None else "same" if each.uid in ("", uid) else "other"].append(each)
    return Look(server.context, tuple(rows["same"]), tuple(rows["other"]), tuple(rows["lost"]))
