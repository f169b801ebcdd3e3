"""Commits that no Git makes of a folder, and states that lack a file.

Nothing is written outside of the scratch folder, and nothing is filled in from elsewhere.
"""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresite.cli import main
from preview.result import State
from preview.states.git import GitError
from preview.states.snapshot import MOST_FILES, Snapshot, at
from schemas.reading.site_files import MAX_BYTES
from tests.kit.forge import DIRECTORY, FILE, LINK, SUBMODULE, Entry, Forge
from tests.kit.preview_repository import Repository

LAB = "sites/lab-1.yaml"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def forge(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> Forge:
    scratch = repository.root.parent / "scratch" / "deep" / "er"
    scratch.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("TMPDIR", str(scratch))
    return Forge(repository.root)


def every_file(folder: Path) -> set[str]:
    """All there is below a folder, without what Git keeps."""
    found = (str(path) for path in folder.rglob("*"))
    return {each for each in found if "/.git/" not in each}


def preview(forge: Forge, commit: str, *more: str) -> int:
    """Exit code of a preview of a commit, which leaves and writes nothing."""
    before = every_file(forge.root.parent)
    code = main(["--root", str(forge.root), "preview", "--base", "main", "--head", commit, *more])
    assert every_file(forge.root.parent) == before
    return code


NAMES: dict[str, tuple[bytes, ...]] = {
    "parent": (b"..", b"..", b"outside"),
    "one parent": (b"..",),
    "itself": (b".",),
    "git": (b".git", b"hooks"),
    "git in capitals": (b".GIT", b"hooks"),
    "git of another system": (b"git~1",),
    "git with a point": (b".git.",),
    "absolute": (b"/tmp/outside",),
    "slash inside": (b"a/../../outside",),
    "slash at the end": (b"a/",),
    "backslash": (b"..\\outside",),
    "newline": (b"a\nb",),
    "tab": (b"a\tb",),
    "escape": (b"a\x1b[2Jb",),
    "right to left": ("a\u202eb".encode(),),
    "no text": (b"a\xff",),
    "overlong nul": (b"a\xc0\x80b",),
    "spaces": (b" ",),
    "long": (b"a" * 300,),
}  # fmt: skip


@pytest.mark.parametrize("names", NAMES.values(), ids=list(NAMES))
def test_a_name_that_no_file_has_is_refused(
    forge: Forge, names: tuple[bytes, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert preview(forge, forge.commit(forge.file(*names, b"x"))) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "rename it" in said.err
    assert said.err.rstrip("\n").isprintable()


@pytest.mark.parametrize("code", ["each", "head", "base"])
def test_it_is_refused_whoevers_code_looks(forge: Forge, code: str) -> None:
    commit = forge.commit(forge.file(b"..", b"..", b"outside"))
    assert preview(forge, commit, "--code", code) == 2


@pytest.mark.parametrize("order", [1, -1])
def test_a_link_beside_a_folder_of_its_name_is_refused(
    forge: Forge, order: int, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = [forge.link(b"zz", str(forge.root.parent).encode()), forge.file(b"zz", b"outside")]
    assert preview(forge, forge.commit(*pair[::order])) == 2
    assert "as a file and as a folder" in capsys.readouterr().err


def test_a_link_in_place_of_sites_is_refused(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.root / "sites").rename(repository.root / "others")
    (repository.root / "sites").symlink_to("others")
    repository.commit("a link")
    for sides in (("HEAD~1", "HEAD"), ("HEAD", "HEAD"), ("HEAD", "HEAD~1")):
        base, head = sides
        assert (
            main(["--root", str(repository.root), "preview", "--base", base, "--head", head]) == 2
        )
        assert "has to be a folder" in capsys.readouterr().err


def test_an_entry_that_is_there_twice_is_refused(forge: Forge) -> None:
    entry: Entry = (FILE, b"lab-1.yaml", forge.store("blob", b"site: other\n"))
    assert preview(forge, forge.commit(entry)) == 2


@pytest.mark.parametrize(("mode", "said"), [(LINK, "is a link"), (SUBMODULE, "is a submodule")])
def test_what_is_no_file_is_not_read(
    forge: Forge, mode: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = forge.store("blob", b"lab-1.yaml")
    forge.sites[b"new-1.yaml"] = (mode, b"new-1.yaml", target)
    assert preview(forge, forge.commit()) == 2
    assert said in capsys.readouterr().out


def test_names_that_differ_in_case_are_two_files(forge: Forge) -> None:
    entry: Entry = (FILE, b"LAB-1.hosts.csv", forge.store("blob", b"x\n"))
    commit = forge.commit(entry)
    assert preview(forge, commit) == 2
    side = at(forge.root, commit)
    assert len(side.contents([LAB, "sites/LAB-1.hosts.csv"])) == 2
    with pytest.raises(GitError, match="in case alone"):
        side.write(["sites/lab-1.hosts.csv", "sites/LAB-1.hosts.csv"], forge.root.parent / "new")
    assert not (forge.root.parent / "new").exists()


def test_more_files_than_sites_have_are_refused(
    forge: Forge, capsys: pytest.CaptureFixture[str]
) -> None:
    assert preview(forge, forge.commit(forge.folder(b"many", files=100_000))) == 2
    assert f"more than {MOST_FILES}" in capsys.readouterr().err


def test_a_file_that_is_too_large_is_not_read(
    forge: Forge, capsys: pytest.CaptureFixture[str]
) -> None:
    large = forge.store("blob", b"x" * (MAX_BYTES + 1))
    forge.sites[b"lab-1.yaml"] = (FILE, b"lab-1.yaml", large)
    assert preview(forge, forge.commit()) == 2
    assert f"more than {MAX_BYTES}" in capsys.readouterr().out


def test_a_content_that_is_not_there_is_said(
    forge: Forge, capsys: pytest.CaptureFixture[str]
) -> None:
    forge.sites[b"lab-1.yaml"] = (FILE, b"lab-1.yaml", "1" * 40)
    assert preview(forge, forge.commit()) == 2
    assert "lacks the content" in capsys.readouterr().err


NAME = st.one_of(
    st.sampled_from([b"..", b".", b".git", b"a", b"A", b"lab-1.yaml", b"x.hosts.csv"]),
    st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name),
)
MODE = st.sampled_from([FILE, LINK, SUBMODULE, b"100755", b"100600", b"0"])


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(st.tuples(MODE, st.lists(NAME, min_size=1, max_size=3)), max_size=4))
def test_no_tree_gets_out_or_ends_in_an_exception(
    forge: Forge, entries: list[tuple[bytes, list[bytes]]]
) -> None:
    """Whatever is read of a tree is read of the paths that it has."""
    blob = forge.store("blob", b"site: x\n")
    made: list[Entry] = []
    for mode, (*folders, name) in entries:
        entry: Entry = (mode, name, blob)
        for each in reversed(folders):
            entry = (DIRECTORY, each, forge.tree([entry]))
        made.append(entry)
    commit = forge.commit(*made)
    before = every_file(forge.root.parent)
    try:
        side: Snapshot = at(forge.root, commit)
    except GitError:
        return
    side.contents(side.files)
    assert every_file(forge.root.parent) == before
    for path in side.files:
        assert os.path.normpath(path) == path
        assert path.startswith(("sites/", "schemas/catalogue/"))


SHARED = [
    "schemas/catalogue/hardware.yaml",
    "schemas/catalogue/accelerators.yaml",
    "schemas/catalogue/releases/2026.11.yaml",
    "schemas/catalogue",
    "sites/pod-network/flannel.yaml",
]


@pytest.mark.parametrize("missing", SHARED)
@pytest.mark.parametrize("link", [False, True])
def test_what_a_state_lacks_is_not_filled_in_from_elsewhere(
    repository: Repository, missing: str, link: bool
) -> None:
    """Sites that need a file of another state than their own are unreadable."""
    with_accelerators = repository.text(LAB).count("\naccelerators:")
    kept = repository.git("rev-parse", "HEAD")
    path = repository.root / missing
    path.rename(repository.root / "moved")
    if link:
        path.symlink_to(repository.root / "moved")
    for head in (None, repository.commit("without it")):
        found = {site.name: site.state for site in repository.preview(base=kept, head=head).sites}
        assert found
        assert set(found.values()) == {State.INVALID}
        if with_accelerators or "accelerators" not in missing:
            assert "lab-1" in found


def test_where_no_state_has_a_catalogue_the_installed_one_stands_for_both(
    repository: Repository,
) -> None:
    (repository.root / "schemas").rename(repository.root.parent / "schemas")
    repository.commit("data alone")
    repository.replace(
        LAB, "site: lab-1", "site: lab-1\ndecommission: {reason: the lab moves to another building}"
    )
    (site,) = repository.preview().sites
    assert (site.name, site.problems) == ("lab-1", ())
