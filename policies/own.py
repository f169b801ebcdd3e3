"""Rules of a site's own, from Python files below sites/: run as code, and trusted with nothing.

A file defines ``RULES``, a list of ObjectRule and SiteRule, by ``from policies import ...``. What
is wrong with it is a fault with file and line, whatever it raises, and so is a check that raises
or that yields something else than what it found. What a file prints goes to stderr: stdout may be
a report, or the port of a policy pack.
"""

import ast
import contextlib
import functools
import json
import re
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from policies.rule import Found, Object, ObjectRule, Rule, Severity, SiteRule

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HOW = "write RULES = [ObjectRule(...), ...], with `from policies import ObjectRule, Found`"
_MEND = "correct the file, or take it out of policies.python"


class Fault(NamedTuple):
    """What is wrong with a site's own rules: the file below sites/, the line (from 1; 0: the file
    as a whole), what is wrong, what to do, and the rule where its check failed."""

    file: str
    line: int
    message: str
    fix: str
    rule: str = ""

    def __str__(self) -> str:
        """The fault for a person, in one line."""
        place = f"{_shown(self.file)}:{self.line}" if self.line else _shown(self.file)
        return f"{place}: {self.message}; {self.fix}"


@dataclass
class OwnRules:
    """The rules of a site's files, and the ``faults`` of these; a check that fails while it is
    run adds its own."""

    rules: tuple[Rule, ...] = ()
    faults: list[Fault] = field(default_factory=list)


def own_rules(texts: Mapping[str, str], taken: Collection[str]) -> OwnRules:
    """The rules of Python files, ``texts`` by path below sites/.

    ``taken`` are the names of rules that are there already.
    """
    found = OwnRules()
    rules: dict[str, Rule] = {}
    for path, text in texts.items():
        module = _module(path, text)
        found.faults += module.faults
        for rule in module.rules:
            if rule.name in taken or rule.name in rules:
                whose = "Foresite's own" if rule.name in taken else "another file's"
                message = f"the rule {rule.name} has the name of {whose}"
                found.faults.append(Fault(path, _line_of(rule, path), message, "rename it"))
            else:
                rules[rule.name] = _guarded(rule, path, found.faults)
    found.rules = tuple(rules.values())
    return found


@functools.lru_cache(maxsize=256)
def _module(path: str, text: str) -> OwnRules:
    """A file, run once however many sites name it."""
    module = types.ModuleType(f"site_policies_{re.sub('[^a-zA-Z0-9]', '_', path)}")
    sys.modules[module.__name__] = module  # dataclasses look for themselves there
    try:
        code = compile(text, _shown(path), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(sys.stderr):
            exec(code, module.__dict__)  # noqa: S102  the site's own code is what this is for
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the file does
        return OwnRules(faults=[Fault(path, _line(error, path), _said(error), _MEND)])
    return _rules(path, text, getattr(module, "RULES", None))


def _rules(path: str, text: str, value: Any) -> OwnRules:
    line = _line_of_rules(text)
    if not isinstance(value, list | tuple) or not value:
        what = "defines no RULES" if value is None else "defines RULES that is no list of rules"
        return OwnRules(faults=[Fault(path, line, what, _HOW)])
    found, rules = OwnRules(), []
    for number, rule in enumerate(value):
        wrong = _nonsense(rule)
        if wrong:
            at = _line_of(rule, path) if isinstance(rule, Rule) else 0
            found.faults.append(Fault(path, at or line, f"RULES[{number}] {wrong}", _HOW))
        else:
            rules.append(rule)
    found.rules = tuple(rules)
    return found


def _nonsense(value: Any) -> str | None:
    """What keeps ``value`` from being a rule; None where it is one."""
    if not isinstance(value, ObjectRule | SiteRule):
        return f"is {type(value).__name__}, neither ObjectRule nor SiteRule"
    rule: Any = value  # its fields hold whatever the file gave them
    if not isinstance(rule.name, str) or not _NAME.fullmatch(rule.name):
        return f"has the name {rule.name!r}, which is not of small letters, digits and hyphens"
    if not isinstance(rule.severity, Severity):
        return f"({rule.name}) has the severity {rule.severity!r}, which is no Severity"
    for each in ("what", "why", "source"):
        said = getattr(rule, each)
        if not isinstance(said, str) or not said.strip():
            return f"({rule.name}) says nothing as {each}"
    return None if callable(rule.check) else f"({rule.name}) has a check that cannot be called"


def _guarded(rule: Rule, path: str, faults: list[Fault]) -> Rule:
    """The rule with a check that never raises: what it raises is a fault."""

    def failed(error: BaseException, title: str) -> None:
        message = f"the check of rule {rule.name} failed on {title}: {_said(error)}"
        line = _line(error, path) or _line_of(rule, path)
        fix = "correct the check; it sees objects of all kinds"
        faults.append(Fault(path, line, message, fix, rule.name))

    if isinstance(rule, ObjectRule):
        check = rule.check

        def one(each: Object) -> list[Found]:
            found = _run(lambda: check(_copy(each)), _found, lambda e: failed(e, each.title))
            return list(found)

        return replace(rule, check=one)
    if isinstance(rule, SiteRule):
        check_all = rule.check

        def every(objects: Sequence[Object]) -> list[tuple[Object, Found]]:
            where = "the site's objects"
            copies = [_copy(each) for each in objects]
            return list(_run(lambda: check_all(copies), _pair, lambda e: failed(e, where)))

        return replace(rule, check=every)
    raise TypeError(rule)


def _run(
    check: Callable[[], Any], read: Callable[[Any], Any], failed: Callable[[BaseException], None]
) -> Iterator[Any]:
    """What a check yields, each by ``read``; what it raises is told to ``failed``."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = [read(each) for each in check()]
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever the check does
        failed(error)
        return
    yield from found


def _copy(each: Object) -> Object:
    """The object for a check that may change it: what is judged is what is applied."""
    return each._replace(body=json.loads(json.dumps(each.body)))


def _found(value: Any) -> Found:
    if isinstance(value, Found) and all(isinstance(each, str) for each in value):
        return value
    raise TypeError(f"it yields {value!r}, which is no Found of three texts")


def _pair(value: Any) -> tuple[Object, Found]:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Object):
        return value[0], _found(value[1])
    raise TypeError(f"it yields {value!r}, which is no pair of an Object and a Found")


def _shown(path: str) -> str:
    return f"sites/{path}"


def _said(error: BaseException) -> str:
    """The error for a person: its kind and what it says, in one line."""
    if isinstance(error, SyntaxError):
        return f"it is no Python: {error.msg}"
    if isinstance(error, SystemExit):
        return "it ends the program"
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _line(error: BaseException, path: str) -> int:
    """The line of the file that the error comes from; 0 where it is from none."""
    if isinstance(error, SyntaxError) and error.filename == _shown(path):
        return error.lineno or 0
    line, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _shown(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _line_of(rule: Rule, path: str) -> int:
    """The line of a rule's check, where the file itself defines it."""
    code = getattr(getattr(rule, "check", None), "__code__", None)
    ours = code is not None and code.co_filename == _shown(path)
    return int(code.co_firstlineno) if code is not None and ours else 0


def _line_of_rules(text: str) -> int:
    """The line that assigns RULES; 0 where none does."""
    for statement in ast.parse(text).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(isinstance(each, ast.Name) and each.id == "RULES" for each in targets):
            return statement.lineno
    return 0
