"""Asks the API servers of a site, before anything rests on them: are they there, do they serve what
the site makes, may this account write it. Nothing is changed by it. ``pulumi preview`` does not:
against a server that is dead, or has none of the kinds, it ends well (pulumi 3.255, provider 4.25).
What was asked of whom, and what was not, is said, never implied."""

import os
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from components.making.manifest import Manifest, Target
from components.site import site_objects
from foresite.command import UsageError, few
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, NoAnswerError, RefusedError
from foresite.delivery.servers.prerequisites import missing_namespaces, missing_settings
from foresite.delivery.servers.served import Kind, kinds_of, missing_kinds
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.stated import Stated
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.model.texts import nearest

_THREADS = 8
_SHOWN = 6
_UNCHANGED = "nothing was changed"
NO_KUBECTL = "not probed: no kubectl"

Place = tuple[tuple[str, str], str]
"""A kind by apiVersion and name, and a namespace; empty where the kind has none."""


class Need(IntEnum):
    """How much is asked; each includes what is above it."""

    ANSWER = 1
    """The server answers."""
    KINDS = 2
    """It serves the kinds that the site makes, with the fields that the site sets."""
    WRITE = 3
    """The account may create and change them, and delete those that leave the site."""


class Objects(NamedTuple):
    """The objects that a server is to have, and those that are to leave it."""

    made: list[Manifest]
    leaving: list[Manifest]


class Asked(NamedTuple):
    """The questions to a server: ``checked`` in a few words, each of which it answered with yes;
    ``unchecked`` are those that nobody asked it, and why."""

    context: str
    server: str
    checked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A line for a person."""
        where = f"{self.context} ({self.server})" if self.server else self.context
        asked = f"asked: {', '.join(self.checked)}" if self.checked else ""
        return f"{where}: {'; '.join(each for each in (asked, *self.unchecked) if each)}"


def probe(engine: Engine, site: Site, need: Need, leaving: Iterable[Stated] = ()) -> list[Asked]:
    """Ask each API server that the site names; ``leaving`` are objects that are to be deleted.
    Raises UsageError with all that is wrong, and what to do."""
    contexts = contexts_of(site)
    kubectl = kubectl_of(engine)
    if kubectl is None:
        return [Asked(context, "", (), (NO_KUBECTL,)) for context in contexts.values()]
    try:
        servers = kubectl.contexts()
    except NoAnswerError as error:
        raise UsageError(f"kubectl cannot read {kubectl.where()}: {error}; {_UNCHANGED}") from None
    faults = (missing_context(site, kubectl, each, servers) for each in contexts.values())
    wrong = [*filter(None, faults)]
    found: list[Asked] = []
    leaving = list(leaving)
    for target, context in contexts.items() if not wrong else ():
        gone = [Manifest(str(each), each.body) for each in leaving if each.target is target]
        objects = Objects(objects_on(site, target), gone)
        asked, problems = probe_one(kubectl, context, servers[context], objects, need)
        found.append(asked)
        wrong += problems
    if wrong:
        raise UsageError("\n  ".join([f"{site.name}: {_UNCHANGED}", *wrong]))
    return found


def contexts_of(site: Site) -> dict[Target, str]:
    """The kubeconfig contexts that a site names; the own cluster of one that ends is not asked."""
    found = {Target.MANAGEMENT: site.file.management}
    if site.file.cluster.context and site.file.decommission is None:
        found[Target.SITE] = site.file.cluster.context
    return found


def needed_kubectl() -> Kubectl:
    """The kubectl of whoever calls. Raises UsageError without one."""
    if (found := kubectl_of(None)) is None:
        raise UsageError("install kubectl, which asks the management cluster")
    return found


def kubectl_of(engine: Engine | None) -> Kubectl | None:
    """The kubectl of Pulumi's environment, or of whoever calls without Pulumi; None without one."""
    environment = engine.environment if engine else os.environ
    found = (engine and engine.kubectl) or shutil.which("kubectl", path=environment.get("PATH"))
    return Kubectl(Path(found), environment) if found else None


def objects_on(site: Site, target: Target) -> list[Manifest]:
    """The objects of a site on one of its clusters."""
    made = (each for component in site_objects(site).values() for each in component)
    return [each for each in made if each.target is target]


def missing_context(site: Site, kubectl: Kubectl, context: str, servers: dict[str, str]) -> str:
    """The fault where the kubeconfig has no such context; empty where it has it."""
    if context in servers:
        return ""
    near = nearest(context, servers)
    has = f"did you mean {near}?" if near else f"it has {', '.join(sorted(servers)) or 'none'}"
    field = "management" if context == site.file.management else "cluster.context"
    return (
        f"{kubectl.where()} has no context {context}, which sites/{site.name}.yaml names as {field}"
        f" ({has}): log in to that cluster, or point KUBECONFIG at the file that has it"
    )


def probe_one(
    kubectl: Kubectl, context: str, address: str, objects: Objects, need: Need
) -> tuple[Asked, list[str]]:
    """The answers of one server, and its problems."""
    where = f"{context} ({address})"
    try:
        with ApiServer(kubectl, context) as server:
            server.get("/readyz")
            has = (server.get("/version") or {}).get("gitVersion", "of an unknown version")
            asked = Asked(context, address, (f"answers, Kubernetes {has}",))
            return _kinds(server, asked, objects, need)
    except NoAnswerError as error:
        fix = "see that it runs and is reached from here, then run the same command again"
        return Asked(context, address), [f"{where} does not answer: {error}; {fix}"]
    except RefusedError as error:
        return Asked(context, address), [f"{where} refuses: {error}; {_fix(error.status)}"]


def _fix(status: int) -> str:
    if status == 401:
        return "the login has expired or is not known there: log in again, then run it again"
    return "ask for the rights of docs/ci-accounts.yaml, or log in as somebody who has them"


def _kinds(
    server: ApiServer, asked: Asked, objects: Objects, need: Need
) -> tuple[Asked, list[str]]:
    manifests = objects.made
    if need < Need.KINDS or not manifests:
        return asked, []
    kinds = kinds_of(manifests)
    with ThreadPoolExecutor(_THREADS) as pool:
        problems, unknown = missing_kinds(server, kinds, manifests, pool.map)
        if problems:
            return asked, [f"{server.context}: {each}" for each in problems]
        checked = [f"serves {len(kinds)} kinds with the fields of {len(manifests)} objects"]
        if unknown:
            checked = [f"serves {len(kinds)} kinds"]
        denied = _missing_rights(server, kinds, objects, pool.map)
    wrong, unseen = missing_settings(server, manifests)
    absent, unasked = missing_namespaces(server, manifests)
    if wrong := [*wrong, *absent]:
        return asked, [f"{server.context}: {each}" for each in wrong]
    if denied and need is Need.WRITE:
        return asked, [f"{server.context}: {denied}; {_fix(403)}"]
    if denied:
        unknown = [*unknown, f"not tried by it: {denied}"]
    else:
        more = ", and delete what leaves" if objects.leaving else ""
        checked.append(f"the account may make and change them{more}")
    unchecked = (*unknown, *unseen, *unasked)
    return asked._replace(checked=(*asked.checked, *checked), unchecked=unchecked), []


def _missing_rights(
    server: ApiServer, kinds: dict[tuple[str, str], Kind], objects: Objects, run: Any
) -> str:
    """The rights that the account lacks, in words, if any. Server-side apply of a new object needs
    ``create`` besides ``patch`` (kubernetes 1.34, apiserver/pkg/endpoints/handlers/patch.go)."""
    going = {key: each for key, each in kinds_of(objects.leaving).items() if key not in kinds}
    if going:
        # For their plurals; one that is not served has no objects.
        missing_kinds(server, going, [], run)
    known = {**kinds, **going}
    made, leaving = _places(objects.made), _places(objects.leaving)
    asked = [
        (verb, place)
        for verb, places in (("patch", made), ("create", made), ("delete", leaving))
        for place in sorted(places)
        if place[0] in known and known[place[0]].plural
    ]

    def may(question: tuple[str, Place]) -> bool:
        verb, (key, namespace) = question
        return server.may(verb, known[key].group, known[key].plural, namespace)

    refused: dict[str, list[str]] = {}
    for (verb, place), allowed in zip(asked, run(may, asked), strict=True):
        kind, namespace = known[place[0]], place[1]
        if not allowed and (verb != "create" or not _all_there(server, kind, made[place])):
            name = f"{kind.plural} in {namespace}" if namespace else kind.plural
            refused.setdefault(verb, []).append(name)
    # Those with the same resources together.
    verbs = group_by_key((tuple(names), verb) for verb, names in refused.items())
    said = [f"{' or '.join(each)} {few(names, _SHOWN)}" for names, each in verbs.items()]
    return f"the account may not {', nor '.join(said)}" if said else ""


def _places(manifests: Iterable[Manifest]) -> dict[Place, list[Manifest]]:
    """The objects by kind and namespace."""
    return group_by_key(((each.key[:2], each.key[2]), each) for each in manifests)


def _all_there(server: ApiServer, kind: Kind, manifests: Iterable[Manifest]) -> bool:
    """True if a kind's objects are there, as a namespace that somebody else made for the site."""
    paths = (f"{kind.path(each.key[2])}/{each.key[3]}" for each in manifests)
    try:
        return all(server.get(path) is not None for path in paths)
    except RefusedError:
        return False  # it may not be looked at, so nobody knows
