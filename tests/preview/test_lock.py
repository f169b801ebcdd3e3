"""What counts as code: files of packages that the repository itself installs."""

from pathlib import Path

import pytest

from preview.states import lock
from preview.states.snapshot import Snapshot, at, work_tree
from tests.kit.preview_repository import Repository

PROJECT = """[project]
name = "sites"
dependencies = ["foresite==0.1.0"]
[tool.uv.sources]
acme = {path = "FOLDER"}
[dependency-groups]
GROUP = ["acme"]
"""
LOCK = """[[package]]
name = "acme"
source = {KIND = "FOLDER"}
"""


def _changes(
    monkeypatch: pytest.MonkeyPatch, texts: tuple[dict[str, str], dict[str, str]], *changed: str
) -> list[str]:
    sides = Snapshot.__new__(Snapshot), Snapshot.__new__(Snapshot)
    by_id = dict(zip(map(id, sides), texts, strict=True))

    def lock_file(side: Snapshot, name: str) -> bytes:
        return by_id[id(side)].get(name, "").encode()

    monkeypatch.setattr(lock, "lock_file", lock_file)
    monkeypatch.setattr(lock, "_runs_foresite", lambda _: True)
    monkeypatch.setattr(lock, "_prefix", lambda _, path: f"{path}/")
    return lock.program_changes(*sides, changed)


def _texts(folder: str, kind: str = "directory", group: str = "lint") -> dict[str, str]:
    project = PROJECT.replace("FOLDER", folder).replace("GROUP", group)
    return {
        "pyproject.toml": project,
        "uv.lock": LOCK.replace("FOLDER", folder).replace("KIND", kind),
    }


@pytest.mark.parametrize("kind", ["directory", "editable"])
@pytest.mark.parametrize(
    ("folder", "file"),
    [
        ("sites/acme", "sites/acme/acme/__init__.py"),
        ("./.github/acme", ".github/acme/a.py"),
        ("acme", "acme/acme/pools.csv"),
        ("docs/acme", "docs/acme/crds.yaml"),
        ("acme", "acme/notes.md"),
    ],
)
def test_each_file_of_a_package_in_the_repository_is_code(
    monkeypatch: pytest.MonkeyPatch, folder: str, file: str, kind: str
) -> None:
    both = _texts(folder, kind), _texts(folder, kind)
    assert _changes(monkeypatch, both, file, "sites/a.yaml", "rack.csv") == [file]


@pytest.mark.parametrize("folder", ["acme", "linked/acme"])
def test_files_behind_a_link_may_be_of_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    monkeypatch.setattr(lock, "_runs_foresite", lambda _: True)
    repository = Repository(tmp_path)
    for name, text in _texts(folder).items():
        repository.write(name, text)
    repository.write("libs/acme/pools.csv", "a\n")
    link, target = ("acme", "libs/acme") if folder == "acme" else ("linked", "libs")
    (tmp_path / link).symlink_to(target)
    before = at(tmp_path, repository.commit("a package"))
    repository.write("libs/acme/pools.csv", "b\n")
    for after in (work_tree(tmp_path), at(tmp_path, repository.commit("another"))):
        changed = ["libs/acme/pools.csv"]
        assert lock.program_changes(before, after, changed) == changed
    (tmp_path / link).unlink()
    after = work_tree(tmp_path)
    assert lock.program_changes(after, after, changed) == []


def test_another_group_of_libraries_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    both = _texts("acme"), _texts("acme", group="dev")
    assert _changes(monkeypatch, both, "pyproject.toml") == ["pyproject.toml (libraries)"]


def test_how_rings_wait_is_data_and_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each change for Argo CD has another tag in fleet.yaml: all would be ``unknown``."""
    both = _texts("acme"), _texts("acme")
    assert _changes(monkeypatch, both, "fleet.yaml", "acme/fleet.yaml") == ["acme/fleet.yaml"]
