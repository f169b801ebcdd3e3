"""A rule on the last day of what is allowed for a time."""

import datetime
from collections.abc import Iterator

from schemas.facts.own_components import named
from schemas.facts.site import Site
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, say

MAX_DAYS = 2 * 366
"""Most days until the end of an exception. An end within them stays valid as time goes by."""
_ENDS = (
    "policies.exceptions.*.until",
    "cluster.pod_network.allow.*.until",
    "extra.*.allow.*.until",
    "extra.*.rules.*.until",
    "components.*.allow.*.until",
    "patches.*.until",
)


def ends(site: Site) -> Iterator[Finding]:
    """Each last day is one of the calendar, and within two years."""
    days = list(each_at(site.file, *_ENDS))
    for component, _ in named(site):
        rules = enumerate(component.effects)
        days += ((("components", component.name, "rules", n, "until"), e.until) for n, e in rules)
    last = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=MAX_DAYS)
    for place, text in days:
        try:
            until = datetime.date.fromisoformat(text)
        except ValueError:
            yield say("day-unknown", place, text)
            continue
        if until > last:
            yield say("day-too-late", place, text)
