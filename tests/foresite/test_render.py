"""``foresite render``: the same bytes anywhere, exactly the objects, all of a folder or none."""

import errno
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from components.making.manifest import Manifest, Target
from components.site import site_objects
from foresite.cli import main
from foresite.command import FAILED, FOUND, OK
from foresite.commands import render
from tests.golden import every_site
from tests.kit.repository import FLEET, ROOT, copy_sites

MEASURED = ("lab-1", "tokyo-1")
COMPARED = "argocd.argoproj.io/compare-options"
"""What leaves an Application in sync once an object is no longer made."""


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path, but for Git's own."""
    files = ((path.relative_to(folder), path) for path in sorted(folder.rglob("*")))
    return {
        name.as_posix(): path.read_bytes()
        for name, path in files
        if path.is_file() and ".git" not in name.parts
    }


def rendered(out: Path, *sites: str, root: Path = FLEET) -> int:
    return main(["--root", str(root), "render", *sites, "--out", str(out)])


def process(
    arguments: list[str], code: Path = ROOT, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """A fresh interpreter that runs the checkout in ``code``, with little else around it."""
    inherited = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    return subprocess.run(
        [sys.executable, "-m", "foresite", *arguments],
        cwd=cwd,
        env={"PYTHONPATH": str(code), "PYTHONDONTWRITEBYTECODE": "1", **inherited, **environment},
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of lab-1 and tokyo-1, rendered in this process."""
    out = tmp_path_factory.mktemp("expected") / "out"
    assert rendered(out, *MEASURED) == OK
    return tree(out)


# --- the same bytes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "locale", "zone"),
    [("0", "C", "UTC"), ("1", "en_US.UTF-8", "Asia/Tokyo"), ("77", "tr_TR.UTF-8", "Pacific/Apia")],
)
def test_hash_seed_locale_time_zone_and_directory_change_no_byte(
    expected: dict[str, bytes], tmp_path: Path, seed: str, locale: str, zone: str
) -> None:
    done = process(
        ["--root", str(FLEET), "render", *MEASURED, "--out", "here"],
        cwd=tmp_path,
        PYTHONHASHSEED=seed,
        LC_ALL=locale,
        LANG=locale,
        TZ=zone,
    )
    assert (done.returncode, done.stderr) == (OK, b"")
    assert tree(tmp_path / "here") == expected


def test_another_checkout_gives_the_same_bytes(expected: dict[str, bytes], tmp_path: Path) -> None:
    checkout = tmp_path / "a checkout, elsewhere"
    code = ("components", "foresite", "policies", "preview", "schemas")
    shutil.copytree(FLEET, checkout)
    for folder in code:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, checkout / folder, ignore=ignored)
    below = checkout / "sites" / "certificates"
    done = process(["render", *reversed(MEASURED), "--out", str(tmp_path / "o")], checkout, below)
    assert (done.returncode, done.stderr) == (OK, b"")
    assert tree(tmp_path / "o") == expected


def test_a_locale_without_unicode_changes_no_byte(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests" / "golden" / "sites", tmp_path / "sites")
    manifests = tmp_path / "sites" / "brought" / "pod-network.yaml"
    text = manifests.read_text("utf-8").replace("mtu = 9000", "mtu = 9000  # größer")
    manifests.write_text(text, encoding="utf-8")
    assert rendered(tmp_path / "one", root=tmp_path) == OK
    done = process(
        ["--root", str(tmp_path), "render", "--out", str(tmp_path / "two")],
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        LC_ALL="C",
    )
    assert (done.returncode, done.stderr) == (OK, b"")
    assert tree(tmp_path / "two") == tree(tmp_path / "one")
    assert "größer".encode() in tree(tmp_path / "two")["edge-1/site/pod-network/configmap.yaml"]


def test_what_is_rendered_names_no_place(expected: dict[str, bytes]) -> None:
    everything = b"".join(expected.values())
    assert str(ROOT).encode() not in everything


# --- what is written ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(every_site()))
def test_files_hold_exactly_the_objects(name: str) -> None:
    site = every_site()[name]
    objects = site_objects(site)
    files = render.files_of(site, objects)
    index = json.loads(files.pop(render.INDEX))
    assert index["files"].keys() == files.keys()
    left = [(m.target, component, m.body) for component, made in objects.items() for m in made]
    kept = {m.key for made in objects.values() for m in made if m.keep}
    for path, text in files.items():
        assert text.endswith("\n")
        assert index["files"][path]["sha256"] == hashlib.sha256(text.encode()).hexdigest()
        cluster, component, file = path.split("/")
        documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
        assert index["files"][path]["objects"] == len(documents)
        for body in documents:
            assert file == f"{body['kind'].lower()}.yaml"
            found = Manifest("", body, Target(cluster))
            compared = body["metadata"].get("annotations", {}).pop(COMPARED, None)
            assert compared == ("IgnoreExtraneous" if found.key in kept else None)
            left.remove((found.target, component, body))
    assert not left


def test_the_report_counts_what_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rendered(tmp_path, "lab-1") == OK
    said = capsys.readouterr().out
    count = sum(len(made) for made in site_objects(every_site()["lab-1"]).values())
    assert f"{tmp_path / 'lab-1'}: {count} objects" in said
    arguments = [
        "--root",
        str(FLEET),
        "render",
        "lab-1",
        "--out",
        str(tmp_path),
        "--format",
        "json",
    ]
    assert main(arguments) == OK
    report = json.loads(capsys.readouterr().out)
    assert set(report["sites"]["lab-1"]) == tree(tmp_path / "lab-1").keys()


def test_all_sites_are_rendered_where_none_is_named(tmp_path: Path) -> None:
    assert rendered(tmp_path) == OK
    there = {path.name for path in tmp_path.iterdir()}
    assert there == {path.stem for path in (FLEET / "sites").glob("*.yaml")}


# --- a folder as a whole or not at all ------------------------------------------------------------


def test_what_an_earlier_render_left_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    for name in ("a/b/old.yaml", "a/new.yaml"):
        render._put(render._own_folder(folder), {name: "text\n", render.INDEX: index_of(name)})
    assert tree(folder).keys() == {"a/new.yaml", render.INDEX}
    assert not (folder / "a" / "b").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def index_of(*files: str) -> str:
    return json.dumps({"site": "x", "release": "x", "files": {path: {} for path in files}})


def add(name: str, text: str = "mine") -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    return fill


def render_and_add(folder: Path) -> None:
    assert rendered(folder.parent, "lab-1") == OK
    add("management/machines/kustomization.yaml")(folder)


@pytest.mark.parametrize(
    "fill",
    [
        add("notes.txt"),
        add(".git/HEAD"),
        add(render.INDEX, "{}"),
        add(render.INDEX, "[1]"),
        add(render.INDEX, "no json"),
        add(render.INDEX, '{"files": {"index.json": 1}}'),
        render_and_add,
        lambda folder: (folder / "link").symlink_to("nowhere"),
    ],
    ids=["file", "hidden", "map", "list", "text", "other index", "beside ours", "link"],
)
def test_a_folder_with_files_of_others_is_refused_and_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fill: Callable[[Path], None]
) -> None:
    folder = tmp_path / "lab-1"
    folder.mkdir()
    fill(folder)
    before = tree(folder)
    assert rendered(tmp_path, "lab-1") == FAILED
    assert "render wrote" in capsys.readouterr().err
    assert tree(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["lab-1"]


def test_a_file_where_a_folder_belongs_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert rendered(out, "lab-1") == FAILED
        said = capsys.readouterr().err
        assert f"{tmp_path / 'file'} is there and is no folder; name a folder for" in said


def test_an_empty_folder_and_a_folder_of_an_earlier_render_are_taken(tmp_path: Path) -> None:
    (tmp_path / "lab-1" / "left over").mkdir(parents=True)
    assert rendered(tmp_path, "lab-1") == OK
    first = tree(tmp_path)
    (tmp_path / "lab-1" / "management" / "machines" / "cluster.yaml").write_text("edited")
    assert rendered(tmp_path, "lab-1") == OK
    assert tree(tmp_path) == first


def fails(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupts(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("failure", "code"), [(fails, FAILED), (interrupts, 130)])
@pytest.mark.parametrize("call", [0, 1, 2, 3, 4])
def test_a_failure_half_way_leaves_the_old_folder_whole(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: Callable[..., None],
    code: int,
    call: int,
) -> None:
    assert rendered(tmp_path, "lab-1") == OK
    (tmp_path / "lab-1" / "management" / "machines" / "cluster.yaml").write_text("before")
    before, done = tree(tmp_path), 0

    def at(real: Callable[..., object]) -> Callable[..., object]:
        def fake(*given: object, **named: object) -> object:
            nonlocal done
            done += 1
            if done > call:
                monkeypatch.undo()  # what is tried next, to tidy up, works
                failure()
            return real(*given, **named)

        return fake

    if call < 3:
        monkeypatch.setattr(Path, "write_text", at(Path.write_text))
    else:
        done = 3
        monkeypatch.setattr(os, "replace", at(os.replace))
    assert rendered(tmp_path, "lab-1") == code
    assert tree(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["lab-1"]


def test_a_full_disk_leaves_the_old_folder_whole(tmp_path: Path) -> None:
    assert rendered(tmp_path, "lab-1") == OK
    before = tree(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "foresite", "render", "lab-1", "--out", str(tmp_path)],
        cwd=FLEET,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (FAILED, "")
    assert done.stderr == "foresite: File too large\n"
    assert tree(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["lab-1"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_may_not_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert rendered(tmp_path, "lab-1") == FAILED
    assert not list(tmp_path.iterdir())


def test_an_out_that_is_a_file_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "lab-1").write_text("mine")
    for out in (tmp_path, tmp_path / "file", tmp_path / "file" / "below"):
        assert rendered(out, "lab-1") == FAILED
        assert capsys.readouterr().err.startswith("foresite: ")
    assert {path.read_text() for path in tmp_path.iterdir()} == {"mine"}


def test_a_linked_folder_is_replaced_where_it_lies(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "lab-1").symlink_to(real)
    for _ in range(2):  # first the link leads nowhere, then to what the first render wrote
        assert rendered(tmp_path / "out", "lab-1") == OK
        assert (tmp_path / "out" / "lab-1").is_symlink()
        assert (real / render.INDEX).is_file()
        assert {path.name for path in tmp_path.iterdir()} == {"out", "real"}
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["lab-1"]


def test_a_link_to_itself_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lab-1").symlink_to("lab-1")
    assert rendered(tmp_path, "lab-1") == FAILED
    assert capsys.readouterr().err.startswith("foresite: ")
    assert [path.name for path in tmp_path.iterdir()] == ["lab-1"]


# --- problems -------------------------------------------------------------------------------------


def test_nothing_is_written_where_one_site_has_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_sites(tmp_path)
    file = tmp_path / "sites" / "lab-1.yaml"
    file.write_text(file.read_text().replace("port", "prot").replace("ntp", "npt"))
    out = tmp_path / "out"
    assert rendered(out, root=tmp_path) == FOUND
    assert "sites/lab-1.yaml:" in capsys.readouterr().out
    assert not out.exists()
    assert main(["--root", str(tmp_path), "render", "--out", str(out), "--format", "json"]) == FOUND
    assert json.loads(capsys.readouterr().out)["problems"]
    assert not out.exists()
    # The other sites are as good as before.
    assert rendered(out, "tsukuba-1", root=tmp_path) == OK


def test_objects_that_the_schemas_refuse_are_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "tests" / "golden" / "sites", tmp_path / "sites")
    manifests = tmp_path / "sites" / "brought" / "pod-network.yaml"
    text = manifests.read_text().replace("hostNetwork: yes", "hostNetwork: 2026-11-21")
    manifests.write_text(text.replace("emptyDir:", "emptyDri:"))
    assert rendered(tmp_path / "out", root=tmp_path) == FOUND
    said = capsys.readouterr().out
    assert "object-invalid" in said
    assert "emptyDri" in said
    assert "hostNetwork" in said
    assert not (tmp_path / "out").exists()


def test_objects_that_overwrite_each_other_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "tests" / "golden" / "sites", tmp_path / "sites")
    for path in (tmp_path / "sites" / "edge-1.yaml", tmp_path / "sites" / "edge-1.hosts.csv"):
        text = path.read_text().replace("name: disk\n", "name: gpu-a\n")
        path.write_text(text.replace(",disk,", ",gpu-a,"))
    assert rendered(tmp_path / "out", root=tmp_path) == FOUND
    said = capsys.readouterr().out
    assert "gpu-a" in said
    assert "object-invalid" not in said
    assert not (tmp_path / "out").exists()
