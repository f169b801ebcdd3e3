"""Files with rules of a site's own, whatever they do, and the processes that they run in."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from foresite.command import FOUND
from policies import Object, own
from policies.judge import findings
from policies.own import own_rules
from tests.kit.policy_lab import RULE, Lab, copied
from tests.kit.policy_objects import good


@pytest.fixture
def lab(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lab:
    return Lab(copied(tmp_path), capsys)


IMPORT = "from policies import Found, Object, ObjectRule, Severity, SiteRule\n"
ONE = (
    'RULES = [{kind}(name="mine", severity=Severity.ADVISORY, what="a", why="b", source="c", '
    "check=lambda found: {check})]\n"
)


MUTE = """\
class Mute(Exception):
    def __repr__(self): raise self
    __str__ = __repr__
"""


def rule(check: str, kind: str = "ObjectRule") -> str:
    """A file with a rule, whose third line is the rule's."""
    return f"{IMPORT}\n{ONE.format(kind=kind, check=check)}"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("RULES = [\n", 1, "it is no Python"),
        ("\n\nraise KeyError('shelf')\n", 3, "KeyError: 'shelf'"),
        ("import sys\nsys.exit(0)\n", 2, "it ends the program"),
        ("import nowhere\n", 1, "No module named 'nowhere'"),
        ("def f():\n    f()\nf()\n", 2, "RecursionError"),
        ("x = 1\n", 0, "defines no RULES"),
        ("RULES = 'all'\n", 1, "no list of rules"),
        ("x = 1\nRULES = [x]\n", 2, "RULES[0] is int"),
        (rule("()").replace("Severity.ADVISORY", '"high"'), 3, "'high', which is no Severity"),
        (rule("()").replace('"mine"', '"Mine!"'), 3, "'Mine!'"),
        (rule("()").replace('what="a"', 'what=" "'), 3, "says nothing as what"),
        (rule("()").replace('"mine"', '"object-size"'), 3, "Foresite's own"),
        (rule("()").replace("lambda found: ()", "7"), 3, "a check that cannot be called"),
        (rule("1 / 0"), 3, "the check of rule mine failed on Namespace"),
        (rule("None"), 3, "the check of rule mine failed on Namespace"),
        (rule("['bad']"), 3, "no Found of texts"),
        (rule("[Found('', 1, '')]"), 3, "no Found of texts"),
        (rule("exit(0)"), 3, "it ends the program"),
        (rule("__import__('os')._exit(0)"), 3, "failed on Namespace lab-1: it ends the program"),
        (rule("__import__('os').kill(__import__('os').getpid(), 9)"), 3, "it is ended by signal 9"),
        ("import os\nos._exit(0)\n", 0, "it ends the program"),
        ("raise GeneratorExit\n", 1, "GeneratorExit"),
        ("class Quiet(BaseException): ...\nraise Quiet\n", 2, "Quiet"),
        ("raise KeyboardInterrupt\n", 1, "KeyboardInterrupt"),
        (f"{MUTE}raise Mute\n", 4, "Mute"),
        (rule("raised()").replace("\n\n", f"\n{MUTE}def raised(): raise Mute\n", 1), 5, "Mute"),
        (
            rule("()").replace('"mine"', "Mute()").replace("\n\n", f"\n{MUTE}", 1),
            5,
            "the name a value of the kind Mute",
        ),
        (rule("[Found('', '', '')]", "SiteRule"), 3, "no pair of an Object and a Found"),
        (rule("1 / 0", "SiteRule"), 3, "failed on the site's objects"),
        (
            rule("[(Object('site', {'kind': 'Pod'}), Found('', '', ''))]", "SiteRule"),
            3,
            "none of the objects that it got",
        ),
    ],
)
def test_a_file_that_is_wrong_is_a_problem_at_its_line(
    lab: Lab, text: str, line: int, words: str
) -> None:
    lab.own(text)
    code, said = lab.check()
    assert code == FOUND
    place = f"sites/own.py:{line}:1" if line else "sites/own.py"
    assert f"{place}: policy-file" in said, said
    assert words in said


def test_what_a_check_that_fails_did_not_judge_is_not_called_good(lab: Lab) -> None:
    """It is advisory, and yet the check fails: nobody knows what it would have said."""
    lab.own(rule("1 / 0"))
    (one,) = lab.report()["problems"]
    assert one["code"] == "policy-file", "once, and not for each of the objects"


def test_one_rule_that_fails_leaves_the_others_in_force(lab: Lab) -> None:
    lab.own(
        RULE + 'WHY = ("a", "b", "c")\n'
        'RULES.append(ObjectRule("broken", Severity.ADVISORY, *WHY, lambda each: 1 / 0))\n'
    )
    assert [each["code"] for each in lab.report()["problems"]] == ["policy-violated", "policy-file"]


@pytest.mark.proof
@pytest.mark.parametrize("text", [rule("exec('while True: pass')"), "while True: pass\n"])
def test_a_file_that_never_ends_is_a_problem(
    lab: Lab, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "DEADLINE_S", 1.0)
    lab.own(text)
    code, said = lab.check()
    assert code == FOUND and "it takes more than 1 s" in said


def test_a_check_neither_changes_nor_says_what_is_written(lab: Lab) -> None:
    lab.run("render", "--out", str(lab.root / "before"))
    changed = "print('hello') or found.body.clear() or []"
    lab.own(rule(changed))
    lab.run("render", "--out", str(lab.root / "after"))
    before, after = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.yaml")}
        for folder in (lab.root / "before", lab.root / "after")
    )
    assert before and before == after
    assert lab.report()["problems"] == [], "stdout is JSON alone"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../own.py", "policies.python[0]"),
        ("/etc/own.py", "policies.python[0]"),
        ("linked.py", "is a link"),
        ("absent.py", "is not there"),
    ],
)
def test_no_path_and_no_link_leads_out_of_sites(lab: Lab, path: str, words: str) -> None:
    outside = lab.root / "own.py"
    outside.write_text("raise SystemExit('was run')\n")
    (lab.root / "sites" / "linked.py").symlink_to(outside)
    lab.policies(f"  python: [{path}]\n")
    code, said = lab.check()
    assert code == FOUND and words in said
    assert "was run" not in said and "it ends the program" not in said


def test_two_files_cannot_have_a_rule_of_one_name(lab: Lab) -> None:
    for name in ("a.py", "b.py"):
        (lab.root / "sites" / name).write_text(rule("()"))
    lab.policies("  python: [a.py, b.py]\n")
    code, said = lab.check()
    assert code == FOUND and "the rule mine has the name of another file's" in said


# --- the process of a file ------------------------------------------------------------------------

FILE = """\
import os, sys
from policies import Found, ObjectRule, Severity, SiteRule

def _check(each):
    print("said")
    os.system("echo said")
    os.write(1, b"said")
    yield Found(str(os.getpid()), repr(sys.stdin.read()), "fix", each.name)

def _all(objects):
    yield objects[1], Found("", str(len(objects)), "")

WHY = ("what", "why", "source")
RULES = [
    ObjectRule("one", Severity.MANDATORY, *WHY, _check),
    SiteRule("all", Severity.ADVISORY, *WHY, _all),
]
"""


def test_what_a_check_says_is_not_the_judges_output(capfd: pytest.CaptureFixture[str]) -> None:
    ours = own_rules({"own.py": FILE}, ())
    objects = [good("Pod"), good("Service")]
    found = [(each.rule.name, each.object, each.found) for each in findings(objects, ours.rules)]
    assert ours.faults == []
    assert [name for name, *_ in found] == ["one", "one", "all"]
    assert [each.value for *_, each in found] == ["web", "web", ""]
    assert found[0][2].message == "''", "there is nobody to ask"
    assert found[2][1] is objects[1] and found[2][2].message == "2"
    said = capfd.readouterr()
    assert said.out == "" and said.err.count("said") == 6


def test_the_process_ends_with_its_rules() -> None:
    ours = own_rules({"own.py": FILE}, ())
    (one,) = findings([good("Pod")], ours.rules[:1])
    process = int(one.found.path)
    assert process != os.getpid()
    os.kill(process, 0)
    del ours, one
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
    pytest.fail("the process of a file outlives its rules")


def test_values_that_are_no_json_are_judged_as_text() -> None:
    """Objects that a program makes by itself may hold anything; a check sees the values that JSON
    can hold."""
    ours = own_rules({"own.py": FILE}, ())
    body: dict[Any, Any] = {"kind": "Pod", "metadata": {"name": "a"}, 1: {2: object()}}
    each = Object("site", body)
    (one,) = findings([each], ours.rules[:1])
    assert one.object is each and ours.faults == []
