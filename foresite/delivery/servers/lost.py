"""Applied objects that a cluster no longer has: counted before anything rests on it.

Pulumi compares a site with its state, not with the cluster: what somebody deleted by hand, or an
etcd that was lost, it does not notice. A list of names for each kind does, and costs little.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from components.making.manifest import SITE_LABEL, Target
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, RefusedError
from foresite.delivery.servers.inventory import list_objects, served_kinds, versions
from foresite.delivery.stack.live import Key
from foresite.delivery.stack.stated import Ident, Stated, ident

_THREADS = 8
_NAMES_ALONE = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class Look(NamedTuple):
    """The objects that a cluster has, of those that the state records.

    ``same`` are still those that were made, ``other`` are of the same names and were created again
    by somebody, ``lost`` are not there. ``unseen`` says why nobody looked; empty where somebody
    did.
    """

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
    """The objects left in each cluster of a site. Raises NoAnswerError where one is silent."""
    found = []
    for target, context in contexts.items():
        mine = [
            each
            for each in state.values()
            if each.target is target
            and (each.body["metadata"].get("labels") or {}).get(SITE_LABEL) == site
        ]
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
        kinds = [each for each in served_kinds(server, wanted).kinds if each.key in wanted]
        with ThreadPoolExecutor(_THREADS) as pool:
            for found in pool.map(
                lambda kind: list_objects(server, kind, site, _NAMES_ALONE), kinds
            ):
                there |= {ident(target, body): body["metadata"]["uid"] for body in found}
    except RefusedError as error:
        return Look(server.context, unseen=str(error))
    same: list[Stated] = []
    other: list[Stated] = []
    lost: list[Stated] = []
    for each in mine:
        uid = there.get(each.ident)
        row = lost if uid is None else same if each.uid in ("", uid) else other
        row.append(each)
    return Look(server.context, tuple(same), tuple(other), tuple(lost))
