"""Rules on what stands once in a list, on names of what is there, on values that a pattern refuses
(once.toml), on values that do not go together (together.toml), on last days of what is allowed for
a time, and on components of one's own."""

import datetime
import re
from collections.abc import Iterator
from typing import Any

from schemas.facts.own_components import OwnComponentError, make, named
from schemas.facts.site import Site
from schemas.kubernetes.tables import read_table
from schemas.model.site_file import SiteFile
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, advise, attempt, say

_TABLE = read_table(__file__)


def once(site: Site) -> Iterator[Finding]:
    """No two items of a list are alike where that is a mistake."""
    for each in _TABLE["list"]:
        seen = set()
        for place, value in each_at(site.file, *each["at"]):
            item = max(at for at, step in enumerate(place) if isinstance(step, int))
            compared = [vars(value).get(name) for name in each.get("by", ())] or [value]
            key = (place[: each.get("within", item)], *compared)
            if key in seen and None not in key:
                at = (*place, *each.get("tell", ()))
                yield say(each["row"], at, *(text.format(value) for text in each["values"]))
            seen.add(key)


def references(site: Site) -> Iterator[Finding]:
    """Each name of something in the file is one that it has. Rows end at holes one by one."""
    for each in _TABLE["reference"]:
        yield from attempt(_references(site, each), holes=True)


def _references(site: Site, each: dict[str, Any]) -> Iterator[Finding]:
    known = sorted(getattr(site, each["of"])) if "of" in each else _names(site.file, each["to"])
    if known is None:
        return
    fix = each["otherwise"] if known else each.get("without", each["otherwise"])
    for place, value in each_at(site.file, *each["at"]):
        name = place[-1] if each.get("keys") else value
        if name not in (None, *known):
            advice = advise(str(name), known, fix.format(", ".join(known) or "none"))
            yield say(each["row"], place, name, advice)


def values(site: Site) -> Iterator[Finding]:
    """No value, or key of a map, is one that the pattern of a row refuses."""
    for each in _TABLE["value"]:
        form, meant = re.compile(each.get("form") or each["unless"], re.DOTALL), "form" in each
        for place, value in each_at(site.file, *each["at"]):
            text = str(place[-1] if each.get("keys") else value)
            if value is not None and bool(form.fullmatch(text)) is meant:
                yield say(each["row"], place, *(said.format(text) for said in each["values"]))


def together(site: Site) -> Iterator[Finding]:
    """No part of the file has values that do not go together, or lacks its program's image. Parts
    end at holes one by one."""
    for each in read_table(__file__, "together.toml")["part"]:
        for place, part in each_at(site.file, *each["at"]):
            yield from attempt(_together(site, each, place, part), holes=True)


def _together(site: Site, each: dict[str, Any], place: Path, part: Any) -> Iterator[Finding]:
    fits = _fits(part, each["when"]) and _fits(site.file, each.get("where", {}))
    if not fits or ("image" in each and each["image"] in site.images):
        return
    said = part.model_dump(exclude_unset=True) if "written" in each else part
    for at, _ in each_at(said, *each["tell"]) if "tell" in each else (((), None),):
        texts = (text.format(part, *at[-1:], site=site) for text in each.get("values", ()))
        yield say(each["row"], (*place, *at), *texts)


def _fits(part: Any, wanted: dict[str, Any]) -> bool:
    """True if the values of a part are as they are wanted; one that is not known is not."""
    found = [(one, [*each_at(part, path)]) for path, one in wanted.items()]
    return all(values and _is(values[0][1], one) for one, values in found)


def _is(value: Any, wanted: Any) -> bool:
    """True if a value is one of some, above a number, or there (true) or not (false)."""
    if isinstance(wanted, bool):
        return bool(value) is wanted
    return value in wanted if isinstance(wanted, list) else bool(value and value > wanted)


def _names(file: SiteFile, path: str) -> list[str] | None:
    """The names in a list or a map of the file; None where one of them is not known."""
    items = each_at(file, f"{path}.*")
    names = [at[-1] if isinstance(at[-1], str) else vars(item).get("name") for at, item in items]
    return names if any(each_at(file, path)) and None not in names else None


MAX_DAYS = 2 * 366
"""Most days until the end of an exception. An end within them stays valid as time goes by."""


def ends(site: Site) -> Iterator[Finding]:
    """Each last day is one of the calendar, and within two years."""
    days = list(each_at(site.file, *_TABLE["ends"]))
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
    """Own components make the same objects in two processes, whose sets have other orders."""
    for component, _ in named(site):
        at, name = ("components", component.name), component.name
        try:
            alike = make(site, name) == make(site, name, "2")
        except OwnComponentError as error:
            yield say("own-component-fails", at, name, site, error)
            continue
        if not alike:
            yield say("own-component-differs", at, name, site)
