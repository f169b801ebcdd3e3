"""Shards of a preview: the sites of one change, judged by several jobs and put together by one.

A shard's report is data that another job left: bounded, typed field by field, and believed in
nothing but the effects on the sites that were the shard's to judge. What does not fit together
makes every site unknown.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby, repeat, takewhile
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ConfigDict, ValidationError

from components.effects.vocabulary import ABSENT, FieldChange
from components.making.told import Told
from preview.differences.fields.listkeys import Item
from preview.result import HostVerdict, ObjectVerdict, SitePreview, State
from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.model.primitives import Model
from schemas.model.problem import Problem
from schemas.reading.bounded import read_regular
from schemas.refusal import UsageError

T = TypeVar("T")
A_MINUTE, SHARE, MOST = 2_000, 625, 16
"""Touched sites of 400 hosts that two cores judge in a minute (docs/benchmarks.md): up to so many
there are no shards. Beyond, a shard has some 625, as jobs take a while to start; 16 at most."""
FORGES = 256
"""Jobs of a matrix that GitHub starts; GitLab takes 200 (docs.github.com, actions limits)."""
LARGEST, LONGEST = 512 << 20, 200_000
"""Bytes of a shard's report, and hosts or objects of a site, at most."""
SHOWN = 20
"""Faults that are shown."""
_SAID = Told(__file__)


class Part(NamedTuple):
    """One of ``total`` shards, from 1."""

    number: int
    total: int

    def of(self, names: Sequence[str]) -> tuple[str, ...]:
        """The sites that are its to judge: neighbours, which are often alike, go to several."""
        return tuple(names[self.number - 1 :: self.total])

    @property
    def fits(self) -> bool:
        """True if there can be such a shard."""
        return 0 < self.number <= self.total <= FORGES

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"


class Terms(Model):
    """What all shards of a preview have in common: the two commits, a digest of the code that
    judges, its catalogue included, and one of the preview's options."""

    base: str
    head: str
    judge: str
    options: str


Runs = tuple[tuple[int, T], ...]
"""Values, each with how often it stands there in a row: most of a site in brief are alike."""


class Judged(NamedTuple):
    """The effect on a site, None where there is none; its hosts and objects stand beside it."""

    name: str
    effect: SitePreview | None
    hosts: Runs[HostVerdict]
    objects: Runs[ObjectVerdict]


class Report(Model):
    """What a shard found of each site that it was to judge."""

    model_config = ConfigDict(allow_inf_nan=False, defer_build=False)
    terms: Terms
    part: Part
    judged: tuple[Judged, ...]


def worth(sites: int) -> list[str]:
    """The shards that are worth it for so many touched sites; none where one job is enough."""
    total = min(MOST, ceil(sites / SHARE)) if sites > A_MINUTE else 0
    return [str(Part(index + 1, total)) for index in range(total)]


def dump(terms: Terms, part: Part, sites: Iterable[tuple[str, SitePreview | None]]) -> bytes:
    """A shard's report as JSON: the effect on each of its sites, by name."""
    judged = tuple(_judged(name, site) for name, site in sites)
    return Report(terms=terms, part=part, judged=judged).model_dump_json().encode()


def _judged(name: str, site: SitePreview | None) -> Judged:
    if site is None:
        return Judged(name, None, (), ())
    site = _with_paths(site, _mark, lambda side: [] if side is ABSENT else [side])
    return Judged(name, replace(site, hosts=(), objects=()), _runs(site.hosts), _runs(site.objects))


def _runs(items: Iterable[T]) -> Runs[T]:
    return tuple((len([*same]), item) for item, same in groupby(items))


def _items(runs: Runs[T]) -> tuple[T, ...]:
    if not all(number > 0 for number, _ in runs) or sum(number for number, _ in runs) > LONGEST:
        raise UsageError(f"a run of values is empty, or all have more than {LONGEST}")
    return tuple(item for number, item in runs for item in repeat(item, number))


def merge(files: Iterable[Path], names: Sequence[str], terms: Terms) -> list[SitePreview | None]:
    """The effects on the sites of a change, in their order, from the reports of all its shards.
    Where these do not fit together, every site is one of which nothing can be said; where there is
    none, UsageError is raised."""
    faults: list[Problem] = []
    reports = [each for file in files if (each := _read(file, names, terms, faults))]
    there = Counter(part for part, _ in reports)
    totals = sorted({part.total for part in there}) or [1]
    faults += (
        _fault(f"shard {part}", "twice" if there[part] else "missing")
        for part in (Part(index + 1, total) for total in totals for index in range(total))
        if there[part] != 1
    )
    if faults and not names:
        raise UsageError(f"{faults[0].file}: {faults[0].message}; {faults[0].fix}")
    if faults:
        whole = tuple(faults[:SHOWN])
        return [SitePreview(name, State.INVALID, problems=whole) for name in names]
    judged = {name: site for _, sites in reports for name, site in sites.items()}
    return [judged[name] for name in names]


def _fault(where: str, row: str, **values: object) -> Problem:
    said, why = _SAID.table(row, **values), _SAID.say("why")
    return Problem(where, 0, 0, Code.FILE_UNREADABLE, "", "", said["message"], said["fix"], why)


def _read(
    file: Path, names: Sequence[str], terms: Terms, faults: list[Problem]
) -> tuple[Part, dict[str, SitePreview | None]] | None:
    """The shard in a file and the effects on its sites; where it does not fit, None and a fault."""
    row, what = "malformed", ""
    try:
        report = Report.model_validate_json(read_regular(file, LARGEST, links=False))
        judged = {each.name: _checked(each) for each in report.judged}
    except OSError as error:
        row, what = "unread", str(error.strerror)
    except (ValueError, LookupError, TypeError, AttributeError, UsageError) as error:
        what = _misfit(error)
    else:
        wrong = [name for name, said in terms if getattr(report.terms, name) != said]
        if report.part.fits and not wrong:
            if tuple(each.name for each in report.judged) == report.part.of(names):
                return report.part, judged
            row = "sites"
        elif wrong:
            row = "terms"
        what = ", ".join(wrong) or f"shard {report.part}"
    faults.append(_fault(shorten(str(file), 200), row, what=what))
    return None


def _misfit(error: Exception) -> str:
    """Where a report has its first fault, and of what kind; pydantic's words are for nobody."""
    if isinstance(error, UsageError):
        return str(error)
    none: Any = {"type": "effect", "loc": ()}
    first = error.errors()[0] if isinstance(error, ValidationError) else none
    ours = takewhile(lambda step: str(step).replace("_", "").isalnum(), first["loc"])
    kinds = _SAID.table("kinds", place=shorten(".".join(map(str, ours)) or "its start", 100))
    return str(kinds.get(first["type"], kinds["other"]))


def _checked(judged: Judged) -> SitePreview | None:
    """The effect on a site as it was before it was written. Raises UsageError,
    ValueError, LookupError, TypeError or AttributeError where it is none."""
    if judged.effect is None:
        return None
    site = replace(judged.effect, hosts=_items(judged.hosts), objects=_items(judged.objects))
    indexes = [index for _, each in judged.hosts for index in each.reasons]
    indexes += [each.limit for _, each in judged.hosts if each.limit is not None]
    for _, each in judged.objects:
        each.change.one.key  # noqa: B018  an object has a name
        indexes += each.reasons
    if site.name != judged.name or not all(0 <= i < len(site.reasons) for i in indexes):
        raise UsageError(f"{shorten(judged.name)}: its effect is another's, or names no reason")
    return _with_paths(site, _unmark, _unwrap)


def _with_paths(
    site: SitePreview, step: Callable[[Any], Any], side: Callable[[Any], Any]
) -> SitePreview:
    """A site with each step of a field's path, and each side of a field, as a function says."""
    reasons = (
        e._replace(effect=e.effect._replace(path=tuple(map(step, e.effect.path))))
        for e in site.reasons
    )
    objects = (
        e._replace(change=e.change._replace(fields=tuple(
            FieldChange(tuple(map(step, f.path)), side(f.before), side(f.after))
            for f in e.change.fields
        ))) if e.change.fields else e
        for e in site.objects
    )  # fmt: skip
    return replace(site, reasons=tuple(reasons), objects=tuple(objects))


def _mark(step: str | int) -> str | int:
    """A step in a form that keeps items of lists and fields apart."""
    return f"{'=' if isinstance(step, Item) else '.'}{step}" if isinstance(step, str) else step


def _unmark(step: str | int) -> str | int:
    return {"=": Item, ".": str}[step[:1]](step[1:]) if isinstance(step, str) else step


def _unwrap(side: Any) -> Any:
    (found,) = side or [ABSENT]
    return found
