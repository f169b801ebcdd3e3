"""What a cluster no longer has of what was applied to it: counted before anything rests on it.

Pulumi compares a site with its state, not with the cluster: what somebody deleted by hand, or an
etcd that was lost, it does not notice. A list of names for each kind does, and costs little.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import quote

from components.manifest import SITE_LABEL, Target
from foresite.servers.apiserver import ApiServer, Kubectl, RefusedError
from foresite.stack.live import Key
from foresite.stack.stated import Stated

_THREADS = 8
_NAMES_ALONE = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

Place = tuple[str, str, str, str]


class Look(NamedTuple):
    """What a cluster has of the objects that the state says it has.

    ``same`` are still those that were made, ``other`` are of the same names and were made anew by
    somebody, ``lost`` are not there. ``unseen`` says why nobody looked; empty where somebody did.
    """

    context: str
    same: tuple[Stated, ...] = ()
    other: tuple[Stated, ...] = ()
    lost: tuple[Stated, ...] = ()
    unseen: str = ""

    @property
    def foreign(self) -> bool:
        """Whether it has none of them: it was emptied, or is another cluster."""
        return bool(self.other or self.lost) and not self.same


def look(
    kubectl: Kubectl | None, site: str, contexts: Mapping[Target, str], state: Mapping[Key, Stated]
) -> list[Look]:
    """What each cluster of a site has left. Raises NoAnswerError where one does not answer."""
    found = []
    for target, context in contexts.items():
        mine = [each for each in state.values() if each.target is target and _ours(each, site)]
        if kubectl is None:
            found.append(Look(context, unseen="no kubectl"))
        elif mine:
            with ApiServer(kubectl, context) as server:
                found.append(_look(server, site, mine))
    return found


def _ours(each: Stated, site: str) -> bool:
    return (each.body["metadata"].get("labels") or {}).get(SITE_LABEL) == site


def _look(server: ApiServer, site: str, mine: list[Stated]) -> Look:
    kinds = sorted({(str(each.body["apiVersion"]), each.kind) for each in mine})
    there: dict[Place, str] = {}
    try:
        with ThreadPoolExecutor(_THREADS) as pool:
            for names in pool.map(lambda kind: _names(server, site, *kind), kinds):
                there |= names
    except RefusedError as error:
        return Look(server.context, unseen=str(error))
    same: list[Stated] = []
    other: list[Stated] = []
    lost: list[Stated] = []
    for each in mine:
        uid = there.get(each.place)
        row = lost if uid is None else same if each.uid in ("", uid) else other
        row.append(each)
    return Look(server.context, tuple(same), tuple(other), tuple(lost))


def _names(server: ApiServer, site: str, api: str, kind: str) -> dict[Place, str]:
    """The site's objects of a kind, each with its uid; none where the kind is not served."""
    group = api.rpartition("/")[0]
    for version in (api, *_others(server, group, api)):
        base = f"/apis/{version}" if group else f"/api/{version}"
        rows = (server.get(base) or {}).get("resources", ())
        plural = next((r["name"] for r in rows if r["kind"] == kind and "/" not in r["name"]), "")
        if plural:
            selector = quote(f"{SITE_LABEL}={site}", safe="")
            listed = server.get(f"{base}/{plural}?labelSelector={selector}", _NAMES_ALONE) or {}
            return dict(_placed(group, kind, listed.get("items") or ()))
    return {}


def _others(server: ApiServer, group: str, api: str) -> list[str]:
    """Other versions of a group: what was applied in one is there in all."""
    versions = (server.get(f"/apis/{group}") or {}).get("versions", ()) if group else ()
    return [each["groupVersion"] for each in versions if each["groupVersion"] != api]


def _placed(
    group: str, kind: str, items: Iterable[dict[str, dict[str, str]]]
) -> Iterable[tuple[Place, str]]:
    for item in items:
        metadata = item["metadata"]
        place = (group, kind, metadata.get("namespace", ""), metadata["name"])
        yield place, metadata["uid"]
