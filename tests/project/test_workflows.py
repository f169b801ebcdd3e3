"""The workflows that GitHub runs: judged by zizmor and actionlint, alike with the Makefile, and
with no more rights than docs/ci.md says."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from foresite.arguments import parser
from tests.kit.go_programs import program
from tests.kit.preview_repository import Repository
from tests.kit.repository import ROOT
from tests.kit.toolchain_publisher import packed
from tools.toolchain import parts
from tools.toolchain.archives import archives

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PREVIEW = ROOT / ".github" / "workflows" / "preview.yml"
ACTIONLINT = ROOT / "tools" / "actionlint"
LOGIN = {"contents: read", "id-token: write"}
RIGHTS = {
    "fast": {"contents: read"},
    "test": {"contents: read"},
    "judge": set(),
    "shard": set(),
    "preview": set(),
    "comment": {"actions: read", "contents: read", "pull-requests: write"},
    "second-opinion": LOGIN,
    "apply": LOGIN,
    "drift": LOGIN,
    "cache-server-test": {"contents: read"},
    "vulnerabilities": {"contents: read"},
    "secrets": {"contents: read"},
    "release-test": {"contents: read"},
    "release": {"contents: write", "id-token: write", "attestations: write"},
    "cache-server-image": {
        "contents: read",
        "packages: write",
        "id-token: write",
        "attestations: write",
    },
}
"""All that each job may do."""
CLUSTERS = {"second-opinion": "clusters-preview", "apply": "clusters", "drift": "clusters-drift"}
"""The protected environment of each job that can get at a cluster."""
ENVIRONMENTS = {**CLUSTERS, "cache-server-image": "cache-server-release", "release": "release"}
"""The protected environment of each job that can get at a cluster or a secret."""
TRUSTED_EVENTS = {"push", "schedule", "workflow_dispatch", "workflow_run"}
"""They run the default branch's workflow, or what was merged."""
MINUTES = {"apply": 360}
"""A rollout of many sites is not cut off; all else ends sooner."""


def read(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(content, dict)
    return content


def events(workflow: dict[Any, Any]) -> set[str]:
    """The events that start a workflow; YAML 1.1 reads the key `on` as true."""
    return set(workflow[True])


def jobs() -> Iterator[tuple[dict[Any, Any], str, dict[str, Any]]]:
    """Each job with its workflow and its name."""
    for path in WORKFLOWS:
        workflow = read(path)
        for name, job in workflow["jobs"].items():
            yield workflow, name, job


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_no_rights_of_its_own_and_ends(path: Path) -> None:
    workflow = read(path)
    assert "pull_request_target" not in events(workflow)
    assert workflow["permissions"] == {}
    assert workflow["concurrency"]
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= MINUTES.get(name, 90), name


def test_a_job_has_the_rights_that_it_needs_and_no_other() -> None:
    given = {
        name: {f"{what}: {right}" for what, right in job["permissions"].items()}
        for _, name, job in jobs()
    }
    assert given == RIGHTS


def test_what_gets_at_a_cluster_or_a_secret_waits_in_its_environment() -> None:
    for _, name, job in jobs():
        text = json.dumps(job)
        reaches = "secrets." in text or "id-token" in text or "vars.KUBECONFIG" in text
        assert job.get("environment") == ENVIRONMENTS.get(name), name
        assert reaches == (name in ENVIRONMENTS), name


def test_a_token_that_may_write_is_in_no_job_that_runs_a_requests_code() -> None:
    for workflow, name, job in jobs():
        if events(workflow) <= TRUSTED_EVENTS:
            continue
        writes = {what for what, right in job["permissions"].items() if right == "write"}
        # An identity token is worth what its environment is allowed, and a person lets it start.
        assert writes <= ({"id-token"} if "environment" in job else set()), name


def test_the_comment_takes_nothing_of_a_request_but_data() -> None:
    (comment,) = (job for _, name, job in jobs() if name == "comment")
    uses = [step for step in comment["steps"] if "uses" in step]
    given = {step["uses"].partition("@")[0]: step.get("with", {}) for step in uses}
    # No ref: of a workflow_run that is the default branch.
    assert "ref" not in given["actions/checkout"]
    assert given["actions/download-artifact"]["path"].startswith("${{ runner.temp }}/")


def test_forks_get_no_second_opinion_and_no_cluster_is_asked_before_it_is_set_up() -> None:
    for _, name, job in jobs():
        if name in CLUSTERS:
            assert "vars.FORESITE_CLUSTERS == 'true'" in job["if"], name
    (opinion,) = (job for _, name, job in jobs() if name == "second-opinion")
    assert "github.event.pull_request.head.repo.full_name == github.repository" in opinion["if"]


def test_no_expression_gets_into_a_command() -> None:
    for _, name, job in jobs():
        for command in commands(job):
            assert "${{" not in command, f"{name}: {command}"


def test_a_half_done_apply_is_not_cancelled_and_starts_from_what_is_merged() -> None:
    (workflow, job) = next((workflow, job) for workflow, name, job in jobs() if name == "apply")
    # A run that does nothing is not one of those of which the newest is kept.
    skipped = (
        "github.event_name == 'schedule' && vars.FORESITE_APPLY_HOURLY != 'true' && '-skipped'"
    )
    group = f"apply${{{{ {skipped} || '' }}}}"
    assert workflow["concurrency"] == {"group": group, "cancel-in-progress": False}
    (checkout,) = (step["with"] for step in job["steps"] if "checkout" in step.get("uses", ""))
    assert (checkout["ref"], checkout["fetch-depth"]) == ("main", 0)


def ours() -> list[list[str]]:
    """The arguments of each call of our command line in a workflow."""
    found = []
    for _, _, job in jobs():
        for command in commands(job):
            words = shlex.split(command)
            if words[:3] == ["uv", "run", "foresite"]:
                found.append(words[3:])
            else:
                assert "foresite" not in words, command
    return found


@pytest.mark.parametrize("arguments", ours(), ids=" ".join)
def test_what_a_workflow_calls_is_a_command_with_these_options(arguments: list[str]) -> None:
    assert parser().parse_args(arguments).command == arguments[0]


def test_each_step_of_the_way_is_called() -> None:
    called = {arguments[0] for arguments in ours()}
    assert called == {"check", "request", "preview", "comment", "opinion", "apply", "drift"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_is_pinned_by_commit_and_says_its_version(path: Path) -> None:
    text = path.read_text("utf-8")
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    for each in uses:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)
    pins = {each.partition("@")[::2] for each in uses}
    assert len(pins) == len(dict(pins)), "one action in two versions"
    assert text.count("persist-credentials: false") == text.count("uses: actions/checkout@")


def test_the_versions_are_those_of_a_developer() -> None:
    text = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    wanted = re.search(r"UV_VERSION := (\S+)", makefile)
    assert wanted is not None
    assert set(re.findall(r' version: "(.*)"', text)) == {wanted[1]}
    module = (ACTIONLINT / "go.mod").read_text("utf-8")
    go = re.search(r"^go (\S+)$", module, re.MULTILINE)
    assert go is not None
    assert set(re.findall(r'go-version: "(.*)"', text)) == {go[1]}
    provider = str(parts()["pulumi-resource-kubernetes"].version)
    assert set(re.findall(r"plugin install resource kubernetes (\S+)", text)) == {provider}


def pulumi_steps() -> Iterator[dict[str, Any]]:
    """The step of each job with clusters that brings Pulumi."""
    for _, name, job in jobs():
        if name in CLUSTERS:
            yield next(step for step in job["steps"] if "Pulumi" in step["name"])


def test_pulumi_and_its_provider_are_the_pinned_ones() -> None:
    platform = "linux-x86_64"
    cli, provider = (archives()[name] for name in ("pulumi", "pulumi-kubernetes"))
    steps = list(pulumi_steps())
    assert len(steps) == len(CLUSTERS)
    for step in steps:
        assert step["env"] == {
            "CLI": cli.url(platform),
            "CLI_SHA256": cli.digests[platform].removeprefix("sha256:"),
            "PROVIDER_SERVER": provider.url(platform).rpartition("/")[0],
            "PROVIDER_SHA256": provider.digests[platform].removeprefix("sha256:"),
        }
        assert step["run"] == steps[0]["run"]
    text = "".join(path.read_text("utf-8") for path in WORKFLOWS)
    assert "pulumi/actions@" not in text, "it compares no digest"


def test_another_pulumi_than_the_pinned_one_is_not_run(tmp_path: Path) -> None:
    step = next(pulumi_steps())
    archive = packed({"pulumi/pulumi": 'echo "$@" > ran'})
    (tmp_path / "release").write_bytes(archive)
    env = os.environ | step["env"] | {"CLI": (tmp_path / "release").as_uri()}
    env |= {"RUNNER_TEMP": str(tmp_path), "GITHUB_PATH": str(tmp_path / "path")}
    right = hashlib.sha256(archive).hexdigest()
    for digest, runs in (("0" * 64, False), (right, True)):
        env["CLI_SHA256"] = digest
        done = subprocess.run(["bash", "-e", "-c", step["run"]], env=env, check=False)
        assert (done.returncode == 0) is runs
        assert (tmp_path / "ran").exists() is runs
    assert (tmp_path / "path").read_text() == f"{tmp_path / 'pulumi'}\n"
    ran = (tmp_path / "ran").read_text()
    assert f"--checksum {step['env']['PROVIDER_SHA256']}" in ran


# --- the preview's own commands, on a hostile request ---------------------------------------------


@pytest.fixture
def origin(tmp_path: Path) -> Repository:
    """A repository with pull request 7, whose merge is at refs/pull/7/merge.

    The request removes a host, and changes every module of the command line to leave a trace.
    """
    root = tmp_path / "origin"
    root.mkdir()
    repository = Repository(root)
    for name in ("foresite", "preview", "components", "policies", "schemas"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, dirs_exist_ok=True, ignore=ignored)
    repository.commit("the base")
    repository.git("checkout", "-q", "-b", "request")
    repository.hosts("tokyo-1", lambda rows: rows.pop())
    trace = f"import pathlib; pathlib.Path({str(tmp_path / 'trace')!r}).touch()\n"
    for path in [*(root / "foresite").glob("*.py"), *(root / "preview").rglob("*.py")]:
        path.write_text(trace + path.read_text("utf-8"), "utf-8")
    repository.commit("fewer hosts")
    repository.git("checkout", "-q", "--detach", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Merge request into main", "request")
    repository.git("update-ref", "refs/pull/7/merge", "HEAD")
    repository.git("checkout", "-q", "main")
    # As on GitHub, any commit can be asked for by its id.
    repository.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return repository


def previewed(origin: Repository, folder: Path, description: str) -> dict[str, int]:
    """The exit code of each command of a job of preview.yml that runs where all sites are judged in
    one job, one after the other as GitHub would."""
    merge, base = origin.git("rev-parse", "refs/pull/7/merge"), origin.git("rev-parse", "main")
    checkout = folder / "checkout"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", "--no-tags", f"file://{origin.root}", str(checkout)],
        check=True,
    )
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": {"body": description}}))
    bin_ = folder / "bin"
    bin_.mkdir()
    (bin_ / "uv").write_text(f'#!/bin/sh\nshift 2\nexec "{sys.executable}" -m foresite "$@"\n')
    (bin_ / "uv").chmod(0o755)
    env = {
        **os.environ,
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(checkout),
        "HEAD": merge,
        "BASE": f"{merge}^1",
        "RUNNER_TEMP": str(folder),
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_OUTPUT": str(folder / "output"),
    }
    job = read(PREVIEW)["jobs"]["judge"]
    assert job["env"]["BASE"].endswith("|| format('{0}^1', github.sha) }}")
    codes = {}
    for step in job["steps"]:
        if "run" in step:
            done = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=checkout, env=env, check=False
            )
            codes[step["name"]] = done.returncode
    assert (folder / "output").read_text() == "shards=[]\n"
    head = subprocess.check_output(["git", "-C", str(checkout), "rev-parse", "HEAD"], text=True)
    assert head.strip() == base, "the base stays checked out"
    return codes


@pytest.mark.parametrize(
    ("description", "code"), [("", 1), ("x\r\nForesite-Allow: remove=1\r\n", 0)]
)
def test_the_preview_of_a_request_runs_none_of_its_code(
    origin: Repository, tmp_path: Path, description: str, code: int
) -> None:
    codes = previewed(origin, tmp_path, description)
    assert codes.pop("Preview") == code
    assert set(codes.values()) == {0}
    report = (tmp_path / "report" / "comment.md").read_text("utf-8")
    assert report.startswith("<!-- foresite-preview -->\n")
    assert "tokyo-1" in report
    assert (tmp_path / "summary").read_text("utf-8")
    assert not (tmp_path / "trace").exists()


def test_the_check_of_the_preview_passes_only_where_every_site_was_judged() -> None:
    """What the expressions of the workflow are, for each way that its jobs can end; GitHub counts a
    skipped job as passed."""
    found = read(PREVIEW)["jobs"]
    conditions = {name: job.get("if", "") for name, job in found.items()}
    judge = "needs.judge.result != 'success'"
    sharded = "needs.judge.outputs.shards != '[]'"
    assert conditions["shard"] == f"${{{{ {sharded} }}}}"
    # Not \"!cancelled()\": of a run that somebody cancels the check must not be skipped.
    assert conditions["preview"] == f"${{{{ always() && ({judge} || {sharded}) }}}}"
    assert found["preview"]["needs"] == ["judge", "shard"]
    first = found["preview"]["steps"][0]
    assert (first["if"], first["run"]) == (f"${{{{ {judge} }}}}", "exit 1")
    one = next(step for step in found["judge"]["steps"] if step["name"] == "Preview")
    assert one["if"] == "${{ steps.plan.outputs.shards == '[]' }}"
    assert not any("continue-on-error" in json.dumps(job) for job in found.values())
    limits = [re.search("--fail-on (\\S+)", run) for run in commands(found["judge"])]
    merged = [re.search("--fail-on (\\S+)", run) for run in commands(found["preview"])]
    assert [m[1] for m in limits if m] == [m[1] for m in merged if m]


# --- judges ---------------------------------------------------------------------------------------


def test_zizmor_finds_nothing() -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    command = [
        str(zizmor),
        "--offline",
        "--no-progress",
        "--persona=auditor",
        "--strict-collection",
    ]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.go
def test_actionlint_finds_nothing() -> None:
    command = [str(program(ACTIONLINT)), *map(str, WORKFLOWS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
