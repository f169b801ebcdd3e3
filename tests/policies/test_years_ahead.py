"""The objects that Foresite itself makes stay allowed, however far ahead the day is: no date fails
a site."""

import datetime
from pathlib import Path
from typing import Any

import pytest
from pulumi.runtime.proto import analyzer_pb2

from components.shell import token
from foresite.cli import main
from policies.exceptions import ExemptionError, exemptions, ours
from policies.own import OwnRules
from policies.pack.analyzer import Analyzer
from policies.rules import RULES
from tests.golden import objects
from tests.kit.repository import FLEET, ROOT, all_sites, with_examples
from tests.policies.test_pack_parts import request

YEAR_2040 = datetime.datetime(2040, 6, 1, tzinfo=datetime.UTC)


@pytest.fixture(params=["now", "2040"])
def day(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Now, and a day on which every exception with an end would be over."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    if request.param == "2040":
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(YEAR_2040.timestamp())))


def test_no_exception_of_ours_has_an_end() -> None:
    assert ours() and all(each.until is None for each in ours())
    row = {"rule": "a", "object": "b", "reason": "c", "owner": "d", "until": "2030-01-01"}
    with pytest.raises(ExemptionError):
        exemptions([row], own=False)


@pytest.mark.usefixtures("day")
@pytest.mark.parametrize("root", [FLEET, pytest.param(ROOT, marks=with_examples)])
def test_check_finds_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--root", str(root), "check"])
    assert code == 0, capsys.readouterr().out


def rendered(folder: Path) -> dict[str, bytes]:
    """The files that render writes for every site."""
    assert main(["--root", str(FLEET), "render", "--out", str(folder)]) == 0
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in sorted(folder.rglob("*"))
        if each.is_file()
    }


def test_render_writes_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    now = rendered(tmp_path / "now")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(YEAR_2040.timestamp())))
    assert rendered(tmp_path / "then") == now


def diagnostics(name: str, today: datetime.date) -> list[str]:
    """The policy pack's answers for every object of a site, and for its stack."""
    pack = Analyzer(RULES, OwnRules(), (), today)
    answers = []
    resources = []
    for number, each in enumerate(objects(all_sites()[name])):
        asked = request(token(each), dict(each.body), each.target.value)
        asked.urn += str(number)
        answers.append(pack.resource(asked))
        resources.append(analyzer_pb2.AnalyzerResource(urn=asked.urn))
    answers.append(pack.stack(analyzer_pb2.AnalyzeStackRequest(resources=resources)))
    return [found.message for answer in answers for found in answer.diagnostics]


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_the_policy_pack_says_the_same(name: str) -> None:
    then = diagnostics(name, YEAR_2040.date())
    assert then == diagnostics(name, datetime.datetime.now(datetime.UTC).date())
    assert not any("exception" in each for each in then)
