"""``foresite new``: a site that is finished but for what only a person knows, or nothing at all."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from foresite.cli import main
from foresite.command import FAILED, OK
from foresite.commands import new
from schemas.load import load_site, site_names
from schemas.model.codes import Code
from schemas.reading.typed_document import TODO
from tests.golden import GOLDEN
from tests.kit.repository import FLEET, copy_sites, written_out


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with lab-1, which a test may change."""
    copy_sites(tmp_path, ignore=shutil.ignore_patterns("t*-1.*"))
    shutil.copytree(GOLDEN / "sites" / "brought", tmp_path / "sites" / "brought")
    return tmp_path


@pytest.fixture(params=["edge-1", "lab-1", "tokyo-1", "tsukuba-1"])
def other(root: Path, request: pytest.FixtureRequest) -> str:
    """A site of that repository, each in turn."""
    for folder in (written_out() / "sites", GOLDEN / "sites"):
        for path in folder.glob(f"{request.param}.*"):
            shutil.copy(path, root / "sites")
    return str(request.param)


def made(root: Path, site: str, like: str, *more: str) -> int:
    return main(["--root", str(root), "new", site, "--like", like, *more])


def text_of(root: Path, site: str) -> str:
    return (root / "sites" / f"{site}.yaml").read_text("utf-8")


def state(root: Path) -> dict[str, str]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): path.read_text("utf-8") for path in files}


# --- what is written ------------------------------------------------------------------------------


def test_only_what_a_person_knows_is_left_to_write(
    root: Path, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made(root, "osaka-1", other) == OK
    said = capsys.readouterr().out
    problems = load_site(root, "osaka-1").problems
    assert {problem.code for problem in problems} == {Code.TODO_LEFT}
    assert {problem.file for problem in problems} == {
        "sites/osaka-1.hosts.csv",
        "sites/osaka-1.yaml",
    }
    for problem in problems:
        assert f"{problem.file}:{problem.line}:{problem.column}: " in said
    # Each mark says what is to be written there.
    notes = re.findall(rf"{TODO}:? ?([^'\"]*)", text_of(root, "osaka-1"))
    assert notes
    assert all(len(note) > 10 for note in notes)


def test_the_values_of_another_place_make_the_new_site_pass(root: Path, other: str) -> None:
    """The other site's own values, moved to another network, are what a person could write."""
    assert made(root, "osaka-1", other) == OK
    lines = text_of(root, "osaka-1").splitlines()
    before = text_of(root, other).splitlines()
    assert len(lines) == len(before) - before.count("  context: edge-1")
    before = [line for line in before if line != "  context: edge-1"]
    filled = [was if TODO in line else line for was, line in zip(before, lines, strict=True)]
    (root / "sites" / "osaka-1.yaml").write_text(elsewhere("\n".join(filled) + "\n"))
    hosts = (root / "sites" / f"{other}.hosts.csv").read_text().replace(f"{other}-", "osaka-1-")
    hosts = elsewhere(hosts).replace("52:54:00:", "52:54:99:")
    serials = re.sub(r"(?<=,)([A-Z0-9]+)$", r"NEW\1", hosts, flags=re.MULTILINE)
    (root / "sites" / "osaka-1.hosts.csv").write_text(serials)
    assert [str(problem) for problem in load_site(root, "osaka-1").problems] == []
    assert main(["--root", str(root), "check", "osaka-1"]) == OK
    assert main(["--root", str(root), "render", "osaka-1", "--out", str(root / "out")]) == OK


def elsewhere(text: str) -> str:
    """A text with its machine networks (10.16 to 10.31) moved to 172.16 to 172.31, and of the trial
    API server, where the keys of an example may stay."""
    text = re.sub(r"\bmgmt-[a-z-]+", "trial", text)
    return re.sub(r"\b10\.(1[6-9]|2[0-9]|3[01])\.", r"172.\1.", text)


@pytest.mark.parametrize(
    "written", ["context: lab-1", "context: lab-1  # the lab's", "context: 'lab-1'"]
)
def test_the_cluster_of_the_other_site_goes_and_the_comments_below_it_stay(
    root: Path, written: str
) -> None:
    file = root / "sites" / "lab-1.yaml"
    text = file.read_text()
    file.write_text(text.replace("\nzones:", f"  {written}\n\n# Where the racks are.\nzones:"))
    assert made(root, "osaka-1", "lab-1") == OK
    assert "context: " not in text_of(root, "osaka-1")
    assert "flannel.yaml}\n\n# Where the racks are.\nzones:" in text_of(root, "osaka-1")
    before, after = text[: text.index("cluster:")], text[text.index("zones:") :]
    flow = "{kubernetes: v1.34.3, endpoint: 10.18.0.10, pods: 10.64.0.0/12, services: 10.96.0.0/16"
    for pair in ("context: x, pod_network: {%s}", "pod_network: {%s}, context: x"):
        named = pair % "manifests: pod-network/flannel.yaml"
        file.write_text(f"{before}cluster: {flow}, {named}}}\n{after}")
        assert made(root, "osaka-2", "lab-1") == OK
        assert "context: " not in text_of(root, "osaka-2")
        assert {each.code for each in load_site(root, "osaka-2").problems} == {Code.TODO_LEFT}
        for path in (root / "sites").glob("osaka-2*"):
            path.unlink()


def test_what_sites_have_in_common_stays_as_it_was_written(root: Path, other: str) -> None:
    assert made(root, "osaka-1", other) == OK
    was, now = (text_of(root, name).splitlines() for name in (other, "osaka-1"))
    comments = [line.strip() for line in was if line.strip().startswith("#")]
    assert comments == [line.strip() for line in now if line.strip().startswith("#")]
    kept = [line for line in now if TODO not in line and not line.startswith("site:")]
    assert set(kept) <= set(was)
    assert now.count("site: osaka-1") == 1
    assert f"site: {other}" not in now


def test_no_address_and_no_server_of_the_other_site_is_taken_over(root: Path, other: str) -> None:
    assert made(root, "new-1", other) == OK
    text = "\n".join(line for line in text_of(root, "new-1").splitlines() if line[:1] != "#")
    assert other not in text
    # Pods and services are the same in every cluster: nothing outside sees them.
    addresses = set(re.findall(r"\b10\.[0-9./]+", text))
    assert all(each.startswith(("10.64.", "10.96.")) for each in addresses), addresses


@pytest.mark.parametrize("like", ["tokyo-1", "tsukuba-1", "sapporo-1", "lab-1"])
def test_nothing_of_an_example_comes_along(tmp_path: Path, like: str) -> None:
    """No key, certificate, channel, image of one's own, server or date: also not by its region."""
    (tmp_path / "sites").mkdir()
    assert made(tmp_path, "osaka-1", like) == OK
    texts = [each.read_text("utf-8") for each in tmp_path.rglob("*.yaml") if "pod-network" not in
             each.parts]  # fmt: skip
    assert len(texts) == 1 + (like != "lab-1") or like == "lab-1"
    for text in texts:
        said = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        left = r"\.example(?!\.com)\b|registry\.example|AAAA|\.pem|#gpu|20\d\d-"
        assert not re.findall(left, said)
    assert not [*tmp_path.rglob("*.pem")]
    assert {each.code for each in load_site(tmp_path, "osaka-1").problems} == {Code.TODO_LEFT}


def test_json_names_the_files_and_what_is_left(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert made(root, "osaka-1", "lab-1", "--format", "json") == OK
    said = json.loads(capsys.readouterr().out)
    assert sorted(said["files"]) == ["sites/osaka-1.hosts.csv", "sites/osaka-1.yaml"]
    assert {each["code"] for each in said["to_write"]} == {"todo-left"}
    assert len(said["to_write"]) == len(load_site(root, "osaka-1").problems)


def test_an_unfinished_site_can_be_the_start_of_another(root: Path) -> None:
    assert made(root, "osaka-1", "lab-1") == OK
    assert made(root, "osaka-2", "osaka-1") == OK
    assert {each.code for each in load_site(root, "osaka-2").problems} == {Code.TODO_LEFT}


def test_line_ends_of_windows_are_no_problem(root: Path) -> None:
    file = root / "sites" / "lab-1.yaml"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert made(root, "osaka-1", "lab-1") == OK
    assert {each.code for each in load_site(root, "osaka-1").problems} == {Code.TODO_LEFT}


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["", "x", "Osaka-1", "osaka_1", "1-osaka", "-osaka", "osaka-", "../x", "a/b", "osaka.1",
     "osaka 1", "osaka-1\n", "tokyo-1.yaml", "\u00f6saka", "o\udcff1", "o" * 41, "o" * 100_000],
)  # fmt: skip
def test_a_bad_name_is_refused_with_a_good_one(
    root: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(root)
    # A name that starts with a dash is for argparse to refuse, unless it is marked as a name.
    assert main(["--root", str(root), "new", "--like", "lab-1", "--", name]) == FAILED
    said = capsys.readouterr().err
    assert "osaka-1" in said
    assert len(said) < 500
    assert state(root) == before


@pytest.mark.parametrize("left", ["osaka-1.yaml", "osaka-1.hosts.csv"])
def test_no_file_is_ever_overwritten(
    root: Path, left: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "sites" / left).write_text("mine")
    before = state(root)
    assert made(root, "osaka-1", "lab-1") == FAILED
    assert "osaka-1" in capsys.readouterr().err
    assert made(root, "lab-1", "osaka-9") == FAILED
    assert "there is a site lab-1 already" in capsys.readouterr().err
    assert made(root, "lab-1", "lab-1") == FAILED
    assert state(root) == before


def test_a_file_that_came_up_meanwhile_is_not_overwritten_either(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new, "site_names", lambda _: ["lab-1"])
    (root / "sites" / "osaka-1.yaml").write_text("mine")
    before = state(root)
    assert made(root, "osaka-1", "lab-1") == FAILED
    assert state(root) == before


@pytest.mark.parametrize("other", ["nowhere-1", "", "../lab-1", "lab-1.yaml", "l\udcff"])
def test_an_unknown_start_is_refused_with_those_that_are_known(
    root: Path, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(root)
    assert made(root, "osaka-1", other) == FAILED
    assert all(name in capsys.readouterr().err for name in ["lab-1"])
    assert state(root) == before


@pytest.mark.parametrize(
    "text",
    [
        "site: [",
        "",
        "- 1\n",
        "site: lab-1\n",
        "\x00",
        "a: &a 1\n",
        "[" * 5000,
        "site: !!python/x 1\n",
    ],
)
def test_a_faulty_start_is_refused(
    root: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "sites" / "lab-1.yaml").write_text(text)
    before = state(root)
    assert made(root, "osaka-1", "lab-1") == FAILED
    assert "foresite check lab-1" in capsys.readouterr().err
    assert state(root) == before


def test_a_start_with_a_fault_in_one_field_is_refused(root: Path) -> None:
    file = root / "sites" / "lab-1.yaml"
    file.write_text(file.read_text().replace("region:", "regoin:"))
    assert made(root, "osaka-1", "lab-1") == FAILED
    assert "osaka-1" not in site_names(root)


@pytest.mark.parametrize("call", [0, 1])
def test_a_failure_half_way_leaves_no_file(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before, done = state(root), 0
    real = open

    def at(*given: object, **named: object) -> object:
        nonlocal done
        done += 1
        if done > call:
            raise OSError(28, os.strerror(28))
        return real(*given, **named)  # type: ignore[call-overload]

    monkeypatch.setattr(new, "open", at, raising=False)
    assert made(root, "osaka-1", "lab-1") == FAILED
    assert "No space left" in capsys.readouterr().err
    assert state(root) == before


@pytest.mark.parametrize("like", ["lab-1", "sapporo-1", "tokyo-1", "tsukuba-1"])
def test_what_the_region_says_is_left_to_it(tmp_path: Path, like: str) -> None:
    shutil.copytree(FLEET, tmp_path, dirs_exist_ok=True)
    assert made(tmp_path, "new-1", like) == OK
    text = text_of(tmp_path, "new-1")
    assert not re.search(r"(?m)^ *(sources|ntp|dns|proxy|registry_mirror|authentication):", text)
    problems = load_site(tmp_path, "new-1").problems
    # An example's region says values of an example: a site that is none may not have them.
    assert {each.code for each in problems} == {Code.TODO_LEFT, Code("example-left")}
    assert {each.file for each in problems if each.code is not Code.TODO_LEFT} == {
        f"regions/{'jp-north' if like == 'sapporo-1' else 'jp-east'}.yaml"
    }
