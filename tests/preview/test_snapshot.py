"""Two states of a repository, read from Git: which sites can be touched, and what is in them."""

from pathlib import Path

import pytest

from preview.states.fleet import changed_sites, differing, site_names, site_of, suspects
from preview.states.git import GitError, base_of, commit_of
from preview.states.snapshot import at, work_tree
from tests.kit.preview_repository import Repository

TOKYO = "sites/tokyo-1.yaml"
CATALOGUE = "schemas/catalogue"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_a_state_equals_itself_in_the_work_tree_and_in_git(repository: Repository) -> None:
    committed, here = at(repository.root, "HEAD"), work_tree(repository.root)
    assert differing(committed, here) == []
    assert committed.read([TOKYO]) == here.read([TOKYO])
    assert site_names(committed) == ["lab-1", "sapporo-1", "tokyo-1", "tsukuba-1"]


def test_what_is_not_committed_counts_staged_or_not(repository: Repository) -> None:
    base = at(repository.root, "HEAD")
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 11")
    repository.git("add", "-A")
    repository.replace("sites/lab-1.yaml", "site: lab-1", "site: lab-1  # the small one")
    repository.write("sites/new-1.yaml", "site: new-1\n")
    (repository.root / "sites" / "tsukuba-1.yaml").unlink()
    here = work_tree(repository.root)
    assert differing(base, here) == [
        "sites/lab-1.yaml", "sites/new-1.yaml", TOKYO, "sites/tsukuba-1.yaml"
    ]  # fmt: skip
    assert here.read([TOKYO])[TOKYO].count(b"max_unavailable: 11") == 1


def test_a_file_that_is_put_back_is_no_change(repository: Repository) -> None:
    base = at(repository.root, "HEAD")
    text = repository.text(TOKYO)
    repository.write(TOKYO, text + "\n")
    assert differing(base, work_tree(repository.root)) == [TOKYO]
    repository.write(TOKYO, text)
    assert differing(base, work_tree(repository.root)) == []


def test_a_change_of_what_sites_share_touches_those_that_name_it(repository: Repository) -> None:
    def touched_by(file: str, old: str, new: str) -> list[str]:
        repository.replace(file, old, new)
        found = changed_sites(at(repository.root, "HEAD"), work_tree(repository.root))
        repository.git("checkout", "-q", ".")
        return found

    profile = "description: 4U server with eight NVIDIA V100 SXM2 32 GB"
    assert touched_by(f"{CATALOGUE}/hardware.yaml", profile, f"{profile} (old)") == ["tokyo-1"]
    every = ["lab-1", "sapporo-1", "tokyo-1", "tsukuba-1"]
    image = "default_os:"
    assert touched_by(f"{CATALOGUE}/releases/2026.11.yaml", image, f"# x\n{image}") == [
        each for each in every if each != "sapporo-1"
    ]
    network = "sites/pod-network/flannel.yaml"
    named = [name for name in every if network.split("/", 1)[1] in
             repository.text(f"sites/{name}.yaml")]  # fmt: skip
    first = repository.text(network).splitlines()[0]
    text = repository.text(network)
    repository.write(network, text.replace(first, f"{first}\n# x", 1))
    assert changed_sites(at(repository.root, "HEAD"), work_tree(repository.root)) == named


def test_a_name_that_is_spelled_with_escapes_is_found(repository: Repository) -> None:
    repository.replace(TOKYO, "hardware: v100-sxm2-32gb-x8", r'hardware: "v100-sxm2-32gb\x2dx8"')
    repository.commit("escape")
    profile = "description: 4U server with eight NVIDIA V100 SXM2 32 GB"
    repository.replace(f"{CATALOGUE}/hardware.yaml", profile, f"{profile} (old)")
    assert changed_sites(at(repository.root, "HEAD"), work_tree(repository.root)) == ["tokyo-1"]


@pytest.mark.parametrize(
    ("column", "count"), [("mac", 1), ("serial", 1), ("bmc", 1), ("ip", 1), ("serial", 70)]
)
def test_a_site_that_takes_what_another_has_is_suspected_with_it(
    repository: Repository, column: str, count: int
) -> None:
    theirs: list[str] = []
    repository.hosts("tokyo-1", lambda rows: theirs.extend(row[column] for row in rows[:1]))

    def take(rows: list[dict[str, str]]) -> None:
        for number, row in enumerate(rows[1:count]):
            row["serial"] = f"NEW{number}"
        rows[0][column] = theirs[0]

    repository.hosts("tsukuba-1", take)
    sides = at(repository.root, "HEAD"), work_tree(repository.root)
    assert suspects(*sides, ["tsukuba-1"]) == {"tsukuba-1", "tokyo-1"}


def test_a_site_that_takes_nothing_new_suspects_nobody(repository: Repository) -> None:
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 11")
    sides = at(repository.root, "HEAD"), work_tree(repository.root)
    assert suspects(*sides, ["tokyo-1"]) == set()


def test_networks_are_compared_by_what_they_cover(repository: Repository) -> None:
    repository.replace(TOKYO, "bmc: {network: 10.24.0.0/20}", "bmc: {network: 10.0.0.0/8}")
    sides = at(repository.root, "HEAD"), work_tree(repository.root)
    assert suspects(*sides, ["tokyo-1"]) == {"tokyo-1", "tsukuba-1", "lab-1", "sapporo-1"}


def test_the_base_is_where_the_main_branch_was_left(repository: Repository) -> None:
    start = commit_of(repository.root, "HEAD")
    repository.git("checkout", "-q", "-b", "change")
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 11")
    mine = repository.commit("mine")
    repository.git("checkout", "-q", "main")
    repository.replace("sites/lab-1.yaml", "site: lab-1", "site: lab-1  # theirs")
    repository.commit("theirs")
    assert base_of(repository.root, "change") == (start, "main")
    sides = at(repository.root, start, "main"), at(repository.root, "change")
    assert sides[0].label == f"main ({start[:10]})"
    assert changed_sites(*sides) == ["tokyo-1"]
    assert sides[1].commit == mine


@pytest.mark.parametrize("revision", ["no-such", "--output=/tmp/x", "HEAD~9", "", "a\nb", "main:x"])
def test_what_names_no_commit_is_refused_with_a_hint(repository: Repository, revision: str) -> None:
    with pytest.raises(GitError, match="commit"):
        at(repository.root, revision)


def test_where_there_is_no_git_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="not a git repository"):
        work_tree(tmp_path)


def test_without_a_main_branch_a_base_must_be_given(repository: Repository) -> None:
    repository.git("branch", "-m", "main", "trunk")
    with pytest.raises(GitError, match="--base"):
        base_of(repository.root, None)


@pytest.mark.parametrize(
    ("path", "site"),
    [
        ("sites/a-1.yaml", "a-1"),
        ("sites/a-1.hosts.csv", "a-1"),
        ("sites/a-1.yml", "a-1"),
        ("sites/pod-network/flannel.yaml", None),
        ("sites/.a-1.yaml", None),
        ("sites/README.md", None),
        ("schemas/catalogue/hardware.yaml", None),
    ],
)
def test_whose_file_it_is(path: str, site: str | None) -> None:
    assert site_of(path) == site


def test_a_file_that_cannot_be_read_is_a_problem_of_its_site(repository: Repository) -> None:
    (repository.root / "sites" / "loop-1.yaml").symlink_to("loop-1.yaml")
    repository.write("sites/short-1.yml", "site: short-1\n")
    found = {site.name: site.problems for site in repository.preview().sites}
    assert found.keys() == {"loop-1", "short-1"}
    assert all(found.values())


def test_problems_of_the_earlier_state_are_told_apart(repository: Repository) -> None:
    repository.replace(TOKYO, "max_unavailable: 4, max_surge: 2", "max_unavailable: 0")
    repository.commit("broken")
    repository.replace(TOKYO, "max_unavailable: 0", "max_unavailable: 4, max_surge: 2")
    (mended,) = repository.preview().sites
    assert [each.message.split(":")[0] for each in mended.problems] == ["before the change"]
    repository.replace(
        TOKYO, "max_unavailable: 4, max_surge: 2", "max_unavailable: 0, max_surge: 0"
    )
    (broken,) = repository.preview().sites
    assert [each.message.split(":")[0] for each in broken.problems] == ["with max_unavailable"]


def test_a_link_out_of_sites_shows_nothing_of_what_it_leads_to(
    repository: Repository, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret"
    secret.write_text("site: very-secret\n")
    (repository.root / TOKYO).unlink()
    (repository.root / TOKYO).symlink_to(secret)
    found = repository.preview()
    assert "very-secret" not in repr(found)
    (site,) = found.sites
    assert [problem.code.value for problem in site.problems] == ["file-unreadable"]


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_what_git_is_told_not_to_look_at_is_looked_at(repository: Repository, flag: str) -> None:
    repository.git("update-index", flag, TOKYO)
    assert changed_sites(at(repository.root, "HEAD"), work_tree(repository.root)) == []
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 11")
    assert changed_sites(at(repository.root, "HEAD"), work_tree(repository.root)) == ["tokyo-1"]


def test_no_object_stands_for_another_one(repository: Repository) -> None:
    old = repository.git("rev-parse", f"HEAD:{TOKYO}")
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 11")
    repository.commit("another")
    repository.git("replace", repository.git("rev-parse", f"HEAD:{TOKYO}"), old)
    assert b"max_unavailable: 11" in at(repository.root, "HEAD").read([TOKYO])[TOKYO]


def test_a_folder_in_place_of_a_file_is_not_what_was_there_before(repository: Repository) -> None:
    (repository.root / TOKYO).unlink()
    (repository.root / TOKYO).mkdir()
    assert TOKYO not in work_tree(repository.root).files
    (site,) = repository.preview().sites
    assert site.problems
