"""Merged changes acknowledge losses with a count: for which sites it counts, and that it counts
once."""

from pathlib import Path

import pytest

from foresite.delivery.stack.applied import Allowances, Commits
from preview.states.git import GitError
from tests.kit.preview_repository import Repository

LAB, TSUKUBA, TOKYO = "lab-1", "tsukuba-1", "tokyo-1"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def request(repository: Repository, text: str, *sites: str) -> str:
    """A commit that changes the hosts of sites, with a number; the commit before it."""
    before = repository.git("rev-parse", "HEAD")
    for site in sites:
        repository.hosts(site, lambda rows: rows[-1].update(rack=f"{rows[-1]['rack']}x"))
    repository.commit(f"a change\n\nForesite-Allow: {text}")
    return before


def allowances(repository: Repository, **flags: int) -> Allowances:
    return Allowances(flags, Commits(repository.root))


def test_a_number_counts_for_the_sites_that_its_request_touches(repository: Repository) -> None:
    before = request(repository, "remove=3", LAB)
    middle = request(repository, "remove=2", TSUKUBA)
    found = allowances(repository)
    assert found.of(LAB, before) == {"remove": 3}
    assert found.of(TSUKUBA, before) == {"remove": 2}
    assert found.of(TOKYO, before) == {}
    assert found.of(LAB, middle) == {}


def test_no_run_goes_on_behind_one_that_has_applied_more_meanwhile(repository: Repository) -> None:
    """Each site's history is looked at again when its turn comes, hours after the plan."""
    request(repository, "remove=3", LAB)
    newer = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "-q", "HEAD~1")
    with pytest.raises(GitError, match=f"HEAD does not contain {newer[:10]}"):
        allowances(repository).of(LAB, newer)


def test_two_requests_of_a_site_add_up(repository: Repository) -> None:
    before = request(repository, "remove=3", LAB)
    request(repository, "remove=2", LAB)
    request(repository, "grow=300", LAB)
    assert allowances(repository).of(LAB, before) == {"remove": 5, "grow": 300}


@pytest.mark.parametrize("file", ["components/x.py", "Pulumi.yaml"])
def test_a_request_that_changes_the_program_counts_for_every_site(
    repository: Repository, file: str
) -> None:
    before = repository.git("rev-parse", "HEAD")
    repository.write(file, "new\n")
    repository.commit("a change\n\nForesite-Allow: remove=1")
    found = allowances(repository)
    assert [found.of(site, before) for site in (LAB, TOKYO)] == [{"remove": 1}] * 2


def test_what_one_site_has_used_is_gone_for_the_others(repository: Repository) -> None:
    before = request(repository, "remove=3", LAB, TSUKUBA)
    found = allowances(repository)
    assert found.of(LAB, before) == found.of(TSUKUBA, before) == {"remove": 3}
    found.use(LAB, before, {"remove": 2, "grow": 0})
    assert found.of(TSUKUBA, before) == {"remove": 1}
    found.use(TSUKUBA, before, {"remove": 1})
    assert found.of(LAB, before).get("remove", 0) == 0


def test_a_number_of_a_site_alone_is_used_before_one_of_several(repository: Repository) -> None:
    before = request(repository, "remove=3", LAB, TSUKUBA)
    request(repository, "remove=2", LAB)
    found = allowances(repository)
    found.use(LAB, before, {"remove": 4})
    assert found.of(TSUKUBA, before) == {"remove": 1}


def test_the_flag_counts_once_as_well_and_only_where_it_was_needed(repository: Repository) -> None:
    before = request(repository, "remove=2", LAB)
    found = allowances(repository, remove=3)
    assert found.of(LAB, before) == found.of(TOKYO, before) == {"remove": 3}
    found.use(LAB, before, {"remove": 2})
    assert found.of(TOKYO, before) == {"remove": 3}
    found.use(TOKYO, before, {"remove": 2})
    assert found.of(TSUKUBA, before) == {"remove": 1}


def test_of_a_site_that_names_no_commit_only_the_newest_request_counts(
    repository: Repository,
) -> None:
    request(repository, "remove=9", LAB)
    request(repository, "remove=2", LAB)
    found = allowances(repository)
    assert found.of(LAB, "") == {"remove": 2}
    assert found.of(TOKYO, "") == {}


def test_a_first_commit_is_of_every_site(repository: Repository) -> None:
    repository.git("commit", "-q", "--amend", "--no-gpg-sign", "-m", "Foresite-Allow: remove=1")
    assert allowances(repository).of(TOKYO, "") == {"remove": 1}
