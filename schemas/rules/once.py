"""A rule on what stands once in a list: names of a kind, and items. once.toml says where."""

from collections.abc import Iterator

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
