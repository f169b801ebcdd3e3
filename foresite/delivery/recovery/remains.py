"""The remains of an interrupted run: the state, the cluster and the site side by side. Names what
is found, and decides nothing: foresite/commands/recover.py does."""

import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import reduce
from operator import getitem
from typing import Any, NamedTuple

from components.making.manifest import FLUX_GUARD, Json, Manifest, Target
from foresite.delivery.differences import Difference, field_differences
from foresite.delivery.servers.inventory import applied_fields, ours
from foresite.delivery.stack.stated import Ident, State, Stated, ident

_ALWAYS = {"apiVersion", "kind"}

Leftovers = dict[tuple[str, ...], Any]
"""Fields of ours without a place in the site: what each says now, by its path. A step of a path is
a key; a field within a list is told by the list, whole."""


class Remains(NamedTuple):
    """Objects by what became of them."""

    unmade: tuple[Ident, ...]
    """The site has them, and neither state nor cluster does."""
    unrecorded: tuple[Ident, ...]
    """The site and the cluster have them, the state does not."""
    unlike: Mapping[Ident, tuple[Difference, ...]]
    """The cluster has them otherwise than the site."""
    left: Mapping[Ident, Leftovers]
    """They have fields of a run that the site does not have any more."""
    lost: tuple[Stated, ...]
    """The site and the state have them, the cluster does not."""
    gone: tuple[Stated, ...]
    """The state alone has them."""
    to_go: tuple[Stated, ...]
    """The state and the cluster have them, the site does not: the next ``up`` deletes them."""
    orphans: tuple[Ident, ...]
    """The cluster alone has them."""
    other: tuple[Stated, ...]
    """There by name, and not as applied: created again, restored, or of another cluster."""
    met: frozenset[Target]
    """Clusters that have any of the very objects that were applied."""
    kept: tuple[Ident, ...]
    """Old templates, which stay as long as machines may refer to them."""

    @property
    def open(self) -> set[Ident]:
        """Objects of the site that the next ``up`` has something to do for."""
        return {*self.unmade, *self.unrecorded, *self.unlike, *self.left}


def remains(
    site: Iterable[Manifest], state: State, live: Mapping[Ident, Json], seen: set[Target]
) -> Remains:
    """Compare what the site has, the state knows, and the clusters of ``seen`` hold."""
    wanted = {ident(each.target, each.body): each for each in site if each.target in seen}
    # Those that took another's place come after it.
    known = sorted(state.held, key=lambda each: not each.leaving)
    held = {each.ident: each for each in known if each.target in seen}
    orphans = list(_strangers(live, {*wanted, *held}))
    kept_kinds = {each.kind for each in wanted.values() if each.keep}
    kept_kinds |= {each.ident.kind for each in held.values() if each.keep}
    kept = tuple(each for each in orphans if _stays(live[each], kept_kinds))
    both = {each: wanted[each] for each in wanted if each in live}
    unlike = {each: tuple(field_differences(one, live[each])) for each, one in both.items()}
    left = {each: _leftover_fields(one, live[each]) for each, one in both.items()}
    uids = {each: live[each]["metadata"].get("uid", "") for each in held if each in live}
    # Without a uid nobody can tell whether an object is the very one that the state knows.
    same = {each for each, uid in uids.items() if held[each].uid in ("", uid)}
    gone = {each: found for each, found in held.items() if each not in wanted}
    return Remains(
        unmade=tuple(each for each in wanted if each not in live and each not in held),
        unrecorded=tuple(each for each in both if each not in held),
        unlike={each: some for each, some in unlike.items() if some},
        left={each: some for each, some in left.items() if some},
        lost=tuple(found for each, found in held.items() if each in wanted and each not in live),
        gone=tuple(found for each, found in gone.items() if each not in live),
        to_go=tuple(found for each, found in gone.items() if each in live),
        orphans=tuple(each for each in orphans if each not in kept),
        kept=kept,
        other=tuple(held[each] for each in uids if each not in same),
        met=frozenset(held[each].target for each in same),
    )


def _strangers(live: Mapping[Ident, Json], known: set[Ident]) -> Iterator[Ident]:
    """Objects of ours that nobody knows, each once where one server plays both clusters."""
    uids = {live[each]["metadata"].get("uid") for each in known if each in live}
    for each, body in live.items():
        uid = body["metadata"].get("uid")
        going = "deletionTimestamp" in body["metadata"]
        if each not in known and uid not in uids and ours(body) and not going:
            uids.add(uid)
            yield each


def _stays(body: Json, kinds: set[str]) -> bool:
    """True if an object was made to stay when another takes its place (decision 0011)."""
    annotations = body["metadata"].get("annotations") or {}
    template = body["kind"] in kinds or body["kind"].endswith("Template")
    return template and FLUX_GUARD.items() <= annotations.items()


def _leftover_fields(manifest: Manifest, body: Json) -> Leftovers:
    """Fields of a killed run. One that a controller owns is sent as the state has it, and stays."""
    owned = tuple(f"{each}." for each in manifest.ignore)
    found = leftovers(body, manifest.body).items()
    return {path: value for path, value in found if not ".".join((*path, "")).startswith(owned)}


def leftovers(live: Json, wanted: Json) -> Leftovers:
    """The parts of a live object that are ours and not wanted: fields that the site has no more.
    ``pulumi refresh`` does not see them: it looks only at fields that the state has (provider 4.25,
    ``pruneLiveState`` in provider.go). A change that was killed halfway and then taken back in Git
    would stay in the cluster. The API server knows who owns a field: so they are found."""
    return {
        path: reduce(getitem, path, live)
        for fields in applied_fields(live)
        for path in _unwanted_paths(fields, wanted, ())
    }


def restore_fields(inputs: Json, found: Leftovers) -> Json:
    """The inputs of a state with fields that the cluster has: the next ``up`` takes them away."""
    body = deepcopy(inputs)
    for (*above, last), value in found.items():
        into = body
        for key in above:
            into = into.setdefault(key, {})
        into[last] = deepcopy(value)
    return body


def _unwanted_paths(fields: Json, wanted: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of the fields of a FieldsV1 that ``wanted`` lacks (structured-merge-diff v6,
    serialize-pe.go: ``f:`` a key, ``k:`` an item by its keys, ``v:`` by its value)."""
    for step, below in fields.items():
        kind, _, name = step.partition(":")
        if kind == "f" and not (not path and name in _ALWAYS):
            if not isinstance(wanted, dict) or name not in wanted:
                yield (*path, name)
            else:
                yield from _unwanted_paths(below, wanted[name], (*path, name))
        elif kind in ("k", "v") and isinstance(wanted, list):
            item = _item(kind, json.loads(name), wanted)
            if item is None:
                yield path
            elif any(True for _ in _unwanted_paths(below, item, ())):
                yield path  # the list as a whole


def _item(kind: str, sought: Any, wanted: list[Any]) -> Any:
    """The item of a list that a step means, if any; keys that it leaves out are defaults."""
    if kind == "v":
        return {} if sought in wanted else None
    for each in wanted:
        if isinstance(each, dict) and all(each.get(k, v) == v for k, v in sought.items()):
            return each
    return None
