"""The cache in a report: which part of its keys moves, and which objects are lost with disks."""

from collections.abc import Iterable, Sequence

from components.object_cache.effects.moved import CacheMove, percent
from preview.report.blocks import Line, Section
from preview.report.phrase import Phrase, Strong, prose
from preview.report.words import count
from preview.result import SitePreview
from schemas.kubernetes.grouping import group_by_key
from schemas.model.vocabulary import CacheDiscovery

_BY = {CacheDiscovery.HOSTS: "a file of hosts", CacheDiscovery.DNS: "DNS"}
IN_HEADLINE = 2
"""Consequences that a headline names; the section has all."""
DISKS = " with wiped disks"
"""The cause of a loss, which a headline leaves out where it has no room."""
ONCE = "once the cache is deployed: "
NOT_YET = "the cache is not deployed yet (cluster.context is unset); the figures apply once it is"
AFRESH = "the cache starts empty: its servers look into another folder"


def section(site: SitePreview) -> Section:
    """The fate of the objects of a site's cache, and the effect on its users."""
    lines = [*_lines(site.cache)] if site.cache else []
    lines += [Line(_phrase(each.line)) for each in site.consequences]
    if lines and not in_clusters(site):
        lines.append(Line((NOT_YET,)))
    return Section("cache", ("Cache",), tuple(lines))


def in_clusters(site: SitePreview) -> bool:
    """True if the site's own cluster is named on both sides, so that its cache is there."""
    moves = site.cache is None or site.cache.applied
    return moves and all(each.applied for each in site.consequences)


def clauses(sites: Sequence[SitePreview]) -> Iterable[tuple[Phrase, Iterable[str], bool]]:
    """The fate of the caches of some sites, for a headline: the words, the names of the sites,
    and true where objects are lost or users feel it."""
    found = [(each.name, each.cache) for each in sites if each.cache]
    moved = {name: each.moved for name, each in found if each.moved}
    idle = {name: each.idle for name, each in found if each.idle and not each.moved}
    lost = {name: each.lost for name, each in found if each.lost}
    vague = any(each.at_most for _, each in found)
    afresh = [name for name, each in found if each.afresh]
    if afresh:
        yield (AFRESH,), afresh, True
    elif lost:
        said = " of the cache's objects are lost"
        yield (_share(lost, vague), said, DISKS), lost, True
    keys = " of the cache's keys move to other hosts"
    if moved:
        yield (_share(moved), keys), moved, False
    if idle:
        yield (f"about {percent(max(idle.values()))}", keys), idle, False
    if away := {name: each.readdressed for name, each in found if each.readdressed}:
        yield (_wrong_address_text(sum(away.values())),), away, False
    yield from _felt(sites)


def _felt(sites: Sequence[SitePreview]) -> Iterable[tuple[Phrase, Iterable[str], bool]]:
    """The effects on users: the first two, and the number of the others."""
    names = group_by_key((each.clause, site.name) for site in sites for each in site.consequences)
    said = list(names.items())
    for clause, those in said[:IN_HEADLINE]:
        yield _phrase(clause), those, True
    if more := said[IN_HEADLINE:]:
        words = f"{count(len(more), 'more consequence')} for users of the cache"
        yield (words,), [name for _, those in more for name in those], False


def _phrase(text: str) -> Phrase:
    """A sentence about names that others chose, after a first word of ours."""
    first, _, rest = text.partition(" ")
    return (f"{first} ", *prose(rest))


def _wrong_address_text(hosts: int) -> str:
    if hosts == 1:
        return "1 host of the cache is asked at an address that it does not have yet"
    return f"{hosts:,} hosts of the cache are asked at addresses that they do not have yet"


def _share(shares: dict[str, float], vague: bool = False) -> str:
    most = percent(max(shares.values()))
    return f"up to {most}" if vague or len(shares) > 1 else most


def _lines(cache: CacheMove) -> Iterable[Line]:
    if cache.changes_routing:
        yield _move_line(cache)
    if cache.afresh:
        yield Line((Strong("starts empty"), ": its servers look into another folder"))
    elif cache.wiped:
        yield _loss_line(cache)
    if cache.readdressed:
        what = f"{_wrong_address_text(cache.readdressed)}, until installed again: "
        share = percent(cache.readdressed / cache.hosts_before)
        yield Line((what, Strong(share), " of the objects are misses"))
    more = cache.servers_after - cache.servers_before
    if more != cache.hosts_after - cache.hosts_before and (more or cache.idle):
        yield _machines(cache)


def _move_line(cache: CacheMove) -> Line:
    if not cache.moved:
        what: Phrase = (Strong("no key"), " moves to another host")
    else:
        what = (
            Strong(percent(cache.moved)),
            " of the keys move to another host, and are misses there until they are written again",
        )
        if cache.hosts_before != cache.hosts_after:
            least = f"; with any even spread at least {percent(cache.unavoidable)} would"
            what = (*what, least)
    return Line(what, tuple(_how(cache)))


def _how(cache: CacheMove) -> Iterable[Line]:
    if cache.hosts_before != cache.hosts_after:
        yield Line((f"hosts: {cache.hosts_before:,} → {cache.hosts_after:,}",))
    if cache.table_before != cache.table_after:
        yield Line((f"entries of the table: {cache.table_before:,} → {cache.table_after:,}",))
    if cache.discovery_before is not cache.discovery_after:
        before, after = _BY[cache.discovery_before], _BY[cache.discovery_after]
        yield Line((f"Envoys know the hosts by: {before} → {after}",))
    if cache.joining:
        joins = f"{cache.joining:,} hosts get their keys once installed, as their servers answer"
        one = "1 host gets its keys once it is installed and its server answers"
        yield Line((f"{one if cache.joining == 1 else joins} health checks",))
    yield Line(("every listed host is taken to be up, and every key to be asked for as often",))
    if cache.discovery_after is CacheDiscovery.DNS:
        yield Line(("Envoys learn of it one after the other, and disagree until all have",))


def _loss_line(cache: CacheMove) -> Line:
    pace = f", {cache.at_once:,} at a time" if cache.at_once else ""
    most = "up to " if cache.at_most else ""
    disks = "its disk" if cache.wiped == 1 else "their disks"
    one = "s" if cache.wiped == 1 else ""
    # Hosts that leave the list lose their disks too, and their keys have moved.
    stay = f"stay{one} in the list and " if cache.hosts_before != cache.hosts_after else ""
    hosts = f"{count(cache.wiped, 'host')} that {stay}lose{one} {disks}"
    what = Strong(f"{most}{percent(cache.lost)}")
    return Line((what, f" of the objects are lost, on {hosts}{pace}"))


def _machines(cache: CacheMove) -> Line:
    before, after = cache.servers_before, cache.servers_after
    share = percent(cache.idle or abs(after - before) / max(before, after))
    which = "to former spares, once these are installed and pass health checks"
    if after < before:
        which = "to other hosts, as machines go and their hosts become spares"
    said = f"servers on listed hosts: {before:,} → {after:,}"
    return Line((f"{said}; about {share} of the keys move {which}",))
