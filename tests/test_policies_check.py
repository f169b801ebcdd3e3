"""The policies in ``check`` and ``render``: what is refused, what is advice, and rules of a site's
own, whatever their files do."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from foresite.cli import main
from foresite.command import FAILED, FOUND, OK
from tests.repository import ROOT

OPEN_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: open, namespace: kube-flannel}
spec:
  containers:
    - name: shell
      image: registry.example/shell:v1@sha256:%s
      securityContext: {privileged: true}
""" % ("a" * 64)
RULE = """\
from policies import Found, ObjectRule, Severity


def _check(each):
    if each.kind == "Namespace" and each.name == "trials":
        yield Found("metadata.name", "the word is reserved here", "take another name")


RULES = [
    ObjectRule(
        name="no-trials",
        severity=Severity.MANDATORY,
        what="No namespace is named trials",
        why="the archive's scripts delete what is named so",
        source="the archive's handbook",
        check=_check,
    )
]
"""


class Lab:
    """A repository with lab-1 alone, which a test changes."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self._capsys = root, capsys
        self.file = root / "sites" / "lab-1.yaml"

    def policies(self, text: str) -> None:
        """Give the site ``policies``, as YAML."""
        self.file.write_text(f"{self.file.read_text()}\npolicies:\n{text}")

    def own(self, text: str, severity: str = "MANDATORY") -> None:
        """Give it a file of rules."""
        (self.root / "sites" / "own.py").write_text(text.replace("MANDATORY", severity))
        self.policies("  python: [own.py]\n")

    def open_pod(self) -> None:
        """Let the pod network bring a privileged pod that nobody excepts."""
        self.replace("flannel.yaml}", "flannel.yaml, install: direct}")
        path = self.root / "sites" / "pod-network" / "flannel.yaml"
        path.write_text(f"{path.read_text()}---\n{OPEN_POD}")

    def replace(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new, 1))

    def run(self, command: str, *arguments: str) -> tuple[int, str]:
        code = main(["--root", str(self.root), command, "lab-1", *arguments])
        said = self._capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return code, said.out + said.err

    def check(self) -> tuple[int, str]:
        return self.run("check")

    def report(self) -> dict[str, Any]:
        """The check in JSON, which nothing else may stand before."""
        main(["--root", str(self.root), "check", "lab-1", "--format", "json"])
        loaded: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        return loaded


@pytest.fixture
def lab(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lab:
    others = shutil.ignore_patterns("tokyo*", "tsukuba*")
    shutil.copytree(ROOT / "sites", tmp_path / "sites", ignore=others)
    return Lab(tmp_path, capsys)


def exception(rule: str, until: str = "2027-06-30", what: str = "Namespace trials") -> str:
    return (
        f'  exceptions:\n    - {{rule: {rule}, object: "{what}", owner: storage,\n'
        f'       reason: the scripts are replaced in spring, until: "{until}"}}\n'
    )


# --- refused, and told apart ----------------------------------------------------------------------


def test_a_good_site_says_what_was_judged_and_what_was_not(lab: Lab) -> None:
    code, said = lab.check()
    assert code == OK, said
    judged = r"offline: model, rules, schemas of (\d+) kinds, (\d+) policies"
    asked = r"not asked: any API server; (\d+) CEL rules are the API server's"
    found = re.search(f"^{judged}; {asked}$", said, re.MULTILINE)
    assert found and all(int(number) > 0 for number in found.groups())
    assert lab.report()["offline"] == {
        "kinds": int(found[1]),
        "policies": int(found[2]),
        "cel_rules_not_asked": int(found[3]),
        "sites_not_judged": [],
    }


def test_objects_that_were_never_made_are_not_said_to_be_judged(lab: Lab) -> None:
    lab.replace("region:", "regoin:")
    code, said = lab.check()
    assert code == FOUND
    assert "offline: model, rules; not asked: any API server; no objects yet of lab-1" in said


def test_a_privileged_pod_of_the_sites_manifests_is_refused_at_its_place(lab: Lab) -> None:
    lab.open_pod()
    code, said = lab.check()
    assert code == FOUND
    file = lab.root / "sites" / "pod-network" / "flannel.yaml"
    line = (
        file.read_text().splitlines().index("metadata: {name: open, namespace: kube-flannel}") - 1
    )
    place = rf"^sites/pod-network/flannel.yaml:{line}:1: policy-violated pod-network\.\S*privileged"
    assert re.search(place, said, re.MULTILINE), said
    assert "Pod kube-flannel/open breaks the rule" in said


@pytest.mark.parametrize("command", ["render", "check"])
def test_what_is_refused_is_not_written(lab: Lab, command: str, tmp_path: Path) -> None:
    lab.open_pod()
    out = ("--out", str(tmp_path / "out")) if command == "render" else ()
    code, said = lab.run(command, *out)
    assert code == FOUND and "policy-violated" in said
    assert not (tmp_path / "out").exists()


def test_an_up_of_what_is_refused_never_looks_for_an_engine(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.open_pod()
    monkeypatch.setenv("PATH", "")  # nothing could be run
    monkeypatch.setenv("FORESITE_CACHE", str(lab.root / "empty"))
    code, said = lab.run("up", "--trial")
    assert code == FOUND and "policy-violated" in said


def test_json_has_the_reason_of_the_rule_that_is_broken(lab: Lab) -> None:
    lab.own(RULE)
    (problem,) = lab.report()["problems"]
    assert problem["code"] == "policy-violated"
    assert problem["why"] == "the archive's scripts delete what is named so"
    assert problem["fix"] == "take another name"
    # The team's namespaces make it; the cache's bucket only names it.
    line = lab.file.read_text().splitlines()[problem["line"] - 1]
    assert problem["file"] == "sites/lab-1.yaml" and "namespaces: [trials]" in line
    assert line[problem["column"] - 1 :].startswith("trials")


def test_what_is_advisory_is_told_apart_and_fails_nothing(lab: Lab) -> None:
    lab.own(RULE, severity="ADVISORY")
    code, said = lab.check()
    assert code == OK
    assert (
        "advice: no-trials: Namespace trials: the word is reserved here; take another name" in said
    )
    report = lab.report()
    assert report["problems"] == []
    (advice,) = [each for each in report["advice"] if each["rule"] == "no-trials"]
    assert advice["title"] == "Namespace trials" and advice["path"].endswith(".metadata.name")
    assert lab.run("render", "--out", str(lab.root / "out"))[0] == OK


# --- exceptions -----------------------------------------------------------------------------------


def test_an_exception_lets_pass_up_to_and_including_its_last_day(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.own(RULE)
    with lab.file.open("a") as file:
        file.write(exception("no-trials"))
    for seconds, code in ((1814399999, OK), (1814400000, FOUND)):  # 2027-06-30T23:59:59Z, and after
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(seconds))
        assert lab.check()[0] == code
    said = lab.check()[1]
    assert "policy-violated" in said
    assert re.search(r"lab-1.yaml:\d+:\d+: exception-expired policies.exceptions\[0\].until", said)


@pytest.mark.parametrize(
    ("rule", "what", "words"),
    [
        ("no-trials", "Namespace other", "no Namespace other breaks the rule no-trials"),
        ("no-trails", "Namespace trials", "there is no rule no-trails"),
    ],
)
def test_an_exception_that_excepts_nothing_is_a_problem(
    lab: Lab, rule: str, what: str, words: str
) -> None:
    lab.own(RULE.replace('== "trials"', '== "nowhere"'))
    with lab.file.open("a") as file:
        file.write(exception(rule, what=what))
    code, said = lab.check()
    assert code == FOUND
    assert "exception-unused" in said and words in said


def test_a_time_that_is_none_is_refused_in_words(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    code, said = lab.check()
    assert code == FAILED and "SOURCE_DATE_EPOCH=yesterday" in said


# --- files of a site's own ------------------------------------------------------------------------

IMPORT = "from policies import Found, Object, ObjectRule, Severity, SiteRule\n"
ONE = (
    'RULES = [{kind}(name="mine", severity=Severity.ADVISORY, what="a", why="b", source="c", '
    "check=lambda found: {check})]\n"
)


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
        (rule("['bad']"), 3, "no Found of three texts"),
        (rule("[Found('', 1, '')]"), 3, "no Found of three texts"),
        (rule("exit(0)"), 3, "it ends the program"),
        (rule("[Found('', '', '')]", "SiteRule"), 3, "no pair of an Object and a Found"),
        (rule("1 / 0", "SiteRule"), 3, "failed on the site's objects"),
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
    assert len(lab.report()["problems"]) > 1, "one for each object"


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
        ("linked.py", "leads out of sites/"),
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
