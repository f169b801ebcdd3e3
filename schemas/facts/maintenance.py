"""When a site may be changed: its windows and freezes at a moment, by the tz database."""

from datetime import UTC, date, datetime, time, timedelta, tzinfo

from schemas.facts.off_peak import moment, time_zone
from schemas.model.maintenance import WEEK, Maintenance

_DAY = timedelta(days=1)


def closed(maintenance: Maintenance | None, now: datetime) -> str:
    """Why a site may not be changed at a moment, and until when; empty where it may."""
    why, until = closed_until(maintenance, now)
    return f"{why}, until {until:%Y-%m-%d %H:%M %Z}" if why else ""


def closed_until(maintenance: Maintenance | None, now: datetime) -> tuple[str, datetime]:
    """Why a site may not be changed at a moment, empty where it may; and from when on it may. Hours
    that clocks skip, or that come twice, count as those of off-peak do. Raises LookupError for an
    unknown time zone, ValueError for a day that is none."""
    if maintenance is None:
        return "", now
    zone, why, until = time_zone(maintenance.time_zone), "", now.astimezone(UTC)
    # Each freeze is left once at most, and each is followed by one window.
    for _ in range(2 * len(maintenance.freezes) + 2):
        reason, then = _next(maintenance, until, zone)
        if then is None:
            break
        why, until = why or reason, then
    return why, until.astimezone(zone)


def _next(maintenance: Maintenance, now: datetime, zone: tzinfo) -> tuple[str, datetime | None]:
    """What keeps the site closed at a moment, and when that ends; None where nothing does."""
    today = now.astimezone(zone).date()
    for freeze in maintenance.freezes:
        first, last = map(date.fromisoformat, (freeze.first_day, freeze.last_day))
        if first <= today <= last:
            return f"frozen ({freeze.reason})", moment(last + _DAY, time(), zone)
    begins = []
    for window in maintenance.windows:
        start, end = time.fromisoformat(window.start), time.fromisoformat(window.end)
        for day in (today + n * _DAY for n in range(-1, 9)):  # a week, and the days around it
            until = day if start < end else day + _DAY
            span = moment(day, start, zone), moment(until, end, zone)
            if WEEK[day.weekday()] in window.days and now < span[1] and span[0] < span[1]:
                begins.append(span[0])
    if not maintenance.windows or any(each <= now for each in begins):
        return "", None
    return "outside of its maintenance windows", min(begins, default=now + _DAY)
