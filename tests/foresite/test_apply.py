"""The sites due after a merge, and the order in which they are applied: decided from Git and a
stack's history, and carried out by the real engine on a real API server."""

import argparse
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from controlplane import Client, ControlPlane
from controlplane.errors import ApiError
from foresite.command import FOUND, OK, Stopped, UsageError
from foresite.commands import apply, up
from foresite.delivery.rings.steps import State, Step
from foresite.delivery.stack.applied import Commits, message
from foresite.delivery.stack.engine import PASSED, UNDER_WAY, Engine, Record
from foresite.delivery.stack.engines import engine_for
from preview.states.git import GitError
from schemas.load import load_site
from tests.kit.preview_repository import Repository
from tests.kit.repository import FLEET
from tests.kit.trial_repository import small_sites, use_trial

SITE = "lab-1"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The example sites in one commit, which is applied."""
    return Repository(tmp_path)


def applied(commit: str, result: str = "succeeded", kind: str = "update") -> Record:
    return Record(kind, result, message(commit))


def due(repository: Repository, record: Record | None, under_way: str = "") -> str:
    return Commits(repository.root).standing(SITE, record, under_way).due


# --- what is due ----------------------------------------------------------------------------------


def test_a_site_that_is_as_it_was_applied_is_not_due(repository: Repository) -> None:
    head = repository.git("rev-parse", "HEAD")
    standing = Commits(repository.root).standing(SITE, applied(head))
    assert standing == (head, "")


@pytest.mark.parametrize(
    ("kind", "result", "text", "why"),
    [
        ("update", "failed", "foresite {}", "failed"),
        ("update", "in-progress", "foresite {}", "in-progress"),
        ("destroy", "succeeded", "foresite {}", "destroy"),
        ("refresh", "succeeded", "", "refresh"),
        ("update", "succeeded", "", "names no commit"),
        ("update", "succeeded", "by hand", "names no commit"),
        ("update", "succeeded", "foresite {} and more", "names no commit"),
        ("update", "succeeded", "foresite {}\n", "names no commit"),
    ],
)
def test_only_an_update_that_passed_and_names_its_commit_counts(
    repository: Repository, kind: str, result: str, text: str, why: str
) -> None:
    head = repository.git("rev-parse", "HEAD")
    assert why in due(repository, Record(kind, result, text.format(head)))


def test_a_site_that_was_never_applied_is_due(repository: Repository) -> None:
    assert due(repository, None) == "nothing was applied yet"


def test_a_run_that_did_not_end_makes_its_site_due(repository: Repository) -> None:
    """Though the history says nothing of it, and Git is as it was before."""
    head = repository.git("rev-parse", "HEAD")
    assert head[:10] in due(repository, applied(head), under_way=head)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("sites/lab-1.yaml", "ntp: [10.18.0.2]", "ntp: [10.18.0.3]"),
        ("sites/lab-1.hosts.csv", "EX6610C126", "EX6610C127"),
        ("sites/pod-network/flannel.yaml", "name: flannel", "name: other"),
    ],
)
def test_a_change_of_what_a_site_is_made_of_makes_it_due(
    repository: Repository, file: str, old: str, new: str
) -> None:
    before = repository.git("rev-parse", "HEAD")
    repository.write(file, repository.text(file).replace(old, new, 1))
    repository.commit("a change")
    assert before[:10] in due(repository, applied(before))
    # What was merged and taken back is applied as it was.
    repository.git("revert", "--no-edit", "HEAD")
    assert due(repository, applied(before)) == ""


@pytest.mark.parametrize("file", ["components/x.py", "schemas/x.py", "Pulumi.yaml", "uv.lock"])
def test_a_change_of_the_program_makes_every_site_due(repository: Repository, file: str) -> None:
    before = repository.git("rev-parse", "HEAD")
    repository.write(file, "new\n")
    repository.commit("a change")
    assert file in due(repository, applied(before))


@pytest.mark.parametrize(
    "file", ["README.md", "docs/x.md", "foresite/x.py", "tests/x.py", "sites/tokyo-1.yaml"]
)
def test_what_a_site_is_not_made_of_is_nothing_to_it(repository: Repository, file: str) -> None:
    before = repository.git("rev-parse", "HEAD")
    repository.write(file, "new\n")
    repository.commit("a change")
    assert due(repository, applied(before)) == ""


def test_a_package_of_a_repository_of_ones_own_is_its_program(repository: Repository) -> None:
    project = "[project]\nname = 'sites'\ndependencies = ['foresite==0.1.0']\n"
    source = "[tool.uv.sources]\nacme = {path = 'acme'}\n"
    repository.write("pyproject.toml", project + source)
    before = repository.commit("a package")
    repository.write("acme/acme/objects.py", "new\n")
    assert Commits(repository.root).uncommitted_files() == ["acme/acme/objects.py"]
    repository.write("tools/x.py", "new\n")
    repository.commit("a change")
    assert due(repository, applied(before)) == f"acme/acme/objects.py changed since {before[:10]}"


def test_a_profile_that_changes_is_due_where_it_is_used(repository: Repository) -> None:
    before = repository.git("rev-parse", "HEAD")
    file = "schemas/catalogue/hardware.yaml"
    text = repository.text(file)
    used = text.index("t4-pcie-16gb-x1:")
    changed = text[used:].replace("description:", "description: New,", 1)
    repository.write(file, text[:used] + changed)
    repository.commit("a change")
    commits = Commits(repository.root)
    assert commits.standing(SITE, applied(before)).due
    assert commits.standing("tokyo-1", applied(before)).due == ""


def test_no_site_is_taken_back_to_an_older_commit(repository: Repository) -> None:
    newer = repository.commit("newer")
    repository.git("checkout", "-q", "HEAD~1")
    with pytest.raises(GitError, match=f"HEAD does not contain {newer[:10]}"):
        due(repository, applied(newer))
    for last in (applied("a" * 40), applied(newer, result="failed")):
        with pytest.raises(GitError, match=r"there is no commit|HEAD does not contain"):
            due(repository, last)
    # Nor is one that was being applied when a run was killed, whatever the history ends with.
    for record in (None, applied(repository.git("rev-parse", "HEAD"))):
        with pytest.raises(GitError, match=f"HEAD does not contain {newer[:10]}"):
            due(repository, record, under_way=newer)


def test_up_says_that_its_files_are_older_than_what_is_applied(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(Path("pulumi"), {}, repository.root, SITE, repository.root)
    newer = repository.commit("newer")
    monkeypatch.setattr(Engine, "history", lambda *_: [applied(newer, "failed"), applied(newer)])
    assert up._older(repository.root, engine) == ""
    repository.git("checkout", "-q", "HEAD~1")
    assert up._older(repository.root, engine) == f"HEAD does not contain {newer[:10]}"
    monkeypatch.setattr(Engine, "history", lambda *_: [applied("and more")])
    assert up._older(repository.root, engine) == ""


def test_what_is_in_no_commit_is_named(repository: Repository) -> None:
    assert Commits(repository.root).uncommitted_files() == []
    repository.write("docs/x.md", "")
    repository.write("Pulumi.lab-1.yaml", "")
    assert Commits(repository.root).uncommitted_files() == []
    repository.write("sites/lab-1.yaml", repository.text("sites/lab-1.yaml") + "\n")
    repository.write("sites/new.hosts.csv", "")
    repository.write("components/x.py", "")
    wanted = ["components/x.py", "sites/lab-1.yaml", "sites/new.hosts.csv"]
    assert Commits(repository.root).uncommitted_files() == wanted


# --- what is refused before anything is applied ---------------------------------------------------


def options(repository: Repository, *sites: str, **more: Any) -> argparse.Namespace:
    usual = {
        "root": repository.root,
        "sites": [*sites],
        "trial": True,
        "plan": False,
        "no_wait": False,
        "minutes": None,
    }
    return argparse.Namespace(**{**usual, "format": "json", "allow": [], **more})


def test_work_that_is_in_no_commit_is_not_applied(repository: Repository) -> None:
    repository.write("sites/lab-1.yaml", repository.text("sites/lab-1.yaml") + "\n")
    with pytest.raises(UsageError, match="has uncommitted changes"):
        apply.run(options(repository, trial=False))


def test_files_outside_of_git_are_not_applied(repository: Repository) -> None:
    (repository.root / ".git").rename(repository.root / "git")
    with pytest.raises(UsageError, match="HEAD"):
        apply.run(options(repository))


def test_a_site_with_a_problem_keeps_all_from_being_applied(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.replace("sites/tokyo-1.yaml", "region: jp-east", "regoin: jp-east")
    with pytest.raises(Stopped, match=str(FOUND)):
        apply.run(options(repository))
    assert "unknown-field" in capsys.readouterr().out


@pytest.mark.parametrize("minutes", [-1, 0, apply.MOST_MINUTES + 1, 99999999999])
def test_minutes_that_end_no_run_are_refused_with_the_reason(
    repository: Repository, minutes: int
) -> None:
    with pytest.raises(UsageError, match=r"write 1 to 43200 \(30 days\).* is killed"):
        apply.run(options(repository, minutes=minutes))


def test_a_site_that_is_refused_is_named_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: Any) -> None:
        raise UsageError(f"{SITE}: nothing was changed: its server does not answer")

    monkeypatch.setattr(apply, "lock_site", lambda _: nullcontext())
    monkeypatch.setattr(apply, "select", refuse)
    unused: Any = None
    found = load_site(FLEET, SITE).site
    assert found is not None
    step = apply._one("", unused, float("inf"), Step(found, unused, unused, State.DUE))
    assert step.state is State.FAILED
    assert capsys.readouterr().err.startswith(f"foresite: {SITE}: nothing was changed: its")


# --- the real engine ------------------------------------------------------------------------------

RINGS = {"aomori-1": 1, "beppu-1": 1, "chiba-1": 0}
ORDER = ["chiba-1", "aomori-1", "beppu-1"]
POLICY = "foresite-test-refuses"


def states(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    report = json.loads(capsys.readouterr().out)
    return {each["site"]: each["state"] for each in report["sites"]}


@pytest.fixture
def refusing(api: ControlPlane) -> Iterator[Client]:
    """The API server refuses hosts of aomori-1, until the policy is deleted."""
    rule = {"apiGroups": ["metal3.io"], "apiVersions": ["*"], "resources": ["baremetalhosts"]}
    says = {"expression": "object.metadata.namespace != 'aomori-1'", "message": "not in aomori-1"}
    policy = {
        "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE", "UPDATE"]}]},
        "validations": [says],
    }
    binding = {"policyName": POLICY, "validationActions": ["Deny"]}
    with api.client() as client:
        for kind, spec in (("", policy), ("Binding", binding)):
            client.apply(
                {
                    "apiVersion": "admissionregistration.k8s.io/v1",
                    "kind": f"ValidatingAdmissionPolicy{kind}",
                    "metadata": {"name": POLICY},
                    "spec": spec,
                }
            )
        wait_until(client, refused=True)
        yield client
        allow(client)


def allow(client: Client) -> None:
    for kind in ("Binding", ""):
        api_version = "admissionregistration.k8s.io/v1"
        client.delete(api_version, f"ValidatingAdmissionPolicy{kind}", POLICY)


def wait_until(client: Client, *, refused: bool) -> None:
    """The API server takes a moment to heed a policy, or to forget it."""
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "aomori-1"}})
    metadata = {"name": "x", "namespace": "aomori-1"}
    host = {"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": metadata}
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            client.apply({**host, "spec": {"online": True}}, dry_run=True)
            answer = False
        except ApiError:
            answer = True
        if answer == refused:
            return
        time.sleep(0.05)


@pytest.mark.proof
@pytest.mark.pulumi
def test_sites_follow_their_rings_stop_at_a_failure_and_go_on_from_there(
    api: ControlPlane,
    refusing: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    use_trial(monkeypatch, api)
    repository = small_sites(tmp_path, RINGS)
    assert apply.run(options(repository, plan=True)) == OK
    assert states(capsys) == dict.fromkeys(ORDER, "due")

    assert apply.run(options(repository)) == FOUND
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert [(each["site"], each["state"]) for each in report["sites"]] == [
        ("chiba-1", "applied"),
        ("aomori-1", "failed"),
        ("beppu-1", "not reached"),
    ]
    assert report["resume"] == f"foresite --root {tmp_path} apply --trial"
    assert "not in aomori-1" in said.err
    assert refusing.get("v1", "Namespace", "chiba-1")
    assert not refusing.get("v1", "Namespace", "beppu-1")

    allow(refusing)
    wait_until(refusing, refused=False)
    assert apply.run(options(repository)) == OK
    assert states(capsys) == {**dict.fromkeys(ORDER, "applied"), "chiba-1": "up to date"}
    assert apply.run(options(repository)) == OK
    assert states(capsys) == dict.fromkeys(ORDER, "up to date")

    # One site's data changed, and of another a run was killed.
    repository.hosts("beppu-1", lambda rows: rows[0].update(rack="lab-02"))
    repository.commit("a rack")
    sites = [load_site(tmp_path, name).site for name in ("beppu-1", "chiba-1")]
    again, killed = (engine_for(tmp_path, site, trial=True) for site in sites if site)
    killed.mark(repository.git("rev-parse", "HEAD~1"))
    again.mark(repository.git("rev-parse", "HEAD"), PASSED)  # and then others changed it by hand
    assert apply.run(options(repository)) == OK
    assert states(capsys) == {**dict.fromkeys(ORDER, "applied"), "aomori-1": "up to date"}
    # Since when it changes is not known, so no alert is one of before.
    assert UNDER_WAY not in killed.tags()
    assert again.tags()[PASSED] == killed.tags()[PASSED] == "none"

    shutil.rmtree(tmp_path / "sites")
    repository.write("sites/.keep", "")
    repository.commit("all sites are gone")
    assert apply.run(options(repository, plan=True)) == FOUND
    assert set(ORDER) <= set(json.loads(capsys.readouterr().out)["without_file"])
