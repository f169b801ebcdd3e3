"""The guard of ``up``: losses that someone must acknowledge with a count. As the preview's gates
(docs/decisions/0014-gates.md), but against the state and the clusters instead of Git."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from components.machines.hosts import GOING, lost_machines
from components.making.manifest import Manifest, Target
from components.making.told import Told
from foresite.command import UsageError, few
from foresite.delivery.servers.inventory import Look
from foresite.delivery.stack.live import Key
from foresite.delivery.stack.stated import SMALL, Stated, ident
from preview.gates import GROW, REMOVE
from preview.verdict.growth import LARGE, TIMES_SIZE, is_much, size

_SHOWN = 8
_UNCHANGED = "nothing was changed"
TOLD = Told(__file__)


class Change(NamedTuple):
    """The objects that an ``up`` would take away and add, against the state."""

    gone: list[Stated]
    """Deleted, or deleted and created again under another name."""
    machines: int
    """Machines that Cluster API takes away because a pool gets smaller."""
    more: int
    """Objects more, where there are so many that it has to be said; else 0."""
    longer: list[str]
    """Objects that are many times as long as before."""
    going: int
    """Machines of hosts that go out at once, where so many are lost that it has to be said."""


def change(state: Mapping[Key, Stated], wanted: Mapping[Key, Manifest]) -> Change:
    """The differences between a state and the objects that a site makes."""
    stays = {key: ident(each.target, each.body) for key, each in wanted.items()}
    gone = [e for key, e in state.items() if not e.keep and stays.get(key) != e.ident]
    bodies = ({key: e.body for key, e in side.items()} for side in (state, wanted))
    going, machines = lost_machines(*bodies)
    longer = [
        str(each)
        for key, each in state.items()
        if key in wanted
        and (long := size(wanted[key])) > LARGE
        and long > TIMES_SIZE * size(Manifest("", each.body))
    ]
    return Change(gone, machines, sum(_more(state, wanted)), longer, going)


def _more(state: Mapping[Key, Stated], wanted: Mapping[Key, Manifest]) -> Iterator[int]:
    """By how much each cluster's objects grow beyond the bound; a first time is no growth, and
    neither is a site that comes back from its end."""
    if not any(each.kind == "Cluster" for each in state.values()):
        return
    for target in Target:
        before = sum(each.target is target for each in state.values())
        after = sum(each.target is target for each in wanted.values())
        if before and is_much(before, after):
            yield after - before


def guard(
    site: str, found: Change, looks: Iterable[Look], allow: Mapping[str, int], *, ends: bool
) -> None:
    """Raise UsageError for what is not named; ``ends`` says that the site is decommissioned."""
    looks = list(looks)
    found, lost = _countable(found, looks, ends=ends)
    foreign = [each for each in looks if each.foreign]
    said = [_foreign(site, each) for each in foreign]
    if not foreign:
        said += _removal_problems(found, lost, allow.get(REMOVE, 0))
        said += _grown(found, allow.get(GROW, 0))
    if not ends:
        said += _protection_problems(site, [each for each in found.gone if each.protect])
    if said:
        raise UsageError("\n  ".join([f"{site}: {_UNCHANGED}", *said]))


def needed_counts(found: Change, looks: Iterable[Look], *, ends: bool) -> dict[str, int]:
    """The counts that have to be acknowledged."""
    found, lost = _countable(found, looks, ends=ends)
    total = sum(_losses(found, lost).values())
    return {REMOVE: total, GROW: found.more + len(found.longer)}


def _countable(found: Change, looks: Iterable[Look], *, ends: bool) -> tuple[Change, list[Stated]]:
    """The part of a change that counts, and of the losses of the clusters."""
    if not ends:
        return found, [each for look in looks for each in look.lost if each.holds_data]
    # Its whole end is named in the request, by what the preview counts; what the cluster has lost
    # of it is among that, and is not created again.
    return found._replace(gone=[each for each in found.gone if each.holds_data]), []


def _foreign(site: str, found: Look) -> str:
    count = len(found.lost) + len(found.other)
    others = TOLD.say("others", count=len(found.other)) if found.other else ""
    return TOLD.say("foreign", context=found.context, count=count, others=others, site=site)


def _losses(found: Change, lost: list[Stated]) -> dict[str, int]:
    """The losses, each with its count, as the preview counts them."""
    kinds = Counter(each.kind for each in found.gone if each.holds_data)
    hosts = max(kinds.pop("BareMetalHost", 0), found.machines)
    kinds.pop("MachineDeployment", None)
    counts = {"hosts": hosts, GOING: found.going, **dict(sorted(kinds.items()))}
    rest = [e for e in found.gone if not e.holds_data and e.kind != "BareMetalHost"]  # were out
    if len(rest) > SMALL:
        counts["other objects"] = len(rest)
    if lost:
        counts["objects that the cluster has lost, which would be created again"] = len(lost)
    return counts


def _removal_problems(found: Change, lost: list[Stated], allow: int) -> Iterator[str]:
    """The losses in all, where they are more than the acknowledged count."""
    counts = _losses(found, lost)
    total = sum(counts.values())
    if total > allow:
        what = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        named = few([*lost, *found.gone], _SHOWN)
        yield TOLD.say("losses", what=what, named=named, **_allowance(REMOVE, total, allow))


def _grown(found: Change, allow: int) -> Iterator[str]:
    total = found.more + len(found.longer)
    if total > allow:
        more = f"{found.more} objects more, over twice as many" if found.more else ""
        longer = f"{TIMES_SIZE} times as long: {few(found.longer, _SHOWN)}" if found.longer else ""
        what = "; ".join(filter(None, (more, longer)))
        yield TOLD.say("grown", what=what, **_allowance(GROW, total, allow))


def _protection_problems(site: str, objects: list[Stated]) -> list[str]:
    if not objects:
        return []
    titles, urn = few(objects, _SHOWN), objects[0].urn
    more = f", and {len(objects) - 1} more" if len(objects) > 1 else ""
    return [TOLD.say("protected", titles=titles, site=site, urn=urn, more=more)]


def _allowance(word: str, needed: int, allow: int) -> dict[str, str]:
    """What is acknowledged, and how what is needed would be."""
    allowed = f"{allow} are acknowledged" if allow else "no count is acknowledged"
    return {"allowed": allowed, "how": TOLD.say("how", word=word, count=needed)}
