"""Which day it is, for exceptions that end."""

import datetime
from collections.abc import Mapping

SET_DAY = "SOURCE_DATE_EPOCH"
"""The variable that sets the time of a reproducible run: seconds since 1970
(reproducible-builds.org/specs/source-date-epoch)."""


class DayError(Exception):
    """The variable holds no time; the message says so."""


def today(environ: Mapping[str, str]) -> datetime.date:
    """The day in UTC, the same for everyone who looks at one repository. Raises DayError."""
    given = environ.get(SET_DAY)
    if not given:
        return datetime.datetime.now(datetime.UTC).date()
    try:
        return datetime.datetime.fromtimestamp(int(given), datetime.UTC).date()
    except (ValueError, OverflowError, OSError):
        raise DayError(f"{SET_DAY}={given} is no number of seconds since 1970") from None
