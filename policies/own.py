"""Rules of a site's own, from Python files below sites/: run as code, and trusted with nothing.

A file defines ``RULES``, a list of ObjectRule and SiteRule, by ``from policies import ...``. Each
file runs in a process of its own (policies/worker.py), which gets copies of objects and gives back
plain data. So nothing that it does, exits or never comes back from keeps the judge from its own
answer: it is a fault with file and line. A rule that has failed once is not asked again.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from policies.rule import Found, Object, ObjectRule, Rule, Severity, SiteRule

DEADLINE_S = 30.0
"""Seconds that the reading of a file may take, and a check of one object or of a whole site."""
LEAVE_S = 5.0
"""Seconds that a process may take to end after its last request."""
_MEND = "correct the file, or take it out of policies.python"


class Fault(NamedTuple):
    """A fault of a site's own rules: the file below sites/, the line (from 1; 0: the file as a
    whole), the fault, what to do, and the rule where its check failed."""

    file: str
    line: int
    message: str
    fix: str
    rule: str = ""

    def __str__(self) -> str:
        """The fault for a person, in one line."""
        line = f":{self.line}" if self.line else ""
        return f"sites/{self.file}{line}: {self.message}; {self.fix}"


@dataclass
class OwnRules:
    """The rules of a site's files, and the ``faults`` of these; checks that fail add theirs."""

    rules: tuple[Rule, ...] = ()
    faults: list[Fault] = field(default_factory=list)


def own_rules(texts: Mapping[str, str], taken: Collection[str]) -> OwnRules:
    """The rules of Python files, ``texts`` by path below sites/; ``taken`` are names in use."""
    found = OwnRules()
    rules: dict[str, Rule] = {}
    for path, text in texts.items():
        file = _File(path, found.faults)
        for number, each in enumerate(file.read(text)):
            name, line = each["name"], each["line"]
            if name in taken or name in rules:
                whose = "Foresite's own" if name in taken else "another file's"
                message = f"the rule {name} has the name of {whose}"
                found.faults.append(Fault(path, line, message, "rename it"))
            else:
                rules[name] = _rule(each, _Asked(file, number, name, line))
    found.rules = tuple(rules.values())
    return found


def _rule(said: Mapping[str, Any], asked: "_Asked") -> Rule:
    """The rule as it was said, with a check that never raises."""
    texts = (said["what"], said["why"], said["source"])
    severity = Severity(said["severity"])
    if said["site"]:
        return SiteRule(asked.name, severity, *texts, asked.of_site)
    return ObjectRule(asked.name, severity, *texts, asked.of_object)


class _File:
    """A file of rules, in its process, until that has ended."""

    def __init__(self, path: str, faults: list[Fault]) -> None:
        self.path, self.faults, self.ended = path, faults, False
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "policies.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # It finds what this process finds, these very policies first of all.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        weakref.finalize(self, _end, self._process)

    def read(self, text: str) -> list[dict[str, Any]]:
        """The file's answer on its rules; a wrong answer is a fault."""
        answer = self.ask({"path": f"sites/{self.path}", "text": text})
        for line, message, fix in answer.get("faults", ()):
            self.faults.append(Fault(self.path, line, message, fix or _MEND))
        if "failed" in answer:
            line, message = answer["failed"]
            self.faults.append(Fault(self.path, line, message, _MEND))
        rules: list[dict[str, Any]] = answer.get("rules", [])
        return rules

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the process; where it gives none, how it ended, as ``failed``."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise ValueError("a process that nobody can ask")
        line = b""
        with contextlib.suppress(OSError):  # it has ended, which its status tells
            asked = {**question, "deadline": DEADLINE_S}
            stdin.write(json.dumps(asked, default=str).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            self.ended = True
            return {"failed": [0, _fate(self._process)]}
        return answer


@dataclass(frozen=True)
class _Asked:
    """A check that is asked of its file's process."""

    file: _File
    number: int
    name: str
    line: int
    failed: list[bool] = field(default_factory=list)

    def of_object(self, each: Object) -> list[Found]:
        """The findings of the check in an object."""
        return [found for _, found in self._findings([each], each.title)]

    def of_site(self, objects: Sequence[Object]) -> list[tuple[Object, Found]]:
        """The findings in all objects of a site."""
        return self._findings(objects, "the site's objects")

    def _findings(self, objects: Sequence[Object], title: str) -> list[tuple[Object, Found]]:
        if self.failed or self.file.ended:
            return []
        answer = self.file.ask({"rule": self.number, "objects": objects})
        if "failed" not in answer:
            return [(objects[at], Found(*texts)) for at, *texts in answer["found"]]
        self.failed.append(True)
        line, said = answer["failed"]
        message = f"the check of rule {self.name} failed on {title}: {said}"
        fix = "correct the check; it sees objects of all kinds"
        where = self.file.path, line or self.line
        self.file.faults.append(Fault(*where, message, fix, self.name))
        return []


def _fate(process: subprocess.Popen[bytes]) -> str:
    """The end of a process that gave no answer, in words."""
    status = _wait(process)
    if status == -signal.SIGALRM:
        return f"it takes more than {DEADLINE_S:g} s"
    if status < 0:
        return f"it is ended by signal {-status}"
    return "it ends the program"


def _wait(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(LEAVE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # it has ended already
            if pipe is not None:
                pipe.close()
    _wait(process)
