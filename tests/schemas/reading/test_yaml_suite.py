"""The reader against the YAML test suite: what is accepted means what the suite says it means."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from schemas.model.codes import Code
from schemas.reading.yaml_reader import read_yaml
from tests.kit.repository import ROOT

_UPSTREAM = Path(os.environ.get("FORESITE_UPSTREAM", ROOT.parent / "shared" / "upstream"))
_FILE = _UPSTREAM / "yaml-test-suite.json"
_CASES: dict[str, dict[str, Any]] = (
    {case["id"]: case for case in json.loads(_FILE.read_text("utf-8"))["cases"]}
    if _FILE.is_file()
    else {}
)
pytestmark = pytest.mark.skipif(
    not _CASES, reason=f"the YAML test suite is not at {_FILE}; FORESITE_UPSTREAM names its folder"
)

# Refused on purpose, though YAML allows it.
_POLICY = {
    Code.FILE_CHARACTER,
    Code.FILE_EMPTY,
    Code("file-encoding"),
    Code("yaml-anchor"),
    Code("yaml-directive"),
    Code("yaml-documents"),
    Code("yaml-duplicate-key"),
    Code("yaml-key-type"),
    Code("yaml-merge-key"),
    Code("yaml-number"),
    Code("yaml-tag"),
}

# Refused, though YAML allows it and no policy asks for it: each is refused, none is misread.
_DEVIATIONS = {
    "libyaml refuses a tab that separates or stands on a blank line": (
        "6BCT 6CA3 96NN/00 96NN/01 A2M4 DK95/00 DK95/03 DK95/04 Q5MG R4YG Y79Y/001 Y79Y/010"
    ),
    "libyaml refuses an empty key; read, it would be refused as a null key": (
        "2JQS CFD4 FRK4 M2N8/00 NHX8 NKF9 S3PD SM9W/01 UKK6/00"
    ),
    "libyaml refuses a ':' that starts or ends a plain scalar in a flow collection": (
        "4ABK 58MP 5T43 DBG4 HM87/00"
    ),
    "libyaml refuses a flow key of several lines, or a ':' on the line after its key": (
        "4MUZ/00 4MUZ/01 4MUZ/02 5MUD 9SA2 K3WX NJ66 UT92 VJP3/01"
    ),
    "libyaml refuses a whole document of block text that starts in the first column": "DK3J FP8R",
    "libyaml refuses '...' without a document, or a bare document after it": "7Z25 HWV9 M7A3 QT73",
    "libyaml misreads a '?' glued to a value in a flow collection, so it is refused": (
        "652Z HM87/01"
    ),
    "libyaml misreads block text at the end of a file without a line feed, so it is refused": (
        "JEF9/02 L24T/01"
    ),
}
_REFUSED_THOUGH_VALID = {id_ for ids in _DEVIATIONS.values() for id_ in ids.split()}


def _read(case: dict[str, Any]) -> tuple[str | None, set[Code]]:
    """The reader's result of a case: its JSON, or the codes of its problems."""
    document, problems = read_yaml(case["yaml"].encode("utf-8", "surrogatepass"), case["id"])
    assert (document is None) == bool(problems)
    written = None if document is None else json.dumps(document.value, sort_keys=True)
    return written, {problem.code for problem in problems}


@pytest.mark.parametrize("case", _CASES.values(), ids=list(_CASES))
def test_a_case_is_read_as_the_suite_says_or_refused_for_a_reason(case: dict[str, Any]) -> None:
    written, codes = _read(case)
    if written is not None:
        assert not case["error"], "accepted what the suite says is no YAML"
        assert case["json"] is not None, "accepted what has no meaning in JSON"
        assert written == json.dumps(json.loads(case["json"]), sort_keys=True)
    elif not case["error"]:
        assert codes & _POLICY or case["id"] in _REFUSED_THOUGH_VALID, codes


def test_the_named_deviations_are_still_deviations() -> None:
    for id_ in sorted(_REFUSED_THOUGH_VALID):
        case = _CASES[id_]
        assert not case["error"], id_
        assert _read(case) == (None, {Code.YAML_SYNTAX}), id_


def test_most_of_what_policy_allows_is_accepted() -> None:
    accepted = sum(_read(case)[0] is not None for case in _CASES.values())
    assert accepted >= 160
