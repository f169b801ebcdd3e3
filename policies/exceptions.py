"""Exceptions as data: a rule, objects, a reason, an owner and, for a site's own, an end date.

Ours are in policies/exceptions.yaml, and name each privileged part. They have no end: a user cannot
change what Foresite makes, so a date would only make sites fail. A site's own stand in its file
under ``policies.exceptions``. One that has expired excepts nothing, and is reported; one that no
object needs any more is reported as well.
"""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from policies.embedded import makers
from policies.rule import Violation

OURS = Path(__file__).parent / "exceptions.yaml"
FIELDS = ("rule", "object", "reason", "owner")


class ExemptionError(Exception):
    """An exception that says too little, or what nobody reads; the message says which and what."""


@dataclass(frozen=True, slots=True)
class Exemption:
    """Objects that a rule does not hold for, up to and including the day ``until``; always where
    that is None, as it is for ours.

    ``object`` is ``<kind> <namespace>/<name>``, or ``<kind> <name>`` without a namespace; ``*``
    stands for any text within one of them. An object that is text in another one is named with it:
    ``DaemonSet kube-flannel/* in ConfigMap */pod-network``; the name of the outer one alone does
    not stand for what is written in it. Where ``only`` has values, such as capabilities, it
    excepts these and no others. ``own`` is true of a site's.
    """

    rule: str
    object: str
    reason: str
    owner: str
    until: datetime.date | None
    own: bool = False
    only: tuple[str, ...] = ()

    def covers(self, violation: Violation, titles: Sequence[str] = ()) -> bool:
        """True if it covers the violation's rule, object (``titles``, where known) and value."""
        if self.rule != violation.rule.name:
            return False
        if self.only and violation.found.value not in self.only:
            return False
        # Of a place that may be in one or in another, both have to be excepted.
        return all(map(_pattern(self.object).fullmatch, titles or titles_of(violation)))

    def is_expired(self, today: datetime.date) -> bool:
        """True if its last day is over."""
        return self.until is not None and today > self.until


def titles_of(violation: Violation) -> list[str]:
    """The names of a violation's object in exceptions; several if its place is not certain."""
    _, each, found = violation
    inner = makers(each.body, found.path)
    return [f"{title} in {each.title}" for title in inner] or [each.title]


def exemptions(rows: Iterable[Mapping[str, Any]], *, own: bool) -> tuple[Exemption, ...]:
    """Exceptions from plain data; ``object`` may be several. Raises ExemptionError."""
    return tuple(each for row in rows for each in _exemptions(row, own=own))


@cache
def ours() -> tuple[Exemption, ...]:
    """The exceptions of what Foresite itself makes."""
    rows = yaml.load(OURS.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return exemptions(rows or [], own=False)


@lru_cache(maxsize=1024)
def _pattern(objects: str) -> re.Pattern[str]:
    return re.compile("[^/ ]*".join(re.escape(part) for part in objects.split("*")))


def _exemptions(row: Mapping[str, Any], *, own: bool) -> Iterator[Exemption]:
    if not isinstance(row, Mapping):
        raise ExemptionError(f"an exception is a map with {', '.join(FIELDS)}: {row!r}")
    missing = [field for field in (*FIELDS, *(["until"] if own else [])) if not row.get(field)]
    if missing:
        raise ExemptionError(f"an exception says no {', '.join(missing)}: {dict(row)}")
    rule, reason, owner = (str(row[field]) for field in ("rule", "reason", "owner"))
    titles = row["object"] if isinstance(row["object"], list) else [row["object"]]
    only = row.get("only") or []
    if not isinstance(only, list):
        raise ExemptionError(f"only is no list of values: {dict(row)}")
    if not own and "until" in row:
        raise ExemptionError(f"an exception of Foresite's own has no end: {dict(row)}")
    until = day(row["until"]) if own else None
    for title in map(str, titles):
        yield Exemption(rule, title, reason, owner, until, own, tuple(map(str, only)))


def day(until: object) -> datetime.date:
    """The day of a text or of YAML's own. Raises ExemptionError."""
    # YAML makes days of its own, and with an hour something that no day compares with.
    if isinstance(until, datetime.date) and not isinstance(until, datetime.datetime):
        return until
    try:
        return datetime.date.fromisoformat(str(until))
    except ValueError:
        raise ExemptionError(f"until {until} is no day of the calendar") from None


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
