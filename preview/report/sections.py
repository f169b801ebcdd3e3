"""The sections on one entry: its problems, hosts, pools, capacity, and why all of it happens."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby

from components.effects.vocabulary import Action, Impact
from preview.report.blocks import Line, Names, Room, Row, Section, Table, first_lines, heads
from preview.report.phrase import Phrase, Strong, contrast, join_phrases, prose, value
from preview.report.reasons import Because, Why, group_reasons
from preview.report.words import FEW, count, few, first_few, meaning, ranges, which
from preview.result import Cause, HostVerdict, SitePreview
from schemas.model.problem import Problem

MOST_PROBLEMS = 100
"""Problems of a site that are shown; nobody reads more before mending some."""


def hosts_in(names: Iterable[str], room: Room) -> Phrase:
    """The names of hosts as ranges."""
    some, more = first_few(ranges(names), room.ranges)
    shown = join_phrases([(value(each),) for each in some])
    return (*shown, f" and {count(more, 'more range')}") if more else shown


# --- problems -------------------------------------------------------------------------------------
def problem(each: Problem, room: Room) -> Line:
    """A problem: the place, what is wrong, why it hurts, what to write instead."""
    place = each.file + (f":{each.line}:{each.column}" if each.line else "")
    at: Phrase = (" ", value(each.path)) if each.path else ()
    said = (("", each.message), ("why: ", each.why), ("fix: ", each.fix))
    below = tuple(Line((start, *prose(text))) for start, text in said)
    link = room.forge.link(each.file, each.line)
    where = value(place, 160)._replace(link=link)
    return Line((where, ": ", Strong(each.code.value), *at), below, Impact.UNKNOWN)


def problems(site: SitePreview, room: Room) -> Section:
    """The reasons why nothing can be said of a site."""
    lines = first_lines(site.problems, MOST_PROBLEMS, "problem", partial(problem, room=room))
    return Section("problems", ("Problems",), lines)


# --- hosts ----------------------------------------------------------------------------------------
def hosts(site: SitePreview, room: Room) -> Section:
    """The effect on the hosts of each pool with their number, worst first."""
    rows = tuple(_host_row(site, alike, room) for alike in alike_hosts(site))
    table = (Table(heads("what happens", "hosts:", "pool", "which"), rows),) if rows else ()
    return Section("hosts", ("Hosts",), table)


def alike_hosts(site: SitePreview) -> list[tuple[HostVerdict, ...]]:
    """The hosts to which the same happens, by pool, worst first; those left alone in one group."""
    return [tuple(group) for _, group in groupby(sorted(site.hosts, key=_likeness), _likeness)]


def _likeness(host: HostVerdict) -> tuple[object, ...]:
    if host.impact is Impact.NONE:
        return (0,)
    vague = host.at_most is not None
    limits = [-1 if limit is None else limit for limit in (host.at_most, host.rest_at_most)]
    return (
        -host.impact.rank,
        *limits,
        host.rest.rank,
        # Hosts of several pools may share one number.
        (host.reasons[:1], "") if vague else ((), host.pool),
    )


def _host_row(site: SitePreview, alike: Sequence[HostVerdict], room: Room) -> Row:
    first = alike[0]
    what: Phrase = (Strong(first.impact.value), f": {meaning(site, first.impact)}")
    if first.impact is Impact.NONE:
        others = "all others" if len(alike) < len(site.hosts) else "all"
        return Row((what, (f"{len(alike):,}",), (), (others,)), first.impact)
    names = hosts_in((host.host for host in alike), room)
    in_pool = sum(host.pool == first.pool for host in site.hosts)
    number = f"{len(alike):,} of {in_pool:,}"
    if first.at_most is not None:
        number = f"{_host_count(alike):,} of {len(alike):,}"
        names = (*names, f"; {_which(alike)}")
    pool = few(tuple(dict.fromkeys(host.pool for host in alike if host.pool)))
    return Row((what, (number,), pool, names), first.impact)


def _host_count(alike: Sequence[HostVerdict]) -> int:
    limit = alike[0].at_most
    return len(alike) if limit is None else min(limit, len(alike))


def _which(alike: Sequence[HostVerdict]) -> str:
    """Which of the hosts are concerned, what happens to those that are spared the worst, and how
    many are with those to which another of the alternatives happens."""
    first, number = alike[0], _host_count(alike)
    said, others = which(number, len(alike)), len(alike) - number
    if first.rest is not Impact.NONE and others:
        bounded = first.rest_at_most is not None and first.rest_at_most < others
        some = f"at most {first.rest_at_most:,} of " if bounded else ""
        said += f", and {some}the other {others:,}: {first.rest.value}"
    if first.together is not None:
        said += f"; {first.together:,} at most with the alternatives"
    return said


def every_host(site: SitePreview) -> Section:
    """The name of each host, for a reader who looks for one."""
    blocks = tuple(map(_names, alike_hosts(site)))
    title = ("Every host of ", value(site.name), f" by name: {len(site.hosts):,}")
    return Section("every-host", title, blocks)


def _names(alike: Sequence[HostVerdict]) -> Names:
    first = alike[0]
    title: Phrase = (Strong(first.impact.value), f", {count(len(alike), 'host')}")
    if first.impact is not Impact.NONE and first.pool:
        pools = tuple(dict.fromkeys(host.pool for host in alike))
        title = (*title, " of pool " if len(pools) == 1 else " of pools ", *few(pools))
    if first.at_most is not None:
        title = (*title, f": {_host_count(alike):,} of them, {_which(alike)}")
    return Names(title, tuple(value(host.host).text for host in alike), first.impact)


# --- people and jobs -----------------------------------------------------------------------------
def services(site: SitePreview) -> Section:
    """What people and jobs feel of a change that no machine does."""
    lines = [Line(prose(each.line)) for each in site.services]
    if not all(each.applied for each in site.services):
        lines.append(Line(("cluster.context is unset: this holds once the cluster is named",)))
    return Section("services", ("Alerts, jobs, limits and the management cluster",), tuple(lines))


# --- why ------------------------------------------------------------------------------------------
def why(site: SitePreview, room: Room) -> tuple[Section, Section]:
    """The effects, the edits that cause them, and their objects and fields; worst first. The second
    section has what does nothing to a machine, unless it is refused."""
    found = group_reasons(site)
    line = partial(_because, room=room)
    because = partial(first_lines, limit=room.groups, noun="reason", line=line)
    harmful = [each for each in found if each.impact is not Impact.NONE or each.refused]
    harmless = [each for each in found if each.impact is Impact.NONE and not each.refused]
    return (
        Section("why", ("Why",), because(harmful)),
        Section("harmless", ("Changes without effect on machines",), because(harmless)),
    )


def _because(each: Because, room: Room) -> Line:
    refused = Action.REFUSED.value if each.refused else ""
    alone = bool(refused) and each.impact is Impact.NONE
    happens: Phrase = (Strong(each.impact.value), f" ({refused})" if refused else "")
    happens = (Strong(refused),) if alone else happens
    ways = (Line(("smaller way: ", *prose(way))) for way in each.ways)
    edits = _edits(each.causes, room)
    known = join_phrases([(value(name, 160),) for name in each.sources], "; ")
    sources = (Line(("known from: ", *known)),) if room.sources and known else ()
    whys = first_lines(each.whys, room.groups, "reason", _why)
    below = (*edits, *whys, *ways, *sources)
    return Line((*happens, *_to_hosts(each, room)), below, None if alone else each.impact)


def _to_hosts(each: Because, room: Room) -> Phrase:
    names = hosts_in(each.hosts, room)
    if each.at_most is not None:
        hosts = f"{each.at_most:,} of {count(len(each.hosts), 'host')}"
        return (f", {hosts}, {which(each.at_most, len(each.hosts))}: ", *names)
    if each.hosts:
        return (f", {count(len(each.hosts), 'host')}: ", *names)
    if each.impact is Impact.NONE:
        return () if each.refused else (": no machine is affected",)
    return (", no listed host",)


def _why(each: Why) -> Line:
    fields: Phrase = ()
    if each.fields:
        fields = (", field " if len(each.fields) == 1 else ", fields ", *few(each.fields, 160))
    return Line(prose(each.sentence), (Line((*_titles(each.objects), *fields)),))


def _titles(objects: Sequence[str]) -> Phrase:
    """Objects by title; those of several kinds, where they are many, by kind and number."""
    found = Counter(each.partition(" ")[0] for each in objects)
    if len(found) == 1 or len(objects) <= FEW:
        return few(ranges(objects), 160)
    kinds = [(f"{number:,} ", value(kind)) for kind, number in found.most_common()]
    some, more = first_few(kinds, 6)
    rest: list[Phrase] = [(count(more, "more kind"),)] if more else []
    return join_phrases([*some, *rest])


def _edits(causes: Sequence[Cause], room: Room) -> list[Line]:
    if not causes:
        return [Line(("edit: could not be traced",))]
    some, more = first_few(causes)
    lines = [Line(_edit(cause, room)) for cause in some]
    if more:
        files = list(dict.fromkeys(cause.file for cause in causes))
        lines.append(Line((f"and {count(more, 'more edit')} in ", *few(files))))
    return lines


def _edit(cause: Cause, room: Room) -> Phrase:
    path: Phrase = (" ", value(cause.path)) if cause.path else ()
    if not cause.before and not cause.after:
        what: Phrase = ("removed" if cause.gone else "changed",)
    elif not cause.before:
        what = ("new: ", value(cause.after, role="after"))
    elif not cause.after:
        what = ("gone: ", value(cause.before, role="before"))
    else:
        what = contrast(cause.before, cause.after)
    link = room.forge.link(cause.file, cause.line, cause.gone)
    return ("edit: ", value(cause.place, 160)._replace(link=link), *path, ": ", *what)
