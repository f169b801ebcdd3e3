"""Shards of a preview: put together they are one preview, and what does not fit is unknown."""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from bench.fleet import SMALLEST, make
from components.effects.vocabulary import Impact
from foresite.cli import main
from foresite.commands.preview import FILES, FORMATS
from preview import shards
from preview.gates import gates
from preview.result import Preview, State
from preview.shards import A_MINUTE, MOST, Part, Terms, dump, merge, worth
from preview.states.snapshot import at
from preview.survey import Scope, judge_sites, put_together, scope, survey
from preview.verdict import brief
from tests.kit.preview_repository import Repository
from tests.kit.preview_sides import shared_sides

TERMS = Terms(base="b" * 40, head="h" * 40, judge="j", options="o")
HARDWARE = "schemas/catalogue/hardware.yaml"
LIMITS = {"reimage": 0, "unknown": 0, "refused": 0}


# --- the merge is the one preview -----------------------------------------------------------------
def versions(repository: Repository) -> None:
    for name in ("lab-1", "tsukuba-1"):
        repository.replace(f"sites/{name}.yaml", "kubernetes: v1.34.3", "kubernetes: v1.34.8")
    repository.hosts("sapporo-1", lambda rows: rows[-1].update(rack="b-99"))


def losses(repository: Repository) -> None:
    repository.hosts("tsukuba-1", lambda rows: [rows.pop() for _ in range(2)])
    repository.hosts("sapporo-1", lambda rows: rows[5].update(state="out"))
    (repository.root / "sites/lab-1.yaml").unlink()


def clash(repository: Repository) -> None:
    """A serial number on two sites, one of them in another shard, and a problem of a third."""
    for name in ("lab-1", "tsukuba-1"):
        repository.hosts(name, lambda rows: rows[-1].update(serial="TWICE0001"))
    repository.hosts("sapporo-1", lambda rows: rows[0].update(pool="none"))


def profile(repository: Repository) -> None:
    text = repository.text(HARDWARE)
    repository.write(HARDWARE, re.sub("(?<=reimage_minutes: )", "1", text))


def merged_shards(found: Scope, count: int, folder: Path) -> Preview:
    """The preview of so many shards, whose reports are given in the wrong order."""
    files = []
    for number in range(count, 0, -1):
        part = Part(number, count)
        names = part.of(found.names)
        files.append(folder / f"{part.number}-of-{count}.json")
        files[-1].write_bytes(dump(TERMS, part, zip(names, judge_sites(found, names), strict=True)))
    return put_together(found, merge(files, found.names, TERMS), {})


@pytest.mark.parametrize("change", [versions, losses, clash, profile])
def test_shards_put_together_are_the_one_preview(
    change: Callable[[Repository], None], tmp_path: Path
) -> None:
    repository = Repository(tmp_path / "repository")
    change(repository)
    before, after = at(repository.root, "HEAD"), at(repository.root, repository.commit("changed"))
    with shared_sides():
        whole = survey(before, after)
        found = scope(before, after, (), each=False)
        assert len(found.names) > 1
        for count in range(1, 5):
            merged = merged_shards(found, count, tmp_path)
            assert gates(merged, {}, LIMITS) == gates(whole, {}, LIMITS)
            assert repr(merged) == repr(whole), count  # a named tuple equals a plain one
            for make_report in (FORMATS | FILES).values() if count == 3 else ():
                assert make_report(merged) == make_report(whole)


def disks(fleet: Repository) -> None:
    text = fleet.text(HARDWARE)
    fleet.write(HARDWARE, text.replace("0000:00:17.0-ata-1", "0000:00:17.0-ata-2"))


def upgrade(fleet: Repository) -> None:
    for number in (1, 2, 3):
        file = f"sites/site-00{number}.yaml"
        fleet.write(file, fleet.text(file).replace("v1.34.3", "v1.34.8"))
    fleet.hosts("site-002", lambda rows: rows.pop())
    fleet.replace("sites/site-003.yaml", "max_unavailable: 2", "max_unavailable: 0")


@pytest.mark.parametrize("change", [disks, upgrade])
def test_a_large_change_has_the_details_of_a_site_of_each_entry(
    change: Callable[[Repository], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Repository(tmp_path / "repository")
    shutil.rmtree(fleet.root / "sites")
    make(fleet.root, 3, SMALLEST)
    fleet.commit("fleet")
    change(fleet)
    before, after = at(fleet.root, "HEAD"), at(fleet.root, fleet.commit("changed"))
    found = scope(before, after, (), each=False)
    sites = judge_sites(found, found.names)
    detailed = put_together(found, sites, {})
    monkeypatch.setattr(brief, "DETAILED", 1)
    whole = put_together(found, sites, {})
    some = [each for each in whole.sites if each.brief]
    assert len(some) == 3 - len(whole.entries)
    assert gates(whole, {}, LIMITS) == gates(detailed, {}, LIMITS)
    for make_report in (FORMATS["text"], FILES["comment.md"], FILES["summary.md"]):
        assert make_report(whole) == make_report(detailed)
    figures = {"name", "impact", "counts", "capacity", "plans", "deletions", "waiting"}
    full, less = (json.loads(FILES["report.json"](each))["sites"] for each in (detailed, whole))
    for one, other in zip(full, less, strict=True):
        assert {name: one[name] for name in figures} == {name: other[name] for name in figures}
        assert ("hosts" in other) is not other.get("brief", False)
    # A reason that limits a host stays, though another is like it, and both do nothing.
    site = next(each for each in detailed.sites if each.reasons)
    effect = site.reasons[0].effect._replace(impact=Impact.NONE, action=None, waits=False)
    idle = site.reasons[0]._replace(effect=effect)
    hosts = (site.hosts[0]._replace(reasons=(), limit=1),)
    assert brief.brief(replace(site, reasons=(idle, idle), hosts=hosts)).hosts[0].limit == 1
    assert repr(merged_shards(found, 2, tmp_path)) == repr(whole)


# --- what does not fit ----------------------------------------------------------------------------
Ready = tuple[Path, list[Path]]
"""A repository with two commits, and the reports of both shards of the change."""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    folder = tmp_path_factory.mktemp("shards")
    repository = Repository(folder / "repository")
    versions(repository)
    repository.commit("changed")
    files = [folder / "1", folder / "2"]
    for each in files:
        assert run(repository.root, "--shard", f"{each.name}/2", "--out", str(each)) == 0
    return repository.root, files


@pytest.fixture
def ready(before: Ready, tmp_path: Path) -> Ready:
    """The same, with reports that a test may change."""
    return before[0], [Path(shutil.copy(each, tmp_path)) for each in before[1]]


def run(root: Path, *arguments: str) -> int:
    return main(["--root", str(root), "preview", "--base", "HEAD~1", "--head", "HEAD", *arguments])


def edited(edit: Callable[[Any], object]) -> Callable[[bytes], bytes]:
    """A report with other JSON."""

    def change(data: bytes) -> bytes:
        found: Any = json.loads(data)
        edit(found)
        return json.dumps(found).encode()

    return change


def put(path: tuple[str | int, ...], value: object) -> Callable[[bytes], bytes]:
    """A report with another value at a path."""
    *above, last = path
    return edited(lambda found: reduce(getitem, above, found).__setitem__(last, value))


def sites(edit: Callable[[list[Any]], object]) -> Callable[[bytes], bytes]:
    """A report with another list of sites."""
    return edited(lambda found: edit(found["judged"]))


HOSTILE: dict[str, dict[str, Callable[[bytes], bytes]]] = {
    "another base": {"another base": put(("terms", "base"), "0" * 40)},
    "another head": {"another head": put(("terms", "head"), "0" * 40)},
    "another judge": {"another judge": put(("terms", "judge"), "x")},
    "another options": {"other options": put(("terms", "options"), "x")},
    "no report of it that fits": {"another number": put(("part",), [2, 4])},
    "shard 3/2": {"no shard": put(("part",), [3, 2])},
    "shard 0/2": {"a shard below one": put(("part",), [0, 2])},
    "other sites than it names": {
        "another shard": put(("part",), [1, 2]),
        "a site less": sites(lambda each: each.pop()),
        "a site twice": sites(lambda each: each.append(each[0])),
        "a site no shard was to judge": sites(lambda each: each.append(["osaka", None, [], []])),
    },
    "another's": {"another's site": sites(lambda each: each[0].__setitem__(0, "osaka"))},
    "a run of values": {"hosts without end": put(("judged", 0, 2, 0, 0), 10**9)},
    "names no reason": {
        "a reason that is not there": put(("judged", 0, 2, 0, 1, 3), [99]),
        "a reason from the end": put(("judged", 0, 2, 0, 1, 3), [-1]),
    },
    "": {"a huge number": lambda data: data.replace(b"[2,2]", b"[" + b"9" * 5000 + b",2]")},
    "no whole report": {
        "a site without its effect": sites(lambda each: each[0].__delitem__(slice(1, 4))),
        "a site without its hosts": sites(lambda each: each[0].__delitem__(slice(2, 4))),
        "truncated": lambda data: data[: len(data) // 2],
        "empty": lambda _: b"",
        "no JSON": lambda _: b"\x80\x04\x95",
        "no UTF-8": lambda data: data.replace(b"sapporo-1", b"sapporo\xff1"),
        "deep": lambda _: b"[" * 100_000,
        "another field": put(("more",), 1),
        "a text for a number": put(("part",), ["2", 2]),
        "no such impact": put(("judged", 0, 2, 0, 1, 2), "re-cycle"),
        "no number": put(("judged", 0, 1, "patches"), float("nan")),
        "an object without a name": put(("judged", 0, 3, 0, 1, 0, 2, 1), {"kind": "Pod"}),
        "an object of neither side": put(("judged", 0, 3, 0, 1, 0), ["machines", None, None, []]),
        "a path without a mark": put(("judged", 0, 1, "reasons", 0, 0, 2), ["spec"]),
    },
}
"""Edits of a report by name, and the words about each."""
CASES = [
    pytest.param(edit, words, id=name)
    for words, edits in HOSTILE.items()
    for name, edit in edits.items()
]


@pytest.mark.parametrize(("edit", "words"), CASES)
def test_a_report_that_does_not_fit_makes_every_site_unknown(
    ready: Ready,
    edit: Callable[[bytes], bytes],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root, files = ready
    data = files[1].read_bytes()
    files[1].write_bytes(edit(data))
    assert files[1].read_bytes() != data
    refused(root, files, words, capsys)


def refused(root: Path, files: list[Path], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    code = run(root, "--format", "json", "--fail-on", "unknown", "--merge", *map(str, files))
    found = json.loads(capsys.readouterr().out)
    assert (code, found["impact"], found["certain"]) == (2, "unknown", False)
    assert {site["state"] for site in found["sites"]} == {State.INVALID.value}
    assert len(found["entries"]) == 1
    said = json.dumps(found["sites"][0]["problems"])
    assert words in said and not re.search(r"input_|pydantic|validation error|unpack", said)


def made(file: Path, make: Callable[[Path], object]) -> Path:
    other = file.with_name("other")
    make(other)
    return other


FILES_OF: dict[str, Callable[[Path, Path], list[Path]]] = {
    "a shard is missing": lambda one, _: [one],
    "a shard is there twice": lambda one, two: [one, two, two],
    "a file is not there": lambda one, two: [one, two, two.with_name("3")],
    "a folder": lambda one, two: [one, two, one.parent],
    "a link": lambda one, two: [one, made(two, lambda link: link.symlink_to(two))],
    "a pipe": lambda one, two: [one, two, made(two, os.mkfifo)],
    "a file without end": lambda one, two: [one, two, Path("/dev/zero")],
}


@pytest.mark.parametrize("given", FILES_OF.values(), ids=FILES_OF)
def test_each_shard_is_given_once_as_a_file(
    ready: Ready, given: Callable[[Path, Path], list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    refused(ready[0], given(*ready[1]), "", capsys)


def test_what_does_not_fit_is_refused_also_where_no_site_is_touched(
    ready: Ready, capsys: pytest.CaptureFixture[str]
) -> None:
    root, (one, _) = ready
    assert run(root, "--base", "HEAD", "--merge", str(one)) == 2
    assert "another base" in capsys.readouterr().err


def test_figures_without_sense_end_in_words(
    ready: Ready, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, files = ready
    plans = sites(lambda found: [p.__setitem__(-1, 0) for e in found for p in e[1]["plans"]])
    files[0].write_bytes(plans(files[0].read_bytes()))  # no host is provisioned at a time
    assert run(root, "--merge", *map(str, files)) == 2
    assert "run it again" in capsys.readouterr().err
    monkeypatch.setattr("preview.survey.group_sites", lambda _: int("x"))
    assert run(root, "--merge", *map(str, files)) == 2
    assert "run it again" in capsys.readouterr().err


def test_a_file_that_is_too_large_is_not_read(
    ready: Ready, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, files = ready
    monkeypatch.setattr(shards, "LARGEST", files[1].stat().st_size - 1)
    refused(root, files, "more than", capsys)


# --- the commands ---------------------------------------------------------------------------------
def test_the_files_of_a_merge_are_those_of_one_run(before: Ready, tmp_path: Path) -> None:
    root, files = before
    gate = ("--fail-on", "reimage>10%")
    shards_of = [*map(str, files)]
    assert run(root, *gate, "--out", str(tmp_path / "whole")) == 1
    assert run(root, *gate, "--out", str(tmp_path / "merged"), "--merge", *shards_of) == 1
    allowed = ("--allow", "reimage=9999")
    assert run(root, *gate, *allowed, "--merge", *shards_of) == 0
    for name in FILES:
        whole = (tmp_path / "whole" / name).read_bytes()
        assert (tmp_path / "merged" / name).read_bytes() == whole


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--shard", "1/2"), "--out FILE"),
        (("--shard", "0/2", "--out", "x"), "write --shard I/N"),
        (("--shard", ""), "--shard of nothing: write --shard I/N"),
        (("--shard", "", "--merge", "x"), "calls of their own"),
        (("--shard", "3/2", "--out", "x"), "write --shard I/N"),
        (("--shard", "1/999", "--out", "x"), "write --shard I/N"),
        (("--shard", "one", "--out", "x"), "write --shard I/N"),
        (("--shard", "1/2", "--out", "x", "--fail-on", "unknown"), "give them to --merge"),
        (("--shard", "1/2", "--out", "x", "--merge", "x"), "calls of their own"),
        (("--shard", "1/2", "--out", "/dev/null/x"), "/dev/null is there and is no folder; name a"),
        (("--shard", "1/2", "--out", "/"), "a shard is one file: write --out /1.json"),
        (("--out", "/dev/null"), "is no folder; name a folder, as --out report"),
    ],
)
def test_what_is_no_shard_says_what_to_write(
    before: Ready, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(before[0], *arguments) == 2
    assert words in capsys.readouterr().err


def test_shards_are_of_commits_and_all_that_is_wrong_is_said_at_once(
    before: Ready, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(before[0]), "preview", "--shards"]) == 2
    assert main(["--root", str(before[0]), "preview", "--shard", "0/4", "--exit-code"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    for words in ("by --base and --head; ", "give them to --merge; ", "--shard 0/4: write --shard"):
        assert words in said


def test_a_number_with_a_nought_before_it_is_the_same_shard(before: Ready, tmp_path: Path) -> None:
    root, (one, _) = before
    assert run(root, "--shard", "01/02", "--out", str(tmp_path / "1")) == 0
    assert (tmp_path / "1").read_bytes() == one.read_bytes()


def test_shards_are_said_only_where_one_machine_takes_longer_than_a_minute(
    before: Ready, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [len(worth(n)) for n in (0, A_MINUTE, 3_000, 10_000, 30_000)] == [0, 0, 5, MOST, MOST]
    capsys.readouterr()
    assert run(before[0], "--shards") == 0
    assert capsys.readouterr().out == "shards=[]\n"
    monkeypatch.setattr(shards, "A_MINUTE", 1)
    monkeypatch.setattr(shards, "SHARE", 2)
    assert run(before[0], "--shards") == 0
    assert capsys.readouterr().out == 'shards=["1/2", "2/2"]\n'
