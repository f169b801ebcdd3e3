"""The command `foresite preview`: its exit codes, gates, files, and whose code it runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from foresite.cli import main
from foresite.commands.preview import FILES
from tests.kit.preview_repository import Repository
from tests.kit.repository import ROOT, copy_sites

TOKYO = "sites/tokyo-1.yaml"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def run(repository: Repository, *arguments: str) -> int:
    return main(["--root", str(repository.root), "preview", *arguments])


def document(
    repository: Repository, capsys: pytest.CaptureFixture[str], *arguments: str
) -> dict[str, Any]:
    capsys.readouterr()
    run(repository, "--format", "json", *arguments)
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def harmless(repository: Repository) -> None:
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 12")


def disruptive(repository: Repository) -> None:
    repository.replace(TOKYO, "kubernetes: v1.34.3", "kubernetes: v1.34.8")


def destructive(repository: Repository) -> None:
    repository.hosts("tokyo-1", lambda rows: [rows.pop() for _ in range(2)])


def invalid(repository: Repository) -> None:
    repository.replace(TOKYO, "max_unavailable: 4, max_surge: 2", "max_unavailable: 0")


@pytest.mark.parametrize(
    ("edit", "options", "code"),
    [
        (None, (), 0),
        (None, ("--exit-code",), 0),
        (harmless, (), 0),
        (harmless, ("--exit-code",), 1),
        (harmless, ("--fail-on", "drain,reimage,remove,unknown"), 0),
        (disruptive, (), 0),
        (disruptive, ("--fail-on", "reimage"), 1),
        (disruptive, ("--fail-on", "remove"), 0),
        (destructive, (), 1),
        (destructive, ("--allow", "remove=1"), 1),
        (destructive, ("--allow", "remove=2"), 0),
        (destructive, ("--allow", "remove=2", "--exit-code"), 1),
        (destructive, ("--allow", "remove=2", "--fail-on", "remove"), 1),
        (destructive, ("--allow", "remove=4", "--fail-on", "remove,refused"), 0),
        (disruptive, ("--fail-on", "reimage>10%,refused,unknown"), 1),
        (disruptive, ("--fail-on", "reimage>10%", "--allow", "reimage=9999"), 0),
        (invalid, (), 2),
        (invalid, ("--exit-code",), 2),
        (invalid, ("--allow", "remove=9", "--fail-on", "unknown"), 2),
    ],
)
def test_exit_codes(repository: Repository, edit: Any, options: tuple[str, ...], code: int) -> None:
    if edit:
        edit(repository)
    assert run(repository, *options) == code


def test_a_request_names_what_may_be_lost(repository: Repository, tmp_path: Path) -> None:
    destructive(repository)
    request = tmp_path / "request.txt"
    request.write_bytes("Two hosts go.\n\nForesite-Allow: remove=2\n\xff".encode("latin-1"))
    assert run(repository, "--request", str(request)) == 0
    request.write_text("Foresite-Allow: remove=1\n")
    assert run(repository, "--request", str(request)) == 1


def test_a_site_file_cannot_allow_anything(repository: Repository) -> None:
    destructive(repository)
    text = repository.text(TOKYO)
    repository.write(TOKYO, f"# x\n# Foresite-Allow: remove=2\n{text}Foresite-Allow: remove=2\n")
    assert run(repository) == 2
    repository.write(TOKYO, f"# Foresite-Allow: remove=2\n{text}")
    assert run(repository) == 1


def test_every_report_is_written_and_says_the_same_headline(
    repository: Repository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    disruptive(repository)
    assert run(repository, "--out", str(tmp_path / "a" / "b")) == 0
    headline = capsys.readouterr().out.splitlines()[0]
    files = {path.name: path.read_text("utf-8") for path in (tmp_path / "a" / "b").iterdir()}
    assert files.keys() == FILES.keys()
    assert headline.startswith("Re-images")
    assert json.loads(files["report.json"])["headline"] == headline
    assert files["comment.md"].startswith("<!-- foresite-preview -->\n")


def test_only_the_sites_that_are_asked_for_are_looked_at(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    disruptive(repository)
    repository.replace("sites/lab-1.yaml", "kubernetes: v1.34.3", "kubernetes: v1.34.8")
    assert "lab-1" not in json.dumps(document(repository, capsys, "tokyo-1"))
    assert document(repository, capsys, "tsukuba-1")["sites"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tokio-1",), "did you mean tokyo-1"),
        (("../etc",), "there is no site '../etc'"),
        (("",), "there is no site ''"),  # a variable that is not set
        (("--base", "nowhere"), "there is no commit nowhere"),
        (("--base", "--exec=x"), None),
        (("--head", "HEAD:sites"), "there is no commit HEAD:sites"),
        (("--fail-on", "reimages"), "did you mean reimage"),
        (("--allow", "remove"), "remove=3"),
        (("--allow", "reimages=2"), "remove=3"),
        (("--request", "no-such-file"), "No such file"),
        (("--out", "/dev/null/x"), "/dev/null is there and is no folder"),
    ],
)
def test_what_cannot_be_run_says_what_to_write(
    repository: Repository,
    arguments: tuple[str, ...],
    words: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if words is None:
        with pytest.raises(SystemExit) as caught:
            run(repository, *arguments)
        assert caught.value.code == 2
        return
    harmless(repository)
    assert run(repository, *arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


def test_a_repository_without_git_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_sites(tmp_path)
    assert main(["--root", str(tmp_path), "preview"]) == 2
    assert "not a git repository" in capsys.readouterr().err


# --- whose code ------------------------------------------------------------------------------


def with_code(repository: Repository) -> None:
    """Put Foresite itself into the repository, as users have it."""
    for package in ("foresite", "preview", "components", "policies", "schemas"):
        target = repository.root / package
        shutil.copytree(
            ROOT / package, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )
    repository.commit("code")


def test_a_change_of_the_code_is_unknown_unless_each_side_is_made_by_its_own(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    with_code(repository)
    base = repository.git("rev-parse", "HEAD")
    script, file = "components/machines/apply.sh", "components/machines/workers.py"
    repository.write(script, repository.text(script) + "# the end\n")
    repository.replace(
        file, "NODE_DELETION_TIMEOUT_SECONDS = 600", "NODE_DELETION_TIMEOUT_SECONDS = 900"
    )
    repository.commit("a longer timeout")
    ends = ("--base", base, "--head", "HEAD")
    one = document(repository, capsys, *ends)
    assert (one["code_changed"], one["impact"], one["sites"]) == ([script, file], "unknown", [])
    assert run(repository, *ends, "--fail-on", "unknown") == 1
    each = document(repository, capsys, *ends, "--code", "each")
    assert (each["code_changed"], each["impact"]) == ([], "none")
    names = {site["name"] for site in each["sites"]}
    assert names == {"lab-1", "sapporo-1", "tokyo-1", "tsukuba-1"}


def test_an_untrusted_request_is_judged_by_the_code_of_the_base(
    repository: Repository, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with_code(repository)
    base = repository.git("rev-parse", "HEAD")
    marker = tmp_path / "ran"
    for file in ("preview/survey.py", "foresite/__main__.py", "components/site.py"):
        hostile = f"from pathlib import Path\nPath({str(marker)!r}).touch()\n"
        repository.write(file, hostile + repository.text(file))
    disruptive(repository)
    repository.commit("hostile")
    ends = ("--base", base, "--head", "HEAD")
    assert run(repository, *ends, "--code", "base", "--fail-on", "reimage") == 1
    assert "re-images" in capfd.readouterr().out.lower()
    assert not marker.exists()
    run(repository, *ends, "--code", "head")
    assert marker.exists(), "the marker shows whether the request's code ran"


@pytest.mark.parametrize("code", ["head", "each"])
def test_code_that_takes_for_ever_is_ended(
    repository: Repository,
    code: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for folder in ("foresite", "preview"):
        repository.write(f"{folder}/__init__.py", "import time; time.sleep(60)\n")
    repository.write("preview/objects.py", "")
    repository.write("foresite/preview.py", "")
    repository.commit("slow")
    repository.write("components/x.py", "")
    repository.commit("code")
    monkeypatch.setattr("foresite.othercode._TIME_LIMIT", 0.1)
    assert run(repository, "--code", code, "--base", "HEAD~1", "--head", "HEAD") == 2
    assert "took more than 0.1 s" in capsys.readouterr().err
