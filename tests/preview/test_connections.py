"""Another kubeconfig context moves objects although none of them differs."""

from pathlib import Path

import pytest

from components.effects.vocabulary import Action, Impact
from components.making.manifest import Target
from preview.result import SitePreview
from tests.kit.preview_repository import Repository

TOKYO = "sites/tokyo-1.yaml"
NETWORK = "pod_network: {manifests: pod-network/flannel.yaml}"
DIRECT = "pod_network: {manifests: pod-network/flannel.yaml, install: direct}"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """tokyo-1 with its pod network applied directly, once its context is known."""
    repository = Repository(tmp_path)
    repository.replace(TOKYO, NETWORK, DIRECT)
    repository.commit("direct")
    return repository


def with_context(repository: Repository, name: str) -> None:
    repository.replace(TOKYO, DIRECT, f"{DIRECT}\n  context: {name}")


def of_site(site: SitePreview) -> dict[str, set[Action]]:
    """The actions on the objects of the site's own cluster."""
    found: dict[str, set[Action]] = {}
    for each in site.objects:
        if each.change.one.target is Target.SITE:
            found.setdefault(each.change.kind, set()).add(each.action)
    return found


def test_another_management_context_is_unknown_and_refused(repository: Repository) -> None:
    repository.replace(TOKYO, "management: mgmt-jp-east", "management: mgmt-jp-north")
    site = repository.site("tokyo-1")
    assert {host.impact for host in site.hosts} == {Impact.UNKNOWN}
    (reason,) = site.reasons
    assert reason.effect.action is Action.REFUSED
    assert [cause.path for cause in reason.causes] == ["management"]
    assert "mgmt-jp-north in place of mgmt-jp-east" in reason.effect.why


def test_a_context_that_comes_applies_what_waited_for_it(repository: Repository) -> None:
    with_context(repository, "tokyo")
    site = repository.site("tokyo-1")
    assert of_site(site)["DaemonSet"] == {Action.ADDED}
    assert set.union(*of_site(site).values()) == {Action.ADDED}
    paths = {cause.path for reason in site.reasons for cause in reason.causes}
    assert paths == {"cluster.context"}


def test_a_context_that_goes_would_delete_what_is_protected(repository: Repository) -> None:
    with_context(repository, "tokyo")
    repository.commit("context")
    repository.replace(TOKYO, "\n  context: tokyo", "")
    of_cluster = (
        each for each in repository.site("tokyo-1").objects
        if each.change.one.target is Target.SITE
    )  # fmt: skip
    found = {(each.change.one.protect, each.action) for each in of_cluster}
    assert found == {(True, Action.REFUSED), (False, Action.DELETED)}


def test_another_context_of_the_site_is_unknown(repository: Repository) -> None:
    with_context(repository, "tokyo")
    repository.commit("context")
    repository.replace(TOKYO, "context: tokyo", "context: tokyo-new")
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 12")
    site = repository.site("tokyo-1")
    assert site.impact is Impact.UNKNOWN
    (unknown,) = (r for r in site.reasons if r.effect.impact is Impact.UNKNOWN)
    assert [cause.path for cause in unknown.causes] == ["cluster.context"]


def test_what_waits_for_a_context_and_changes_says_so(repository: Repository) -> None:
    manifests = "sites/pod-network/flannel.yaml"
    repository.replace(manifests, "--ip-masq,", "--ip-masq=true,")
    site = repository.site("tokyo-1")
    assert site.impact is Impact.NONE
    assert all("context" in reason.effect.why for reason in site.reasons)
