"""The pictures as lines of text, for where no SVG is shown: a comment at a forge."""

import textwrap
from collections.abc import Iterable, Iterator

from preview.report.hours import duration
from preview.report.scenes import Cell, Level, RackMap, Scene, Timeline, describe_level, host_words
from preview.report.words import by_impact

WIDTH, BAR = 72, 30
"""Columns of a line, and of a bar in it."""
_SIGNS = by_impact("sign")


def sketch(found: Scene) -> list[str]:
    """The lines of a scene's pictures."""
    racks = ("", *_racks(found.site, found.racks)) if found.racks else ()
    time = ("", *_time(found.site, found.timeline)) if found.timeline else ()
    left = ("", *_capacity(found.site, found.capacity)) if found.capacity else ()
    return [*racks, *time, *left][1:]


def _sign(cell: Cell) -> str:
    """A host's sign; one for all of which Git does not say which."""
    return "~" if cell.vague else _SIGNS[cell.impact]


def _racks(site: str, found: RackMap) -> Iterator[str]:
    yield f"Racks of {site}: a sign is a {'rack' if found.whole_racks else 'host'}"
    for zone, racks in found.zones:
        yield f"  zone {zone}"
        rows = " ".join("".join(map(_sign, rack.cells)) for rack in racks)
        yield from (f"    {row}" for row in textwrap.wrap(rows, WIDTH - 4))
    yield from (f"  {_sign(cell)} {host_words(cell, *hosts)}" for cell, *hosts in found.key)


def _time(site: str, found: Timeline) -> Iterator[str]:
    most = f": {duration(found.hours)} at most" if found.hours else ""
    yield f"Time that pools of {site} take{most}"
    wide = max(len(row.name) for row in found.rows)
    for row in found.rows:
        first, work, more = (
            round(BAR * part / found.hours) if found.hours else 0
            for part in (row.start, row.start + row.work, row.start + row.work + row.more)
        )
        work = max(work, first + 1)
        bar = "?" * BAR if row.stuck else " " * first + "█" * (work - first) + "▒" * (more - work)
        yield f"  {row.name:{wide}}  {bar:{BAR}}  {row.said}"
    drains = ", ▒ what drains may add" if any(row.more for row in found.rows) else ""
    yield f"  █ waves of installs{drains}"


def _capacity(site: str, levels: Iterable[Level]) -> Iterator[str]:
    levels = list(levels)
    yield f"Capacity of {site} at worst"
    wide = max(len(level.name) for level in levels)
    for level in levels:
        full = round(BAR * level.least / level.total) if level.total else 0
        bar = list("█" * full + "░" * (BAR - full))
        if level.guaranteed and level.total:
            bar[min(BAR - 1, round(BAR * level.guaranteed / level.total))] = "|"
        yield f"  {level.name:{wide}}  {''.join(bar)}  {describe_level(level)}"
    if any(level.guaranteed for level in levels):
        yield "  █ left, ░ out, | guaranteed to teams"
