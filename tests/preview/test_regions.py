"""Changes of a region: which sites they touch, and how many a pull request has to acknowledge."""

import json
import shutil
from pathlib import Path

import pytest

from preview import report
from preview.gates import gates, parse_allowances
from preview.regions import RegionChange
from preview.result import Preview, State
from schemas.load import load
from tests.kit.preview_repository import Repository
from tests.kit.repository import FLEET

EAST, WEST, ALL = (f"regions/{name}.yaml" for name in ("jp-east", "jp-west", "fleet"))
EXTRA = """
extra:
  - {name: notice, manifests: [brought/*.yaml], why: people read it, owner: site-team}
"""
NTP = "  ntp: [10.16.0.2, 10.16.0.3]"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The example sites with their region, committed."""
    found = Repository(tmp_path)
    shutil.copytree(FLEET, found.root, dirs_exist_ok=True)
    found.commit("with a region")
    return found


def blocked(preview: Preview, *flags: str) -> list[tuple[str, str]]:
    found = gates(preview, parse_allowances(flags, ""), {})
    return [(gate.name, gate.message) for gate in found if gate.name == "region"]


def test_only_the_sites_that_a_region_changes_are_touched(repository: Repository) -> None:
    repository.replace(EAST, NTP, "  ntp: [10.16.0.2]")
    preview = repository.preview()
    assert [site.name for site in preview.sites] == ["tokyo-1"]
    assert preview.regions == (RegionChange(EAST, 1, 3, same=2),)
    causes = {c.place for site in preview.sites for r in site.reasons for c in r.causes}
    assert causes == {f"{EAST}:20:8"}


def test_the_number_of_sites_must_be_acknowledged(repository: Repository) -> None:
    tag = "node-repair:v0.1.0"
    repository.replace(EAST, tag, "node-repair:v0.1.1")
    preview = repository.preview()
    said = f"{EAST} changes 2 of its 3 sites (1 renders to the same objects)"
    assert {site.name for site in preview.sites} == {"tokyo-1", "tsukuba-1"}
    assert blocked(preview) == [("region", f"{said}, and the pull request acknowledges none")]
    one = [("region", f"{said}, and 1 are acknowledged in the pull request")]
    assert blocked(preview, "region=1") == one
    assert blocked(preview, "region=2") == []
    assert said in report.text(preview, False, 200)
    assert json.loads(report.document(preview))["regions"] == [
        {"file": EAST, "touched": 2, "sites": 3, "same": 1, "named": []}
    ]


def test_a_region_that_renders_alike_needs_nothing(repository: Repository) -> None:
    repository.write(EAST, repository.text(EAST) + "# another word\n")
    preview = repository.preview()
    assert (preview.entries, preview.regions) == ((), (RegionChange(EAST, 0, 3, same=3),))
    assert blocked(preview) == []


def test_a_value_that_moves_into_the_region_changes_nothing(repository: Repository) -> None:
    repository.replace("sites/tsukuba-1.yaml", "  proxy: null\n", "")
    repository.replace("sites/lab-1.yaml", "  proxy: null\n", "")
    line = '  proxy: {http: "http://proxy.tokyo-1.example:3128"}\n'
    repository.replace(EAST, line, "")
    moved = 'first_boot: {proxy: {http: "http://proxy.tokyo-1.example:3128"}, '
    repository.replace("sites/tokyo-1.yaml", "first_boot: {", moved)
    preview = repository.preview()
    assert (preview.entries, blocked(preview)) == ((), [])


def test_another_region_is_none_of_theirs(repository: Repository) -> None:
    repository.write(WEST, repository.text(EAST))
    preview = repository.preview()
    assert (preview.entries, preview.regions) == ((), (RegionChange(WEST, 0, 0),))


def test_a_region_that_goes_leaves_its_sites_without(repository: Repository) -> None:
    (repository.root / EAST).unlink()
    preview = repository.preview()
    assert {(site.name, site.state) for site in preview.sites} == {
        (name, State.INVALID) for name in ("tokyo-1", "tsukuba-1", "lab-1")
    }


def test_a_file_that_a_region_names_touches_its_sites(repository: Repository) -> None:
    file = "sites/certificates/example-ca.pem"
    repository.write(file, repository.text(file) * 2)
    preview = repository.preview()
    assert [site.name for site in preview.sites] == ["tokyo-1"]
    assert preview.regions == (RegionChange(EAST, 1, 3, same=2, named=(file,)),)


def test_faults_of_a_region_are_placed_there(repository: Repository) -> None:
    repository.replace(EAST, NTP, "  ntp: 10.16.0.2")
    preview = repository.preview()
    places = {problem.file for site in preview.sites for problem in site.problems}
    assert places == {EAST} and not preview.certain
    assert preview.regions[0].touched == len(preview.sites) == 3


def test_a_site_and_its_region_in_one_change_count_once(repository: Repository) -> None:
    repository.replace(EAST, NTP, "  ntp: [10.16.0.2]")
    repository.replace("sites/tokyo-1.yaml", "max_unavailable: 10", "max_unavailable: 9")
    repository.replace("sites/tsukuba-1.yaml", "max_unavailable: 2}}", "max_unavailable: 3}}")
    assert repository.preview().regions == (RegionChange(EAST, 1, 3, same=1),)


def test_a_region_that_is_a_link_in_git_is_not_read(repository: Repository) -> None:
    (repository.root / EAST).unlink()
    (repository.root / EAST).symlink_to("../sites/tokyo-1.yaml")
    repository.commit("link")
    found = load(repository.root)["tokyo-1"].problems
    assert [(each.file, each.message) for each in found] == [
        (EAST, f"{EAST} is a link, and no link is followed")
    ]
    (problem,) = {p for site in repository.preview(base="HEAD~1").sites for p in site.problems}
    assert problem.message == f"{EAST} is a link, and no link is followed"


@pytest.mark.parametrize(("file", "more"), [(EAST, set()), (ALL, {"sapporo-1"})])
def test_what_a_region_or_the_fleet_brings_is_in_each_of_its_sites(
    repository: Repository, file: str, more: set[str]
) -> None:
    named = {"name": "notice", "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
    sites = {"tokyo-1", "tsukuba-1", "lab-1"} | more
    repository.write("sites/brought/notice.yaml", json.dumps(body | {"data": {"a": "b"}}))
    repository.write(file, (repository.text(file) if file == EAST else "") + EXTRA)
    preview = repository.preview()
    assert preview.regions == (RegionChange(file, len(sites), len(sites)),)
    repository.commit("brought")
    repository.write("sites/brought/notice.yaml", json.dumps(body | {"data": {"a": "c"}}))
    preview = repository.preview()
    assert {site.name for site in preview.sites} == sites
    count = len(sites)
    changed = RegionChange(file, count, count, named=("sites/brought/notice.yaml",))
    assert preview.regions == (changed,)
    said = f"sites/brought/notice.yaml, which {file} names, changes {count} of its {count} sites"
    assert blocked(preview) == [("region", f"{said}, and the pull request acknowledges none")]
    assert said in report.text(preview, False, 200) and blocked(preview, f"region={count}") == []
    repository.write(
        "sites/brought/more.yaml",
        json.dumps(body | {"metadata": {"name": "more", "namespace": "default"}}),
    )
    (change,) = repository.preview().regions
    assert str(change).startswith("sites/brought/more.yaml and 1 more file, which")


def test_a_file_that_a_site_names_itself_is_not_its_regions(repository: Repository) -> None:
    named = {"name": "notice", "namespace": "default"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
    repository.write("sites/brought/notice.yaml", json.dumps(body))
    repository.write(EAST, repository.text(EAST) + EXTRA)
    repository.write("sites/lab-1.yaml", repository.text("sites/lab-1.yaml") + EXTRA)
    repository.commit("brought")
    repository.write("sites/brought/notice.yaml", json.dumps(body | {"data": {"a": "c"}}))
    assert [(each.touched, each.sites, each.same) for each in repository.preview().regions] == [
        (2, 3, 0)
    ]


def test_a_site_that_a_region_breaks_counts(repository: Repository) -> None:
    line = "  routes: {critical: desk, warning: desk}\n"
    repository.replace(EAST, line, "")
    preview = repository.preview()
    broken = {site.name for site in preview.sites if site.state is State.INVALID}
    assert preview.regions == (RegionChange(EAST, len(broken), 3, same=3 - len(broken)),) and broken


def test_no_site_of_a_new_region_renders_as_before(repository: Repository) -> None:
    repository.write(WEST, repository.text(EAST))
    repository.replace("sites/lab-1.yaml", "region: jp-east", "region: jp-west")
    assert [str(each) for each in repository.preview().regions] == [
        f"{WEST} changes 0 of its 1 site"
    ]
