"""Windows and freezes at a moment: over midnight, over changes of clocks, one after another."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.facts.maintenance import closed, closed_until
from schemas.model.maintenance import WEEK, Maintenance

FREEZE = {"first_day": "2026-12-24", "last_day": "2027-01-03", "reason": "nobody is at work"}
MORE = {**FREEZE, "first_day": "2027-01-04", "last_day": "2027-01-09"}
NIGHT = {"days": ["saturday"], "start": "22:00", "end": "04:00"}
NIGHTS, FROZEN = {"windows": [NIGHT]}, {"freezes": [FREEZE]}
WEEKEND = {"windows": [{"days": ["saturday", "sunday"]}]}
CLOCKS = {"zone": "Europe/Berlin", "windows": [{"start": "02:30", "end": "04:00"}]}


def until(at: str, zone: str = "Asia/Tokyo", **given: Any) -> str:
    """Until when a site is closed at a time of UTC, in its own time; empty where it is open."""
    maintenance = Maintenance.model_validate({"time_zone": zone, **given})
    why, found = closed_until(maintenance, datetime.fromisoformat(at).replace(tzinfo=UTC))
    return f"{found:%Y-%m-%d %H:%M}" if why else ""


@pytest.mark.parametrize(
    ("given", "at", "wanted"),
    [
        # A window runs past midnight; 5 December 2026 is a Saturday, and Tokyo is nine hours ahead.
        (NIGHTS, "2026-12-05 12:59", "2026-12-05 22:00"),
        (NIGHTS, "2026-12-05 13:00", ""),
        (NIGHTS, "2026-12-05 18:59", ""),
        (NIGHTS, "2026-12-05 19:00", "2026-12-12 22:00"),
        # Windows of whole days, and none at all.
        (WEEKEND, "2026-12-06 14:59", ""),
        (WEEKEND, "2026-12-06 15:00", "2026-12-12 00:00"),
        ({}, "2026-12-06 15:00", ""),
        ({"windows": [{}]}, "2026-12-06 15:00", ""),
        # A freeze is over after its last day, by the clocks there.
        (FROZEN, "2026-12-23 14:59", ""),
        (FROZEN, "2026-12-23 15:00", "2027-01-04 00:00"),
        (FROZEN, "2027-01-03 14:59", "2027-01-04 00:00"),
        (FROZEN, "2027-01-03 15:00", ""),
        # The window of Saturday 9 January begins in the second freeze, and goes on after it.
        (NIGHTS | {"freezes": [FREEZE, MORE]}, "2026-12-25 00:00", "2027-01-10 00:00"),
        (NIGHTS | FROZEN, "2026-12-20 00:00", "2027-01-09 22:00"),
        # Clocks go from 2:00 to 3:00 on 29 March 2026: the window from 2:30 begins at 3:30.
        (CLOCKS, "2026-03-29 01:29", "2026-03-29 03:30"),
        (CLOCKS, "2026-03-29 01:31", ""),
        # From 3:00 back to 2:00 on 25 October: of the hour that comes twice the first counts.
        (CLOCKS, "2026-10-25 00:29", "2026-10-25 02:30"),
        (CLOCKS, "2026-10-25 00:31", ""),
        (CLOCKS, "2026-10-25 02:59", ""),
        (CLOCKS, "2026-10-25 03:00", "2026-10-26 02:30"),
    ],
)
def test_a_site_is_closed_until_its_next_window(given: Any, at: str, wanted: str) -> None:
    assert until(at, **given) == wanted


def test_a_site_without_maintenance_is_open() -> None:
    assert closed(None, datetime.now(UTC)) == ""


days = st.dates(date(2026, 1, 1), date(2027, 12, 1))
clocks = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))


@settings(max_examples=40, deadline=None)
@given(
    st.builds(datetime.combine, days, st.times(), st.just(UTC)),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe"]),
    st.lists(st.tuples(st.lists(st.sampled_from(WEEK), min_size=1), clocks, clocks), max_size=3),
    st.lists(st.tuples(days, st.integers(0, 40)), max_size=3),
)
def test_it_is_open_when_it_is_said_to_be(at: Any, zone: str, windows: Any, freezes: Any) -> None:
    maintenance = Maintenance.model_validate(
        {
            "time_zone": zone,
            "windows": [{"days": d[:7], "start": a, "end": b} for d, a, b in windows],
            "freezes": [
                {**FREEZE, "first_day": f"{day}", "last_day": f"{day + timedelta(more)}"}
                for day, more in freezes
            ],
        }
    )
    why, found = closed_until(maintenance, at)
    assert not why or found > at
    assert not why or not closed(maintenance, found)
