"""The process of one file with rules of a site's own: reads it, and runs its checks when asked.

Speaks JSON by lines with policies/own.py. What the file prints goes to stderr, and so does what its
programs print: stdout may be a report, or the port of a policy pack. A question that takes longer
than the deadline ends the process, by the kernel's timer, whatever it is doing.
"""

import ast
import json
import os
import re
import signal
import sys
import types
from collections.abc import Sequence
from typing import Any

from policies.rule import Found, Object, ObjectRule, Rule, Severity, SiteRule

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HOW = "write RULES = [ObjectRule(...), ...], with `from policies import ObjectRule, Found`"
Json = dict[str, Any]


def main() -> None:
    """Answer questions until there are no more."""
    # Who asks ends it; a person who interrupts both means that one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    file = _File()
    for line in asked:
        question = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, question["deadline"])
        answer = json.dumps(file.answer(question))
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(answer.encode() + b"\n")
        answers.flush()


class _File:
    """A file of rules: its name in what is said of it, and its rules once it has been read."""

    def __init__(self) -> None:
        self._name, self._rules = "", list[ObjectRule | SiteRule]()

    def answer(self, question: Json) -> Json:
        """The file's answer on its rules, or a check's findings; ``failed``: line and message."""
        try:
            if "text" in question:
                self._name = question["path"]
                return self._read(question["text"])
            objects = [Object(*each) for each in question["objects"]]
            return {"found": _run_check(self._rules[question["rule"]], objects)}
        except BaseException as error:  # noqa: BLE001  whatever the file does
            return {"failed": [_line(error, self._name), _describe_error(error)]}

    def _read(self, text: str) -> Json:
        module = types.ModuleType(f"site_policies_{re.sub('[^a-zA-Z0-9]', '_', self._name)}")
        sys.modules[module.__name__] = module  # dataclasses look for themselves there
        code = compile(text, self._name, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102  the site's own code is what this is for
        value, line = getattr(module, "RULES", None), _line_of_rules(text)
        if not isinstance(value, list | tuple) or not value:
            what = "defines no RULES" if value is None else "defines RULES that is no list of rules"
            return {"faults": [[line, what, _HOW]]}
        faults, rules = [], []
        for number, rule in enumerate(value):
            wrong = _nonsense(rule)
            if wrong:
                at = self._line_of(rule) if isinstance(rule, Rule) else 0
                faults.append([at or line, f"RULES[{number}] {wrong}", _HOW])
            else:
                self._rules.append(rule)
                rules.append(self._describe_rule(rule))
        return {"faults": faults, "rules": rules}

    def _describe_rule(self, rule: Rule) -> Json:
        fields = ("name", "severity", "what", "why", "source")
        said = {field: getattr(rule, field) for field in fields}
        return {**said, "site": isinstance(rule, SiteRule), "line": self._line_of(rule)}

    def _line_of(self, rule: Rule) -> int:
        """The line of a rule's check, where the file itself defines it."""
        code = getattr(getattr(rule, "check", None), "__code__", None)
        own = code is not None and code.co_filename == self._name
        return int(code.co_firstlineno) if code is not None and own else 0


def _run_check(
    rule: ObjectRule | SiteRule, objects: Sequence[Object]
) -> list[tuple[int | str, ...]]:
    """The findings of a check, each with the index of its object."""
    if isinstance(rule, ObjectRule):
        return [(0, *_checked_finding(each)) for each in rule.check(objects[0])]
    return [_pair(each, objects) for each in rule.check(list(objects))]


def _checked_finding(value: Any) -> Found:
    if isinstance(value, Found) and all(isinstance(each, str) for each in value):
        return value
    raise TypeError(f"it yields {_show(value)}, which is no Found of texts")


def _pair(value: Any, objects: Sequence[Object]) -> tuple[int | str, ...]:
    if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Object)):
        raise TypeError(f"it yields {_show(value)}, which is no pair of an Object and a Found")
    if value[0] not in objects:
        raise TypeError(f"it yields {value[0].title}, which is none of the objects that it got")
    return (objects.index(value[0]), *_checked_finding(value[1]))


def _nonsense(value: Any) -> str | None:
    """The obstacle that keeps ``value`` from being a rule; None where it is one."""
    if not isinstance(value, ObjectRule | SiteRule):
        return f"is {type(value).__name__}, neither ObjectRule nor SiteRule"
    rule: Any = value  # its fields hold whatever the file gave them
    if not isinstance(rule.name, str) or not _NAME.fullmatch(rule.name):
        name = _show(rule.name)
        return f"has the name {name}, which is not of small letters, digits and hyphens"
    if not isinstance(rule.severity, Severity):
        return f"({rule.name}) has the severity {_show(rule.severity)}, which is no Severity"
    for each in ("what", "why", "source"):
        said = getattr(rule, each)
        if not isinstance(said, str) or not said.strip():
            return f"({rule.name}) says nothing as {each}"
    return None if callable(rule.check) else f"({rule.name}) has a check that cannot be called"


def _show(value: object) -> str:
    """A value as Python writes it; its kind where it cannot be written."""
    try:
        return repr(value)
    except BaseException:  # noqa: BLE001  whatever the file does
        return f"a value of the kind {type(value).__name__}"


def _describe_error(error: BaseException) -> str:
    """The error for a person: its kind and what it says, in one line."""
    if isinstance(error, SystemExit):
        return "it ends the program"
    kind = type(error).__name__
    try:
        said = f"{kind}: {error}"
        if isinstance(error, SyntaxError):
            said = f"it is no Python: {error.msg}"
        return " ".join(said.split())[:300]
    except BaseException:  # noqa: BLE001  whatever the file does
        return kind


def _line(error: BaseException, name: str) -> int:
    """The line of the file that the error comes from; 0 where it is from none."""
    if isinstance(error, SyntaxError) and error.filename == name:
        return error.lineno or 0
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _line_of_rules(text: str) -> int:
    """The line that assigns RULES; 0 where none does."""
    for statement in ast.parse(text).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(isinstance(each, ast.Name) and each.id == "RULES" for each in targets):
            return statement.lineno
    return 0


if __name__ == "__main__":
    main()
