"""The policy pack in the real engine: what it stops is not made, and it sees what is made."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from components.making.manifest import Target
from components.site import site_objects
from controlplane import ControlPlane
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.engines import engine_for
from schemas.load import load_site
from tests.kit.policy_lab import OPEN_POD
from tests.kit.trial_repository import small_sites, use_trial

pytestmark = [pytest.mark.pulumi, pytest.mark.proof]
SITE = "sendai-1"
RULES = """\
import json, os
from policies import Found, ObjectRule, Severity, SiteRule

WHY = ("what is asked", "what it keeps from happening", "a test")


def each_object(each):
    with open(os.environ["SEEN"], "a") as file:
        file.write(json.dumps({"cluster": each.cluster, "body": each.body}) + "\\n")
    if each.kind == os.environ.get("REFUSE"):
        yield Found("kind", "this kind is refused here", "use another kind")


def all_objects(objects):
    if os.environ.get("MANY"):
        yield objects[0], Found("", f"there are {len(objects)} objects", "make fewer")


RULES = [
    ObjectRule("own-object", Severity.MANDATORY, *WHY, each_object),
    SiteRule("own-site", Severity.MANDATORY, *WHY, all_objects),
]
"""
EXCEPTION = """\
  exceptions:
    - {rule: own-object, object: "Namespace sendai-1", owner: platform, until: "2028-06-30",
       reason: "the test refuses it, and is to let it pass"}
"""
BEFORE, AFTER = "1846022399", "1846022400"
"""The last second of 30 June 2028, and the one after (SOURCE_DATE_EPOCH)."""


class Packed:
    """A small site with rules of its own, and Pulumi for it with the policy pack."""

    def __init__(self, root: Path, api: ControlPlane) -> None:
        self.root, self.api = root, api
        small_sites(root, {SITE: 0})
        self.seen = root / "seen.jsonl"
        self.file = root / "sites" / f"{SITE}.yaml"
        (root / "sites" / "own.py").write_text(RULES)
        self.file.write_text(f"{self.file.read_text()}\npolicies:\n  python: [own.py]\n")

    @property
    def engine(self) -> Engine:
        site = load_site(self.root, SITE).site
        assert site is not None
        engine = engine_for(self.root, site, trial=True)
        if engine.pack is None:
            pytest.skip("the language host at hand cannot run policy packs: docs/toolchain.md")
        return engine

    def run(self, command: str, *arguments: str, **environment: str) -> tuple[bool, str]:
        """A Pulumi command with the pack as a user types it, and what was said."""
        engine = self.engine
        engine.select()
        done = subprocess.run(
            [str(engine.pulumi), command, "--stack", SITE, "--non-interactive", "--color", "never",
             "--policy-pack", "policies/pack", *arguments],
            cwd=engine.program, capture_output=True, text=True, check=False,
            env={**engine.environment, "SEEN": str(self.seen), **environment},
        )  # fmt: skip
        return done.returncode == 0, done.stdout + done.stderr

    def made(self) -> bool:
        """True if anything of the site is on the API server."""
        with self.api.client() as client:
            return client.get("v1", "Namespace", SITE) is not None


@pytest.fixture
def packed(tmp_path: Path, api: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Packed:
    use_trial(monkeypatch, api)
    return Packed(tmp_path, api)


def refused_by(said: str) -> set[str]:
    """The rules that stopped a run."""
    return set(re.findall(r"\[mandatory\]\s+(\S+)", said))


def test_what_breaks_a_rule_stops_preview_and_up_before_anything_is_made(packed: Packed) -> None:
    manifests = packed.root / "sites" / "pod-network" / "flannel.yaml"
    good = manifests.read_text()
    manifests.write_text(f"{good}---\n{OPEN_POD}")
    for command in (("preview",), ("up", "--yes")):
        passed, said = packed.run(*command)
        assert not passed
        assert "privileged" in refused_by(said), said
        assert "Pod kube-flannel/open" in said and "fix:" in said
    assert not packed.made()
    manifests.write_text(good)
    passed, said = packed.run("preview")
    assert passed, said
    assert "✅ foresite@" in said


def test_rules_of_a_sites_own_and_their_exceptions_hold_in_the_engine(packed: Packed) -> None:
    passed, said = packed.run("preview", REFUSE="Namespace", MANY="1")
    assert not passed and refused_by(said) == {"own-object", "own-site"}, said
    with packed.file.open("a") as file:
        file.write(EXCEPTION)
    passed, said = packed.run("preview", REFUSE="Namespace", SOURCE_DATE_EPOCH=AFTER)
    assert not passed and "ended on 2028-06-30" in said
    passed, said = packed.run("preview", REFUSE="Namespace", SOURCE_DATE_EPOCH=BEFORE)
    assert passed, said


def test_the_rules_see_the_objects_as_they_are_rendered(packed: Packed) -> None:
    passed, said = packed.run("preview")
    assert passed, said
    site = load_site(packed.root, SITE).site
    assert site is not None
    every = [each for made in site_objects(site).values() for each in made]
    wanted = [each.body for each in every if each.target is Target.MANAGEMENT]
    seen = [json.loads(line) for line in packed.seen.read_text().splitlines()]
    assert {each["cluster"] for each in seen} == {"management"}

    def as_text(body: dict[str, Any]) -> str:
        return json.dumps(body, sort_keys=True)

    assert sorted(as_text(each["body"]) for each in seen) == sorted(map(as_text, wanted))


def test_a_file_of_rules_that_is_wrong_starts_no_run(packed: Packed) -> None:
    engine = packed.engine
    engine.select()
    (packed.root / "sites" / "own.py").write_text("RULES = [\n")
    passed, said = packed.run("preview")
    assert not passed and not packed.made()
    assert "sites/own.py:1: it is no Python" in said


def test_foresite_up_runs_the_pack(packed: Packed, monkeypatch: pytest.MonkeyPatch) -> None:
    from foresite.cli import main

    engine = packed.engine
    monkeypatch.setenv("SEEN", str(packed.seen))
    # What only the engine's run refuses, so that the check before lets it pass.
    rules, asked = packed.root / "sites" / "own.py", 'os.environ.get("REFUSE")'
    assert asked in RULES
    rules.write_text(RULES.replace(asked, '("PULUMI_STACK" in os.environ and "Namespace")'))
    assert "PULUMI_STACK" not in os.environ
    assert main(["--root", str(packed.root), "up", "--trial", SITE]) == 2
    assert refused_by(engine.log.read_text()) == {"own-object"}
    rules.write_text(RULES)
    assert main(["--root", str(packed.root), "up", "--trial", SITE]) == 0
    assert packed.made() and "✅ foresite@" in engine.log.read_text()
