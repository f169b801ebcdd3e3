"""Sites of a large change in brief: of the sites to which the same happens a report shows one.

What counts stays: how many hosts what happens to, in which pools, what waits, is refused or lost.
Names of hosts that are left alone, reasons that do nothing, and the fields of objects go: of 10,000
sites these are gigabytes.
"""

from collections.abc import Sequence
from dataclasses import replace

from components.effects.vocabulary import Action, Impact, ObjectChange
from components.making.manifest import Manifest
from preview.result import HostVerdict, ObjectVerdict, SitePreview
from preview.verdict.group import group_sites, likeness

DETAILED = 1_000
"""Sites that a change may concern, up to which a report has every detail of each."""
_BLANK = Manifest("", {"apiVersion": "", "kind": "", "metadata": {"name": ""}})
_NAMED = (Action.REFUSED, Action.DELETED)
"""Actions on objects that others ask for by name."""


def bound_details(sites: Sequence[SitePreview | None], concerned: int) -> list[SitePreview | None]:
    """The sites of a change that concerns so many: of a large one those in brief that stand for no
    others. Of some of the sites the same is left as of all, or more."""
    if concerned <= DETAILED:
        return [*sites]
    shown = {entry.site.name for entry in group_sites(filter(None, sites))}
    return [
        brief(each) if each and not each.brief and each.name not in shown else each
        for each in sites
    ]


def brief(site: SitePreview) -> SitePreview:
    """A site without its details."""
    kept: dict[object, int] = {}
    new: dict[int, int] = {}
    limits = {host.limit for host in site.hosts}
    for index, reason in enumerate(site.reasons):
        effect = reason.effect
        idle = effect.impact is Impact.NONE and effect.action is None and not effect.waits
        key = likeness(reason) if idle and index not in limits else index
        if key not in kept:
            kept[key] = index
            new[index] = len(new)
    return replace(
        site,
        hosts=tuple(_host(each, new) for each in site.hosts),
        reasons=tuple(site.reasons[index] for index in new),
        objects=tuple(map(_object, site.objects)),
        brief=True,
    )


def _host(host: HostVerdict, new: dict[int, int]) -> HostVerdict:
    if host.impact is Impact.NONE and host.limit is None:
        return HostVerdict("", host.pool, Impact.NONE, ())
    reasons = tuple(new[index] for index in host.reasons if index in new)
    limit = None if host.limit is None else new[host.limit]
    return host._replace(reasons=reasons, limit=limit, zone="", rack="")


def _object(found: ObjectVerdict) -> ObjectVerdict:
    if found.action in _NAMED:
        return found._replace(change=found.change._replace(fields=()), reasons=())
    return ObjectVerdict(ObjectChange("", None, _BLANK), found.action, ())
