"""The steps of a preview, each with what explains it: the difference between the clusters and the
objects that the site has. A step that nothing explains is unexpected, and a person has to look."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from components.making.manifest import Json, Manifest
from foresite.command import few
from foresite.delivery.recovery.remains import Remains
from foresite.delivery.stack.live import Key, key_of, type_of
from foresite.delivery.stack.stated import PROVIDER, Ident, State, Stated, ident

_OWN = ("pulumi:pulumi:Stack", "foresite:components:")
"""Resources that are Pulumi's alone: no cluster has anything of them."""
_REPLACING = {"create-replacement", "replace", "delete-replaced", "discard-replaced"}
_SHOWN = 3


class Step(NamedTuple):
    """A step that the next ``up`` takes; ``why`` is empty where nothing explains it."""

    op: str
    object: str
    why: str

    def __str__(self) -> str:
        return f"{self.op} {self.object}: {self.why or 'nothing explains it'}"


def explain_steps(
    steps: Iterable[Json], wanted: Mapping[Key, Manifest], state: State, found: Remains
) -> Iterator[Step]:
    """The steps for objects of clusters, by those of the site, of the state, and the findings."""
    by_urn = {each.urn: each for each in state.held if not each.leaving}
    leaving = {each.urn for each in state.held if each.leaving}
    for step in steps:
        op, urn = step["op"], step["urn"]
        type_, name = type_of(urn), urn.rpartition("::")[2]
        if type_.startswith(_OWN):
            continue
        if type_ == PROVIDER:
            if op not in ("create", "update"):
                yield Step(op, f"provider {name}", "")
            continue
        key, held = key_of(urn), by_urn.get(urn)
        manifest = wanted.get(key) if key else None
        named = ident(manifest.target, manifest.body) if manifest else held.ident if held else name
        why = _why(op, manifest, held, found)
        if urn in leaving and ("delete" in op or "discard" in op):
            why = "another has taken its place"
        yield Step(op, str(named), why)


def _why(op: str, manifest: Manifest | None, held: Stated | None, found: Remains) -> str:
    if manifest is None:
        goes = held is not None and op in ("delete", "discard", *_REPLACING)
        stays = "; it stays in the cluster" if held and held.keep else ""
        return f"the site does not have it any more{stays}" if goes else ""
    wanted = ident(manifest.target, manifest.body)
    if op in _REPLACING:
        return _explain_replacement(wanted, held, found)
    if op == "create":
        made = {
            "the cluster has it; it is adopted with the declared values": found.unrecorded,
            "it was not made yet": found.unmade,
            "the cluster has lost it": [each.ident for each in found.lost],
        }
        return next((why for why, objects in made.items() if wanted in objects), "")
    return _explain_update(wanted, manifest, held, found) if op == "update" else ""


def _explain_update(wanted: Ident, manifest: Manifest, held: Stated | None, found: Remains) -> str:
    unlike, left = found.unlike.get(wanted, ()), found.left.get(wanted, ())
    if unlike:
        return f"the cluster has other values: {few([each.field for each in unlike], _SHOWN)}"
    if left:
        return f"a killed run left fields: {few(list(map('.'.join, left)), _SHOWN)}"
    if held is not None and held.body != manifest.body:
        return "the cluster has these values already, and the state does not"
    return ""


def _explain_replacement(wanted: Ident, held: Stated | None, found: Remains) -> str:
    if held is not None and held.ident != wanted:
        return f"in place of {held.ident.name}"
    if wanted in found.unlike:
        fields = few([each.field for each in found.unlike[wanted]], _SHOWN)
        return f"deleted and created again, as it cannot be changed in place: {fields}"
    return ""
