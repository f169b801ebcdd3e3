"""``foresite job``: manifests that kubectl takes, or what to write instead."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from components.training.request import Template
from foresite.cli import main
from foresite.command import FAILED, FOUND, OK
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_object
from tests.kit.repository import FLEET, ROOT, all_sites, copy_sites

SITE = "tokyo-1"
IMAGE = "registry.example/train:1"


def job(*arguments: str) -> int:
    return main(["--root", str(FLEET), "job", SITE, *arguments])


def site() -> Site:
    return all_sites()[SITE]


def right(template: str = "all-reduce") -> list[str]:
    """Options of a job that the site's first team may run."""
    section = site().file.scheduling
    assert section is not None
    team = section.teams[0]
    model = next(iter(team.accelerators))
    return [template, *("--team", team.name, "--model", model, "--workers", "2", "--image", IMAGE)]


@pytest.mark.parametrize("template", Template)
def test_a_job_is_printed_as_yaml_that_fits_the_schemas(
    template: Template, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*right(template), "--name", "mine", "--command", "python", "train.py", "--lr", "1"]
    assert job(*arguments) == OK
    said = capsys.readouterr()
    assert said.err == ""
    objects = list(yaml.safe_load_all(said.out))
    assert objects
    assert [fault for each in objects for fault in check_object(each)] == []
    assert {each["metadata"]["name"] for each in objects} == {"mine"}
    # What stands behind --command is the command's own, options too.
    assert said.out.count('- "--lr"') == said.out.count("train.py") > 0
    assert job(*arguments) == OK
    assert capsys.readouterr().out == said.out


def test_notes_are_comments_on_top(capsys: pytest.CaptureFixture[str]) -> None:
    assert job(*right()) == OK
    lines = capsys.readouterr().out.splitlines()
    notes = [line for line in lines if line.startswith("#")]
    assert notes == lines[: len(notes)]
    assert notes[0].startswith("# all-reduce: 2 workers with 8 of ")


def test_json_is_a_list_that_kubectl_applies(capsys: pytest.CaptureFixture[str]) -> None:
    assert job(*right(), "--format", "json") == OK
    printed = capsys.readouterr()
    said = json.loads(printed.out)
    assert (said["apiVersion"], said["kind"]) == ("v1", "List")
    assert [each["kind"] for each in said["items"]] == ["Service", "Job"]
    # What a person should know stands beside it, as it does in the comments of the YAML.
    assert job(*right()) == OK
    comments = [each for each in capsys.readouterr().out.splitlines() if each.startswith("# ")]
    assert comments == [f"# {note}" for note in printed.err.splitlines()] != []


def test_every_option_arrives(capsys: pytest.CaptureFixture[str]) -> None:
    section = site().file.scheduling
    assert section is not None
    team = next(each for each in section.teams if each.priorities)
    (tier, *_) = team.priorities
    wanted = [
        *("parameter-server", "--team", team.name, "--namespace", team.namespaces[0]),
        *("--model", next(iter(team.accelerators)), "--workers", "3", "--per-worker", "2"),
        *("--servers", "4", "--cpu", "7", "--memory", "11Gi", "--storage", "13Gi"),
        *("--image", IMAGE, "--priority", tier, "--format", "json"),
    ]
    assert job(*wanted) == OK
    (body,) = json.loads(capsys.readouterr().out)["items"]
    servers, workers = (each["template"]["spec"] for each in body["spec"]["replicatedJobs"])
    assert (servers["completions"], workers["completions"]) == (4, 3)
    spec = workers["template"]["spec"]
    asked = spec["containers"][0]["resources"]["requests"]
    assert (asked["cpu"], asked["memory"], asked["ephemeral-storage"]) == ("7", "11Gi", "13Gi")
    assert "2" in asked.values()
    assert spec["priorityClassName"] == tier


def test_the_bucket_of_a_job_arrives(capsys: pytest.CaptureFixture[str]) -> None:
    section, cache = site().file.scheduling, site().file.cache
    assert section is not None
    assert cache is not None
    name = section.teams[0].namespaces[0]
    bucket = next(each.name for each in cache.buckets if name in each.namespaces)
    assert job(*right(), "--cache", bucket, "--format", "json") == OK
    said = capsys.readouterr()
    assert f"may read and write the cache's bucket {bucket}" in said.err
    body = next(each for each in json.loads(said.out)["items"] if each["kind"] == "Job")
    (box,) = body["spec"]["template"]["spec"]["containers"]
    assert {"name": "CACHE_URL", "value": cache.url(bucket)} in box["env"]
    assert job(*right(), "--cache", f"{bucket}x") == FOUND
    assert f"write {bucket}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said_of_it", "words"),
    [
        ("namespaces: [trials]", "pods of trials may read and write it"),
        ("namespaces: [trials], public: true", "pods of trials may write it; anybody may read it"),
        ("public: true", "every pod may write it; anybody may read it"),
    ],
)
def test_who_may_use_a_bucket_is_said(
    said_of_it: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_sites(tmp_path)
    file = tmp_path / "sites" / "lab-1.yaml"
    buckets = f"buckets: [{{name: data, quota: 2Ti, {said_of_it}}}]"
    file.write_text(re.sub(r"buckets: .*", buckets, file.read_text("utf-8")), "utf-8")
    assert main(["--root", str(tmp_path), "job", "lab-1"]) == OK
    assert f"  data  {words}" in capsys.readouterr().out.splitlines()


def test_what_is_wrong_is_said_at_once_and_nothing_is_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = [*right(), "--workers", "0", "--priority", "nosuch"]
    assert job(*wrong) == FOUND
    said = capsys.readouterr()
    assert said.err == ""
    assert "--workers: " in said.out
    assert "--priority: " in said.out
    assert said.out.count("  fix: ") == 2
    assert "apiVersion" not in said.out
    assert job(*wrong, "--format", "json") == FOUND
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [each["option"] for each in problems] == ["--workers", "--priority"]
    assert all(each["message"] and each["fix"] for each in problems)


def test_a_misspelt_template_and_what_is_missing_are_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert job("all-reduc") == FOUND
    said = capsys.readouterr().out
    assert "write all-reduce" in said
    for option in ("--model", "--workers", "--image"):
        assert f"{option}: " in said


def test_without_a_template_it_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert job() == OK
    said = capsys.readouterr().out
    for template in Template:
        assert f"{template} " in said
        assert template.does in said
    section = site().file.scheduling
    assert section is not None
    cache = site().file.cache
    assert cache is not None
    buckets = [f"\n  {each.name}  " for each in cache.buckets]
    for name in (*site().models(), *(each.name for each in section.teams), *buckets):
        assert name in said
    for model in site().models():
        assert site().resource(model) in said


def test_what_there_is_can_be_read_by_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert job("--format", "json") == OK
    said = json.loads(capsys.readouterr().out)
    assert list(said["templates"]) == [each.value for each in Template]
    assert list(said["models"]) == list(site().models())
    section = site().file.scheduling
    assert section is not None
    assert {name: each["accelerators"] for name, each in said["teams"].items()} == {
        each.name: each.accelerators for each in section.teams
    }
    machines = {model: each["machines"] for model, each in said["models"].items()}
    assert machines == {
        model: sum(map(site().replicas, site().pools_with(model))) for model in site().models()
    }


def test_a_site_with_problems_gives_no_job(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_sites(tmp_path)
    (tmp_path / "sites" / f"{SITE}.hosts.csv").write_text("name\n")
    for form in ("yaml", "json"):
        arguments = ["--root", str(tmp_path), "job", SITE, *right(), "--format", form]
        assert main(arguments) == FOUND
        said = capsys.readouterr().out
        assert "hosts-columns" in said
        assert form == "yaml" or json.loads(said)["problems"]
    assert main(["--root", str(tmp_path), "job", "lab-2"]) == FOUND
    assert "write lab-1" in capsys.readouterr().out


def test_a_call_that_cannot_be_read_is_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--workers", "many"], ["--nosuch"], ["--timeout", "1.5"]):
        assert job(*right(), *arguments) == FAILED
        said = capsys.readouterr().out
        assert said.startswith(f"{arguments[0]}: ")
        assert "apiVersion" not in said
    assert job("--nosuch") == FAILED
    with pytest.raises(SystemExit) as ended:
        job(*right(), "--format", "text")
    assert ended.value.code == FAILED


def test_all_wrong_options_are_reported_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Also those that argparse or a missing option would keep from being looked at."""
    wrong = [
        *("all-reduc", "--workers", "many", "--per-worker", "0", "--team", "nosuch"),
        *("--model", "v100", "--cpu", "x", "--nmae", "a", "--name", "A\nB", "--priority", "p"),
        *("--cache", "nosuch", "--rdma", "--format", "json"),
    ]
    assert job(*wrong) == FAILED
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert {each["option"] for each in problems} == {
        *("TEMPLATE", "--image", "--workers", "--nmae", "--team", "--per-worker", "--model"),
        *("--cpu", "--name", "--priority", "--cache"),
    }
    assert len(problems) == 11
    assert next(each["fix"] for each in problems if each["option"] == "--nmae") == (
        "did you mean --name?"
    )
    assert job(*wrong[:-2]) == FAILED
    said = capsys.readouterr().out
    assert said.count("  fix: ") == len(said.split("\n\n")) == 11


def test_nothing_of_pulumi_is_loaded() -> None:
    code = (
        "import sys, foresite.commands.job; "
        "print([m for m in sys.modules if m.startswith('pulumi')])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
