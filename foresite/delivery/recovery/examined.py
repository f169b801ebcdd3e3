"""The parts of a site to recover: lock, state, note, tag, and the objects of its clusters. Reads
only: each thing is a line for a person, and an error where it keeps a recovery from acting."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from components.making.manifest import Json, Manifest, Target
from foresite.command import UsageError, few
from foresite.delivery.recovery.remains import Remains, remains
from foresite.delivery.servers.apiserver import Kubectl, NoAnswerError, RefusedError
from foresite.delivery.servers.inventory import take, versions
from foresite.delivery.servers.probe import contexts_of, kubectl_of
from foresite.delivery.stack.engine import UNDER_WAY, Engine, EngineError
from foresite.delivery.stack.live import Key, expected_objects
from foresite.delivery.stack.locks import Lock
from foresite.delivery.stack.stated import SMALL, Ident, State, Stated, read_state
from foresite.delivery.stack.statefile import older, place
from schemas.facts.site import Site

_SHOWN = 6
_ELSEWHERE = """import a backup: pulumi stack import --stack {stack} --file FILE
  or copy the newest checkpoint of .pulumi/history over the state in the bucket (docs/fleet.md)"""


class Examined(NamedTuple):
    """All that was found. ``exported`` is None without a stack; ``silent`` are clusters of a site
    that ends, which answer no more; ``unseen``: what was not looked at for orphans, and why."""

    site: Site
    kubectl: Kubectl
    contexts: Mapping[Target, str]
    wanted: Mapping[Key, Manifest]
    locks: list[Lock]
    exported: Json | None
    state: State
    noted: list[tuple[str, ...]]
    applying: str
    live: Mapping[Ident, Json]
    found: Remains
    silent: frozenset[Target]
    unseen: Mapping[str, tuple[str, ...]]

    @property
    def forgettable(self) -> list[Stated]:
        """Objects of clusters that no longer answer, which the state is to forget."""
        return [each for each in self.state.held if each.target in self.silent]

    def place(self, each: Ident) -> str:
        """An object and its cluster, for a person."""
        return f"{each} of {self.contexts[each.target]}"

    @property
    def strange(self) -> list[Stated]:
        """Objects of the right name that are not those that were applied. A killed run may have
        made some anew: then its note has them, and its cluster still has others as they were."""
        noted = {of_note(key) for key in self.noted}
        met, other = self.found.met, self.found.other
        return [each for each in other if each.ident not in noted or each.target not in met]

    @property
    def rebuild_count(self) -> int:
        """Objects that are lost, or others by now, if too many or too dear to let go of unasked."""
        lost = [*self.found.lost, *self.strange]
        dear = any(each.protect or each.holds_data for each in lost)
        return len(lost) if dear or len(lost) > SMALL else 0


def of_note(key: tuple[str, ...]) -> Ident:
    """The object that a note of a run names: cluster, apiVersion, kind, namespace, name."""
    target, api, kind, namespace, name = key
    return Ident(Target(target), api.rpartition("/")[0], kind, namespace, name)


class DamagedError(Exception):
    """The state cannot be read; the message says how to go back."""


def examine(engine: Engine, site: Site) -> Examined:
    """Look at everything. Raises UsageError, EngineError and DamagedError."""
    kubectl = kubectl_of(engine)
    if kubectl is None:
        raise UsageError("recover looks into the clusters with kubectl: install it")
    exported = _export(engine)
    state = read_state(exported or {})
    wanted = expected_objects(site)
    bodies = [*(each.body for each in wanted.values()), *(each.body for each in state.held)]
    live: dict[Ident, Json] = {}
    unseen: dict[str, list[str]] = {}
    silent = set()
    contexts = {**state.contexts, **contexts_of(site)}
    for target, context in contexts.items():
        try:
            taken = take(kubectl, context, target, site.name, versions(bodies))
        except (NoAnswerError, RefusedError) as error:
            if target is Target.MANAGEMENT or site.file.decommission is None:
                raise UsageError(
                    f"{context} cannot be looked at: {error}; see that it runs and that "
                    f"{kubectl.where()} reaches it, then run the same command again"
                ) from None
            silent.add(target)
            continue
        live |= taken.objects
        for why, what in taken.unseen.items():
            unseen.setdefault(why, []).append(f"{', '.join(what)} of {context}")
    found = remains(wanted.values(), state, live, set(contexts) - silent)
    applying = engine.tags().get(UNDER_WAY, "") if exported else ""
    return Examined(site, kubectl, contexts, wanted, engine.locks(), exported, state,
                    engine.noted_objects(), applying, live, found, frozenset(silent),
                    {why: tuple(what) for why, what in unseen.items()})  # fmt: skip


def _export(engine: Engine) -> Json | None:
    try:
        exported = engine.export_state()
    except EngineError as error:
        if "failed to load checkpoint" not in str(error):
            raise
        raise DamagedError(_go_back(engine, str(error))) from None
    if exported is None and older(place(engine.environment, engine.program, engine.stack)):
        raise DamagedError(_go_back(engine, f"the state of {engine.stack} is not there"))
    return exported


def _go_back(engine: Engine, what: str) -> str:
    kept = place(engine.environment, engine.program, engine.stack)
    whole = older(kept)
    lines = [f"{what}; no object of a cluster is touched by this"]
    if kept is None or not whole:
        none = "the backend has no earlier state that is whole: restore its folder"
        lines.append(none if kept else _ELSEWHERE.format(stack=engine.stack))
        return "\n  ".join(lines)
    lines += [
        f"an earlier state of {each.write_time}, {each.resources} resources: {each.path}"
        for each in whole[:_SHOWN]
    ]
    lines += [
        "restore the newest, then recover again; objects created since are found by their label:",
        f"  cp {shlex.quote(str(whole[0].path))} {shlex.quote(str(kept.state))}",
        f"  foresite recover {engine.stack}",
    ]
    return "\n  ".join(lines)


def lines(seen: Examined) -> Iterator[str]:
    """A line for each thing found, in the order in which it is dealt with."""
    found = seen.found
    for lock in seen.locks:
        yield f"lock: {lock}"
    if seen.exported is None:
        yield "state: there is no stack yet"
    for each in seen.state.pending:
        yield f"pending in the state: {each}"
    if seen.noted:
        yield f"a run did not come to its end: it was about to make {len(seen.noted)} objects"
    if seen.applying:
        yield f"foresite apply of {seen.applying[:10]} did not come to its end: it stays due"
    if seen.forgettable:
        count = len(seen.forgettable)
        yield f"its own cluster does not answer, and the site ends: {count} objects in the state"
    for why, what in seen.unseen.items():
        yield f"not looked at for orphans, as {why}: {'; '.join(what)}"
    yield from _of_objects(found)
    for orphan in found.orphans:
        yield f"orphaned, neither the state nor the site has it: {seen.place(orphan)}"


def _of_objects(found: Remains) -> Iterator[str]:
    said: dict[str, tuple[Ident | Stated, ...]] = {
        "not made yet": found.unmade,
        "in the cluster, and not in the state": found.unrecorded,
        "different in the cluster and in the site": tuple(found.unlike),
        "with fields that the site no longer has": tuple(found.left),
        "lost by the cluster": found.lost,
        "what was applied by name alone, and created again since": found.other,
        "deleted, as in the site": found.gone,
        "to be deleted by the next up": found.to_go,
        "old templates, kept until no machine refers to them (no orphans)": found.kept,
    }
    for what, objects in said.items():
        if objects:
            yield f"{what}: {count_text(objects)}"


def count_text(objects: Sequence[Ident | Stated]) -> str:
    """The number of objects, and the first names, for a person."""
    return f"{len(objects)}: {few(objects, _SHOWN)}"
