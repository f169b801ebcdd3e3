"""The files that ``foresite init --forge gitlab`` writes, and the page's job for Forgejo: valid by
GitLab's schema, with rights where docs/ci.md says, at work with a fake of each API."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.kit.fake_forge import TOKEN, FakeForge, serving
from tests.kit.preview_repository import Repository
from tests.kit.repository import ROOT
from tests.project.test_workflows import ours, pulumi_steps

Job = dict[str, Any]


class _Loader(yaml.SafeLoader):
    """YAML with GitLab's one tag, as the list that it is."""


def _reference(loader: yaml.SafeLoader, node: yaml.SequenceNode) -> list[str]:
    return loader.construct_sequence(node)


_Loader.add_constructor("!reference", _reference)
FILES = [ROOT / "foresite" / "templates" / f"gitlab-{name}.yml" for name in ("foresite", "ci")]
TEXT = "".join(file.read_text("utf-8") for file in FILES)
BOTH: list[Job] = [yaml.load(file.read_text("utf-8"), _Loader) for file in FILES]
CI = BOTH[0] | BOTH[1]
SPECIAL = {"include", "workflow", "stages", "variables", "default"}


def whole(job: Job) -> Job:
    """A job with what it extends, maps in it too, as GitLab joins them."""
    above = whole(CI[job["extends"]]) if "extends" in job else {}
    maps = {"variables": {**above.get("variables", {}), **job.get("variables", {})}}
    return {**above, **job, **maps}


JOBS = {
    name: whole(job) for name, job in CI.items() if name not in SPECIAL and not name.startswith(".")
}


def script(job: Job) -> str:
    """All that a job runs, in one shell as GitLab has it."""
    lines: list[str] = []
    for line in [*job.get("before_script", []), *job.get("script", [])]:
        lines += CI[line[0]][line[1]] if isinstance(line, list) else [line]
    return "\n".join(lines)


def judge() -> jsonschema.Draft7Validator:
    """The schema that GitLab's editor judges with, as check-jsonschema brings it along."""
    spec = importlib.util.find_spec("check_jsonschema")
    if spec is None or spec.origin is None:
        pytest.skip("check-jsonschema, which has the schema, is not installed")
    file = Path(spec.origin).parent / "builtin_schemas" / "vendor" / "gitlab-ci.json"
    return jsonschema.Draft7Validator(json.loads(file.read_text("utf-8")))


def test_gitlabs_schema_takes_them() -> None:
    assert [each.message for file in BOTH for each in judge().iter_errors(file)] == []
    wrong = CI | {"apply": CI["apply"] | {"resource_groups": "x"}}
    assert list(judge().iter_errors(wrong)), "the schema refuses nothing"


def test_what_holds_a_token_runs_no_pipeline_of_a_merge_request() -> None:
    """Each such job starts on the default branch alone (``workflow``), by a push or a schedule."""
    assert {name for name, job in JOBS.items() if "id_tokens" in job} == {"apply", "plan", "drift"}
    for name, job in JOBS.items():
        (rule,) = (each["if"] for each in job["rules"])
        if "merge_request_event" in rule or name == "check":
            assert not job.keys() & {"id_tokens", "environment", "resource_group"}, name
            continue
        assert '$CI_PIPELINE_SOURCE == "schedule"' in rule or "=~ /^(push|web)$/" in rule, name
        alone = {"rings": "foresite-apply", "plan": "foresite-ring"}.get(name, f"foresite-{name}")
        assert job.get("resource_group") == alone, name
        if "id_tokens" in job:
            assert '$FORESITE_CLUSTERS == "true"' in rule and not job["interruptible"]
            assert job["environment"]["name"].startswith("clusters")
        # A schedule goes on with what waits; of all rings in one job waiting alone is no failure.
        scheduled = '"schedule" && $FORESITE_SCHEDULE == "apply"' in rule
        assert scheduled == (name in ("apply", "plan", "rings")), name
        assert ("allow_failure" in job) == (name == "apply")
    assert whole(CI[".ring"]).get("allow_failure") is None
    assert CI["workflow"]["rules"][1]["if"] == "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"


def test_rings_become_stages_of_one_commit(tmp_path: Path) -> None:
    """The job makes a pipeline of all sites, in the order of the plan: of two pipelines, the second
    may have its plan before the first has come to a site."""
    made = re.findall(r"(python3 .*?\nEND\n)", script(JOBS["plan"]), re.DOTALL)[0]
    state = [("a", 0, "due"), ("b", 0, "up to date"), ("c", 1, "waiting"), ("d", 1, "due")]
    sites = [{"site": s, "ring": r, "state": w, "decommissioned": False} for s, r, w in state]
    ends = {"site": "e", "ring": 0, "state": "due", "decommissioned": True}
    for given, wanted in (
        (
            [*sites, ends],
            {"1: ring 0": ["a", "b"], "2: ring 1": ["c", "d"], "3: decommissioned": ["e"]},
        ),
        ([], {"nothing": []}),
    ):
        (tmp_path / "plan.json").write_text(json.dumps({"sites": given}))
        env = {"scratch": str(tmp_path), "PATH": os.environ["PATH"]}
        subprocess.run(["bash", "-e", "-c", made], cwd=tmp_path, env=env, check=True)
        child = json.loads((tmp_path / "rings.yml").read_text())
        assert child["stages"] == [*wanted] and not list(judge().iter_errors(child | BOTH[0]))
        for name, named in wanted.items():
            (line,) = child[name]["script"]
            # Before GitLab ends the job, which could be in the middle of a site.
            assert not named or line == f"uv run foresite apply --minutes 1420 {' '.join(named)}"
    # Its jobs ask for another resource group than the one that the job above them holds until they
    # have ended.
    assert whole(CI[".ring"])["resource_group"] != JOBS["rings"]["resource_group"]
    assert whole(CI[".ring"])["variables"]["FORESITE_COMMIT"] == "$CI_COMMIT_SHA"


def test_its_pins_are_those_of_the_project() -> None:
    step = next(pulumi_steps())
    given = JOBS["apply"]["variables"]
    mirror = CI["variables"]["FORESITE_PULUMI_MIRROR"]
    env = {key: mirror + value if "/" in value else value for key, value in given.items()}
    assert env == step["env"]
    wanted = re.findall(r"plugin install \S+ \S+ \S+", step["run"])
    assert wanted == re.findall(r"plugin install \S+ \S+ \S+", TEXT)
    docker = (ROOT / "images" / "foresite" / "Dockerfile").read_text("utf-8")
    assert f"FROM {CI['variables']['FORESITE_IMAGE']}\n" in docker
    table = (ROOT / "foresite" / "commands" / "init.toml").read_text("utf-8")
    for text in (TEXT, table):
        pins = re.findall(r"uv==\S+|--hash=\S+", text)
        assert pins and pins == re.findall(r"uv==[0-9.]+|--hash=\S+[0-9a-f]", docker)


def test_it_calls_the_commands_that_github_does_with_the_same_gates() -> None:
    calls = re.findall(r"uv run foresite (\w+)", "\n".join(map(script, JOBS.values())))
    assert set(calls) == {each[0] for each in ours()} - {"opinion"}
    gates = {each[each.index("--fail-on") + 1] for each in ours() if "--fail-on" in each}
    assert set(re.findall(r'--fail-on "(.*?)"', TEXT)) == gates


# --- the scripts at work --------------------------------------------------------------------------


@pytest.fixture
def origin(tmp_path: Path) -> Repository:
    """A project whose merge request 7 removes a host and leaves a file that would be run."""
    repository = Repository(tmp_path / "origin")
    repository.git("checkout", "-q", "-b", "request")
    repository.hosts("tokyo-1", lambda rows: rows.pop())
    (repository.root / "sitecustomize.py").write_text("raise SystemExit('run')")
    repository.commit("fewer hosts")
    repository.git("update-ref", "refs/merge-requests/7/head", "HEAD")
    repository.git("checkout", "-q", "main")
    return repository


def run(job: str, origin: Repository, folder: Path, ref: str, **env: str) -> tuple[int, str]:
    """The exit code and the words of a job, in a clone that has ``ref`` checked out."""
    checkout, programs = folder / "checkout", folder / "bin"
    if not checkout.exists():
        subprocess.run(["git", "clone", "-q", origin.root, checkout], check=True)
        programs.mkdir()
        (programs / "uv").write_text(
            f'#!/bin/sh\nshift 2\nexec {sys.executable} -m foresite "$@"\n'
        )
        (programs / "uv").chmod(0o755)
    for words in (["fetch", "-q", "origin", ref], ["checkout", "-q", "--detach", "FETCH_HEAD"]):
        subprocess.run(["git", *words], cwd=checkout, check=True)
    commit = origin.git("rev-parse", ref)
    text = script(JOBS[job]) if job in JOBS else job
    given = {
        **{key: value for key, value in CI["variables"].items() if key.startswith("GIT_")},
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT),
        "HOME": str(folder), "TMPDIR": str(folder), "CI_SERVER_HOST": "gitlab.example",
        "CI_JOB_TOKEN": "job-canary", "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_SHA": commit,
        "CI_PROJECT_PATH": "owner/sites", "CI_PIPELINE_CREATED_AT": "2099-01-01T00:00:00Z", **env,
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text],
        cwd=checkout, env=given, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "canary" not in done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_preview_runs_the_bases_code_and_obeys_the_description(
    origin: Repository, tmp_path: Path
) -> None:
    """Without the line the gate would be closed, as a host is removed. The pipeline is a fork's,
    whose own branch has something else."""
    target = origin.git("rev-parse", "main")
    fork = Repository(tmp_path / "fork")
    fork.git("fetch", "-q", str(origin.root), "+refs/merge-requests/*:refs/merge-requests/*")
    fork.write("sites/tokyo-1.yaml", "anything")
    fork.commit("its own")
    (tmp_path / "secret").write_text("machine index.example login me password canary\n")
    found, said = run(
        "preview", fork, tmp_path, "refs/merge-requests/7/head",
        CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main", CI_MERGE_REQUEST_SOURCE_PROJECT_ID="2",
        CI_MERGE_REQUEST_PROJECT_URL=f"{origin.root}/", CI_PROJECT_ID="2",
        CI_MERGE_REQUEST_PROJECT_ID="1",
        CI_MERGE_REQUEST_DESCRIPTION="x\r\nForesite-Allow: remove=1\r\n",
        FORESITE_NETRC=str(tmp_path / "secret"),
    )  # fmt: skip
    assert found == 0, said
    checkout = tmp_path / "checkout"
    assert "tokyo-1" in (checkout / "report" / "comment.md").read_text("utf-8")
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=checkout, text=True)
    assert head.strip() == target
    login = tmp_path / ".netrc"
    assert login.stat().st_mode & 0o777 == 0o600
    assert [line.split()[1] for line in login.read_text().splitlines()] == [
        "gitlab.example", "index.example",
    ]  # fmt: skip


def test_a_schedule_on_the_protected_branch_writes_the_notes(
    origin: Repository, tmp_path: Path
) -> None:
    fake = FakeForge("gitlab", "project_1_bot")
    fake.pulls = [{"iid": 7, "description": "no line", "target_branch": "main"}]
    for _ in range(2):
        assert "tokyo-1" in comment("comment", fake, origin, tmp_path)
    assert fake.requests.count("GET /user") == 1, "what has its note is not previewed again"
    conflict(origin)
    # One before it has no commits that can be had: the job fails, and writes the notes of the rest.
    fake.pulls.insert(0, {"iid": 6, "description": "", "target_branch": "main"})
    assert "conflicts with main" in comment("comment", fake, origin, tmp_path, wanted=1)


def comment(
    job: str, fake: FakeForge, origin: Repository, folder: Path, wanted: int = 0, **env: str
) -> str:
    """The one comment that is there after a job of the protected branch."""
    with serving(fake):
        env |= dict.fromkeys(("CI_API_V4_URL", "GITHUB_API_URL"), fake.url)
        env |= dict.fromkeys(("GITLAB_TOKEN", "GITHUB_TOKEN"), TOKEN)
        code, said = run(job, origin, folder, "main", **env)
    assert code == wanted and fake.strange == [], said
    (found,) = fake.bodies()
    return found


def conflict(origin: Repository) -> None:
    """The host that the request removes is changed on the branch meanwhile."""
    origin.hosts("tokyo-1", lambda rows: rows[-1].update(rack="z-99"))
    origin.commit("another rack")


def test_the_job_that_the_page_has_for_forgejo_writes_the_comments(
    origin: Repository, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    blocks = re.findall(r"```yaml\n(name: comment\n.*?)```", page, re.DOTALL)
    (step,) = yaml.safe_load(blocks[0])["jobs"]["comment"]["steps"]
    text = re.sub(r"pip install.*\n", "", step["run"]).replace("/tmp/", f"{tmp_path}/")
    origin.git("update-ref", "refs/pull/7/head", "refs/merge-requests/7/head")
    fake = FakeForge("forgejo", "forgejo-actions")
    fake.pulls = [
        {"number": 7, "body": None, "base": {"ref": "main"}, "owner": "o", "branch": "request"}
    ]
    text = text.replace('"$GITHUB_SERVER_URL/$GITHUB_REPOSITORY"', f'"{origin.root}"')
    for words, wanted in (("tokyo-1", 0), ("conflicts with main", 1)):
        assert words in comment(
            text, fake, origin, tmp_path, wanted,
            GITHUB_SERVER_URL="https://forgejo.example", GITHUB_REPOSITORY="owner/sites",
        )  # fmt: skip
        conflict(origin)
        fake.pulls.insert(0, {**fake.pulls[0], "number": 6})  # its commits cannot be had
        shutil.rmtree(tmp_path / "sites")
