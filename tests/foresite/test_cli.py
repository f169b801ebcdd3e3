"""The command line: exit codes, JSON, and an answer instead of a traceback, whatever is asked."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from components.making.manifest import Target
from components.making.validation import object_problems
from components.site import site_objects
from foresite.cli import main
from foresite.command import FAILED, FOUND, OK
from foresite.commands import check
from schemas.model.codes import Code
from schemas.model.problem import Problem
from tests.golden import GOLDEN
from tests.kit.repository import FLEET, ROOT, all_sites, copy_sites

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
"""Of this checkout, with output held back as it is by default, so that it can fail late."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with lab-1 and tsukuba-1, which a test may change."""
    copy_sites(tmp_path, ignore=shutil.ignore_patterns("tokyo*", "sapporo*"))
    return tmp_path


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "foresite", *arguments],
        env={**ENVIRONMENT, **environment},
        capture_output=True,
        check=False,
    )


def usage(*arguments: str) -> int:
    """The exit code of a call that argparse refuses."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments])
    return int(ended.value.code or 0)


# --- exit codes and reports -----------------------------------------------------------------------


def test_a_site_without_problems_is_0(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(root), "check", "lab-1"]) == OK
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines()[0].startswith("lab-1: 3 hosts, 3 t4-pcie-16gb, ")
    assert said.out.splitlines()[-1] == "1 site checked: no problem"


def test_all_sites_are_checked_where_none_is_named(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(root), "check"]) == OK
    assert "2 sites checked: no problem" in capsys.readouterr().out
    assert main(["--root", str(root), "check", "lab-1", "lab-1"]) == OK
    assert "1 site checked: no problem" in capsys.readouterr().out


def test_a_problem_is_1_with_its_place_reason_and_fix(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = root / "sites" / "lab-1.yaml"
    file.write_text(file.read_text().replace("region:", "regoin:"))
    assert main(["--root", str(root), "check"]) == FOUND
    said = capsys.readouterr().out
    assert "sites/lab-1.yaml:3:1: unknown-field" in said
    assert "why: " in said
    assert "fix: " in said
    assert "2 sites checked: " in said.splitlines()[-1]
    # The other site is as good as before.
    assert main(["--root", str(root), "check", "tsukuba-1"]) == OK


def test_json_says_the_same_as_text(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(root), "check", "--format", "json"]) == OK
    report = json.loads(capsys.readouterr().out)
    assert (report["sites"], report["problems"]) == (["lab-1", "tsukuba-1"], [])
    (root / "sites" / "lab-1.hosts.csv").unlink()
    assert main(["--root", str(root), "check", "lab-1", "--format", "json"]) == FOUND
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["file"] == "sites/lab-1.hosts.csv"
    assert problem.keys() == {
        *("file", "line", "column", "code", "path", "value", "message", "why", "fix")
    }
    assert main(["--root", str(root), "check", "lab-1"]) == FOUND
    said = capsys.readouterr().out
    assert all(problem[key] in said for key in ("file", "code", "message", "why", "fix"))


def test_a_hint_is_shown_and_fails_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = root / "sites" / "tsukuba-1.yaml"
    before = "rollout: {max_unavailable: 2}"
    file.write_text(file.read_text().replace(before, f"{before[:-1]}, max_surge: 1}}"))
    assert main(["--root", str(root), "check", "tsukuba-1"]) == OK
    said = capsys.readouterr().out
    assert re.search(r"(?m)^hint: sites/tsukuba-1.yaml:\d+:\d+: surge-unused pools\.cpu\.", said)
    assert said.splitlines()[-1] == "1 site checked: no problem"
    assert main(["--root", str(root), "check", "tsukuba-1", "--format", "json"]) == OK
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == []
    assert [each["code"] for each in report["hints"]] == ["placeholder", "surge-unused"]


def test_the_other_places_of_a_hint_are_told_file_by_file() -> None:
    also = ("sites/a.yaml:3:9 region", "regions/r.yaml:5:1 x", "sites/a.yaml:3:9 region")
    hint = Problem("regions/r.yaml", 4, 2, Code("placeholder"), "x", "", "said", "fix", also=also)
    assert [*check.hint_lines([hint])] == [
        "hint: regions/r.yaml:4:2: placeholder x: said (also sites/a.yaml:3; regions/r.yaml:5); fix"
    ]


def test_problems_of_two_sites_that_clash_are_found_from_either(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = root / "sites" / "lab-1.yaml"
    file.write_text(file.read_text().replace("10.26.0.0/24", "10.25.0.0/24"))
    for name in ("lab-1", "tsukuba-1"):
        assert main(["--root", str(root), "check", name]) == FOUND
        assert "sites-clash" in capsys.readouterr().out


def test_what_the_schemas_refuse_is_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(GOLDEN / "sites", tmp_path / "sites")
    manifests = tmp_path / "sites" / "brought" / "pod-network.yaml"
    manifests.write_text(manifests.read_text().replace("matchLabels", "matchLabel"))
    assert main(["--root", str(tmp_path), "check"]) == FOUND
    said = capsys.readouterr().out
    line = manifests.read_text().splitlines().index("kind: DaemonSet")  # after its apiVersion
    what = "object-invalid pod-network.DaemonSet/pod-network/agent"
    assert f"sites/brought/pod-network.yaml:{line}:1: {what}" in said
    assert "did you mean matchLabels?" in said


def test_of_several_faults_of_an_object_the_first_to_mend_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(GOLDEN / "sites", tmp_path / "sites")
    manifests = tmp_path / "sites" / "brought" / "pod-network.yaml"
    manifests.write_text(manifests.read_text().replace("  template:", "  templates:"))
    assert main(["--root", str(tmp_path), "check"]) == FOUND
    said = capsys.readouterr().out
    assert "pod-network.DaemonSet/pod-network/agent.spec.templates" in said
    assert "of the object's 2 faults begin with spec: 'template' is a required property" in said


def test_two_objects_of_one_key_are_a_problem() -> None:
    site = all_sites()["lab-1"]
    (config,) = [m for m in site_objects(site)["pod-network"] if m.kind == "ConfigMap"]
    again = config._replace(name="Other")
    ((_, problem),) = object_problems(site, {"one": [config], "two": [again]})
    assert (problem.code, problem.path) == (Code.DUPLICATE_NAME, "two.Other")
    assert "one.ConfigMap/pod-network" in problem.message
    elsewhere = again._replace(target=Target.SITE)
    assert not object_problems(site, {"one": [config], "two": [elsewhere]})


# --- arguments that a person could give -----------------------------------------------------------

ODD = [
    *("", " ", ".", "..", "../lab-1", "../../etc/passwd", "/etc/passwd", "lab-1.yaml", "lab-1/"),
    *("LAB-1", "*", "a\nb", "\x1b[31m", "\u202e", "l\udcff", "x" * 50_000, "{}", "%s", "--x"),
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with lab-1, which stays as it is."""
    folder = tmp_path_factory.mktemp("small")
    copy_sites(folder, ignore=shutil.ignore_patterns("t*-1.*"))
    return folder


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("command", ["check", "render", "explain"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_an_odd_name_is_no_site_and_no_traceback(
    small: Path, name: str, command: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(small.rglob("*"))
    options = ["--format", form, *(["--out", str(small / "out")] if command == "render" else [])]
    rest = ["region"] if command == "explain" else []
    code = main(["--root", str(small), command, *options, "--", name, *rest])
    said = capsys.readouterr()
    assert (code, said.err) == (FOUND, "")
    assert "site-unknown" in said.out
    assert form == "json" or len(said.out) < 2000
    # A name moves no cursor and hides nothing of what follows it.
    assert all(c == "\n" or c.isprintable() for c in said.out)
    assert form == "text" or json.loads(said.out)["problems"][0]["code"] == "site-unknown"
    assert sorted(small.rglob("*")) == before


def test_a_name_that_no_terminal_can_show_is_shown_escaped(root: Path) -> None:
    name = b"l\xff".decode("utf-8", "surrogateescape")
    for arguments, code in ((["check", name], FOUND), (["--root", name, "check"], FAILED)):
        done = process("--root", str(root), *arguments)
        assert done.returncode == code
        assert b"Traceback" not in done.stderr
        assert b"udcff" in done.stdout + done.stderr


def test_calls_that_mean_nothing_are_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["chekc"],
        ["check", "--fromat", "json"],
        ["check", "--format", "yaml"],
        ["new", "osaka-1"],
        ["explain", "lab-1"],
        ["explain", "lab-1", "a", "b"],
        ["--root"],
    ):
        assert usage(*arguments) == FAILED
        said = capsys.readouterr()
        assert said.out == ""
        assert "usage: foresite" in said.err


# --- the repository -------------------------------------------------------------------------------


def test_the_repository_is_found_from_any_folder_below_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = root / "sites" / "certificates"
    monkeypatch.chdir(below)
    assert main(["check"]) == OK
    # An explicit root is taken at its word.
    assert main(["--root", str(below), "check"]) == FAILED


@pytest.mark.parametrize("where", ["nowhere", "", "file", "link", "x" * 5000, "l\udcff"])
def test_a_root_without_sites_is_2(
    tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("link")
    for command in (["check"], ["render"], ["new", "x-1", "--like", "y-1"], ["explain", "x", "y"]):
        assert main(["--root", str(tmp_path / where), *command]) == FAILED
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("foresite: ")


def test_a_folder_that_is_gone_is_2(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        [f'rmdir "$PWD" && exec "{sys.executable}" -m foresite check'],
        shell=True,
        cwd=gone,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    assert done.returncode == FAILED
    assert b"Traceback" not in done.stderr


def test_a_repository_without_a_site_cannot_be_checked(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    assert main(["--root", str(tmp_path), "check"]) == FAILED
    assert main(["--root", str(tmp_path), "render", "--out", str(tmp_path / "out")]) == FAILED
    assert main(["--root", str(tmp_path), "new", "osaka-1", "--like", "nara-1"]) == FAILED


def test_a_folder_in_place_of_a_file_is_a_problem_of_that_site(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "sites" / "nara-1.yaml").mkdir()
    (root / "sites" / "lab-1.hosts.csv").unlink()
    (root / "sites" / "lab-1.hosts.csv").mkdir()
    assert main(["--root", str(root), "check", "nara-1", "lab-1"]) == FOUND
    said = capsys.readouterr().out
    assert "sites/nara-1.yaml: file-unreadable" in said
    assert "sites/lab-1.hosts.csv: file-unreadable" in said
    assert main(["--root", str(root), "new", "nara-1", "--like", "tsukuba-1"]) == FAILED
    assert main(["--root", str(root), "explain", "nara-1", "region"]) == FOUND


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_a_problem(root: Path) -> None:
    (root / "sites" / "lab-1.yaml").chmod(0)
    assert main(["--root", str(root), "check", "lab-1"]) == FOUND


def test_a_file_with_a_name_that_is_no_text_is_a_problem(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "sites" / b"l\xff.yaml".decode("utf-8", "surrogateescape")).write_text("site: x\n")
    for form in ("text", "json"):
        assert main(["--root", str(root), "check", "--format", form]) == FOUND
        assert "udcff" in capsys.readouterr().out


# --- where the output goes ------------------------------------------------------------------------


def shell(command: str, cwd: Path = FLEET) -> subprocess.CompletedProcess[str]:
    """A line of bash with ``foresite`` in it, and the exit code of its first command."""
    line = (
        f'foresite() {{ "{sys.executable}" -m foresite "$@"; }}\n{command}\nexit ${{PIPESTATUS[0]}}'
    )
    return subprocess.run(
        ["bash", "-c", line], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "command",
    [
        "foresite explain tokyo-1 site --format json | true",
        "foresite check --format json | (exec <&-; sleep 0.1)",
    ],
)
def test_a_reader_that_leaves_causes_no_complaint(command: str) -> None:
    done = shell(command)
    assert done.stderr == ""
    assert done.returncode in {OK, FAILED}


def test_output_that_goes_nowhere_causes_no_traceback() -> None:
    assert shell("foresite check lab-1 >&-").returncode == OK
    full = shell("foresite check lab-1 > /dev/full")
    assert (full.returncode, full.stderr) == (FAILED, "foresite: No space left on device\n")


def test_a_terminal_without_unicode_gets_escapes(root: Path) -> None:
    file = root / "sites" / "lab-1.yaml"
    file.write_text(file.read_text().replace("jp-east", "\u6771\u4eac"), encoding="utf-8")
    done = process("--root", str(root), "check", "lab-1", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (FOUND, b"")
    assert rb"\u6771\u4eac" in done.stdout


def test_an_interrupt_is_130_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "load", interrupted)
    assert main(["--root", str(FLEET), "check"]) == 128 + signal.SIGINT
    assert capsys.readouterr().err.strip() == "foresite: interrupted"
