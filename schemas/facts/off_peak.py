"""The off-peak hours of a site as spans of time, by the tz database of the package ``tzdata``. Only
that package is read. ``zoneinfo`` prefers the database of the machine that it runs on, so one file
could mean other hours on another machine."""

import functools
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from importlib import resources
from typing import NamedTuple
from zoneinfo import ZoneInfo

from schemas.model.scheduling import OffPeak

_DAY = timedelta(days=1)
_SATURDAY = 5


class Window(NamedTuple):
    """A span of time, both ends in UTC."""

    begin: datetime
    end: datetime


@functools.cache
def time_zones() -> frozenset[str]:
    """The names of all time zones."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text("ascii").split())


@functools.cache
def time_zone(name: str) -> tzinfo:
    """A time zone by its name. Raises LookupError where there is none."""
    if name not in time_zones():
        raise LookupError(f"there is no time zone {name}")
    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))
    with data.open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def windows(off_peak: OffPeak) -> list[Window]:
    """The spans that are off-peak, in order, none adjoining another. An hour that clocks skip
    counts as the one after it; of one that comes twice the first counts (PEP 495). Raises
    LookupError for an unknown time zone, ValueError for a day that is none."""
    merged: list[Window] = []
    for span in sorted(_spans(off_peak, time_zone(off_peak.time_zone))):
        if span.begin >= span.end:
            continue  # what a change of clocks swallows
        if merged and span.begin <= merged[-1].end:
            merged[-1] = Window(merged[-1].begin, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _spans(off_peak: OffPeak, zone: tzinfo) -> Iterator[Window]:
    """The nights and the days of weekends, as they overlap."""
    start, end = time.fromisoformat(off_peak.start), time.fromisoformat(off_peak.end)
    day, last = date.fromisoformat(off_peak.first_day), date.fromisoformat(off_peak.last_day)
    while day <= last:
        until = day if start < end else day + _DAY
        yield Window(moment(day, start, zone), moment(until, end, zone))
        if off_peak.weekends and day.weekday() >= _SATURDAY:
            yield Window(moment(day, time(), zone), moment(day + _DAY, time(), zone))
        day += _DAY


def moment(day: date, clock: time, zone: tzinfo) -> datetime:
    """A time of day in a time zone, in UTC."""
    return datetime.combine(day, clock, zone).astimezone(UTC)
