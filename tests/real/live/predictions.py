"""Predictions and observations of a change in the same terms, and where the two differ."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from components.effects.vocabulary import Impact


class Outcome(StrEnum):
    """How a change ends."""

    DONE = "done"
    """The machines are as the change asks."""
    STUCK = "stuck"
    """They are not, and nothing moves any more."""
    REFUSED = "refused"
    """A webhook or a policy did not take (a part of) it."""


class Hosts(NamedTuple):
    """Hosts that something happens to: all of ``names``, or ``at_most`` so many of them."""

    names: frozenset[str]
    at_most: int | None = None


class Group(NamedTuple):
    """The events of a MachineDeployment's (or the control plane's) machines.

    ``down`` machines are taken down and ``up`` installed, at most ``at_once`` on their way at one
    time (there and not available), and never fewer than ``fewest`` available.
    """

    down: int
    up: int
    at_once: int
    fewest: int


@dataclass(frozen=True)
class Prediction:
    """The effect of a change, predicted before it is made.

    ``groups`` are the MachineDeployments by name, and the control plane by its pool's name; others
    are not to move. ``refused`` are the logical names of objects that the API server does not take.
    ``says`` is a part of what a controller or a webhook is to say.
    """

    outcome: Outcome
    groups: Mapping[str, Group]
    hosts: Mapping[Impact, Hosts] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    says: str = ""


@dataclass(frozen=True)
class Observation:
    """The effect of a change. ``wiped`` and ``installed`` are hosts; ``refused`` are logical names
    of objects; ``said`` are the controllers' own words. ``updated`` counts machines that were
    changed in place; ``seconds`` run from the change to the last machine that moved."""

    outcome: Outcome
    groups: Mapping[str, Group]
    wiped: frozenset[str] = frozenset()
    installed: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    said: tuple[str, ...] = ()
    updated: int = 0
    seconds: float = 0.0


def disagreements(predicted: Prediction, observed: Observation) -> list[str]:
    """Where the two differ, a sentence each; none where the prediction held."""
    return [*_numbers(predicted, observed), *hosts_apart(predicted.hosts, observed)]


def _numbers(predicted: Prediction, observed: Observation) -> Iterator[str]:
    if predicted.outcome is not observed.outcome:
        yield f"{observed.outcome}, predicted was {predicted.outcome}: {observed.said}"
    if predicted.refused != observed.refused:
        yield f"refused {sorted(observed.refused)}, predicted was {sorted(predicted.refused)}"
    if not any(predicted.says in said for said in ("", *observed.said)):
        yield f"said was {observed.said}, predicted was {predicted.says!r}"
    for name in sorted(predicted.groups.keys() | observed.groups.keys()):
        said, seen = predicted.groups.get(name), observed.groups.get(name)
        if said is None or seen is None or not _as_said(said, seen):
            yield f"{name}: {seen}, predicted was {said}"


def _as_said(said: Group, seen: Group) -> bool:
    """True if a group's events were as predicted.

    Machines are created one after the other: where none is taken down, the first may be available
    before the last is there, and ``at_once`` is a limit alone.
    """
    if said.down == 0 and seen.at_once < said.at_once:
        return said == seen._replace(at_once=said.at_once)
    return said == seen


def hosts_apart(predicted: Mapping[Impact, Hosts], observed: Observation) -> Iterator[str]:
    """Where what happened to hosts differs from what was said of them.

    A prediction that leaves open which hosts is a limit: to these, and to so many of them.
    """
    if any(hosts.at_most is not None for hosts in predicted.values()):
        yield from _beyond(predicted, observed)
        return
    for impact, hosts in fates(observed).items():
        said = predicted.get(impact, Hosts(frozenset())).names
        if hosts != said:
            yield f"{impact} of {sorted(hosts)}, predicted was {sorted(said)}"


def fates(observed: Observation) -> dict[Impact, frozenset[str]]:
    """The fate of each host that was wiped or installed."""
    again = observed.wiped & observed.installed
    return {
        Impact.REIMAGE: again,
        Impact.REMOVE: observed.wiped - again,
        Impact.ADD: observed.installed - again,
    }


def _beyond(predicted: Mapping[Impact, Hosts], observed: Observation) -> Iterator[str]:
    for verb, hosts, impacts in (
        ("wiped", observed.wiped, (Impact.REIMAGE, Impact.REMOVE)),
        ("installed", observed.installed, (Impact.REIMAGE, Impact.ADD)),
    ):
        said = [predicted[each] for each in impacts if each in predicted]
        names: frozenset[str] = frozenset().union(*(each.names for each in said))
        most = sum(len(each.names) if each.at_most is None else each.at_most for each in said)
        if not hosts <= names:
            yield f"{verb} {sorted(hosts - names)}, which the prediction leaves alone"
        if len(hosts) > most:
            yield f"{verb} {len(hosts)} hosts, predicted were {most} at most"
