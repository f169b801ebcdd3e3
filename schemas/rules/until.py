"""The last day of what is allowed for a time."""

import datetime

from schemas.model.codes import Code
from schemas.rules.finding import Finding, Path

MAX_DAYS = 2 * 366
"""Most days until the end of an exception. An end within them stays valid as time goes by."""


def end_of(text: str, place: Path) -> list[Finding]:
    """The fault of a last day that is none of the calendar, or not within two years."""
    last = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=MAX_DAYS)
    try:
        until = datetime.date.fromisoformat(text)
    except ValueError:
        message, fix = f"{text} is no day of the calendar", "name a day that is one"
        return [Finding(Code.INVALID_VALUE, place, message, fix)]
    message = f"{text} is more than two years away"
    fix = "name a day on which somebody looks at it again, and can prolong it"
    return [Finding(Code.OUT_OF_BOUNDS, place, message, fix)] if until > last else []
