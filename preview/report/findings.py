"""Findings of a preview, worst first: each is a clause of the headline and a row of its table.

A finding has several ``forms``, down to a very short one: the headline takes one of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from components.effects.vocabulary import Impact
from preview.gates import losses
from preview.report import object_cache
from preview.report.hours import duration, installed_after, shared_hours, spans, takes
from preview.report.phrase import Phrase, prose
from preview.report.words import (
    NAMED,
    VERDICTS,
    accelerators_out,
    count,
    count_text,
    doings,
    list_names,
    lost_text,
    only_waits,
    out_at_worst,
    refusal_count,
    sum_doings,
    waiting_ways,
)
from preview.result import Preview, SitePreview, State
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.tables import read_table
from schemas.model.problem import number_of


class Finding(NamedTuple):
    """One thing that the change does: how bad it is, and its words. ``rank`` orders findings, worst
    first by a higher number. ``forms`` are clauses for a headline, the best first; none where only
    the table has it; ``vague`` says less. ``hosts`` is true where hosts are drained or worse.
    ``what``, ``figure`` and ``where`` are the cells of the table."""

    rank: float
    forms: tuple[Phrase, ...]
    what: Phrase
    figure: Phrase = ()
    where: Phrase = ()
    tone: Impact | None = None
    hosts: bool = False
    vague: tuple[Phrase, ...] = ()


WAITING = Impact.REIMAGE.rank - 0.005
"""Right after what is re-imaged now."""
BLIND, STUCK, MOVED = 90, Impact.UNKNOWN.rank - 0.1, Impact.ADD.rank + 0.5
REFUSED, SERVICE = Impact.REIMAGE.rank - 0.1, Impact.REIMAGE.rank - 0.5
"""Ranks of findings that are no impact. What is refused or has to be acknowledged comes after all
that costs a host its disks."""


def findings(preview: Preview) -> list[Finding]:
    """The findings, worst first."""
    known = [site for site in preview.sites if site.state is not State.INVALID]
    sites = [site for site in known if site.state not in (State.REMOVED, State.VANISHED)]
    found = [*_blind(preview), *_ends(known), *_impacts(sites), *_rollouts(sites)]
    for part in (_evicted, _waiting, _installed, _refused, _services, _cache, _deleted):
        found += part(sites)
    return sorted(found, key=lambda each: -each.rank)


def _finding(rank: float, clause: Phrase, names: Sequence[str]) -> Finding:
    """A clause that ends with where it is so: by name, or by the number of sites."""
    where = list_names(names, "site")
    number = (*clause, f" in {count(len(names), 'site')}")
    return Finding(rank, ((*clause, " in ", *where), number, clause), clause, (), where)


# --- whole sites ----------------------------------------------------------------------------------
def _blind(preview: Preview) -> Iterable[Finding]:
    """The sites of which nothing can be said, and what is not in the preview."""
    invalid = [site for site in preview.sites if site.state is State.INVALID]
    if invalid:
        said = "cannot predict what happens to "
        problems = (count(sum(number_of(site.problems) for site in invalid), "problem"),)
        where, number = _sites(invalid), count(len(invalid), "site")
        forms: tuple[Phrase, ...] = (
            (said, *where, " (", *problems, ")"),
            (said, number, " (", *problems, ")"),
            (f"cannot predict {number}",),
        )
        what: Phrase = ("cannot be predicted",)
        yield Finding(BLIND, forms, what, problems, where, Impact.UNKNOWN, True)
    if alone := [each.file for each in preview.regions if each.unnamed]:
        files, which = count(len(alone), "management file"), list_names(alone, "management file")
        forms = (
            ("cannot predict the change of ", *which, ", which no site names"),
            (f"cannot predict {files}",),
        )
        yield Finding(BLIND, forms, ("no site names it",), (files,), which, Impact.UNKNOWN, True)
    if preview.code_changed:
        files = count(len(preview.code_changed), "changed file")
        forms = (
            (f"cannot predict what {files} of Foresite's own code will do",),
            (f"cannot predict {files}",),
        )
        rank, what = Impact.UNKNOWN.rank + 0.5, ("own code is not in the preview",)
        yield Finding(rank, forms, what, (files,), (), Impact.UNKNOWN, True)


def _sites(sites: Iterable[SitePreview]) -> Phrase:
    return list_names([site.name for site in sites], "site")


_ENDS = read_table(__file__)


def _ends(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    """The sites that end, and those that have no file any more."""
    for state, row in _ENDS.items():
        some = [site for site in sites if site.state is State(state)]
        if not some:
            continue
        hosts, where = count(sum(len(site.hosts) for site in some), "host"), _sites(some)
        before, after = row["before"], row["after"].format(hosts)
        forms: tuple[Phrase, ...] = (
            (before, *where, after),
            (before, count(len(some), "site"), after),
            (row["many" if len(some) > 1 else "one"].format(len(some)),),
        )
        tone = Impact(row["tone"]) if "tone" in row else None
        yield Finding(row["rank"], forms, (row["what"],), (hosts,), where, tone, tone is not None)


# --- hosts ----------------------------------------------------------------------------------------
def _impacts(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    """A finding for each thing that happens to hosts. That hosts of a decommissioned site are
    removed is said of the site."""
    stay = [site for site in sites if site.state is not State.DECOMMISSIONED]
    removed = [each for each in sum_doings(stay) if each.impact is Impact.REMOVE]
    others = [each for each in sum_doings(sites) if each.impact is not Impact.REMOVE]
    for total in (*removed, *others):
        impact = total.impact
        some = stay if impact is Impact.REMOVE else sites
        concerned = [s for s in some if any(each.impact is impact for each in doings(s))]
        of = sum(len(site.hosts) for site in concerned)
        names, pools = [site.name for site in concerned], _pools(concerned, impact)
        what = "stops pods for good" if total.stops else VERDICTS[impact]
        found = _finding(impact.rank, (count_text(total, of),), names)
        in_pools = ((*found.forms[0], " (", *pools, ")"),) if pools else ()
        forms = (
            *in_pools,
            *found.forms[:2],
            (count_text(total),),
            (count_text(total).replace(" what happens to", ""),),
        )
        where = (*found.where, *((", ", *pools) if pools else ()))
        figure = f"{'at most ' * total.at_most}{total.hosts:,} of {count(of, 'host')}"
        figure = figure if total.hosts else "hosts that are not listed"
        drains = impact.rank >= Impact.DRAIN.rank
        yield Finding(impact.rank, forms, (what,), (figure,), where, impact, drains)


def _pools(sites: Sequence[SitePreview], impact: Impact) -> Phrase:
    every = [host for site in sites for host in site.hosts if host.pool]
    names = list(dict.fromkeys(h.pool for h in every if impact in (h.impact, h.rest)))
    noun = "" if len(names) > NAMED else "pool " if len(names) == 1 else "pools "
    return (noun, *list_names(names, "pool")) if names else ()


def _rollouts(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    """How many are out at a time, how long it takes, and what never ends."""
    plans = [plan for site in sites for plan in site.plans if plan.machines]
    moving = [plan for plan in plans if not plan.stuck]
    if stuck := len(plans) - len(moving):
        names = [site.name for site in sites if any(plan.stuck for plan in site.plans)]
        said: Phrase = (f"{count(stuck, 'rollout')} never end{'s' if stuck == 1 else ''}",)
        yield _finding(STUCK, said, names)._replace(tone=Impact.UNKNOWN, hosts=True)
    if not moving:
        return
    every = [each for site in sites for each in site.capacity]
    ledgers = [moving[0].out] if len(plans) == 1 else every
    rank = Impact.REIMAGE.rank - 0.01
    if out := out_at_worst(ledgers):
        yield Finding(rank, tuple(accelerators_out(ledgers)), ("out at worst",), out, hosts=True)
    longest = max(moving, key=lambda plan: sum(spans(plan)))
    pace = f"{sum(plan.at_once for plan in moving):,} at a time"
    slowest = "" if len(plans) == 1 else "; the slowest pool"
    if longest.wait_hours:
        slowest = "; the control plane and then the slowest pool"
    shared = max(shared_hours(site.plans) for site in sites)
    if shared:
        longest = longest._replace(hours=max(longest.hours, shared - longest.wait_hours))
    hours = f"{'at least ' * bool(shared)}{takes(longest)}"
    yield Finding(rank, (), ("takes",), (hours,), (pace + slowest,))


def _evicted(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    """Hosts that are drained all at once, and that something worse happens to in its turn."""
    names = Counter[str]()
    for site in sites:
        drains = [r.effect for r in site.reasons if r.effect.impact is Impact.DRAIN]
        harder = site.hosts if drains else ()
        worse = {host.host for host in harder if host.impact.rank > Impact.DRAIN.rank}
        for each in drains:
            number = len(worse.intersection(each.hosts))
            if each.at_once is None and number:
                names[site.name] += number if each.at_most is None else min(number, each.at_most)
    if names:
        said = (f"evicts pods on {count(names.total(), 'host')} at once",)
        rank = Impact.REIMAGE.rank - 0.015
        yield _finding(rank, said, list(names))._replace(tone=Impact.DRAIN, hosts=True)


def _installed(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    """How long the first installation of new sites takes."""
    new = [site for site in sites if site.installations]
    if new:
        hours = duration(max(map(installed_after, new)))
        where = _sites(new)
        clause = (f"the first installation takes {hours}",)
        rank = Impact.ADD.rank - 0.01
        yield Finding(rank, (clause,), ("first installation",), (hours,), where, Impact.ADD)


# --- consequences beside hosts --------------------------------------------------------------------
def _waiting(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    """Machines that a change is refused for now, and what to write for none: one for each way."""
    waits = ((site.name, each) for site in sites for each in waiting_ways(site))
    ways = group_by_key((way, (name, number)) for name, (way, number) in waits)
    for way, those in ways.items():
        number = sum(number for _, number in those)
        said = f"{count(number, 'machine')} wait{'s' if number == 1 else ''}"
        forms: tuple[Phrase, ...] = ((said,),)
        where = list_names([*dict.fromkeys(name for name, _ in those)], "site")
        if way:
            forms = ((said, ": ", *prose(way.partition(",")[0])), *forms)
            where = (*where, "; ", *prose(way))
        figure, what = (count(number, "machine"),), ("refused now, and waits",)
        yield Finding(WAITING, forms, what, figure, where, Impact.UNKNOWN, True)


def _refused(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    if stopped := sum(map(refusal_count, sites)):
        objects = count(stopped, "refused object")
        where = _sites(site for site in sites if refusal_count(site))
        said = (f"pulumi up stops at {objects}",)
        # What is refused for now is said by what waits.
        waits = all(map(only_waits, sites))
        rank, forms = (WAITING - 0.001, ()) if waits else (REFUSED, (said,))
        yield Finding(rank, forms, ("pulumi up stops",), (objects,), where, Impact.UNKNOWN)


def _services(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    names = group_by_key(((e.clause, e.applied), s.name) for s in sites for e in s.services)
    for (clause, applied), those in names.items():
        # Digits and words of ours alone; names are in the section.
        said: Phrase = (("" if applied else "once the cluster is named: ") + clause,)
        yield _finding(SERVICE if applied else MOVED, said, those)


def _cache(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    for applied in (True, False):
        those = [site for site in sites if object_cache.in_clusters(site) is applied]
        start: Phrase = () if applied else (object_cache.ONCE,)
        for said, names, loses in object_cache.clauses(those):
            words, where = (*start, *said), list_names([*dict.fromkeys(names)], "site")
            named = ((*words, " in ", *where),) if len(sites) > 1 else ()
            # Names of buckets may be too long for a headline.
            less = tuple(piece for piece in words if piece != object_cache.DISKS)
            vague = (("users of the cache are affected",),) if applied else ()
            rank = (SERVICE - 0.1 if loses else MOVED) if applied else MOVED - 1
            yield Finding(rank, (*named, words, less), words, (), where, vague=vague)


def _deleted(sites: Sequence[SitePreview]) -> Iterable[Finding]:
    if lost := losses(sites):
        removed = any(site.impact is Impact.REMOVE for site in sites)
        where = _sites(site for site in sites if site.deletions)
        said = prose(", ".join(lost_text(*each) for each in lost.items()))
        whole = ("the pull request must acknowledge the loss of ", *said)
        forms = () if removed else (whole, ("losses must be acknowledged",))
        yield Finding(REFUSED - 0.1, forms, ("to be acknowledged",), said, where)
