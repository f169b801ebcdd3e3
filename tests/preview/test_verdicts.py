"""The proof table: every row's edits, and whether the preview says what upstream does.

The expectations are in tests/verdicts, each with its source.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

import pytest
import yaml

from components.effects.vocabulary import Action, Impact
from preview.result import Cause, HostVerdict, SitePreview, State
from schemas.model.accelerators import AcceleratorModel
from schemas.model.hardware import HardwareProfile
from schemas.model.host_networks import Bond, FurtherNetwork, NicLayout, Subnet
from schemas.model.primitives import Model
from schemas.model.site_file import SiteFile
from schemas.reading.host_list import EVERY_COLUMN
from tests.verdicts import ROWS
from tests.verdicts.applying import Folder, Table, apply
from tests.verdicts.edits import ACCELERATORS, RELEASE, listed
from tests.verdicts.edits import site as edited
from tests.verdicts.row import ANY, Expected, Invalid, Row, Verdict

LOSING = (Action.REFUSED, Action.DELETED)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_preview_says_what_upstream_does(row: Row, repository: Table) -> None:
    apply(row, repository)
    preview = repository.preview()
    found = {site.name: site for site in preview.sites}
    assert found.keys() == row.sites.keys()
    lines = Lines(repository)
    for name, site in found.items():
        wanted = row.sites[name]
        if isinstance(wanted, Invalid):
            assert site.state is State.INVALID
            assert {problem.code for problem in site.problems} == wanted.codes
            for problem in site.problems if wanted.at else ():
                assert wanted.at in repository.text(problem.file).splitlines()[problem.line - 1]
                assert wanted.fix in problem.fix and problem.also
        else:
            assert not site.problems
            judged(site, wanted)
            traced(site, wanted, lines)
    if row.entries:
        assert {frozenset(e.sites) for e in preview.entries} == set(map(frozenset, row.entries))


def judged(site: SitePreview, wanted: Expected) -> None:
    """Hosts, objects, losses and plans are as the row says, and there is nothing else."""
    assert site.state is wanted.state
    pools: dict[str, list[HostVerdict]] = {}
    for host in site.hosts:
        pools.setdefault(host.pool, []).append(host)
    assert wanted.pools.keys() <= pools.keys()
    for name, hosts in pools.items():
        some = wanted.pools.get(name, ())
        assert said(hosts) == told(hosts, (some,) if isinstance(some, Verdict) else some), name
    actions(site, wanted.actions)
    assert {each.what: each.count for each in site.deletions} == wanted.deletions
    assert {plan.pool for plan in site.plans if plan.stuck} == wanted.stuck
    assert {impact: site.counts.get(impact) for impact in wanted.counts} == wanted.counts
    plans = {(p.pool, p.zone): (p.machines, p.at_once, p.out.hosts_out) for p in site.plans}
    assert plans == (wanted.plans or plans)
    out = {each.model: (each.hosts, each.hosts_out) for each in site.capacity}
    assert {model: out[model] for model in wanted.out} == wanted.out
    sentences = [reason.effect.why for reason in site.reasons]
    assert [text for text in wanted.says if not any(text in each for each in sentences)] == []
    assert site.waiting == wanted.waiting
    ways = {reason.effect.way for reason in site.reasons if reason.effect.way}
    assert wanted.ways is None or bool(ways) == bool(wanted.ways)
    assert all(any(text in way for way in ways) for text in wanted.ways or ())


Said = Counter[tuple[Impact, int | None]]


def said(hosts: list[HostVerdict]) -> Said:
    return Counter((host.impact, host.at_most) for host in hosts)


def told(hosts: list[HostVerdict], wanted: tuple[Verdict, ...]) -> Said:
    """The expected text on a pool's hosts, in the words that were chosen where several fit."""
    found: Said = Counter()
    left = said(hosts)
    for each in wanted:
        fit = [key for key in left if fits(key, each)]
        key = max(fit, key=lambda key: left[key], default=(each.impact, each.at_most))
        number = sum(left.values()) if each.hosts is None else each.hosts
        found[key] += number
        left[key] -= number
    rest = len(hosts) - sum(found.values())
    if rest:
        found[Impact.NONE, None] += rest
    return found


def fits(key: tuple[Impact, int | None], wanted: Verdict) -> bool:
    impact, at_most = key
    if impact in wanted.also:
        return True
    return impact is wanted.impact and wanted.at_most in (ANY, at_most)


def actions(site: SitePreview, wanted: Mapping[str, Action]) -> None:
    named: set[str] = set()
    for pattern, action in wanted.items():
        mine = {
            each.change.one.name: each.action
            for each in site.objects
            if fnmatchcase(each.change.one.name, pattern) and each.change.one.name not in named
        }
        assert set(mine.values()) == {action}, f"{pattern}: {mine}"
        named |= mine.keys()
    others = {each.change.one.name: each.action for each in site.objects}
    assert {n: a for n, a in others.items() if n not in named and a in LOSING} == {}


class Lines:
    """The lines that the edits changed, of both sides, by file."""

    def __init__(self, repository: Table) -> None:
        self._before: dict[str, dict[int, str]] = {}
        self._after: dict[str, dict[int, str]] = {}
        for file, sides in repository.edited().items():
            old, new = ((text or "").splitlines() for text in sides)
            matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
            for tag, i, i_end, j, j_end in matcher.get_opcodes():
                if tag != "equal":
                    before = self._before.setdefault(file, {})
                    before |= {n + 1: old[n] for n in range(i, i_end)}
                    after = self._after.setdefault(file, {})
                    after |= {n + 1: new[n] for n in range(j, j_end)}

    def at(self, cause: Cause) -> str | None:
        """The text of the line that an edit stands in; None if that line did not change."""
        side = self._before if cause.gone else self._after
        return side.get(cause.file, {}).get(cause.line)


def traced(site: SitePreview, wanted: Expected, lines: Lines) -> None:
    """Every reason has its edits, and each stands in a line that the row changed."""
    for reason in site.reasons:
        assert reason.causes, reason
        for cause in reason.causes:
            line = lines.at(cause)
            assert line is not None, f"{cause} was not edited"
            assert points(cause, line), f"{cause} does not stand there: {line}"
    for name, text in wanted.lines.items():
        mine = [reason for reason in site.reasons if reason.effect.name[1] == name]
        assert mine, f"nothing happens to {name}"
        for reason in mine:
            assert [text in (lines.at(cause) or "") for cause in reason.causes] == [True]


def points(cause: Cause, line: str) -> bool:
    """True if a cause's column is where its value begins; of lists and maps, where they are."""
    here = line[cause.column - 1 :].strip(" \"'")
    value = cause.before if cause.gone else cause.after
    short = not value.startswith(("[", "{")) and "…" not in value
    named = not cause.before or cause.gone  # then it is the key, or the whole line, that is meant
    return here != "" and (named or not short or here.startswith(value.strip("\"'")))


def test_a_tray_that_is_installed_again_ends_the_jobs_of_its_rack(repository: Table) -> None:
    (row,) = (each for each in ROWS if each.name == "NVLink: trays are installed again")
    apply(row, repository)
    (site,) = repository.preview().sites
    notes = [note for plan in site.plans for note in plan.notes]
    assert [each for each in notes if " 2 racks" in each] == [
        (
            "of 2 racks, each an NVLink domain, 1 keeps 18 of 18 hosts at the worst moment: a host "
            "that is installed again ends the jobs across its rack, and a spare in another rack "
            "does not replace it"
        ),
        (
            "machines are replaced by name, not rack by rack: the rollout itself takes hosts of up "
            "to 1 of 2 racks at a time, and may end a job that needs a whole rack as many times "
            "as the rack has hosts"
        ),
    ]


def test_a_pool_for_each_rack_is_installed_again_by_itself(repository: Table) -> None:
    """So a rollout, or spares, are of one rack."""
    (row,) = (each for each in ROWS if each.name == "NVLink: trays are installed again")
    pool, name = "  - name: gb200\n", "sapporo-1"
    other = "  - {name: rack2, hardware: gb200-nvl72-tray, rollout: {max_unavailable: 1}}\n"

    def second(lines: list[dict[str, str]]) -> None:
        for line in lines:
            line["pool"] = "rack2" if line["rack"] == "nvl-02" else line["pool"]

    more = (
        edited(name, pool, other + pool),
        edited(name, "kueue, pools: [gb200]", "kueue, pools: [gb200, rack2]"),
        edited(name, "gb200-192gb: 68", "gb200-192gb: 64"),
        listed(name, second),
    )
    apply(replace(row, base=(*row.base, *more)), repository)
    (found,) = repository.preview().sites
    ((*_, note),) = [plan.notes for plan in found.plans]
    assert note.startswith("of 1 rack, each an NVLink domain, none surely keeps all its hosts")


def test_every_row_has_a_name_of_its_own_and_a_source() -> None:
    assert len(ROWS) >= 60
    assert [name for name, n in Counter(row.name for row in ROWS).items() if n > 1] == []
    assert [row.name for row in ROWS if not row.source] == []


def test_every_field_of_a_site_is_edited_in_some_row(tmp_path: Path) -> None:
    """A field that is new must get its row."""
    touched: set[str] = set()
    folder = Folder(tmp_path)
    for row in ROWS:
        folder.restore()
        apply(row, folder)
        touched |= fields_edited(folder)
    folder.restore()
    wanted = {*leaves(SiteFile), *EVERY_COLUMN} - {"site"}
    wanted |= {f"{path}.*.{leaf}" for path, model in _NAMED.items() for leaf in leaves(model)}
    wanted |= {f"images.{name}" for name in yaml.safe_load(folder.text(RELEASE))["images"]}
    # On a site that was adopted tests/foresite/test_adopt.py edits these.
    wanted = {each for each in wanted if not re.match(r"(pools\.)?adopted\.", each)}
    assert wanted - touched == set()


_NAMED: dict[str, type[Model]] = {
    "hardware": HardwareProfile,
    "accelerators.models": AcceleratorModel,
    "host_networks": NicLayout,
    "host_networks.*.bonds": Bond,
    "networks": FurtherNetwork,
    "networks.*.zones": Subnet,
}
"""Maps of models, whose keys are names and no fields; of a site and of the catalogue alike."""


def leaves(model: type[Model], prefix: str = "") -> Iterator[str]:
    """The paths of a model's fields that hold no further fields; lists and maps are left out."""
    for name, field in model.model_fields.items():
        inner = next((m for m in models(field.annotation)), None)
        if inner is None:
            yield prefix + name
        elif inner not in _NAMED.values():
            yield from leaves(inner, f"{prefix}{name}.")


def models(annotation: object) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for each in getattr(annotation, "__args__", ()):
        yield from models(each)


def fields_edited(folder: Table) -> set[str]:
    """The paths of fields that differ between the commit and the work tree, without indexes."""
    found: set[str] = set()
    for file, (old, new) in folder.edited().items():
        if old is None or new is None:
            continue
        if file.startswith("sites/") and file.endswith(".csv"):
            rows = zip(old.splitlines(), new.splitlines(), strict=False)
            for before, after in rows:
                lines = before.split(","), after.split(",")
                cells = zip_longest(EVERY_COLUMN, *lines, fillvalue="")
                found |= {column for column, a, b in cells if a != b}
        elif file.startswith("schemas/catalogue/") or file.endswith(".yaml"):
            sides = [read(text, file) for text in (old, new)]
            found |= {".".join(path[:n + 1]) for path, _, _ in sides[0] ^ sides[1]
                      for n in range(len(path))}  # fmt: skip
    return found


Keys = tuple[str, ...]
Value = tuple[Keys, Keys, str]


@lru_cache(maxsize=50)
def read(text: str, file: str) -> frozenset[Value]:
    try:
        whole = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError:
        return frozenset()
    if file == ACCELERATORS:
        whole = {"accelerators": {"models": whole["accelerators"]}}
    return frozenset(values(whole))


def values(value: object, path: Keys = (), named: Keys = ()) -> Iterator[Value]:
    """Each value below a field, and that the field is there, as maps of labels may be empty: with
    the field's path and the names that it leaves out."""
    yield path, named, ""
    if isinstance(value, dict):
        for key, item in value.items():
            if ".".join(path) in _NAMED:
                yield from values(item, (*path, "*"), (*named, key))
            else:
                yield from values(item, (*path, str(key)), named)
    elif isinstance(value, list):
        for item in value:
            yield from values(item, path, named)
    else:
        yield path, named, str(value)
