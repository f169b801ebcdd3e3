"""The examples of docs/policies.md hold: its rules run, and a site file takes its examples."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.judge import findings
from policies.own import own_rules
from policies.rules import RULES
from schemas.model.policies import SitePolicies
from tests.kit.policy_objects import found, good, pod
from tests.kit.repository import ROOT

TEXT = (ROOT / "docs" / "policies.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_the_rule_in_python_says_what_it_is_for() -> None:
    text, _ = blocks("python")
    own = own_rules({"policies/ours.py": text}, {rule.name for rule in RULES})
    assert own.faults == []
    queued = good("Job", ("metadata", "labels"), {"kueue.x-k8s.io/queue-name": "vision"})
    (one,) = findings([good("Job"), queued, good("ConfigMap")], own.rules)
    assert (one.rule.name, one.object.title) == ("jobs-queued", "Job web/web")


def test_the_test_of_the_rule_passes(tmp_path: Path) -> None:
    for name, text in zip(("ours.py", "test_ours.py"), blocks("python"), strict=True):
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", f"--rootdir={tmp_path}", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "2 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("text", blocks("yaml"))
def test_a_site_file_takes_the_examples(text: str) -> None:
    shown: Any = yaml.safe_load(text)["policies"]
    policies = SitePolicies.model_validate(shown)
    assert policies.exceptions or policies.cel
    assert {each.rule for each in policies.exceptions} <= {rule.name for rule in RULES}


def test_what_check_shows_is_what_the_rule_says() -> None:
    (shown,) = blocks("console")
    (one,) = found("host-pid", pod(True, "hostPID"))
    (rule,) = [rule for rule in RULES if rule.name == "host-pid"]
    message = f"DaemonSet pod-network/agent breaks the rule host-pid: {one.message}"
    assert f"  {message}\n  why: {rule.why}\n  fix: {one.fix}\n" in shown
