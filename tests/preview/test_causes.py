"""Every object that differs is traced to the edits behind it, at their place."""

from pathlib import Path

import pytest

from preview.result import Cause, Reason, SitePreview
from tests.kit.preview_repository import Repository

TOKYO = "sites/tokyo-1.yaml"
HARDWARE = "schemas/catalogue/hardware.yaml"
RELEASE = "schemas/catalogue/releases/2026.11.yaml"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def line_of(repository: Repository, file: str, text: str) -> int:
    (line,) = (n for n, each in enumerate(repository.text(file).splitlines(), 1) if text in each)
    return line


def causes_of(site: SitePreview, name: str) -> set[Cause]:
    """The causes of an object, by its logical name."""
    found: list[Reason] = [each for each in site.reasons if each.effect.name[1] == name]
    assert found, f"{name} has no reason"
    return {cause for reason in found for cause in reason.causes}


def test_a_value_of_the_site_file(repository: Repository) -> None:
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 12")
    (cause,) = causes_of(repository.site("tokyo-1"), "MachineDeployment/cpu")
    line = line_of(repository, TOKYO, "max_unavailable: 12")
    column = repository.text(TOKYO).splitlines()[line - 1].index("12") + 1
    path = "pools.cpu.rollout.max_unavailable"
    assert cause == Cause(TOKYO, line, column, path, "10", "12")
    assert cause.place == f"{TOKYO}:{line}:{column}"


def test_each_object_is_traced_to_its_own_edit(repository: Repository) -> None:
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 12")
    repository.replace(TOKYO, "drain_timeout_seconds: 14400", "drain_timeout_seconds: 7200")
    repository.replace(TOKYO, "region: jp-east", "region: jp-west")
    site = repository.site("tokyo-1")
    paths = {
        name: {cause.path for cause in causes_of(site, name)}
        for name in ("MachineDeployment/cpu", "MachineDeployment/h100", "KubeadmControlPlane")
    }
    assert paths == {
        "MachineDeployment/cpu": {"pools.cpu.rollout.max_unavailable", "region"},
        "MachineDeployment/h100": {"pools.h100.rollout.drain_timeout_seconds", "region"},
        "KubeadmControlPlane": {"region"},
    }


def test_a_cell_of_the_host_list(repository: Repository) -> None:
    def serials(rows: list[dict[str, str]]) -> None:
        rows[4]["serial"], rows[9]["rack"] = "NEW1", "z-09"

    repository.hosts("tokyo-1", serials)
    site = repository.site("tokyo-1")
    lines = repository.text("sites/tokyo-1.hosts.csv").splitlines()
    for index, column, text in ((5, "serial", "NEW1"), (10, "rack", "z-09")):
        host = lines[index].split(",")[0]
        (cause,) = causes_of(site, f"BareMetalHost/{host}")
        assert (cause.line, cause.path) == (index + 1, f"hosts.{host}.{column}")
        assert cause.after == text
        assert lines[index][cause.column - 1 :].startswith(text)


def test_many_lines_of_the_host_list_are_each_traced_to_their_own(repository: Repository) -> None:
    def racks(rows: list[dict[str, str]]) -> None:
        for number, row in enumerate(rows[10:110]):
            row["rack"] = f"r-{number}"

    repository.hosts("tokyo-1", racks)
    repository.replace(TOKYO, "max_unavailable: 10", "max_unavailable: 12")
    site = repository.site("tokyo-1")
    lines = repository.text("sites/tokyo-1.hosts.csv").splitlines()
    for index in range(11, 111):
        host = lines[index].split(",")[0]
        (cause,) = causes_of(site, f"BareMetalHost/{host}")
        assert (cause.line, cause.path) == (index + 1, f"hosts.{host}.rack")
    (cause,) = causes_of(site, "MachineDeployment/cpu")
    assert cause.path == "pools.cpu.rollout.max_unavailable"


def test_a_line_that_goes_is_shown_where_it_was(repository: Repository) -> None:
    before = repository.text("sites/tokyo-1.hosts.csv").splitlines()
    repository.hosts("tokyo-1", lambda rows: rows.pop(50))
    host = before[51].split(",")[0]
    (cause,) = causes_of(repository.site("tokyo-1"), f"BareMetalHost/{host}")
    assert (cause.file, cause.line, cause.gone) == ("sites/tokyo-1.hosts.csv", 52, True)


def test_a_profile_of_the_catalogue(repository: Repository) -> None:
    text = repository.text(HARDWARE)
    profile = text.index("  v100-sxm2-32gb-x8:")
    changed = text[profile:].replace("ata-1", "ata-2", 1)
    repository.write(HARDWARE, text[:profile] + changed)
    site = repository.site("tokyo-1")
    assert site.reasons
    for reason in site.reasons:
        (cause,) = reason.causes
        assert cause.path == "hardware.v100-sxm2-32gb-x8.root_disk.device_name"
        assert (cause.file, cause.line) == (HARDWARE, line_of(repository, HARDWARE, "ata-2"))


def test_a_value_of_the_release(repository: Repository) -> None:
    image = next(
        line.strip() for line in repository.text(RELEASE).splitlines() if "kube_vip:" in line
    )
    digit = "0" if image[-1] != "0" else "1"
    repository.replace(RELEASE, image, image[:-1] + digit)
    (cause,) = causes_of(repository.site("tokyo-1"), "KubeadmControlPlane")
    assert (cause.file, cause.path) == (RELEASE, "kube_vip")
    assert cause.line == line_of(repository, RELEASE, image[:-1] + digit)


def test_a_file_that_sites_name(repository: Repository) -> None:
    file = "sites/certificates/example-ca.pem"
    lines = repository.text(file).splitlines()
    lines.insert(3, lines[3])
    repository.write(file, "\n".join(lines) + "\n")
    found = [each for each in repository.preview().sites if each.name == "tokyo-1"]
    for reason in (reason for site in found for reason in site.reasons):
        assert [cause.file for cause in reason.causes] == [file]


def test_a_pool_that_comes_and_one_that_goes(repository: Repository) -> None:
    def moved(rows: list[dict[str, str]]) -> None:
        for row in rows:
            row["pool"] = "volta" if row["pool"] == "v100" else row["pool"]

    repository.replace(TOKYO, "- name: v100", "- name: volta")
    repository.replace(TOKYO, "      pools: [v100,", "      pools: [volta,")
    repository.replace(TOKYO, "name: gpu, pools: [v100,", "name: gpu, pools: [volta,")
    repository.hosts("tokyo-1", moved)
    site = repository.site("tokyo-1")
    assert {c.path for c in causes_of(site, "MachineDeployment/volta")} >= {"pools.volta"}
    gone = causes_of(site, "MachineDeployment/v100")
    assert {c.path for c in gone if c.gone} == {"pools.v100"}


def test_a_site_that_comes_is_its_file(repository: Repository) -> None:
    base = repository.commit("base")
    repository.git("rm", "-q", "sites/tsukuba-1.yaml", "sites/tsukuba-1.hosts.csv")
    without = repository.commit("without")
    added = repository.preview(base=without, head=base).sites[0]
    removed = repository.preview(base=base, head=without).sites[0]
    assert {cause for each in added.reasons for cause in each.causes} == {
        Cause("sites/tsukuba-1.yaml", 1, 1, "", "", "a new site")
    }
    assert all(cause.gone for each in removed.reasons for cause in each.causes)
