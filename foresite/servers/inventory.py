"""Every object of a site that a cluster holds, whatever its kind: found by the site's label.

An object is ours where our field manager applied it: others copy labels, as a Service's to its
EndpointSlices. All kinds are asked for, as a run that was killed may have made one of a kind that
neither the state nor the site has by now.
"""

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import urlencode

from components.manifest import FIELD_MANAGER, SITE_LABEL, Json, Target
from foresite.servers.apiserver import ApiServer, Kubectl, RefusedError
from foresite.stack.engine import EngineError
from foresite.stack.statefile import Ident, ident

PATIENCE = 60.0
"""Seconds for the whole look: a server that has just started makes room for each kind first."""
_THREADS = 8
_DISCOVERY = ",".join(
    f"application/json;v={version};g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
    for version in ("v2", "v2beta1")
)
"""All kinds of all groups in one answer (Kubernetes 1.26 and newer)."""
_NEVER = {"Event", "Lease", "ComponentStatus"}

Wanted = Mapping[tuple[str, str], str]
"""The version of a kind, by group and kind, in which the site writes it."""


class Kind(NamedTuple):
    """A kind that can be listed, and in which version."""

    api: str
    kind: str
    plural: str

    @property
    def path(self) -> str:
        """Where its objects are listed."""
        return f"/{'apis' if '/' in self.api else 'api'}/{self.api}/{self.plural}"


class Inventory(NamedTuple):
    """The objects of a site in one cluster, and kinds that this account may not list."""

    objects: dict[Ident, Json]
    unseen: tuple[str, ...] = ()


def take(kubectl: Kubectl, context: str, target: Target, site: str, wanted: Wanted) -> Inventory:
    """Look at one cluster. Raises NoAnswerError, and RefusedError where a kind that the site makes
    may not be listed."""
    with ApiServer(kubectl, context, PATIENCE) as server, ThreadPoolExecutor(_THREADS) as pool:
        kinds = list(_kinds(server, wanted))
        listed = list(pool.map(lambda kind: _listed(server, kind, site, wanted), kinds))
    objects = {ident(target, body): body for found in listed if found for body in found}
    unseen = tuple(kind.kind for kind, found in zip(kinds, listed, strict=True) if found is None)
    return Inventory(objects, unseen)


def ours(body: Json) -> bool:
    """Whether Foresite's runs applied an object, and no controller copied it."""
    return any(
        each.get("manager") == FIELD_MANAGER and each.get("operation") == "Apply"
        for each in body["metadata"].get("managedFields", ())
    )


def versions(bodies: Iterable[Json]) -> dict[tuple[str, str], str]:
    """The version in which each kind is written, by group and kind."""
    return {
        (body["apiVersion"].rpartition("/")[0], body["kind"]): body["apiVersion"] for body in bodies
    }


def _kinds(server: ApiServer, wanted: Wanted) -> Iterator[Kind]:
    for root in ("/api", "/apis"):
        for group in (server.get(root, _DISCOVERY) or {}).get("items", ()):
            served: dict[str, list[Kind]] = {}
            for kind in _of_group(group):
                served.setdefault(kind.kind, []).append(kind)
            name = group["metadata"].get("name", "")
            for called, choices in served.items():
                written = wanted.get((name, called))
                yield next((each for each in choices if each.api == written), choices[0])


def _of_group(group: Json) -> Iterator[Kind]:
    """What a group serves and lists, its preferred version first."""
    name = group["metadata"].get("name", "")
    for version in group["versions"]:
        api = "/".join(filter(None, (name, version["version"])))
        for each in version.get("resources", ()):
            kind = each["responseKind"]["kind"]
            if "list" in each["verbs"] and kind not in _NEVER:
                yield Kind(api, kind, each["resource"])


def _listed(server: ApiServer, kind: Kind, site: str, wanted: Wanted) -> list[Json] | None:
    """The objects of a kind; None where they may not be listed."""
    query = urlencode({"labelSelector": f"{SITE_LABEL}={site}"})
    try:
        answer = server.get(f"{kind.path}?{query}") or {}
    except RefusedError as error:
        if error.status in (403, 405) and (kind.api.rpartition("/")[0], kind.kind) not in wanted:
            return None
        raise
    # A list says once for all what its items are.
    return [{**item, "apiVersion": kind.api, "kind": kind.kind} for item in answer.get("items", ())]


def delete(kubectl: Kubectl, context: str, body: Json) -> None:
    """Ask for the deletion of an object, which its finalizers may take a while for.

    Raises EngineError.
    """
    metadata = {
        key: body["metadata"][key] for key in ("name", "namespace") if key in body["metadata"]
    }
    named = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata}
    done = subprocess.run(
        [str(kubectl.path), "--context", context, "delete", "--filename", "-", "--ignore-not-found",
         "--wait=false", "--cascade=background"],
        env=dict(kubectl.environment), input=json.dumps(named), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise EngineError(f"kubectl: {done.stderr.strip().removeprefix('Error from server ')}")
