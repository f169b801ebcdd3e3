"""Sites to which the same happens, put together, worst first."""

from collections.abc import Iterable

from components.effects.vocabulary import Impact
from preview.result import Entry, Reason, SitePreview, State
from schemas.kubernetes.grouping import group_by_key


def group_sites(sites: Iterable[SitePreview]) -> tuple[Entry, ...]:
    """The sites by their verdicts and reasons, worst first, then by name. Numbers of hosts may
    differ; losses are always a site's own, as are problems but those of a shared file."""
    groups = group_by_key((_kind(site), site) for site in sites)

    def concerned(site: SitePreview) -> int:
        return sum(host.impact is not Impact.NONE for host in site.hosts)

    # The site with most hosts that are concerned stands for the others.
    entries = [
        Entry(tuple(site.name for site in members), max(members, key=concerned), tuple(members))
        for members in groups.values()
    ]
    return tuple(sorted(entries, key=lambda e: (-rank(e.site), -len(e.sites), e.sites)))


def rank(site: SitePreview) -> int:
    """How bad it is for a site: one of which nothing can be said comes before all that is known."""
    return len(Impact) if site.state is State.INVALID else site.impact.rank


def _kind(site: SitePreview) -> object:
    if site.state is State.INVALID:
        return site.problems
    if site.deletions or site.state is not State.CHANGED:
        return site.name
    return (
        frozenset(host.impact for host in site.hosts),
        frozenset(likeness(each) for each in site.reasons),
        frozenset(plan.stuck for plan in site.plans),
    )


def likeness(reason: Reason) -> object:
    """A reason without what only one site has: its name, and the names of objects and pools."""
    kind = reason.effect.name[1].partition("/")[0]
    edits = frozenset((cause.path, cause.before, cause.after) for cause in reason.causes)
    return (reason.effect.impact, reason.effect.action, kind, edits)
