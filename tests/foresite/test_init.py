"""``foresite init``: a repository of one's own that every command works in, or nothing at all."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import ClassVar

import pytest
import yaml

from foresite.cli import main
from foresite.command import FAILED, FOUND, OK, version
from foresite.commands import init
from foresite.othercode import _run_locked
from preview.states.snapshot import at, work_tree
from tests.foresite.test_render import tree
from tests.kit.go_programs import program
from tests.kit.preview_repository import Folder
from tests.kit.repository import FLEET, ROOT, with_examples
from tests.kit.web import Handler, listening

FLOWS = ROOT / ".github" / "workflows"


class Ours(Folder):
    """A repository that ``init`` made."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str], *options: str) -> None:
        assert main(["init", str(root), *options]) == OK
        super().__init__(root)
        self._capsys = capsys

    def says(self, code: int, *words: str) -> str:
        """What a command says that ends with this code; of a failure, what it says as an error."""
        self._capsys.readouterr()
        assert main(["--root", str(self.root), *words]) == code, words
        out, err = self._capsys.readouterr()
        return err if code == FAILED else out + err


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ours:
    """A repository with sites, committed."""
    found = Ours(tmp_path / "sites-of-ours", capsys)
    shutil.copytree(FLEET, found.root, dirs_exist_ok=True)
    found.commit()
    return found


def test_the_same_bytes_each_time_in_a_new_folder_and_in_a_fresh_clone(tmp_path: Path) -> None:
    clone = Folder(tmp_path / "clone").root
    assert main(["init", str(tmp_path / "new")]) == main(["init", str(clone)]) == OK
    assert tree(tmp_path / "new") == tree(clone)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_it_has_data_alone_and_locks_this_version(made: Ours) -> None:
    every = tree(made.root)
    assert [path for path in every if path.endswith(".py")] == [
        "__main__.py", "conftest.py", "policies/pack/__main__.py",
    ]  # fmt: skip
    assert f'"foresite=={version()}"'.encode() in every["pyproject.toml"]
    assert b"@" not in every["pyproject.toml"].replace(b"https://", b"")
    owned = every[".github/CODEOWNERS"].decode()
    assert {path.split("/")[0] for path in every} <= {
        line.split()[0].strip("/").split("/")[0] for line in owned.splitlines() if line[:1] == "/"
    } | {".gitignore", "README.md"}


def test_its_workflows_are_the_projects_but_for_what_the_tables_replace(tmp_path: Path) -> None:
    ours = {path.name: path.read_text("utf-8") for path in FLOWS.glob("*.yml")}
    ours["checks.yml"] = (FLOWS.parents[1] / "foresite" / "templates" / "checks.yml").read_text()
    pins = {line for path in FLOWS.glob("*.yml") for line in uses(path)}
    for forge in ("github", "ghes"):
        assert main(["init", str(tmp_path / forge), "--forge", forge]) == OK
        folder = tmp_path / forge / ".github" / "workflows"
        made = {path.name: path.read_text("utf-8") for path in folder.glob("*.yml")}
        for each in init._TABLE["workflows"]["replaced"]:
            name = f"{each['name']}.yml"
            assert each["old"] in ours[name] and each["new"] in made[name]
        for each in init._TABLE["own"]:
            assert any(each["old"] in text for text in ours.values()), each["old"]
            assert (
                not any(each["old"] in text for text in made.values()) or each["old"] in each["new"]
            )
        for path in folder.glob("*.yml"):
            assert {each for each in uses(path) if "# v3" not in each} <= pins
            assert yaml.safe_load(path.read_text("utf-8"))["permissions"] == {}
        zizmor = [str(Path(sys.executable).parent / "zizmor"), "--offline", "--persona=auditor"]
        done = subprocess.run([*zizmor, str(folder)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    whole = "".join(made.values())
    assert set(re.findall(r"-artifact@\S+ # (v\d)", whole)) == {"v3"} and "setup-uv" not in whole
    assert "download-artifact@" not in made["comment.yml"]


@pytest.mark.go
@pytest.mark.parametrize("forge", ["github", "ghes"])
def test_actionlint_finds_nothing_in_them(tmp_path: Path, forge: str) -> None:
    assert main(["init", str(tmp_path / forge), "--forge", forge]) == OK
    files = map(str, (tmp_path / forge / ".github" / "workflows").glob("*.yml"))
    command = [str(program(ROOT / "tools" / "actionlint")), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_gitlab_gets_its_own_files(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "a"), "--forge", "gitlab"]) == OK
    made = tree(tmp_path / "a")
    assert {".gitlab-ci.yml", ".gitlab/CODEOWNERS"} <= set(made)
    assert not [path for path in made if path.startswith(".github")]


def script(folder: Path, forge: str, flow: str, step: str) -> str:
    """What a step of a workflow of a new repository runs."""
    assert main(["init", str(folder), "--forge", forge]) == OK
    text = (folder / ".github" / "workflows" / flow).read_text()
    steps = [s for job in yaml.safe_load(text)["jobs"].values() for s in job["steps"]]
    (found,) = (str(s["run"]) for s in steps if s.get("name", "").startswith(step))
    return found


def test_a_login_lies_where_the_job_ends(tmp_path: Path) -> None:
    text = script(tmp_path / "a", "github", "checks.yml", "Log in")
    env = {"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), "GITHUB_ENV": "env"}
    for login in ("", "machine packages.example login ci password canary"):
        command = ["bash", "-e", "-c", text]
        subprocess.run(command, env={**env, "NETRC": login}, cwd=tmp_path, check=True)
        assert (tmp_path / "env").exists() is bool(login)
    assert (tmp_path / "env").read_text() == f"HOME={tmp_path}/home\n"
    assert (tmp_path / "home" / ".netrc").read_text() == f"{login}\n"
    assert (tmp_path / "home" / ".netrc").stat().st_mode & 0o777 == 0o600


class Artifacts(Handler):
    """A fake of the API of artifacts: a list, and a download that another host gives."""

    report = b""
    tokens: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.tokens.append((self.path, self.headers.get("Authorization")))
        listed = {"artifacts": [{"id": 6, "name": "other"}]}
        if "/runs/1/" in self.path:
            listed["artifacts"].append({"id": 5, "name": "report"})
        elsewhere = f"http://localhost:{self.headers['Host'].rpartition(':')[2]}/blob"
        status = 302 if self.path.endswith("/artifacts/5/zip") else 200
        body = self.report if self.path == "/blob" else listed
        self.answer(status, body, {"Location": elsewhere})


def test_a_report_of_another_run_comes_without_the_token_to_another_host(tmp_path: Path) -> None:
    text = script(tmp_path / "a", "ghes", "comment.yml", "Fetch")
    with zipfile.ZipFile(tmp_path / "report.zip", "w") as archive:
        archive.writestr("../comment.md", "no")
        archive.writestr("comment.md", "the report" + " " * 200_000)
    Artifacts.report = (tmp_path / "report.zip").read_bytes()
    env = {
        "PATH": os.environ["PATH"], "GITHUB_TOKEN": "canary",
        "RUNNER_TEMP": str(tmp_path), "GITHUB_REPOSITORY": "o/n",
    }  # fmt: skip
    command = ["bash", "-e", "-c", text.replace("--proto =https", "--noproxy '*'")]
    with listening(Artifacts) as url:
        env["GITHUB_API_URL"] = f"{url}/api/v3"
        done, none = (
            subprocess.run(
                command, env={**env, "RUN": number}, capture_output=True, text=True, check=False
            )
            for number in ("1", "2")
        )
    assert done.returncode == 0, done.stderr
    assert none.returncode == 1
    assert none.stderr == "run 2 has left no report: see why its job made none\n"
    assert (tmp_path / "report" / "comment.md").stat().st_size == 100_000
    assert [token for path, token in Artifacts.tokens if path == "/blob"] == [None]
    assert {token for path, token in Artifacts.tokens if path != "/blob"} == {"Bearer canary"}
    assert "--proto =https" in text


def uses(path: Path) -> list[str]:
    lines = path.read_text("utf-8").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("uses:")]


BUILT = f"foresite-{version()}-py3-none-any.whl"
HTTPS = f"https://example.com/{BUILT}"
GIT = {"vcs": "git", "commit_id": "ab12"}


@pytest.mark.parametrize(
    ("said", "written", "advice"),
    [
        ({"url": HTTPS, "archive_info": {}}, f'{{ url = "{HTTPS}" }}', ""),
        ({"url": "https://example.com/f", "vcs_info": GIT},
         '{ git = "https://example.com/f", rev = "ab12" }', ""),
        ({"url": "FILE", "archive_info": {}}, f'{{ path = "wheels/{BUILT}" }}', "from the copy"),
        ({"url": "file:///gone/" + BUILT, "archive_info": {}}, "", "uv looks in"),
        ({"url": "https://me@example.com/f.whl", "archive_info": {}}, "", "uv looks in"),
        ({"url": "ssh://example.com/f", "vcs_info": GIT}, "", "uv looks in"),
        ({"url": "file:///checkout", "dir_info": {}}, "", "uv looks in"),
        (None, "", ""),
    ],
)  # fmt: skip
def test_where_it_came_from_is_written_where_others_can_use_it(
    said: dict[str, object] | None, written: str, advice: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = tmp_path / "my files" / BUILT
    file.parent.mkdir()
    file.write_bytes(b"a wheel")
    text = None if said is None else json.dumps(said).replace("FILE", file.as_uri())
    found = type("Found", (), {"read_text": staticmethod(lambda _: text)})
    monkeypatch.setattr(init, "distribution", lambda _: found)
    assert main(["init", str(tmp_path / "a")]) == OK
    project = tomllib.loads((tmp_path / "a" / "pyproject.toml").read_text("utf-8"))
    source = tomllib.loads(f"foresite = {written}") if written else None
    assert project["tool"]["uv"].get("sources") == source
    told = capsys.readouterr().out
    assert advice in told and (advice != "" or told.endswith("foresite check\n"))
    copy = tmp_path / "a" / "wheels" / BUILT
    assert copy.exists() is ("FILE" in str(said)) and (not copy.exists() or copy.read_bytes())


def test_a_preview_before_the_first_commit_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = Ours(tmp_path / "a", capsys, "--example")
    assert "this repository has no commit yet: make one" in ours.says(FAILED, "preview")


@pytest.mark.parametrize(
    ("there", "given", "said"),
    [
        ("echo mine > a", "a", "is a file: name a new folder, or an empty one"),
        ("mkdir a; echo mine > a/mine.txt", "a", "is not empty: it has mine.txt; name a new"),
        ("mkdir elsewhere; ln -s elsewhere a", "a", "is a link: name the folder itself"),
        ("ln -s nowhere a", "a", "is a link: name the folder itself"),
        ("git init -q", "a", "name a folder outside of it"),
        ("", "a/b", "make it first"),
        ("echo mine > a", "a/b", "make it first"),
        ("", "a\nb\x1b[31m", "choose another name"),
        ("", "x" * 300, "File name too long"),
    ],
)
def test_it_refuses_and_writes_nothing(
    there: str, given: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["sh", "-c", there], cwd=tmp_path, check=True)
    before = sorted(map(str, tmp_path.rglob("*")))
    assert main(["init", str(tmp_path / given)]) == FAILED
    shown = capsys.readouterr().err
    assert said in shown and "\x1b" not in shown and len(shown.splitlines()) == 1
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_root_makes_no_sense_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path), "init", str(tmp_path / "a")]) == FAILED
    assert "leave --root out" in capsys.readouterr().err
    assert main(["--root", str(tmp_path / "nowhere"), "check"]) == FAILED
    assert "no folder sites/" in capsys.readouterr().err


@pytest.mark.parametrize("clone", [False, True])
def test_a_failure_half_way_leaves_what_was_there(
    clone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a"
    if clone:
        Folder(folder)
    real, left = Path.rename, [3]

    def rename(path: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(28, "No space left on device")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr(init, "put", lambda fresh, _folder: rename(fresh, fresh / "x" / "y"))
    left[0] = 3 if clone else 1
    assert main(["init", str(folder)]) == FAILED
    assert [path.name for path in tmp_path.iterdir()] == (["a"] if clone else [])
    assert not clone or [path.name for path in folder.iterdir()] == [".git"]


@with_examples
def test_a_first_site_from_an_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = Ours(tmp_path / "a", capsys, "--format", "json")
    assert json.loads(capsys.readouterr().out)["files"] == list(tree(ours.root))
    assert "foresite new SITE --like lab-1" in ours.says(FAILED, "check")
    ours.says(OK, "new", "osaka-1", "--like", "tokyo-1")
    assert (ours.root / "sites" / "pod-network" / "flannel.yaml").exists()
    assert (ours.root / "regions" / "jp-east.yaml").exists()
    ours.says(FOUND, "check")
    known = "known: osaka-1; examples: lab-1, sapporo-1, tokyo-1, tsukuba-1"
    assert known in ours.says(FAILED, "new", "osaka-2", "--like", "tokyo-9")


def add_profile(made: Ours, name: str = "t4-ours") -> None:
    """A profile of one's own, in use by lab-1."""
    built_in = (ROOT / "schemas" / "catalogue" / "hardware.yaml").read_text("utf-8")
    entry = built_in[built_in.index("  t4-pcie-16gb-x1:") : built_in.index("  mncore2-x8:")]
    entry = entry.replace("t4-pcie-16gb-x1", name, 1)
    made.write("catalogue/hardware.yaml", f"hardware:\n{entry}")
    made.replace("sites/lab-1.yaml", "hardware: t4-pcie-16gb-x1", f"hardware: {name}")


def add_release(made: Ours, name: str) -> None:
    built_in = (ROOT / "schemas" / "catalogue" / "releases" / "2026.11.yaml").read_text("utf-8")
    assert 'release: "2026.11"' in built_in
    text = built_in.replace('release: "2026.11"', f'release: "{name}"', 1)
    made.write(f"catalogue/releases/{name}.yaml", text)


def test_a_catalogue_of_ones_own_adds_to_the_built_in_one(made: Ours) -> None:
    add_profile(made)
    add_release(made, "2026.11-ours")
    made.replace("sites/lab-1.yaml", 'release: "2026.11"', 'release: "2026.11-ours"')
    made.says(OK, "check")
    for path, place in (
        ("pools.lab.hardware.cpu_cores", "catalogue/hardware.yaml:4:"),
        ("release.cluster_api.core", "catalogue/releases/2026.11-ours.yaml:4:"),
    ):
        assert place in made.says(OK, "explain", "lab-1", path)
    made.commit()
    file = "catalogue/hardware.yaml"
    made.write(file, made.text(file).replace("pci-0000:", "pci-0001:"))
    shown = made.says(OK, "preview")
    assert "3 objects differ in lab-1" in shown and "edit: catalogue/hardware.yaml:7:" in shown


def test_what_no_site_takes_from_the_catalogue_is_judged_too(made: Ours) -> None:
    for name in ("hardware.yml", "profiles.yaml", "releases/a.yml", "releases/b.yaml", "a.txt"):
        made.write(f"catalogue/{name}", "a: b\n")
    made.write("catalogue/accelerators.yaml", "accelerators: []\n")
    found = json.loads(made.says(FOUND, "check", "--format", "json"))["problems"]
    assert {each["file"].removeprefix("catalogue/") for each in found} == {
        *("hardware.yml", "profiles.yaml", "releases/a.yml", "releases/b.yaml"),
        "accelerators.yaml",
    }


def test_a_catalogue_of_ones_own_replaces_nothing(made: Ours) -> None:
    add_profile(made, "cpu-1u")
    add_release(made, "2026.11")
    models = ROOT / "schemas" / "catalogue" / "accelerators.yaml"
    shutil.copy(models, made.root / "catalogue")
    shown = made.says(FOUND, "check", "tokyo-1")
    for place in (
        "catalogue/hardware.yaml:2:3: duplicate-name hardware.cpu-1u",
        "duplicate-name accelerators.v100-sxm2-32gb",
        "catalogue/releases/2026.11.yaml: duplicate-name",
    ):
        assert place in shown
    assert "fix: write another name here" in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('dependencies = ["foresite==9.9.9"]', "pyproject.toml:2:1: foresite-version"),
        ('dependencies = ["foresite>=0.1"]', "it locks no single version"),
        ('dependencies = ["foresite", "foresite==0.1.0"]', "it locks no single version"),
        ("[[", "it is no project file"),
        ("dependencies = 3", "it is no project file"),
        (b"\xff", "it is no project file"),
        (None, "is a link, and no link is followed"),
    ],
)
def test_another_version_than_the_locked_one_checks_applies_and_renders_nothing(
    text: str | bytes | None, said: str, made: Ours
) -> None:
    file = made.root / "pyproject.toml"
    file.unlink()
    if text is None:
        file.symlink_to("/etc/passwd")
    else:
        file.write_bytes(b"[project]\n" + (text.encode() if isinstance(text, str) else text))
    explain, job = ["explain", "lab-1", "site"], ["job", "lab-1"]
    for command in (["check", "lab-1"], ["render", "lab-1"], ["up", "lab-1"], explain, job):
        assert said in made.says(FOUND, *command)
    assert not (made.root / "rendered").exists()


@pytest.mark.parametrize("text", ["", '[project]\nname = "a"\ndependencies = ["foresite-x==1"]'])
def test_a_repository_that_locks_nothing_takes_any_version(text: str, made: Ours) -> None:
    made.write("pyproject.toml", text)
    made.says(OK, "check", "lab-1")


UV = """#!{python}
import pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--project") + 1])
assert "foresite==9.9.9" in (folder / "pyproject.toml").read_text()
python = folder / ".venv" / "bin" / "python"
python.parent.mkdir(parents=True)
python.write_text('''#!{python}
import sys
from preview.objects import lines
words = sys.argv[sys.argv.index("-c") + 2 :]
for line in lines(__import__("pathlib").Path(words[0]), words[1:]):
    print(line.replace('"maxPods": 110', '"maxPods": 99').replace("maxPods: 110", "maxPods: 99"))
''')
python.chmod(0o755)
"""
"""Stands for uv, and for a version of Foresite that starts kubelets otherwise."""


def test_the_preview_of_an_upgrade_has_each_version_make_its_own_state(
    made: Ours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.replace("pyproject.toml", f"=={version()}", "==9.9.9")
    shown = made.says(FOUND, "preview", "--fail-on", "unknown")
    assert f"pyproject.toml (Foresite {version()} → 9.9.9)" in shown and "--code each" in shown
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "install uv" in made.says(FAILED, "preview", "--base", "main", "--code", "each")
    uv = tmp_path / "uv"
    uv.write_text(UV.format(python=sys.executable))
    uv.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(uv))
    shown = made.says(OK, "preview", "--code", "each", "lab-1")
    assert shown.startswith("Re-images 3 of 3 hosts in lab-1")
    assert "each side is made by its own code" in shown and "110 → 99" in shown


def test_a_preview_by_a_version_that_neither_side_locks_is_refused(made: Ours) -> None:
    made.replace("pyproject.toml", f"=={version()}", "==9.9.9")
    made.commit()
    said = made.says(FAILED, "preview", "--base", "HEAD")
    assert f"this is Foresite {version()}, and" in said


def test_one_version_with_other_digests_is_not_taken_for_the_same(made: Ours) -> None:
    made.write("uv.lock", '[[package]]\nname = "foresite"\nwheels = [{hash = "sha256:1"}]\n')
    made.says(OK, "preview")  # the base has no uv.lock: it comes with this change
    made.commit()
    made.replace("uv.lock", "sha256:1", "sha256:2")
    for code in ("this", "each"):
        said = made.says(FAILED, "preview", "--base", "HEAD", "--code", code)
        assert "lock another version" in said
    made.write("uv.lock", "[[")
    made.says(FAILED, "preview", "--base", "HEAD")


WHEEL = """
[[package]]
name = "foresite"
source = {{ url = "https://good.example/foresite-{0}.whl" }}
[[package]]
name = "pyyaml"
version = "6.0.1"
source = {{ registry = "https://pypi.org/simple" }}
wheels = [{{ url = "https://files.example/a.whl", hash = "sha256:1" }}]
"""
PYPI, EVIL = "https://pypi.org/simple", "https://evil.example"


def preview_of(made: Ours, file: str = "") -> str:
    """What the gate ``unknown`` says when each side is made by its own code; it is closed for
    ``file`` and the like, if that is named."""
    made.commit()
    ends = ("--base", "HEAD~1", "--head", "HEAD", "--code", "each", "--fail-on", "unknown")
    shown = made.says(FOUND if file else OK, "preview", *ends)
    assert ("Blocked by the gate" in shown) is bool(file) and file in shown
    return shown


RUN = [
    "__main__.py", "policies/pack/__main__.py", "foresite/program.py", "pydantic.py", "uv.toml",
    "schemas/catalogue/hardware.yaml", "docs/conf.py", "rendered/lab-1/__init__.py", "docs/plugin",
    "requirements.txt", "extra.yaml", "Pulumi.lab-1.yaml", ".gitlab-ci.yml.py",
]  # fmt: skip
READ = [
    "sites/notes.md", "docs/a.md", "docs/plan.svg", "racks.csv", ".gitlab-ci.yml",
    ".gitlab/foresite.yml", "rendered/lab-1/lab-1/objects.yaml",
]  # fmt: skip


@pytest.mark.parametrize("file", RUN + READ)
def test_what_pulumi_runs_is_unknown_whoever_makes_the_objects(file: str, made: Ours) -> None:
    made.write(".gitignore", "")  # some commit what they rendered
    made.write(file, "raise SystemExit(0)" if file.endswith(".py") else "a: {}")
    shown = preview_of(made, file if file in RUN else "")
    assert file in RUN or "Nothing" in shown


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("__main__.py", "open('rendered/a.yaml')"),
        ("policies/pack/__main__.py", "open('rendered/a.yaml')"),
        ("Pulumi.yaml", "name: a\nruntime: yaml\nmain: rendered\n"),
        ("Pulumi.yaml", "name: a\nruntime:\n  name: python\nmain: rendered\n"),
        ("Pulumi.yaml", "name: a\nruntime:\n  name: python\nbackend: {url: 'file://rendered'}\n"),
    ],
)
def test_what_a_program_of_ones_own_may_read_is_unknown(file: str, text: str, made: Ours) -> None:
    made.write(file, text)
    made.write(".gitignore", "")
    made.commit()
    for name in ("rendered/a.yaml", "docs/a.csv"):
        made.write(name, "kind: Cluster")
    assert "docs/a.csv" in preview_of(made, "rendered/a.yaml")


def test_a_project_with_another_name_runs_what_init_wrote(made: Ours) -> None:
    made.replace("Pulumi.yaml", "name: foresite", "# ours\nname: gpu-sites")
    made.commit()
    made.write("racks.csv", "a")
    assert "Nothing" in preview_of(made)


@pytest.mark.parametrize(
    ("upgrade", "change", "told"),
    [
        (False, ("6.0.1", "6.0.9"), "uv.lock (pyyaml)"),
        (False, ("sha256:1", "sha256:2"), "uv.lock (pyyaml)"),
        (False, (PYPI, EVIL), "uv.lock (pyyaml)"),
        (False, ("package = false", f'index-url = "{EVIL}"'), "pyproject.toml (libraries)"),
        (True, ("6.0.1", "6.0.9"), ""),
        (True, (PYPI, EVIL), "uv.lock (pyyaml)"),
        (True, ("https://files.example", EVIL), "uv.lock (pyyaml)"),
        (True, ("https://good.example", EVIL), "uv.lock (foresite)"),
        (True, ("package = false", f'index-url = "{EVIL}"'), "pyproject.toml (libraries)"),
    ],
)
def test_other_libraries_are_unknown_and_those_from_elsewhere_are_not_run(
    upgrade: bool, change: tuple[str, str], told: str, made: Ours, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.write("uv.lock", WHEEL.format(version()))
    made.commit()
    made.write("uv.lock", WHEEL.format("9.9.9" if upgrade else version()))
    if upgrade:
        made.replace("pyproject.toml", f"=={version()}", "==9.9.9")
    for name in ("uv.lock", "pyproject.toml"):
        made.write(name, made.text(name).replace(*change))
    ran: list[str] = []
    monkeypatch.setattr("foresite.othercode._run_locked", lambda side, _: ran.append(side.label))
    monkeypatch.setattr("foresite.othercode._parse", lambda *_: None)
    preview_of(made, told)
    assert len(ran) == (0 if told else 1)


@pytest.mark.parametrize("at_head", [True, False])
def test_packages_in_the_repository_come_along_and_variables_do_not(
    at_head: bool, made: Ours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.write("uv.lock", '[[package]]\nname = "a"\nsource = { editable = "acme" }\n')
    made.write("acme/code.py", "its code")
    made.commit()
    python = f'#!{shutil.which("sh")}\ncd "$(dirname $0)/../.."; cat acme/code.py; env'
    uv = tmp_path / "uv"
    uv.write_text(
        f"#!{shutil.which('sh')}\nfor last; do :; done; mkdir -p $last/.venv/bin\n"
        f"cat > $last/.venv/bin/python <<'E'\n{python}\nE\nchmod +x $last/.venv/bin/python\n"
    )
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    done = _run_locked(at(made.root, "HEAD") if at_head else work_tree(made.root), [])
    assert "its code" in done.stdout and "canary" not in done.stdout, done


def test_nothing_beside_the_program_stands_in_for_foresite(made: Ours) -> None:
    for folder in (made.root, made.root / "policies" / "pack"):
        for name in ("foresite", "pathlib"):
            (folder / f"{name}.py").write_text("raise SystemExit('evil')")
        (folder / "probe.py").write_text(
            (folder / "__main__.py").read_text("utf-8").split("from pathlib")[0]
            + "import foresite, pathlib\nprint(foresite.PARTS)"
        )
        done = subprocess.run(
            [sys.executable, "probe.py"], cwd=folder, check=False, capture_output=True
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_built_in_catalogue_cannot_be_replaced(made: Ours) -> None:
    copy = made.root / "schemas" / "catalogue"
    shutil.copytree(ROOT / "schemas" / "catalogue", copy)
    for release in (copy / "releases").glob("*.yaml"):
        release.write_text(release.read_text("utf-8").replace("sha256: d", "sha256: e", 1))
    for command in ("check", "render"):
        assert "schemas/catalogue: duplicate-name" in made.says(FOUND, command, "lab-1")
    assert "re-image" not in preview_of(made, "schemas/catalogue").lower()
