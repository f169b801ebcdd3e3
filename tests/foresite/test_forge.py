"""Links to the forge: from CI's variables or the remote, and never with a password in them."""

from pathlib import Path

import pytest

from foresite.forge import forge
from preview.forge import Forge
from preview.states.snapshot import at, work_tree
from tests.kit.preview_repository import Repository


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "GITEA_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    return Repository(tmp_path / "clone")


def pages(repository: Repository) -> tuple[str, str]:
    """The pages of both states, the commit left open."""
    base = at(repository.root, "HEAD")
    found = forge(repository.root, base, base)
    return tuple(each.replace(str(base.commit), "COMMIT") for each in found)  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("remote", "page"),
    [
        ("https://github.com/o/n.git", "https://github.com/o/n/blob/COMMIT/"),
        ("git@github.com:o/n.git", "https://github.com/o/n/blob/COMMIT/"),
        ("ssh://git@gitlab.com:22/g/s/n", "https://gitlab.com/g/s/n/-/blob/COMMIT/"),
        ("https://me:secret@gitlab.example:8443/g/n", "https://gitlab.example:8443/g/n/-/blob/COMMIT/"),
        ("https://codeberg.org/o/n.git", "https://codeberg.org/o/n/src/commit/COMMIT/"),
        ("https://code.example/o/n", ""),
        ("/srv/git/n.git", ""),
        ("https://github.com/o/n'onclick=x", ""),
    ],
)  # fmt: skip
def test_a_remote_leads_to_its_pages(repository: Repository, remote: str, page: str) -> None:
    repository.git("remote", "add", "origin", remote)
    assert pages(repository) == (page, page)


def test_without_a_remote_there_is_no_page(repository: Repository) -> None:
    assert pages(repository) == ("", "")


def test_ci_says_where_its_own_repository_is(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(repository.root))
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://git.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/n")
    assert pages(repository)[0] == "https://git.example/o/n/blob/COMMIT/"
    monkeypatch.setenv("GITEA_ACTIONS", "true")
    assert pages(repository)[0] == "https://git.example/o/n/src/commit/COMMIT/"
    monkeypatch.delenv("GITEA_ACTIONS")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(repository.root.parent / "other"))
    assert pages(repository)[0] == ""
    monkeypatch.setenv("CI_PROJECT_DIR", str(repository.root.parent))
    monkeypatch.setenv("CI_PROJECT_URL", "https://lab.example/g/n")
    assert pages(repository)[0] == "https://lab.example/g/n/-/blob/COMMIT/"


def test_the_work_tree_is_nowhere_on_the_web(repository: Repository) -> None:
    repository.git("remote", "add", "origin", "https://github.com/o/n")
    found = forge(repository.root, at(repository.root, "HEAD"), work_tree(repository.root))
    assert found.head == "" and found.base.startswith("https://github.com/o/n/blob/")


def test_a_path_is_quoted_for_an_address() -> None:
    found = Forge("https://b/", "https://h/")
    assert found.link('sites/a"b (c).yaml', 8) == "https://h/sites/a%22b%20%28c%29.yaml#L8"
    assert found.link("x", 0, gone=True) == "https://b/x"
    assert Forge().link("x", 1) == ""
