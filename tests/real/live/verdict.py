"""The preview's verdict on a change, compared with the events, as far as the preview goes."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from components.effects.vocabulary import Action, Effect, Impact, Name, ObjectChange, PoolPlan
from preview.result import SitePreview
from preview.result import State as SiteState
from tests.kit.preview_repository import Repository
from tests.real.live.predictions import Group, Hosts, Observation, hosts_apart
from tests.real.live.state import SITE, State

_BY_PULUMI = "BareMetalHost"
"""Deleting one is refused by Pulumi, which is not part of the experiments."""


def verdict(before: State, after: State, root: Path) -> SitePreview:
    """The preview of a change of the site's files, in a repository made at ``root``; an empty one
    where no object differs."""
    repository = Repository(root)
    before.write(root)
    repository.commit("before")
    after.write(root)
    found = repository.preview().sites
    return found[0] if found else SitePreview(SITE, SiteState.CHANGED)


def contradictions(said: SitePreview, seen: Observation) -> Iterator[str]:
    """Where the preview and the controllers differ, a sentence each.

    The preview names every object that is refused; to the hosts that it names, and to no more of
    them, happens what it says; and each rollout goes with the numbers of its plan.
    """
    refused = {
        each.change.name[1]
        for each in said.objects
        if each.action is Action.REFUSED and not _by_pulumi(each.change)
    }
    if refused != seen.refused:
        yield f"refused {sorted(seen.refused)}, the preview says {sorted(refused)}"
    gone = {each.change.name for each in said.objects if _by_pulumi(each.change)}
    effects = [
        each.effect
        for each in said.reasons
        if each.effect.action is not Action.REFUSED or each.effect.name in gone
    ]
    yield from hosts_apart(dict(_hosts(effects)), seen)
    counts = said.counts
    wiped = counts.get(Impact.REIMAGE, 0) + counts.get(Impact.REMOVE, 0)
    if len(seen.wiped) > wiped:
        yield f"wiped {len(seen.wiped)} hosts, the preview counts {wiped}"
    for plan in said.plans:
        name = f"{plan.pool}-{plan.zone}" if plan.zone else plan.pool
        if name in seen.groups:
            yield from _of_plan(plan, name, seen.groups[name])


def _of_plan(plan: PoolPlan, name: str, seen: Group) -> Iterator[str]:
    """Where a plan differs from what its machines did; one whose machines become fewer meanwhile
    says what is left, and how many are installed."""
    left = plan.out.hosts - plan.out.hosts_out
    down = plan.machines if seen.down else 0  # of a new object none is taken down
    group = Group(down, plan.machines, plan.at_once, left)
    if plan.out.hosts > plan.machines:
        group, seen = (each._replace(down=0, at_once=0) for each in (group, seen))
    if seen != group:
        yield f"{name}: {seen}, the preview says {group}"


def _by_pulumi(change: ObjectChange) -> bool:
    """True if Pulumi alone refuses a change: it is not part of the experiments."""
    return change.after is None or change.kind == _BY_PULUMI


def _hosts(effects: Iterable[Effect]) -> Iterator[tuple[Impact, Hosts]]:
    """Whom something happens to by impact; several reasons of one object concern the same hosts,
    or share a number that is one for all."""
    found: dict[Impact, dict[Name, dict[frozenset[str], Effect]]] = {}
    for each in effects:
        if each.hosts and each.impact in (Impact.ADD, Impact.REIMAGE, Impact.REMOVE):
            mine = found.setdefault(each.impact, {}).setdefault(each.name, {})
            mine[frozenset(each.hosts)] = each
    for impact, objects in found.items():
        every = [each for parts in objects.values() for each in parts.values()]
        names = frozenset(name for each in every for name in each.hosts)
        open_ended = any(each.at_most is not None for each in every)
        most = sum(map(_most, objects.values()))
        yield impact, Hosts(names, most if open_ended else None)


def _most(parts: Mapping[frozenset[str], Effect]) -> int:
    """How many hosts the parts of one object's effect concern at most."""
    found = sum(len(e.hosts) if e.at_most is None else e.at_most for e in parts.values())
    return min([found, *(e.together for e in parts.values() if e.together is not None)])
