"""What counts as code: files of packages that the repository itself installs."""

import pytest

from preview.states import lock
from preview.states.snapshot import Snapshot

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


def test_another_group_of_libraries_is_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    both = _texts("acme"), _texts("acme", group="dev")
    assert _changes(monkeypatch, both, "pyproject.toml") == ["pyproject.toml (libraries)"]
