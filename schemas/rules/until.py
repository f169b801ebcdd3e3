"""The last day of what is allowed for a time."""

import datetime

from schemas.rules.finding import Finding, Path
from schemas.rules.texts import say

MAX_DAYS = 2 * 366
"""Most days until the end of an exception. An end within them stays valid as time goes by."""


def end_of(text: str, place: Path) -> list[Finding]:
    """The fault of a last day that is none of the calendar, or not within two years."""
    last = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=MAX_DAYS)
    try:
        until = datetime.date.fromisoformat(text)
    except ValueError:
        return [say("day-unknown", place, text)]
    return [say("day-too-late", place, text)] if until > last else []
