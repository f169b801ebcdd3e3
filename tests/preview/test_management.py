"""A change of a management cluster: what it does to all sites that name it, and never nothing."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from components.effects.vocabulary import Action, Impact
from preview.gates import REGION, REMOVE, gates
from preview.report.headline import headline
from preview.report.phrase import plain
from preview.result import Preview, SitePreview, State
from preview.states.regions import region_changes
from preview.states.snapshot import work_tree
from tests.kit.management import FILE as KIT
from tests.kit.management import OPERATOR, put, vendor
from tests.kit.preview_repository import Repository

FILE = "management/mgmt-jp-east.yaml"
RELEASES = "catalogue/releases"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """lab-1 and tsukuba-1 on mgmt-jp-east, which has manifests; two more management clusters."""
    found = Repository(tmp_path_factory.mktemp("management"))
    for each in found.root.glob("sites/*okyo-1.*"), found.root.glob("sites/sapporo-1.*"):
        for file in each:
            file.unlink()
    found.replace("sites/lab-1.yaml", "management: mgmt-lab", "management: mgmt-jp-east")
    found.commit("two sites of one cluster")
    ironic = yaml.safe_load(KIT.read_text("utf-8").replace("10.33.0", "10.99.9"))["ironic"]
    for name in ("mgmt-jp-east", "mgmt-jp-north", "mgmt-lab"):
        manifests = vendor(found.root) if name == "mgmt-jp-east" else []
        put(found.root, name, ironic=ironic, manifests=manifests)
    text = found.text("schemas/catalogue/releases/2026.11.yaml")
    said = text.replace('"2026.11"', "2026.11-patch").replace("v1.13.6", "v1.13.7")
    found.write(f"{RELEASES}/2026.11-patch.yaml", said)
    found.commit("management")
    return found


@pytest.fixture
def repository(first: Repository) -> Repository:
    first.git("reset", "-q", "--hard")
    first.git("clean", "-q", "-fd")
    return first


def blocked(preview: Preview, **allow: int) -> list[str]:
    return [each.name for each in gates(preview, allow, {})]


def both(repository: Repository) -> SitePreview:
    """What lab-1 and tsukuba-1 are told alike, of a change that the gate for files holds up."""
    preview = repository.preview()
    assert [each.name for each in preview.sites] == ["lab-1", "tsukuba-1"]
    assert blocked(preview)[-1] == REGION
    (file,) = preview.regions
    assert blocked(preview, region=2, remove=99) == []
    assert (file.touched, file.sites) == (2, 2)
    assert "othing happens to any machine: " not in plain(headline(preview))
    return preview.sites[0]


RESTART = "controllers of the management cluster restart"
FAILS = "provisioning under way fails and is tried again"
ROWS = [
    ("release: '2026.11'", "release: 2026.11-patch", Impact.NONE, RESTART),
    ("taints_in_place: true", "taints_in_place: false", Impact.UNKNOWN, RESTART),
    ("registry: registry.our-lan/", "registry: other.our-lan/", Impact.UNKNOWN, RESTART),
    ("certificate: ironic-tls", "certificate: other-tls", Impact.UNKNOWN, FAILS),
    ("version: '35.0'", "version: '34.0'", Impact.NONE, FAILS),
    ("address: 10.99.9.4", "address: 10.99.9.5", Impact.NONE, FAILS),
    (
        "provisioning_limit: 20",
        "provisioning_limit: 10",
        Impact.NONE,
        "the Bare Metal Operator gets other settings",
    ),
]


@pytest.mark.parametrize(("old", "new", "impact", "clause"), ROWS)
def test_an_edit_says_what_it_does(
    repository: Repository, old: str, new: str, impact: Impact, clause: str
) -> None:
    repository.replace(FILE, old, new)
    found = both(repository)
    assert found.impact is impact
    assert [each.clause for each in found.services] == [clause]
    for reason in found.reasons:
        (cause,) = reason.causes
        assert (cause.file, reason.effect.name[0]) == (FILE, "management")
        assert impact is Impact.NONE or set(reason.effect.hosts) == {h.host for h in found.hosts}


def test_an_older_version_is_not_known(repository: Repository) -> None:
    # The operator installs it: tests/components/management/test_operator.py.
    repository.replace(FILE, "release: '2026.11'", "release: 2026.11-patch")
    base = repository.commit("a newer release")
    repository.replace(FILE, "release: 2026.11-patch", "release: '2026.11'")
    preview = repository.preview(base=base)
    assert {each.impact for each in preview.sites} == {Impact.UNKNOWN}
    assert all("in an older version" in r.effect.why for s in preview.sites for r in s.reasons)
    repository.git("reset", "-q", "--hard", "HEAD~1")


@pytest.mark.parametrize(("version", "impact"), [("v0.13.3", "none"), ("v0.14.0", "unknown")])
def test_a_vendored_program_of_another_version(
    repository: Repository, version: str, impact: str
) -> None:
    (manifests,) = vendor(repository.root, OPERATOR.replace("v0.13.2", version))
    old = re.findall("sha256: ([0-9a-f]{64})\n", repository.text(FILE))[-1]
    repository.replace(FILE, old, manifests["sha256"])
    found = both(repository)
    assert found.impact == impact
    files = {cause.file for each in found.reasons for cause in each.causes}
    assert files == {"management/vendor/bmo.yaml"}


def test_manifests_that_differ_from_their_lock_are_no_state(repository: Repository) -> None:
    vendor(repository.root, OPERATOR + "# more\n")
    states = {each.name: each.state for each in repository.preview().sites}
    assert states == {"lab-1": State.INVALID, "tsukuba-1": State.INVALID}


def test_providers_that_go_are_losses_and_refused(repository: Repository) -> None:
    flag = "args: [--enable-bmh-name-based-preallocation=true, --additional-sync-machine-labels=a]"
    text = OPERATOR.replace("args: [--x]", flag)
    said = yaml.safe_load(repository.text(FILE)) | {"providers": None}
    said |= {
        "manifests": vendor(repository.root, text),
        "sync_labels": [],
        "taints_in_place": False,
    }
    put(repository.root, "mgmt-jp-east", **said)
    found = both(repository)
    gone = [each for each in found.objects if each.change.after is None]
    assert len(gone) == 5
    assert {each.action for each in gone} == {Action.REFUSED}
    assert sum(each.count for each in found.deletions) == 5
    assert REMOVE in blocked(repository.preview())


def test_a_file_that_goes_leaves_its_sites_without_one(repository: Repository) -> None:
    (repository.root / FILE).unlink()
    assert {each.state for each in repository.preview().sites} == {State.INVALID}


def test_the_last_file_that_goes_is_a_loss(repository: Repository) -> None:
    for file in (repository.root / "management").glob("*.yaml"):
        file.unlink()
    preview = repository.preview()
    assert {each.state for each in preview.sites} == {State.CHANGED}
    assert blocked(preview)[0] == REMOVE


def test_a_first_file_is_not_known(repository: Repository) -> None:
    preview = repository.preview(base="HEAD~1")
    assert {each.impact for each in preview.sites} == {Impact.UNKNOWN}


def test_a_site_that_moves_takes_no_objects_along(repository: Repository) -> None:
    repository.replace("sites/lab-1.yaml", "management: mgmt-jp-east", "management: mgmt-lab")
    found = repository.site("lab-1")
    assert "management" not in {each.change.component for each in found.objects}
    assert found.impact is Impact.UNKNOWN or found.reasons


def test_comments_change_nothing(repository: Repository) -> None:
    repository.write(FILE, "# a comment\n" + repository.text(FILE))
    assert repository.preview().sites == ()


def test_what_a_file_does_that_no_site_names_is_not_known(repository: Repository) -> None:
    put(repository.root, "mgmt-new")
    preview = repository.preview()
    (found,) = preview.regions
    assert str(found).startswith("management/mgmt-new.yaml is named by no site")
    said = "Cannot predict the change of management/mgmt-new.yaml, which no site names."
    assert plain(headline(preview)) == said
    fails = {allowed: gates(preview, {"unknown": allowed}, {"unknown": 0}) for allowed in (0, 1)}
    assert [len(each) for each in fails.values()] == [1, 0]
    assert preview.impact is Impact.UNKNOWN


def test_a_file_of_sites_that_are_not_looked_at_is_not_mentioned(repository: Repository) -> None:
    repository.replace(FILE, "provisioning_limit: 20", "provisioning_limit: 10")
    repository.replace("sites/lab-1.yaml", "management: mgmt-jp-east", "management: mgmt-lab")
    assert repository.preview("lab-1").regions
    base = repository.commit("lab-1 is elsewhere")
    repository.replace(FILE, "provisioning_limit: 10", "provisioning_limit: 11")
    assert repository.preview("lab-1", base=base).regions == ()
    repository.git("reset", "-q", "--hard", "HEAD~1")


def test_a_lower_limit_makes_rollouts_longer(repository: Repository) -> None:
    repository.replace("sites/tsukuba-1.yaml", "kubernetes: v1.34.3", "kubernetes: v1.34.8")

    def hours(limit: str) -> float:
        text = repository.text(FILE)
        repository.write(FILE, re.sub("_limit: [0-9]+", f"_limit: {limit}", text))
        return max(plan.hours for plan in repository.site("tsukuba-1").plans)

    usual = hours("20")
    assert hours("1") > usual
    # More counts only after the operator's restart.
    assert hours("40") == usual


def test_a_region_names_the_cluster_for_its_sites_that_name_none(tmp_path: Path) -> None:
    texts = {
        "sites/a.yaml": "region: r\n",
        "sites/b.yaml": "site: b\nregion: r\nmanagement: other\n",
        "sites/c.yaml": "management: m\n",
        "regions/r.yaml": "management: m\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "-C", tmp_path, "init", "-q"], check=True)
    side, file = work_tree(tmp_path), "management/m.yaml"
    (found,) = region_changes((side, side), {file: (file,)}, "abc", {})
    assert (found.touched, found.sites) == (0, 2)
