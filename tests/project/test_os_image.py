"""The contract of OS images: a script tells good roots from bad ones, and the recipe fits it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from schemas.reading.catalogue import load_release
from tests.kit.repository import ROOT

FOLDER = ROOT / "images" / "os"
SCRIPT = FOLDER / "contract.sh"
PAGE = (ROOT / "docs" / "os-image.md").read_text("utf-8")
ALL = ("-d", "xfs", "-m", "-c", "-6", "-g")
KUBELET = b"\x7fELF" + bytes(14) + b"\x3e\x00 gitVersion=v1.34.3"
DATA = yaml.safe_load(Path(__file__).with_name("os_image.yaml").read_text("utf-8"))


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A made-up root that fulfils the contract, as Debian lays it out."""
    root = tmp_path / "a root"
    (root / "usr" / "bin").mkdir(parents=True)
    (root / "bin").symlink_to("usr/bin")
    for name in DATA["programs"]:
        (root / "usr" / "bin" / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    for name in ("kubelet", "kubeadm"):
        (root / "usr" / "bin" / name).write_bytes(KUBELET)
    for path in (root / "usr" / "bin").iterdir():
        path.chmod(0o755)
    for name, text in DATA["files"].items():
        write(root, name, text)
    (root / "etc" / "systemd" / "system").mkdir(parents=True)
    (root / "etc" / "systemd" / "system" / "nvidia-imex.service").symlink_to("/dev/null")
    return root


def write(root: Path, name: str, text: str | None) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).unlink(missing_ok=True) if text is None else (root / name).write_text(text)


def judge(root: Path, *options: str, shell: str = "sh") -> tuple[int, str]:
    command = [shell, str(SCRIPT), "-k", "v1.34.3", *(options or ALL), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_good_root_fulfils_the_contract_and_is_not_touched(image: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    before = {path: path.lstat().st_mtime_ns for path in image.rglob("*")}
    done = judge(image, shell=shell)
    assert done[0] == 0 and "broken" not in done[1], done[1]
    assert {path: path.lstat().st_mtime_ns for path in image.rglob("*")} == before
    assert not (image.parent / "ran").exists()
    for name in re.findall(r"^ok +(.*)$", done[1], re.MULTILINE):
        assert f"| {name} |" in PAGE, f"docs/os-image.md does not name {name}"


def rounds() -> list[dict[str, tuple[str, str | None]]]:
    """The breaches by check, in as few roots as have one of each check."""
    found: list[dict[str, tuple[str, str | None]]] = []
    for name, text, check in DATA["breaches"]:
        free = next((each for each in found if check not in each), None)
        if free is None:
            found.append(free := {})
        free[check] = (name, text)
    return found


@pytest.mark.parametrize("breaches", rounds(), ids=len)
def test_each_breach_is_named(image: Path, breaches: dict[str, tuple[str, str | None]]) -> None:
    for name, text in breaches.values():
        write(image, name, text)
    code, said = judge(image)
    broken = re.findall(r"^broken +([^:]*):", said, re.MULTILINE)
    assert code == 1 and sorted(broken) == sorted(breaches), said
    assert "\x1b" not in said


def test_what_is_not_seen_is_not_fulfilled(image: Path) -> None:
    shutil.rmtree(image / "boot")
    code, said = judge(image)
    assert code == 2 and "not known EFI boot" in said
    code, said = judge(image, "-a", "arm64")
    assert code == 1 and said.count("no program for arm64") == 2


def test_a_host_that_has_run_and_an_account_of_the_build_are_let_pass(image: Path) -> None:
    write(image, "etc/machine-id", "0123456789abcdef")
    assert judge(image, "-r")[0] == 0
    write(image, "etc/machine-id", "")
    write(image, "etc/shadow", "builder:$6$x$y:20000:0:99999:7:::\n")
    assert (judge(image)[0], judge(image, "-b", "builder")[0]) == (1, 0)


def test_links_do_not_lead_out_of_the_root(image: Path) -> None:
    outside = image.parent / "outside"
    outside.write_text("/dev/sda2 none swap sw 0 0\n")
    for target in (outside, "../../../outside", "fstab"):
        write(image, "etc/fstab", None)
        (image / "etc" / "fstab").symlink_to(target)
        assert judge(image)[0] == 0  # no file, no swap
    write(image, "etc/fstab", None)
    (image / "etc" / "fstab").symlink_to("/etc/swap")
    write(image, "etc/swap", "/dev/sda2 none swap sw 0 0\n")
    assert judge(image)[0] == 1


def test_a_wrong_call_says_how_to_call_it() -> None:
    for words in ([], ["-k", "1.34", "/"], ["-k", "v1.34.3", "/nowhere"], ["-x", "/"]):
        done = subprocess.run(["sh", SCRIPT, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "contract.sh [OPTION]... ROOT" in done.stderr


def test_the_recipe_is_of_a_release_and_has_its_roles() -> None:
    told = json.loads((FOLDER / "ubuntu-24.04.json").read_text("utf-8"))
    release, _ = load_release("2026.11")
    version = told["kubernetes_semver"]
    assert release and version in release.operating_systems["ubuntu-24.04"].images
    assert told["kubernetes_deb_version"].startswith(f"{version[1:]}-")
    assert version.rpartition(".")[0] == told["kubernetes_series"]
    assert told["crictl_version"].startswith(f"{told['kubernetes_series'][1:]}.")
    roles = {told["node_custom_roles_post"], told["node_custom_roles_post_sysprep"]}
    assert roles == {path.name for path in (FOLDER / "roles").iterdir()}
    for role in roles:
        assert yaml.safe_load((FOLDER / "roles" / role / "tasks" / "main.yml").read_text("utf-8"))


@pytest.mark.parametrize("linter", [("ansible-lint", "--offline", "roles"), ("shellcheck", SCRIPT)])
def test_linters_find_nothing(linter: tuple[str, ...]) -> None:
    if shutil.which(linter[0]) is None:
        pytest.skip(f"{linter[0]} is not installed")
    done = subprocess.run(linter, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
