"""Shards of a preview: the sites of one change, judged by several jobs and put together by one.

A shard's report is data that another job left: bounded, typed field by field, and believed in
nothing but the effects on the sites that were the shard's to judge. What does not fit together
makes every site unknown. Gates are for the merge, which has the numbers of all sites.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict

from components.effects.vocabulary import ABSENT, FieldChange
from components.making.told import Told
from preview.differences.fields.listkeys import Item
from preview.result import SitePreview, State
from preview.scope import Scope
from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.model.primitives import Model
from schemas.model.problem import Problem
from schemas.reading.bounded import UnfitFileError, read_regular

A_MINUTE = 2_000
"""Touched sites of 400 hosts that two cores judge in a minute (docs/benchmarks.md): up to so many
there are no shards."""
SHARE = 625
"""Touched sites of a shard, where there are any: with fewer a job takes longer to start than to
work."""
MOST = 16
"""Shards at most that are worth it; 10,000 sites."""
FORGES = 256
"""Jobs of a matrix that GitHub starts; GitLab takes 200 (docs.github.com, actions limits)."""
LARGEST = 512 << 20
"""Bytes of a shard's report, at most: 40 times that of 625 sites whose hosts are all re-imaged."""
_SAID = Told(__file__)
_SHOWN = 20
"""Faults that are shown."""


class Part(NamedTuple):
    """One of ``total`` shards, from 1."""

    number: int
    total: int

    def of(self, names: Sequence[str]) -> tuple[str, ...]:
        """The sites that are its to judge: neighbours, which are often alike, go to several."""
        return tuple(names[self.number - 1 :: self.total])

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"


class Terms(Model):
    """What all shards of a preview have in common: the two commits, a digest of the code that
    judges, its catalogue included, and the options of the preview."""

    base: str
    head: str
    judge: str
    options: str


class Report(Model):
    """What a shard found: of each site that it was to judge the effect, or that there is none."""

    model_config = ConfigDict(allow_inf_nan=False, defer_build=False)
    terms: Terms
    part: Part
    judged: tuple[tuple[str, SitePreview | None], ...]


def worth(sites: int) -> int:
    """How many shards are worth it for so many touched sites."""
    return 1 if sites <= A_MINUTE else min(MOST, ceil(sites / SHARE))


def dump(report: Report) -> bytes:
    """A shard's report as JSON on one line."""
    judged = tuple((name, site and _with_paths(site, _mark, _wrap)) for name, site in report.judged)
    return report.model_copy(update={"judged": judged}).model_dump_json().encode()


def merge(files: Iterable[Path], found: Scope, terms: Terms) -> list[SitePreview | None]:
    """The effects on the sites of a scope, in their order, from the reports of all its shards.
    Where these do not fit together, every site is one of which nothing can be said."""
    faults: list[Problem] = []
    reports = [each for file in files if (each := _read(file, found, terms, faults))]
    there = Counter(each.part for each in reports)
    counts = {each.total for each in there}
    if len(counts) > 1:
        faults.append(_fault("the shards", "counts", counts=", ".join(map(str, sorted(counts)))))
    faults += (
        _fault(f"shard {part}", "twice" if there[part] else "missing")
        for part in (Part(i + 1, total) for total in sorted(counts) for i in range(total))
        if there[part] != 1
    )
    if not reports:
        faults.append(_fault("the shards", "none"))
    if faults:
        whole = tuple(faults[:_SHOWN])
        return [SitePreview(name, State.INVALID, problems=whole) for name in found.names]
    judged = {name: site for each in reports for name, site in each.judged}
    return [judged[name] for name in found.names]


def _fault(where: str, row: str, **values: object) -> Problem:
    said = _SAID.table(row, **values)
    code = Code.FILE_UNREADABLE
    return Problem(where, 0, 0, code, "", "", said["message"], said["fix"], _SAID.say("why"))


def _read(file: Path, found: Scope, terms: Terms, faults: list[Problem]) -> Report | None:
    """The report in a file; None where it does not fit, which is one more fault."""
    where = shorten(str(file), 200)
    try:
        report = Report.model_validate_json(read_regular(file, LARGEST, links=False))
        judged = [(name, site and _checked(name, site)) for name, site in report.judged]
    except UnfitFileError as error:
        faults.append(_fault(where, "unfit", what=error.strerror))
    except OSError as error:
        faults.append(_fault(where, "unread", what=error.strerror))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        first = str(error).splitlines()
        faults.append(_fault(where, "malformed", what=shorten(" ".join(first[:3]), 200)))
    else:
        wrong = [name for name in Terms.model_fields
                 if getattr(report.terms, name) != getattr(terms, name)]  # fmt: skip
        if wrong:
            faults.append(_fault(where, "terms", what=", ".join(wrong)))
        elif not 0 < report.part.number <= report.part.total <= FORGES:
            faults.append(_fault(where, "malformed", what=f"there is no shard {report.part}"))
        elif tuple(name for name, _ in judged) != report.part.of(found.names):
            faults.append(_fault(where, "sites", part=report.part))
        else:
            return report.model_copy(update={"judged": tuple(judged)})
    return None


def _checked(name: str, site: SitePreview) -> SitePreview:
    """The effect on a site as it was before it was written. Raises ValueError, KeyError or TypeError
    where it is none."""
    for each in site.objects:
        each.change.one.key  # noqa: B018  an object has a name
    indexes = [i for each in site.hosts for i in each.reasons]
    indexes += [i for each in site.objects for i in each.reasons]
    indexes += [host.limit for host in site.hosts if host.limit is not None]
    if site.name != name or not all(0 <= i < len(site.reasons) for i in indexes):
        raise ValueError(f"{shorten(name)}: its effect is another site's, or names no reason")
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
        )))
        for e in site.objects
    )  # fmt: skip
    return replace(site, reasons=tuple(reasons), objects=tuple(objects))


def _mark(step: str | int) -> str | int:
    """A step in a form that keeps items of lists and fields apart."""
    return f"{'=' if isinstance(step, Item) else '.'}{step}" if isinstance(step, str) else step


def _unmark(step: str | int) -> str | int:
    if not isinstance(step, str):
        return step
    if step[:1] not in ("=", "."):
        raise ValueError("a step of a path has no mark")
    return Item(step[1:]) if step[0] == "=" else step[1:]


def _wrap(side: Any) -> list[Any]:
    """A side of a field, in a list: an empty one where it is not there."""
    return [] if side is ABSENT else [side]


def _unwrap(side: Any) -> Any:
    if not isinstance(side, list) or len(side) > 1:
        raise ValueError("a side of a field is no list of one value")
    return side[0] if side else ABSENT
