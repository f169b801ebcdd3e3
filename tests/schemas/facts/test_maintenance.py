"""Windows and freezes at a moment: over midnight, over changes of clocks, one after another."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.facts.maintenance import closed, closed_until
from schemas.model.maintenance import WEEK, Maintenance

FREEZE = {"first_day": "2026-12-24", "last_day": "2027-01-03", "reason": "nobody is at work"}
NIGHT = {"days": ["saturday"], "start": "22:00", "end": "04:00"}


def until(at: str, zone: str = "Asia/Tokyo", **given: Any) -> str:
    """Until when a site is closed at a time of UTC, in its own time; empty where it is open."""
    maintenance = Maintenance.model_validate({"time_zone": zone, **given})
    why, found = closed_until(maintenance, datetime.fromisoformat(at).replace(tzinfo=UTC))
    return f"{found:%Y-%m-%d %H:%M}" if why else ""


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        # 5 December 2026 is a Saturday; Tokyo is nine hours ahead of UTC.
        ("2026-12-05 12:59", "2026-12-05 22:00"),
        ("2026-12-05 13:00", ""),
        ("2026-12-05 18:59", ""),
        ("2026-12-05 19:00", "2026-12-12 22:00"),
    ],
)
def test_a_window_runs_past_midnight(at: str, wanted: str) -> None:
    assert until(at, windows=[NIGHT]) == wanted


def test_a_window_of_whole_days_and_none_at_all() -> None:
    weekend = [{"days": ["saturday", "sunday"]}]
    assert until("2026-12-06 14:59", windows=weekend) == ""
    assert until("2026-12-06 15:00", windows=weekend) == "2026-12-12 00:00"
    assert until("2026-12-06 15:00") == until("2026-12-06 15:00", windows=[{}]) == ""
    assert closed(None, datetime.now(UTC)) == ""


def test_a_freeze_is_over_after_its_last_day_by_the_clocks_there() -> None:
    assert until("2026-12-23 14:59", freezes=[FREEZE]) == ""
    assert until("2026-12-23 15:00", freezes=[FREEZE]) == "2027-01-04 00:00"
    assert until("2027-01-03 14:59", freezes=[FREEZE]) == "2027-01-04 00:00"
    assert until("2027-01-03 15:00", freezes=[FREEZE]) == ""


def test_the_first_window_after_freezes_that_adjoin() -> None:
    more = {**FREEZE, "first_day": "2027-01-04", "last_day": "2027-01-09"}
    # The window of Saturday 9 January begins in the second freeze, and goes on after it.
    assert until("2026-12-25 00:00", windows=[NIGHT], freezes=[FREEZE, more]) == "2027-01-10 00:00"
    assert until("2026-12-20 00:00", windows=[NIGHT], freezes=[FREEZE]) == "2027-01-09 22:00"


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        # Clocks go from 2:00 to 3:00 on 29 March 2026: the window from 2:30 begins at 3:30.
        ("2026-03-29 01:29", "2026-03-29 03:30"),
        ("2026-03-29 01:31", ""),
        # From 3:00 back to 2:00 on 25 October: of the hour that comes twice the first counts.
        ("2026-10-25 00:29", "2026-10-25 02:30"),
        ("2026-10-25 00:31", ""),
        ("2026-10-25 02:59", ""),
        ("2026-10-25 03:00", "2026-10-26 02:30"),
    ],
)
def test_days_on_which_clocks_change(at: str, wanted: str) -> None:
    assert until(at, "Europe/Berlin", windows=[{"start": "02:30", "end": "04:00"}]) == wanted


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
