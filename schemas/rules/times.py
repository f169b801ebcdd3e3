"""Rules on days and hours, of windows, freezes and off-peak: in a time zone and of a calendar that
there are."""

from collections.abc import Iterator
from datetime import date

from schemas.model.maintenance import Freeze, Maintenance
from schemas.model.scheduling import OffPeak
from schemas.rules.finding import Finding, Path, advise, say

MAX_WINDOWS = 400
"""Spans of off-peak hours in one throttle: nights and weekends of one and a half years. The
throttler reads all of them anew for each pod."""


def maintenance_times(maintenance: Maintenance) -> Iterator[Finding]:
    """Windows are in a time zone, and freezes last from one day to the same or a later one."""
    if advice := _zone_advice(name := maintenance.time_zone):
        yield say("maintenance-zone-unknown", ("maintenance", "time_zone"), name, advice)
    for index, freeze in enumerate(maintenance.freezes):
        yield from _days(freeze, ("maintenance", "freezes", index), "day-unknown", "freeze")


def off_peak_hours(off_peak: OffPeak) -> Iterator[Finding]:
    """Off-peak hours are hours that come: in a zone and between days that there are."""
    from schemas.facts.off_peak import windows  # most sites need no time zones

    place = ("scheduling", "off_peak")
    faults = list(_hours(off_peak, place))
    yield from faults
    times = 0 if faults else len(windows(off_peak))
    if times > MAX_WINDOWS:
        yield say("off-peak-too-often", (*place, "last_day"), off_peak, times, MAX_WINDOWS)


def _zone_advice(name: str) -> str:
    """The time zone to write in place of one that there is not; empty where there is it."""
    from schemas.facts.off_peak import time_zones

    if name in time_zones():
        return ""
    # Abbreviations are alike and mean other hours: only places are offered.
    places = [each for each in time_zones() if "/" in each and not each.startswith("Etc/")]
    return advise(name, sorted(places), "write one of the tz database, such as Asia/Tokyo")


def _hours(off_peak: OffPeak, place: Path) -> Iterator[Finding]:
    if advice := _zone_advice(off_peak.time_zone):
        yield say("off-peak-zone-unknown", (*place, "time_zone"), off_peak, advice)
    if off_peak.start == off_peak.end:
        yield say("off-peak-empty", (*place, "end"), off_peak)
    yield from _days(off_peak, place, "off-peak-day-unknown", "off-peak")


def _days(of: OffPeak | Freeze, place: Path, unknown: str, kind: str) -> Iterator[Finding]:
    """The first and the last day are there, and in this order."""
    days = []
    for name in ("first_day", "last_day"):
        try:
            days.append(date.fromisoformat(getattr(of, name)))
        except ValueError:
            yield say(unknown, (*place, name), getattr(of, name))
    if days != sorted(days):
        yield say(f"{kind}-ends-before-start", (*place, "last_day"), days[1], days[0])
