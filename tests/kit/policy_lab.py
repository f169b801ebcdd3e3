"""A repository with one small site, whose policies a test changes, and ``foresite check`` of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from foresite.cli import main
from tests.kit.repository import copy_sites

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


def copied(root: Path) -> Path:
    """The sites of this repository without the large ones, below ``root``."""
    others = shutil.ignore_patterns("tokyo*", "tsukuba*")
    copy_sites(root, ignore=others)
    return root


def exception(rule: str, until: str = "2028-06-30", what: str = "Namespace trials") -> str:
    """An exception from a rule, as YAML below ``policies``."""
    return (
        f'  exceptions:\n    - {{rule: {rule}, object: "{what}", owner: storage,\n'
        f'       reason: the scripts are replaced in spring, until: "{until}"}}\n'
    )
