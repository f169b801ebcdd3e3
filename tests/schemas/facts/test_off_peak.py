"""Off-peak hours as spans of time: nights, weekends, and days on which clocks change."""

import datetime as dt
import itertools
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.facts.off_peak import Window, time_zone, time_zones, windows
from schemas.model.scheduling import OffPeak
from tests.kit.repository import ROOT

TOKYO = {"time_zone": "Asia/Tokyo", "first_day": "2026-12-03", "last_day": "2026-12-03"}
NEW_YORK = {**TOKYO, "time_zone": "America/New_York", "weekends": False}


def hours(**given: Any) -> list[str]:
    """The spans in UTC, such as ``12-03 13:00 - 12-03 23:00``."""
    found = windows(OffPeak.model_validate({**TOKYO, **given}))
    return [f"{begin:%m-%d %H:%M} - {end:%m-%d %H:%M}" for begin, end in found]


def test_a_night_runs_past_midnight() -> None:
    # 2026-12-03 is a Thursday; Tokyo is nine hours ahead of UTC.
    assert hours() == ["12-03 13:00 - 12-03 23:00"]


def test_hours_of_one_day_end_on_it() -> None:
    assert hours(start="12:00", end="13:00") == ["12-03 03:00 - 12-03 04:00"]


def test_a_weekend_and_its_nights_are_one_span() -> None:
    found = hours(last_day="2026-12-08")
    assert found == [
        "12-03 13:00 - 12-03 23:00",
        # From Friday night until Monday morning.
        "12-04 13:00 - 12-06 23:00",
        "12-07 13:00 - 12-07 23:00",
        "12-08 13:00 - 12-08 23:00",
    ]


def test_days_that_only_touch_are_one_span() -> None:
    found = hours(first_day="2026-12-05", last_day="2026-12-06", start="10:00", end="11:00")
    assert found == ["12-04 15:00 - 12-06 15:00"]


def test_a_weekend_that_counts_for_nothing_has_nights() -> None:
    found = hours(first_day="2026-12-05", last_day="2026-12-06", weekends=False)
    assert found == ["12-05 13:00 - 12-05 23:00", "12-06 13:00 - 12-06 23:00"]


@pytest.mark.parametrize(
    ("day", "start", "end", "expected"),
    [
        # 2027-03-14: clocks go from 02:00 EST (UTC-5) to 03:00 EDT (UTC-4).
        ("2027-03-13", "22:00", "08:00", ["03-14 03:00 - 03-14 12:00"]),
        ("2027-03-14", "22:00", "08:00", ["03-15 02:00 - 03-15 12:00"]),
        # 02:30 does not come on that day: it counts as 03:30, the hour after.
        ("2027-03-14", "02:30", "05:00", ["03-14 07:30 - 03-14 09:00"]),
        # From 03:30 until 03:05: nothing is left.
        ("2027-03-14", "02:30", "03:05", []),
        # 2027-11-07: clocks go from 02:00 EDT back to 01:00 EST; of 01:30 the first counts.
        ("2027-11-06", "22:00", "08:00", ["11-07 02:00 - 11-07 13:00"]),
        ("2027-11-07", "01:30", "03:00", ["11-07 05:30 - 11-07 08:00"]),
    ],
)
def test_hours_are_of_the_clock_on_the_wall(
    day: str, start: str, end: str, expected: list[str]
) -> None:
    given = {**NEW_YORK, "first_day": day, "last_day": day, "start": start, "end": end}
    assert hours(**given) == expected


_DAYS = st.dates(dt.date(2026, 1, 1), dt.date(2029, 12, 31))
_CLOCKS = st.times().map(lambda each: f"{each:%H:%M}")


@settings(max_examples=60)
@given(
    zone=st.sampled_from(["Asia/Tokyo", "America/New_York", "Australia/Lord_Howe", "UTC"]),
    first=_DAYS,
    length=st.integers(0, 30),
    clocks=st.tuples(_CLOCKS, _CLOCKS).filter(lambda pair: pair[0] != pair[1]),
    weekends=st.booleans(),
)
def test_a_moment_is_off_peak_if_the_clock_says_so(
    zone: str, first: dt.date, length: int, clocks: tuple[str, str], weekends: bool
) -> None:
    last = first + dt.timedelta(days=length)
    off_peak = OffPeak(
        time_zone=zone, start=clocks[0], end=clocks[1], weekends=weekends,
        first_day=str(first), last_day=str(last),
    )  # fmt: skip
    spans = windows(off_peak)
    assert all(one.end < other.begin for one, other in itertools.pairwise(spans))
    where = time_zone(zone)
    moment = dt.datetime.combine(first - dt.timedelta(days=1), dt.time(), where)
    for quarters in range((length + 4) * 96):
        at = moment.astimezone(dt.UTC) + dt.timedelta(minutes=15 * quarters)
        local = at.astimezone(where)
        if _near_a_change(at, where):
            continue
        inside = any(begin <= at < end for begin, end in spans)
        assert inside == _by_the_clock(local, off_peak, (first, last)), local


def _near_a_change(at: dt.datetime, where: dt.tzinfo) -> bool:
    """True if clocks change within a day, when an hour may come twice or not at all."""
    day = dt.timedelta(days=1)
    return len({(at + shift).astimezone(where).utcoffset() for shift in (-day, 0 * day, day)}) > 1


def _by_the_clock(local: dt.datetime, off_peak: OffPeak, days: tuple[dt.date, dt.date]) -> bool:
    """The same by what a person reads on a wall: the day, and the time of day."""
    day, clock = local.date(), f"{local:%H:%M}"
    yesterday = day - dt.timedelta(days=1)
    today_counts, night_counts = (days[0] <= each <= days[1] for each in (day, yesterday))
    if off_peak.weekends and today_counts and day.isoweekday() >= 6:
        return True
    if off_peak.start < off_peak.end:
        return today_counts and off_peak.start <= clock < off_peak.end
    evening = today_counts and clock >= off_peak.start
    return evening or (night_counts and clock < off_peak.end)


def test_a_machines_own_database_is_not_read(tmp_path: Path) -> None:
    """``zoneinfo`` would prefer it, and so what a site's file means would depend on the machine."""
    wrong = tmp_path / "America" / "New_York"
    wrong.parent.mkdir()
    wrong.write_bytes(resources.files("tzdata").joinpath("zoneinfo", "UTC").read_bytes())
    program = (
        "from schemas.facts.off_peak import windows\n"
        "from schemas.model.scheduling import OffPeak\n"
        f"print(*windows(OffPeak.model_validate({NEW_YORK!r}))[0])"
    )
    environment = {"PYTHONPATH": str(ROOT), "PYTHONTZPATH": str(tmp_path)}
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    # 22:00 in New York in winter, and not 22:00 UTC.
    assert done.stdout.split()[:2] == ["2026-12-04", "03:00:00+00:00"]


def test_every_zone_that_is_known_can_be_read() -> None:
    assert "Asia/Tokyo" in time_zones()
    moment = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
    assert all(moment.astimezone(time_zone(name)).utcoffset() is not None for name in time_zones())


def test_a_zone_that_is_not_known_is_none() -> None:
    with pytest.raises(LookupError, match="Asia/Tokio"):
        time_zone("Asia/Tokio")


def test_a_span_is_in_utc() -> None:
    (found,) = windows(OffPeak.model_validate(TOKYO))
    assert found == Window(
        dt.datetime(2026, 12, 3, 13, tzinfo=dt.UTC), dt.datetime(2026, 12, 3, 23, tzinfo=dt.UTC)
    )
