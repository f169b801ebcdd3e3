"""The words of every report: numbers, impacts, and what happens in a few words."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from components.effects.vocabulary import Action, Impact, Ledger
from components.machines.rollout import add_ledgers
from preview.report.phrase import Phrase, Strong, join_phrases, value
from preview.result import SitePreview, State
from schemas.kubernetes.tables import read_table
from schemas.model.problem import number_of

T = TypeVar("T")

_DIGITS = "0123456789"
LONGEST = 9
"""Digits of a number that is counted on; more are no counter."""

FEW = 3
"""Names of a list that are given before the rest is only counted."""

_SHOWN = read_table(__file__, "impacts.toml")


def by_impact(what: str) -> dict[Impact, str]:
    """What impacts.toml has of each impact: its verb, its sign and so on."""
    return {Impact(name): row[what] for name, row in _SHOWN.items() if what in row}


MEANING = by_impact("meaning")
"""The meaning of each impact for a host."""

STOP = "pods stop for good; jobs on the host continue"
"""The same where nothing but pods of DaemonSets that are deleted is concerned."""

_VERBS = by_impact("verb")
VERDICTS = by_impact("verdict")
"""The same as what becomes of hosts, for a table."""

WIPED = "wiped without a drain, and not installed again"
"""The meaning of a host's removal if its whole cluster is deleted."""
CHECKED = (
    "site files and their rules",
    "schemas of the objects that differ",
    "effects on machines",
)
"""Checks of a preview, which asks no server."""
NOT_KNOWN = ("admission", "quotas", "drift")
"""Facts that only an API server could tell."""

NAMED = 3
"""Sites, pools or models that are named in a sentence; more are counted."""


class Doing(NamedTuple):
    """The effect on a number of hosts; ``hosts`` is 0 where a reason names none."""

    impact: Impact
    hosts: int
    at_most: bool = False
    stops: bool = False
    """True if pods stop there for good, and none restarts."""


# --- numbers --------------------------------------------------------------------------------------
def count(number: int, noun: str) -> str:
    """``1 host``, ``1,000 hosts``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def which(at_most: int, hosts: int) -> str:
    """The words for hosts of which Git does not say all."""
    return "Git does not say which" if at_most < hosts else "Git does not say whether"


def together(ledgers: Iterable[Ledger]) -> list[Ledger]:
    """Ledgers of several pools or sites as one for each model, those without anything out left
    away; most accelerators out first, hosts without accelerators last."""
    found: dict[str, Ledger] = {}
    for each in ledgers:
        found[each.model] = add_ledgers(each, found[each.model]) if each.model in found else each
    some = [ledger for ledger in found.values() if ledger.hosts_out]
    return sorted(some, key=lambda each: (not each.model, -each.accelerators_out, each.model))


def out_at_worst(ledgers: Iterable[Ledger]) -> Phrase:
    """The devices of each model that are out, empty where none is: ``32 of 832 V100``."""
    some = together(ledgers)
    shown, more = first_few(some)
    others = bool(some and some[0].model)
    rest: list[Phrase] = [(count(more, "more model"),)] if more else []
    return series([*(_out_of(each, others) for each in shown), *rest])


def accelerators_out(ledgers: Sequence[Ledger]) -> Iterable[Phrase]:
    """The accelerators that are out at worst, by model and in all."""
    models = [each for each in together(ledgers) if each.model and each.accelerators_out]
    if models:
        yield (*out_at_worst(models), " out")
        out = sum(each.accelerators_out for each in models)
        of = sum(each.accelerators for each in models)
        yield (f"{out:,} of {count(of, 'accelerator')} out",)


def _out_of(ledger: Ledger, others: bool) -> Phrase:
    if ledger.model:
        numbers = f"{ledger.accelerators_out:,} of {ledger.accelerators:,} "
        return (numbers, value(ledger.model))
    return (f"{ledger.hosts_out:,} of {count(ledger.hosts, 'other host' if others else 'host')}",)


# --- names ----------------------------------------------------------------------------------------
def list_names(names: Sequence[str], noun: str) -> Phrase:
    """``a, b and c``; of many only their number: ``31 sites``."""
    if len(names) > NAMED:
        return (count(len(names), noun),)
    return series([(value(name),) for name in names])


def series(phrases: Sequence[Phrase]) -> Phrase:
    """``a, b and c``."""
    if len(phrases) < 2:
        return join_phrases(phrases)
    return join_phrases([join_phrases(phrases[:-1]), phrases[-1]], " and ")


def few(names: Sequence[str], limit: int = 80) -> Phrase:
    """``a, b, c and 28 more``."""
    shown, more = first_few(names)
    rest = (f" and {more:,} more",) if more else ()
    return (*join_phrases([(value(name, limit),) for name in shown]), *rest)


def sites_named(names: Sequence[str]) -> Phrase:
    """``tokyo-1``, and of several ``31 sites: a, b, c and 28 more``."""
    if len(names) == 1:
        return (value(names[0]),)
    return (f"{count(len(names), 'site')}: ", *few(names))


# --- what happens ---------------------------------------------------------------------------------
def doings(site: SitePreview) -> list[Doing]:
    """The effects on a site's hosts, worst first, and those of reasons that name no host."""
    found = [
        Doing(impact, n, impact in site.vague, impact is Impact.POD_RESTART and stops(site))
        for impact, n in site.counts.items()
    ]
    seen = {each.impact for each in found} | {Impact.NONE}
    # What a reason says of hosts that something worse happens to is not said of them again.
    hostless = {each.effect.impact for each in site.reasons if not each.effect.hosts} - seen
    every = [*found, *(Doing(impact, 0) for impact in hostless)]
    return sorted(every, key=lambda each: -each.impact.rank)


def sum_doings(sites: Iterable[SitePreview]) -> list[Doing]:
    """The effects on the hosts of several sites, worst first; hosts left alone not counted."""
    found: dict[Impact, Doing] = {}
    for site in sites:
        for each in doings(site):
            old = found.get(each.impact, Doing(each.impact, 0, stops=each.stops))
            number, vague = old.hosts + each.hosts, old.at_most or each.at_most
            found[each.impact] = Doing(each.impact, number, vague, old.stops and each.stops)
    return [found[impact] for impact in reversed(Impact) if impact in found and impact.rank]


def happening(sites: Sequence[SitePreview]) -> Phrase:
    """The effects in these sites, in a few words."""
    if any(site.state is State.INVALID for site in sites):
        problems = sum(number_of(site.problems) for site in sites)
        return (Strong("cannot predict what happens"), f": {count(problems, 'problem')}")
    found = sum_doings(sites)
    if not found:
        return ("nothing happens to any machine",)
    hosts = sum(len(site.hosts) for site in sites)
    rest = "".join(f", {count_text(each)}" for each in found[1:])
    return (Strong(count_text(found[0], of=hosts)), rest)


def stops(site: SitePreview) -> bool:
    """True if all concerned pods on hosts of a site are of DaemonSets that go."""
    restarted = (host for host in site.hosts if Impact.POD_RESTART in (host.impact, host.rest))
    found = {index for host in restarted for index in host.reasons}
    reasons = [site.reasons[index].effect for index in found]
    names = {each.name for each in reasons if each.impact is Impact.POD_RESTART}
    gone = {each.change.name for each in site.objects if each.action is Action.DELETED}
    return bool(names) and names <= gone


def meaning(site: SitePreview, impact: Impact) -> str:
    """The meaning of an impact for a host of a site; a cluster that is deleted is not drained."""
    if impact is Impact.POD_RESTART and stops(site):
        return STOP
    if impact is Impact.REMOVE and site.state is State.DECOMMISSIONED:
        return WIPED
    if impact is Impact.NONE and site.state is State.VANISHED:
        return "it stays as it is, and no tool manages it"
    return MEANING[impact]


def scope_text() -> str:
    """What the check covered and what it did not, so that nothing more is implied."""
    unknown = ", ".join(NOT_KNOWN)
    asked = f"no API server was asked: {unknown} are not known"
    return f"checked offline: {', '.join(CHECKED)}; {asked}"


def count_text(doing: Doing, of: int = 0) -> str:
    """``re-images at most 2 of 400 hosts``, and without ``of`` only the number."""
    verb = "stops pods for good on" if doing.stops else _VERBS[doing.impact]
    if not doing.hosts:
        if doing.impact is Impact.UNKNOWN:
            return "cannot predict what a change does"
        return f"{verb} hosts that are not listed"
    most = "at most " if doing.at_most else ""
    hosts = f"{doing.hosts:,} of {count(of, 'host')}" if of else count(doing.hosts, "host")
    return f"{verb} {most}{hosts}"


def waiting_ways(site: SitePreview) -> Iterable[tuple[str, int]]:
    """What to write for machines of a site that wait, and their number."""
    effects = {e.name: e for e in (r.effect for r in site.reasons) if e.waits and e.hosts}
    for each in effects.values():
        number = len(each.hosts) if each.at_most is None else each.at_most
        yield each.way or site.waiting_way, number


def lost_text(what: str, number: int) -> str:
    """The things of a kind whose loss has to be acknowledged."""
    return count(number, "host") if what == "hosts" else f"{number:,} {what}"


def refusal_count(site: SitePreview) -> int:
    """The number of refused objects; `pulumi up` stops there."""
    return sum(each.action is Action.REFUSED for each in site.objects)


def only_waits(site: SitePreview) -> bool:
    """True if every refused object of a site is refused for now alone."""
    waiting = {reason.effect.name for reason in site.reasons if reason.effect.waits}
    refused = (each.change.name for each in site.objects if each.action is Action.REFUSED)
    return waiting.issuperset(refused)


def ranges(names: Iterable[str]) -> list[str]:
    """The names, those that differ only in a number that counts on joined: ``n-08…12``. A name that
    is there twice counts once. Numbers are of one width, so that each name between can be told from
    the ends."""
    found: list[tuple[str, str, str]] = []  # what the names start with, the first number, the last
    parts = set(map(_split_number, names))
    for start, number in sorted(parts, key=lambda each: (each[0], len(each[1]), each[1])):
        before, first, last = found[-1] if found else ("", "", "")
        alike = number != "" and (before, len(last)) == (start, len(number))
        if alike and int(last) + 1 == int(number):
            found[-1] = (start, first, number)
        else:
            found.append((start, number, number))
    return [start + first + (f"…{last}" if last != first else "") for start, first, last in found]


def _split_number(name: str) -> tuple[str, str]:
    start = name.rstrip(_DIGITS)
    number = name[len(start) :]
    return (start, number) if 0 < len(number) <= LONGEST else (name, "")


def first_few(items: Sequence[T], few: int = FEW) -> tuple[tuple[T, ...], int]:
    """The first items, and how many more there are; one more is as short as saying so."""
    shown = len(items) if len(items) <= few + 1 else few
    return tuple(items[:shown]), len(items) - shown
