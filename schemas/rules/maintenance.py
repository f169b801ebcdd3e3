"""Rules on windows and freezes: days of the calendar, in a time zone that there is."""

from collections.abc import Iterator
from datetime import date

from schemas.model.maintenance import Maintenance
from schemas.rules.finding import Finding, say
from schemas.rules.teams import zone_advice


def maintenance_times(maintenance: Maintenance) -> Iterator[Finding]:
    """Windows are in a time zone, and freezes last from one day to the same or a later one."""
    if advice := zone_advice(name := maintenance.time_zone):
        yield say("maintenance-zone-unknown", ("maintenance", "time_zone"), name, advice)
    for index, freeze in enumerate(maintenance.freezes):
        days, place = [], ("maintenance", "freezes", index)
        for name in ("first_day", "last_day"):
            try:
                days.append(date.fromisoformat(getattr(freeze, name)))
            except ValueError:
                yield say("day-unknown", (*place, name), getattr(freeze, name))
        if days != sorted(days):
            yield say("freeze-ends-before-start", (*place, "last_day"), days[1], days[0])
