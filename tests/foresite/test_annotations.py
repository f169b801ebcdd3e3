"""``check --format github`` and ``sarif``: findings where others show them, in their own form."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from foresite import annotations
from foresite.annotations import ANNOTATIONS, RESULTS, Note, as_sarif, as_workflow_commands
from foresite.cli import main
from foresite.command import FOUND, OK
from schemas.model.codes import Code
from schemas.model.problem import Problem, first_problems
from tests.kit.policy_lab import RULE, Lab, copied
from tests.kit.repository import FLEET, ROOT, copy_sites

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"minLength": 1}}}
NUMBER = {"type": "integer", "minimum": 1}
FILE = {
    "type": "object",
    "required": ["uri", "uriBaseId"],
    # A relative reference in which no character is left to guess.
    "properties": {"uri": {"pattern": "^[A-Za-z0-9._~/%-]+$", "not": {"pattern": "^/|^[a-z]+:"}}},
}
RESULT = {
    "type": "object",
    "required": ["ruleId", "ruleIndex", "level", "message", "locations"],
    "properties": {
        "ruleId": {"pattern": "^[a-z0-9-]+$"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["error", "warning", "note"]},
        "message": TEXT,
        "locations": {
            "minItems": 1,
            "items": {
                "required": ["physicalLocation"],
                "properties": {
                    "physicalLocation": {
                        "required": ["artifactLocation", "region"],
                        "properties": {
                            "artifactLocation": FILE,
                            "region": {
                                "required": ["startLine"],
                                "additionalProperties": False,
                                "properties": {"startLine": NUMBER, "startColumn": NUMBER},
                            },
                        },
                    }
                },
            },
        },
    },
}
DRIVER = {
    "required": ["name", "rules"],
    "properties": {
        "rules": {
            "uniqueItems": True,
            "items": {
                "required": ["id", "shortDescription", "fullDescription", "help"],
                "properties": dict.fromkeys(("shortDescription", "fullDescription", "help"), TEXT),
            },
        }
    },
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {
            "minItems": 1,
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"required": ["driver"], "properties": {"driver": DRIVER}},
                    "results": {"type": "array", "items": RESULT},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                },
            },
        },
    },
}
"""What SARIF 2.1.0 and GitHub's code scanning ask for, in words of our own."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with three faults: in a site file, in a host list, and of a file as a whole."""
    copy_sites(tmp_path, ignore=shutil.ignore_patterns("tokyo*"))
    file = tmp_path / "sites" / "lab-1.yaml"
    file.write_text(file.read_text().replace("region:", "regoin:"))
    (tmp_path / "sites" / "nara-1.yaml").mkdir()
    return tmp_path


def problems(root: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What the check says for other machines."""
    assert main(["--root", str(root), "check", "--format", "json"]) == FOUND
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["problems"]
    assert len(found) > 1
    return found


def run_of(text: str) -> dict[str, Any]:
    """The one run of a SARIF file that fits the schema."""
    document = json.loads(text)
    jsonschema.Draft202012Validator(SARIF).validate(document)
    (run,) = document["runs"]
    rules = [each["id"] for each in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert all(rules[each["ruleIndex"]] == each["ruleId"] for each in run["results"])
    assert {each["ruleId"] for each in run["results"]} == set(rules)
    loaded: dict[str, Any] = run
    return loaded


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as GitHub's runner reads it: its name, properties and message."""
    match = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
    assert match, line
    codes = {"%3A": ":", "%2C": ",", "%0A": "\n", "%0D": "\r", "%25": "%"}

    def read(text: str) -> str:
        return re.sub("%3A|%2C|%0A|%0D|%25", lambda found: codes[found[0]], text)

    pairs = [pair.partition("=") for pair in match[2].split(",")]
    return match[1], {key: read(value) for key, _, value in pairs}, read(match[3])


def notes(count: int, level: str = "error", message: str = "x") -> list[Note]:
    return [
        Note(level, "hosts-cell",
             Problem("sites/a.hosts.csv", n + 2, 3, Code("hosts-cell"), "ip", "", message, "y"))
        for n in range(count)
    ]  # fmt: skip


# --- GitHub's annotations -------------------------------------------------------------------------


def test_each_problem_is_an_annotation_at_its_place(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = problems(root, capsys)
    assert main(["--root", str(root), "check", "--format", "github"]) == FOUND
    lines = capsys.readouterr().out.splitlines()
    found = [parsed(line) for line in lines if line.startswith("::error")]
    assert {parsed(line)[0] for line in lines if line.startswith("::")} == {"error", "notice"}
    for (_, where, text), each in zip(found, expected, strict=True):
        assert where["file"] == each["file"]
        assert (where.get("line"), where.get("col")) == (
            (str(each["line"]), str(each["column"])) if each["line"] else (None, None)
        )
        assert where["title"].split()[0] == each["code"]
        assert text == f"{each['message']}\nwhy: {each['why']}\nfix: {each['fix']}"
    assert lines[-1].endswith(f" sites checked: {len(expected)} problems")


def test_what_fails_nothing_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = Lab(copied(tmp_path), capsys)
    lab.own(RULE, severity="ADVISORY")
    assert lab.run("check", "--format", "github")[0] == OK
    found = [parsed(line) for line in lab.run("check", "--format", "github")[1].splitlines()
             if line.startswith("::")]  # fmt: skip
    ((name, where, text),) = [each for each in found if "no-trials" in each[1]["title"]]
    assert (name, where["file"]) == ("warning", "sites/lab-1.yaml")
    assert "Namespace trials: the word is reserved here" in text
    code, said = lab.run("check", "--format", "sarif")
    assert code == OK
    results = [each for each in run_of(said)["results"] if each["ruleId"] == "no-trials"]
    assert [each["level"] for each in results] == ["warning"]


@pytest.mark.parametrize(
    "text", ["50% of\n::error::x", "a,b:c\r\n", "::set-output name=a::b", "%0A", "title=x,file=y"]
)
def test_no_text_gets_out_of_its_command(text: str) -> None:
    problem = Problem(f"sites/{text}", 1, 2, Code("hosts-cell"), text, "", text, text)
    (line,) = as_workflow_commands([Note("error", "hosts-cell", problem)])
    assert "\n" not in line and "\r" not in line
    name, where, said = parsed(line)
    assert name == "error"
    assert where == {
        "file": f"sites/{text}",
        "line": "1",
        "col": "2",
        "title": f"hosts-cell {text}".rstrip(),
    }
    assert said == f"{text}\nwhy: {Code('hosts-cell').why}\nfix: {text}"


def test_more_than_github_shows_are_counted() -> None:
    assert len(list(as_workflow_commands(notes(ANNOTATIONS)))) == ANNOTATIONS
    lines = list(as_workflow_commands([*notes(1000), *notes(11, "note")]))
    assert len(lines) == 2 * ANNOTATIONS
    more = [line for line in lines if "more are not shown" in line]
    assert [parsed(line)[2].split()[0] for line in more] == ["991", "2"]
    assert [parsed(line)[0] for line in more] == ["error", "notice"]


def test_what_was_not_listed_is_counted_too() -> None:
    listed = [each.problem for each in notes(150)]
    found = [Note("error", each.code.value, each) for each in first_problems(listed, 1000)]
    *_, last = as_workflow_commands(found)
    assert parsed(last)[2].startswith(f"{1150 - ANNOTATIONS + 1} more are not shown")
    run = run_of(as_sarif(found))
    assert len(run["results"]) == len(found) - 1
    (said,) = run["invocations"][0]["toolExecutionNotifications"]
    assert said["message"]["text"].startswith("100 of 1150 findings")


# --- SARIF ----------------------------------------------------------------------------------------


def test_each_problem_is_a_result_with_rule_and_region(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = problems(root, capsys)
    assert main(["--root", str(root), "check", "--format", "sarif"]) == FOUND
    run = run_of(capsys.readouterr().out)
    errors = [result for result in run["results"] if result["level"] == "error"]
    for result, each in zip(errors, expected, strict=True):
        place = result["locations"][0]["physicalLocation"]
        assert unquote(place["artifactLocation"]["uri"]) == each["file"]
        assert place["region"] == {
            "startLine": each["line"] or 1,
            "startColumn": each["column"] or 1,
        }
        assert result["ruleId"] == each["code"]
        assert each["fix"] in result["message"]["text"]
    codes = {each.value: each for each in Code}
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["help"]["text"].startswith(codes[rule["id"]].why)


def test_a_site_without_problems_is_a_run_without_results(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--root", str(FLEET), "check", "lab-1", "--format", "sarif"]) == OK
    results = run_of(capsys.readouterr().out)["results"]
    assert {(each["ruleId"], each["level"]) for each in results} == {("placeholder", "note")}


def test_a_file_of_any_name_is_a_relative_reference() -> None:
    problem = Problem("sites/a b#?:\u6771.yaml", 0, 0, Code.FILE_UNREADABLE, "", "", "x", "y")
    (result,) = run_of(as_sarif([Note("error", "file-unreadable", problem)]))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == problem.file


def test_more_results_than_are_shown_are_counted_in_a_file_of_bounded_size() -> None:
    text = as_sarif(notes(RESULTS + 7, message="x" * 50_000))
    run = run_of(text)
    assert len(run["results"]) == RESULTS
    assert len(text) < 10_000_000
    (said,) = run["invocations"][0]["toolExecutionNotifications"]
    assert said["message"]["text"].startswith(f"{RESULTS} of {RESULTS + 7} findings")


def test_other_commands_wait_for_none_of_it() -> None:
    imported = (ROOT / "foresite" / "commands" / "check.py").read_text("utf-8")
    assert Path(annotations.__file__).stem in imported
    assert not re.search(r"(?m)^(from|import) .*annotations", imported)
