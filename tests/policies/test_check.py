"""The policies in ``check`` and ``render``: what is refused, what is advice, and exceptions."""

import re
from pathlib import Path

import pytest

from foresite.command import FAILED, FOUND, OK
from tests.kit.policy_lab import RULE, Lab, copied, exception


@pytest.fixture
def lab(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Lab:
    return Lab(copied(tmp_path), capsys)


# --- refused, and told apart ----------------------------------------------------------------------


def test_a_good_site_says_what_was_judged_and_what_was_not(lab: Lab) -> None:
    code, said = lab.check()
    assert code == OK, said
    judged = r"checked offline: model, rules, schemas of (\d+) kinds, (\d+) policies"
    asked = r"no API server was asked; (\d+) CEL rules not evaluated"
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
    assert (
        "checked offline: model, rules; no API server was asked; no objects generated for lab-1"
        in said
    )


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
    place = "the object is there for scheduling.teams.trials.namespaces[0]"
    assert problem["fix"] == f"take another name; {place}"
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
    for seconds, code in ((1846022399, OK), (1846022400, FOUND)):  # 2028-06-30T23:59:59Z, and after
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


def test_what_is_left_of_a_site_need_not_use_its_exceptions(lab: Lab) -> None:
    lab.policies(exception("host-pid", what="DaemonSet network/agent"))
    assert "exception-unused" in lab.check()[1]
    with lab.file.open("a") as file:
        file.write("decommission: {reason: the lab moves to another building}\n")
    code, said = lab.check()
    assert code == OK, said


def test_a_time_in_the_past_does_not_bring_back_what_has_ended(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.own(RULE)
    with lab.file.open("a") as file:
        file.write(exception("no-trials", until="2020-06-30"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1500000000")  # 2017
    code, said = lab.check()
    assert code == FOUND and "ended on 2020-06-30" in said
