"""``foresite chart``: what helm renders is kept with a lock, or refused with what to set."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bench.runs import built_tools
from foresite.cli import main
from foresite.command import FAILED, OK
from tests.kit.charts import CHART, FOLDER
from tests.kit.repository import ROOT

Run = Callable[..., int]
ADD = ("add", "network", "--chart", str(CHART), "--version", "1.2.0", "--kube-version", "1.34.3")
SPACE = ("--namespace", "kube-system")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sites").mkdir()
    return tmp_path


@pytest.fixture
def helm(tmp_path: Path) -> Callable[[str], str]:
    """A stand-in for helm that renders a shell command's output."""

    def write(command: str) -> str:
        program = tmp_path / "helm"
        program.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo v4.2.0 && exit\n{command}\n')
        program.chmod(0o755)
        return str(program)

    return write


def chart(root: Path, *words: str) -> int:
    return main(["--root", str(root), "chart", *words])


@pytest.mark.go
def test_the_real_helm_gives_the_committed_bytes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = built_tools().get("helm")
    if program is None:
        pytest.skip("helm is not built: python -m tools.toolchain ensure rivals")
    monkeypatch.chdir(ROOT)
    values = FOLDER / "values.yaml"
    words = (*ADD[:3], "tests/kit/charts/network", *ADD[4:], *SPACE)
    assert chart(root, *words, "--values", str(values), "--helm", str(program)) == OK
    made = root / "sites" / "charts" / "network"
    for name in ("chart.lock.yaml", "values.yaml", "rendered.yaml"):
        assert (made / name).read_bytes() == (FOLDER / name).read_bytes()
    assert chart(root, "update", "network", "--helm", str(program)) == OK
    assert (made / "rendered.yaml").read_bytes() == (FOLDER / "rendered.yaml").read_bytes()


@pytest.mark.go
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ("tls: {method: helm}", "Secret/cilium-ca is a Secret"),
        ("tls: {method: random}", "ConfigMap/token is another at each render"),
        ("{tls: {method: none}, hooks: true}", "hooks of helm, which nobody would run: Job/before"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_what_to_set(
    root: Path, capsys: pytest.CaptureFixture[str], values: str, told: str
) -> None:
    program = built_tools().get("helm")
    if program is None:
        pytest.skip("helm is not built: python -m tools.toolchain ensure rivals")
    (root / "v.yaml").write_text(values)
    words = (*ADD, *SPACE, "--values", str(root / "v.yaml"), "--helm", str(program))
    assert chart(root, *words) == FAILED
    assert told in capsys.readouterr().err
    assert not (root / "sites" / "charts").exists()
    if "hooks" in values:
        assert chart(root, *words, "--without-hooks") == OK
        lock = yaml.safe_load((root / "sites/charts/network/chart.lock.yaml").read_text())
        assert lock["hooks"] == ["Job/before"]


OBJECT = "echo 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}'"


def test_objects_get_the_namespace_of_the_release(root: Path, helm: Callable[[str], str]) -> None:
    assert chart(root, *ADD, "--helm", helm(OBJECT)) == OK
    folder = root / "sites" / "charts" / "network"
    (body,) = yaml.safe_load_all((folder / "rendered.yaml").read_text())
    assert body["metadata"] == {"name": "a", "namespace": "network"}
    assert chart(root, *ADD, "--helm", helm(OBJECT)) == FAILED  # it is there already
    assert chart(root, "update", "network", "--version", "1.3.0", "--helm", helm(OBJECT)) == OK
    lock = yaml.safe_load((folder / "chart.lock.yaml").read_text())
    assert (lock["version"], lock["kube_version"]) == ("1.3.0", "1.34.3")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo 'a: [' ", "of what helm renders"),
        ("echo '- a'", "of what helm renders"),
        ("echo 'a: 1\na: 2'", "the key is here a second time"),
        ("echo broken >&2; exit 1", "helm template fails: broken"),
        (f"{OBJECT}; date +%N | sed 's/^/data: {{t: x/; s/$/}}/'", "is another at each render"),
    ],
)
def test_what_helm_says_wrong_is_told(
    root: Path, helm: Callable[[str], str], capsys: pytest.CaptureFixture[str], command: str,
    told: str,
) -> None:  # fmt: skip
    assert chart(root, *ADD, "--helm", helm(command)) == FAILED
    assert told in capsys.readouterr().err


def test_without_helm_a_lock_or_a_name_nothing_is_written(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    for words, told in (
        (ADD, "helm is not there"),
        (("update", "network"), "cannot be read"),
        (("add", "../x", *ADD[2:]), "is no name"),
        (ADD[:4], "say --version"),
        (("add", "network", "--chart=-x", *ADD[4:]), "say --chart"),
    ):
        assert chart(root, *words) == FAILED
        assert told in capsys.readouterr().err
    assert [*(root / "sites").iterdir()] == []
