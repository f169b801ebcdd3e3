"""The present day, for exceptions that end."""

import datetime
from collections.abc import Mapping

SET_DAY = "SOURCE_DATE_EPOCH"
"""The variable that says when a reproducible run takes place: seconds since 1970
(reproducible-builds.org/specs/source-date-epoch)."""


class DayError(Exception):
    """The variable holds no time; the message says so."""


def today(environ: Mapping[str, str]) -> datetime.date:
    """The day in UTC, or the one that is set where it is later: a time in the past, which a build
    sets for other reasons, does not bring back exceptions that have ended. Raises DayError."""
    now = datetime.datetime.now(datetime.UTC).date()
    given = environ.get(SET_DAY)
    try:
        set_day = datetime.datetime.fromtimestamp(int(given), datetime.UTC).date() if given else now
        return max(now, set_day)
    except (ValueError, OverflowError, OSError):
        raise DayError(f"{SET_DAY}={given} is no number of seconds since 1970") from None
