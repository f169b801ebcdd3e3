"""Findings where others show them: beside a pull request's lines, and in code scanning.
docs.github.com has the limits: ten annotations of a level in a step ("Workflow commands"), 5,000
results and 10 MB in a file ("SARIF support for code scanning"). What is over is counted."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from foresite.command import version
from schemas.model.problem import Problem, number_of

ANNOTATIONS = 10
RESULTS = 5000
TEXT = 1000
"""Characters of a text that are shown; with all results a file stays below 10 MB."""
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Note(NamedTuple):
    """A finding, how bad it is (``error``, ``warning``, ``note``), and the rule that found it."""

    level: str
    rule: str
    problem: Problem

    @property
    def text(self) -> str:
        """What is wrong, why it hurts and what to write, a line each."""
        each = self.problem
        lines = (each.message, f"why: {each.why}", f"fix: {each.fix}")
        return "\n".join(_cut(line) for line in lines)


def as_workflow_commands(notes: Sequence[Note]) -> Iterator[str]:
    """A line for each annotation of GitHub; the last of a level counts those that have no room."""
    for level, command in _COMMANDS.items():
        found = [each for each in notes if each.level == level]
        shown = found if len(found) <= ANNOTATIONS else found[: ANNOTATIONS - 1]
        for each in shown:
            at, where = each.problem, {"file": each.problem.file}
            if at.line:
                where |= {"line": str(at.line), "col": str(at.column)}
            where["title"] = _cut(f"{each.rule} {at.path}".rstrip())
            safe = {k: _data(v).replace(":", "%3A").replace(",", "%2C") for k, v in where.items()}
            said = ",".join(f"{key}={value}" for key, value in safe.items())
            yield f"::{command} {said}::{_data(each.text)}"
        if shown is not found:
            left = _number(found) - len(shown)
            more = f"{left} more are not shown here; foresite check shows the first hundred"
            yield f"::{command} title=foresite check::{more}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def as_sarif(notes: Sequence[Note]) -> str:
    """The findings as SARIF 2.1.0."""
    shown = [each for each in notes if each.problem.stands_for == 1][:RESULTS]
    rules = {each.rule: each.problem for each in reversed(shown)}
    numbers = {rule: number for number, rule in enumerate(sorted(rules))}
    listed = [_rule(rule, rules[rule]) for rule in numbers]
    driver = {"name": "foresite", "semanticVersion": version(), "rules": listed}
    invocation: dict[str, Any] = {"executionSuccessful": True}
    if _number(notes) > len(shown):
        text = f"{len(shown)} of {_number(notes)} findings are in this file; correct these first"
        said = {"level": "warning", "message": {"text": text}}
        invocation["toolExecutionNotifications"] = [said]
    run = {
        "tool": {"driver": driver}, "invocations": [invocation], "columnKind": "unicodeCodePoints",
        "results": [_result(each, numbers[each.rule]) for each in shown],
    }  # fmt: skip
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(name: str, problem: Problem) -> dict[str, Any]:
    """A rule of the policies says why by itself, a code in general."""
    why = problem.code.why if name == problem.code.value else problem.why
    more = f"{_cut(why)}\ndocs/problems.md and docs/policy-rules.md list all rules."
    texts = {"shortDescription": name.replace("-", " "), "fullDescription": _cut(why), "help": more}
    return {"id": name, **{key: {"text": text} for key, text in texts.items()}}


def _result(note: Note, number: int) -> dict[str, Any]:
    at = note.problem
    file = {"uri": quote(at.file), "uriBaseId": "%SRCROOT%"}
    # Of a file as a whole code scanning shows the first line.
    region = {"startLine": at.line or 1, "startColumn": at.column or 1}
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": file, "region": region}}
    if at.path:
        location["logicalLocations"] = [{"fullyQualifiedName": _cut(at.path)}]
    return {"ruleId": note.rule, "ruleIndex": number, "level": note.level,
            "message": {"text": note.text}, "locations": [location]}  # fmt: skip


def _number(notes: Iterable[Note]) -> int:
    return number_of(each.problem for each in notes)


def _cut(text: str) -> str:
    return text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"
