"""The one sentence at the top of every report."""

from collections.abc import Iterable, Sequence

from components.effects.vocabulary import Impact
from preview.report import object_cache
from preview.report.phrase import Phrase, join_phrases, plain, value
from preview.report.words import (
    NAMED,
    Doing,
    count,
    count_text,
    doings,
    list_names,
    members,
    out_at_worst,
    refusal_count,
    series,
    sum_doings,
    takes,
)
from preview.result import Preview, SitePreview, State
from schemas.model.problem import number_of

NOTHING = "nothing happens to any machine"


def headline(preview: Preview) -> Phrase:
    """The effect of the change, in one sentence."""
    return join_phrases(clauses(preview), "; ")


def clauses(preview: Preview) -> tuple[Phrase, ...]:
    """The parts of the sentence, which semicolons join.

    First the sites of which nothing can be said, then what happens to hosts, the worst first and in
    full. That nothing happens is only said where everything is known.
    """
    known = [s for e in preview.entries for s in members(e) if s.state is not State.INVALID]
    sites = [site for site in known if site.state not in (State.REMOVED, State.VANISHED)]
    found = [*_unsaid(preview), *_ends(known), *_impacts(preview, sites)]
    happens = bool(sum_doings(known))
    found += _warnings(sites)
    if not found:
        found.append(_nothing(sites))
    elif sites and not happens:
        found.append(("nothing else happens to any machine",))
    found += object_cache.pending(sites)
    start = plain(found[0][:1])  # words of ours: each clause starts with some
    found[0] = (start[0].upper() + start[1:], *found[0][1:])
    found[-1] = (*found[-1], ".")
    return tuple(found)


def _nothing(sites: Sequence[SitePreview]) -> Phrase:
    objects = sum(len(site.objects) for site in sites)
    if not objects:
        return (NOTHING,)
    differ = f"{count(objects, 'object')} differ{'s' if objects == 1 else ''}"
    return (f"{NOTHING}: {differ} in ", *list_names([site.name for site in sites], "site"))


def _unsaid(preview: Preview) -> Iterable[Phrase]:
    """The sites of which nothing can be said."""
    invalid = [s for e in preview.entries for s in members(e) if s.state is State.INVALID]
    if len(invalid) > NAMED:
        problems = sum(number_of(site.problems) for site in invalid)
        yield (f"cannot predict what happens to {len(invalid):,} sites ({problems:,} problems)",)
    elif invalid:
        named = [(value(s.name), f" ({count(number_of(s.problems), 'problem')})") for s in invalid]
        yield ("cannot predict what happens to ", *series(named))
    if preview.clashes:
        clashes = count(len(preview.clashes), "problem")
        yield (f"cannot predict what {clashes} between sites will do",)


_ENDS = {
    State.VANISHED: ("the file is gone of ", ", not decommissioned: no tool would manage {}"),
    State.DECOMMISSIONED: ("decommissions ", ": the cluster is deleted with all that runs on {}"),
    State.REMOVED: ("ends ", ", decommissioned before: nothing is deleted, {} stay registered"),
}


def _ends(sites: Sequence[SitePreview]) -> Iterable[Phrase]:
    """The sites that end, and those that have no file any more."""
    for state, (start, rest) in _ENDS.items():
        some = [site for site in sites if site.state is state]
        if some:
            hosts = count(sum(len(site.hosts) for site in some), "host")
            yield (start, *list_names([site.name for site in some], "site"), rest.format(hosts))


def _impacts(preview: Preview, sites: Sequence[SitePreview]) -> Iterable[Phrase]:
    """A clause for each thing that happens to hosts, the first with where it does."""
    found = {total.impact: total for total in sum_doings(sites)}
    first = next(iter(found), None)
    for impact in reversed(Impact):
        if impact is Impact.UNKNOWN and preview.code_changed:
            files = count(len(preview.code_changed), "changed file")
            yield (f"cannot predict what {files} of Foresite's own code will do",)
        rollout = _rollout(sites) if impact is Impact.REIMAGE else ()
        if impact in found:
            where = (
                _where(found[impact], sites) if impact is first else (count_text(found[impact]),)
            )
            yield (*where, *((": ", *rollout) if rollout else ()))
        elif rollout:
            yield ("re-images machines: ", *rollout)


def _where(total: Doing, sites: Sequence[SitePreview]) -> Phrase:
    """The effect on the hosts: how many of how many, on which sites and in which pools."""
    impact = total.impact
    concerned = [s for s in sites if any(each.impact is impact for each in doings(s))]
    of = sum(len(site.hosts) for site in concerned)
    where = (count_text(total, of), " in ", *list_names([site.name for site in concerned], "site"))
    every = [host for site in concerned for host in site.hosts if host.pool]
    pools = [host.pool for host in every if impact in (host.impact, host.rest)]
    return (*where, *_in_pools(list(dict.fromkeys(pools))))


def _in_pools(names: Sequence[str]) -> Phrase:
    if not names:
        return ()
    noun = "" if len(names) > NAMED else "pool " if len(names) == 1 else "pools "
    return (f" ({noun}", *list_names(names, "pool"), ")")


def _rollout(sites: Sequence[SitePreview]) -> Phrase:
    """How many are out at a time, and how long it takes."""
    plans = [plan for site in sites for plan in site.plans if plan.machines]
    stuck = sum(bool(plan.stuck) for plan in plans)
    never = [(f"{count(stuck, 'rollout')} never end{'s' if stuck == 1 else ''}",)] if stuck else []
    if stuck == len(plans):
        return join_phrases(never)
    plans = [plan for plan in plans if not plan.stuck]
    one = len(plans) == 1
    out = out_at_worst([plans[0].out] if one else [each for s in sites for each in s.capacity])
    longest = max(plans, key=lambda plan: plan.hours + plan.drain_hours)
    slowest = "" if one else " for the slowest pool"
    parts: list[Phrase] = [*never, (f"{sum(plan.at_once for plan in plans):,} at a time",)]
    parts += [(*out, " out at worst")] if out else []
    parts += [(takes(longest) + slowest,)]
    return join_phrases(parts)


def _warnings(sites: Sequence[SitePreview]) -> Iterable[Phrase]:
    """The warnings that the reader needs beside the effect on hosts."""
    if stopped := sum(map(refusal_count, sites)):
        yield (f"pulumi up stops at {count(stopped, 'refused object')}",)
    yield from object_cache.clauses(sites)
    lost = sum(each.count for site in sites for each in site.deletions)
    if lost and not any(site.impact is Impact.REMOVE for site in sites):
        yield (f"deletes {count(lost, 'thing')} that the pull request must acknowledge",)
