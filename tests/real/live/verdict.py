"""The preview's verdict on a change, compared with the events, as far as the preview goes."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from components.effects.vocabulary import Action, Effect, Impact, Name
from preview.result import SitePreview
from tests.kit.preview_repository import Repository
from tests.real.live.predictions import Group, Hosts, Observation, hosts_apart
from tests.real.live.state import SITE, State

_BY_PULUMI = "BareMetalHost"
"""Deleting one is refused by Pulumi, which is not part of the experiments."""


def verdict(before: State, after: State, root: Path) -> SitePreview:
    """The preview of a change of the site's files, in a repository made at ``root``."""
    repository = Repository(root)
    before.write(root)
    repository.commit("before")
    after.write(root)
    return repository.site(SITE)


def contradictions(said: SitePreview, seen: Observation) -> Iterator[str]:
    """Where the preview and the controllers differ, a sentence each.

    The preview names every object that is refused; to the hosts that it names, and to no more of
    them, happens what it says; and each rollout goes with the numbers of its plan.
    """
    refused = {
        each.change.name[1]
        for each in said.objects
        if each.action is Action.REFUSED and each.change.kind != _BY_PULUMI
    }
    if refused != seen.refused:
        yield f"refused {sorted(seen.refused)}, the preview says {sorted(refused)}"
    effects = [
        each.effect
        for each in said.reasons
        if each.effect.action is not Action.REFUSED or each.effect.name[1].startswith(_BY_PULUMI)
    ]
    yield from hosts_apart(dict(_hosts(effects)), seen)
    for plan in said.plans:
        name = f"{plan.pool}-{plan.zone}" if plan.zone else plan.pool
        group = Group(
            plan.machines, plan.machines, plan.at_once, plan.machines - plan.out.hosts_out
        )
        if name in seen.groups and seen.groups[name] != group:
            yield f"{name}: {seen.groups[name]}, the preview says {group}"


def _hosts(effects: Iterable[Effect]) -> Iterator[tuple[Impact, Hosts]]:
    """Whom something happens to by impact; several reasons of one object concern the same hosts."""
    found: dict[Impact, dict[Name, Hosts]] = {}
    for each in effects:
        if each.hosts:
            hosts = Hosts(frozenset(each.hosts), each.at_most)
            found.setdefault(each.impact, {})[each.name] = hosts
    for impact, objects in found.items():
        every = objects.values()
        names = frozenset().union(*(each.names for each in every))
        open_ended = any(each.at_most is not None for each in every)
        most = sum(len(each.names) if each.at_most is None else each.at_most for each in every)
        yield impact, Hosts(names, most if open_ended else None)
