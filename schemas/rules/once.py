"""Rules on what stands once in a list, names of a kind and items (once.toml says where), and on the
last day of what is allowed for a time; and on components of one's own.
"""

import datetime
from collections.abc import Iterator

from schemas.facts.own_components import OwnComponentError, make, named
from schemas.facts.site import Site
from schemas.kubernetes.tables import read_table
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, say

_LISTS = read_table(__file__)["list"]


def once(site: Site) -> Iterator[Finding]:
    """No two items of a list are alike where that is a mistake."""
    for each in _LISTS:
        seen = set()
        for place, value in each_at(site.file, *each["at"]):
            item = max(at for at, step in enumerate(place) if isinstance(step, int))
            if (place[: each.get("within", item)], value) in seen:
                yield say(each["row"], place, *(text.format(value) for text in each["values"]))
            seen.add((place[: each.get("within", item)], value))


MAX_DAYS = 2 * 366
"""Most days until the end of an exception. An end within them stays valid as time goes by."""
_ENDS = read_table(__file__)["ends"]


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


def own_components(site: Site) -> Iterator[Finding]:
    """Each component of one's own makes its objects in two processes, whose sets and hashes have
    other orders, and both are alike."""
    for component, _ in named(site):
        at, name = ("components", component.name), component.name
        try:
            alike = make(site, name) == make(site, name, "2")
        except OwnComponentError as error:
            yield say("own-component-fails", at, name, site, error)
            continue
        if not alike:
            yield say("own-component-differs", at, name, site)
