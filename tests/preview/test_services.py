"""Consequences that are no machines, and the hours of a new site, from real edits of real sites."""

import re
from pathlib import Path

import pytest

from preview.report.headline import headline
from preview.report.phrase import plain
from preview.result import SitePreview, State
from tests.kit.preview_repository import Repository
from tests.verdicts.edits import HARDWARE

FILE, NEW = "sites/tokyo-1.yaml", "sites/tsukuba-1"
NAMED = "cluster:\n"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The example sites, tokyo-1 with a cluster that has a name."""
    found = Repository(tmp_path / "repository")
    found.write(FILE, found.text(FILE).replace(NAMED, f"{NAMED}  context: tokyo-1\n", 1))
    found.commit("a name")
    return found


def without(text: str, section: str) -> str:
    """A site file without one of its sections."""
    return re.sub(rf"^{section}:\n(?: .*\n|\n)*", "", text, flags=re.MULTILINE)


def judged(repository: Repository) -> tuple[str, SitePreview]:
    found = repository.preview()
    (site,) = found.sites
    return plain(headline(found)), site


def test_all_alerts_end_where_monitoring_is_removed(repository: Repository) -> None:
    repository.write(FILE, without(repository.text(FILE), "monitoring"))
    said, site = judged(repository)
    assert said.startswith("All alerts end in tokyo-1")
    assert [each.clause for each in site.services] == ["all alerts end"]


def test_some_alerts_end_with_what_they_watch(repository: Repository) -> None:
    repository.write(FILE, without(repository.text(FILE), "remediation"))
    _, site = judged(repository)
    (found,) = [each for each in site.services if each.clause.startswith("alerts")]
    assert found.clause == "alerts of 1 of 13 PrometheusRules end"


def test_alerts_that_stay_are_not_told(repository: Repository) -> None:
    repository.replace(FILE, 'channel: "#gpu-tokyo"', 'channel: "#gpu"')
    _, site = judged(repository)
    assert site.services == ()


def test_jobs_of_a_scheduler_that_goes_wait_for_ever(repository: Repository) -> None:
    repository.write(FILE, repository.text(FILE).replace("name: gang-scheduler", "name: gangs"))
    _, site = judged(repository)
    (found,) = [each for each in site.services if "wait for ever" in each.clause]
    assert found.clause == "pending jobs of 1 scheduler wait for ever"
    assert "gang-scheduler; running jobs continue" in found.line


@pytest.mark.parametrize(("limit", "falls"), [(240, True), (481, False)])
def test_a_lower_limit_may_be_below_its_use(
    repository: Repository, limit: int, falls: bool
) -> None:
    repository.replace(FILE, "{v100-sxm2-32gb: 480,", f"{{v100-sxm2-32gb: {limit},")
    said, site = judged(repository)
    clauses = [each.clause for each in site.services]
    assert clauses == (["1 limit may fall below its use"] if falls else [])
    assert ("1 limit may fall below its use" in said) == falls


def test_spare_hosts_are_prepared_now_and_others_when_they_are_installed(
    repository: Repository,
) -> None:
    disks = "reimage_minutes: 35\n    data_disks: {count: 2}\n"
    text = repository.text(HARDWARE)
    assert text.count(disks) == 1
    repository.write(HARDWARE, text.replace(disks, f"{disks}    raid: []\n"))
    said, site = judged(repository)
    assert "1 spare host is power-cycled and prepared now" in said
    assert "othing happens" not in said.partition(";")[0]
    (found,) = site.services
    assert "mncore2" in found.line and "Git does not say which" in found.line


def test_pending_firmware_is_told_with_the_reboot_that_flashes_it(repository: Repository) -> None:
    disks, text = "reimage_minutes: 35\n    data_disks: {count: 2}\n", repository.text(HARDWARE)
    firmware = f"{disks}    firmware: {{apply: reboot, minutes: 5, settings: {{A: Low}}}}\n"
    before = text.replace(disks, f"{firmware}    raid: []\n")
    repository.write(HARDWARE, before)
    repository.commit("firmware")
    repository.write(HARDWARE, text.replace(disks, firmware.replace("Low", "High")))
    said, site = judged(repository)
    clauses = [each.clause for each in site.services]
    assert clauses == [
        "1 spare host is power-cycled and prepared now",
        "40 hosts flash firmware at the next reboot",
    ]
    assert "othing happens" not in said.partition(";")[0]
    repository.write(HARDWARE, text.replace(disks, firmware))
    assert not judged(repository)[1].services  # the volumes stay


def test_of_a_cluster_without_a_name_it_is_said_when_it_will_hold(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.write(FILE, without(repository.text(FILE), "monitoring"))
    said, site = judged(repository)
    assert said.startswith("Once the cluster is named: all alerts end in tokyo-1")
    assert not site.services[0].applied


def test_a_new_site_says_when_each_pool_is_installed(repository: Repository) -> None:
    """21 of a pool are two turns of 20 hosts, 39 of the other two more; the control plane is three
    machines one after the other, and workers wait for the first."""
    texts = {end: repository.text(f"{NEW}{end}") for end in (".yaml", ".hosts.csv")}
    for end in texts:
        (repository.root / f"{NEW}{end}").unlink()
    repository.commit("one site less")
    for end, text in texts.items():
        repository.write(f"{NEW}{end}", text)
    said, site = judged(repository)
    assert site.state is State.ADDED
    found = {each.pool: each for each in site.installations}
    assert [found[name].machines for name in ("control", "cpu", "mncore2")] == [3, 21, 39]
    first = found["control"].hours / 3
    assert found["control"].begins == 0 and found["cpu"].begins == first
    assert found["mncore2"].begins == first + found["cpu"].hours
    assert found["mncore2"].accelerators == 39 * 8
    assert "the first installation takes 2.5 h" in said


def test_a_site_that_is_changed_is_not_installed_again(repository: Repository) -> None:
    repository.replace(FILE, "max_unavailable: 10}", "max_unavailable: 11}")
    assert judged(repository)[1].installations == ()


def test_hosts_have_their_places_and_teams_their_guarantees(repository: Repository) -> None:
    repository.replace(FILE, "max_unavailable: 10}", "max_unavailable: 11}")
    _, site = judged(repository)
    assert {(host.zone, host.rack) for host in site.hosts[3:8]} == {("a", "a-01")}
    assert dict(site.guaranteed)["v100-sxm2-32gb"] == 480 + 256
