"""The smaller way that a verdict names, carried out as it is written."""

import re
from pathlib import Path

import pytest
import yaml

from components.effects.vocabulary import Impact
from components.machines.effects.smaller import DRAIN_SECONDS
from preview.result import SitePreview
from schemas.model.site_file import Rollout
from tests.kit.preview_repository import Repository

WRITE = re.compile(r"write rollout: (\{.*?\}) for pool (\S+) in this change")
FIRST_BOOT = "{ntp: [10.17.0.3], dns: [10.17.0.2], ssh: {user: ops, keys: [KEY]}}".replace(
    "KEY",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA ops@example",
)
STRATEGY = ("type", "rollingUpdate")


def ways(site: SitePreview) -> dict[str, str]:
    """The smaller ways, by pool."""
    found = {reason.effect.way for reason in site.reasons if reason.effect.way}
    return {WRITE.findall(way)[0][1]: way for way in found}


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tokyo-1", "user: ops,", "user: admin,"),
        ("tsukuba-1", "ntp: [10.17.0.2]", "ntp: [10.17.0.3]"),
    ],
)
def test_no_worker_is_installed_again(tmp_path: Path, name: str, old: str, new: str) -> None:
    repository, file = Repository(tmp_path / "repository"), f"sites/{name}.yaml"
    repository.replace(file, old, new)
    told = ways(repository.site(name))
    workers = [p["name"] for p in yaml.safe_load(repository.text(file))["pools"] if "role" not in p]
    assert sorted(told) == sorted(workers)
    text = repository.text(file)
    for pool, way in told.items():
        settings = WRITE.findall(way)[0][0]
        mine = rf"(- \{{?name: {pool}\b.*?rollout: )\{{.*?\}}"
        text, count = re.subn(mine, rf"\g<1>{settings}", text, count=1, flags=re.DOTALL)
        assert count == 1
        assert way.endswith("; the control plane is re-imaged all the same")
    repository.write(file, text)
    done = repository.site(name)
    assert not done.problems
    concerned = {host.pool for host in done.hosts if host.impact is not Impact.NONE}
    assert concerned == {"control"}
    fields = {
        field.path[:4]
        for each in done.objects
        if each.change.kind == "MachineDeployment"
        for field in each.change.fields
    }
    templates = ("spec", "template", "spec", "bootstrap")
    assert fields == {templates, *(("spec", "rollout", "strategy", each) for each in STRATEGY)}


def test_of_a_pool_alone_nothing_is_said_of_the_control_plane(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    hardware = "    hardware: mncore2-x8\n"
    repository.replace(
        "sites/tsukuba-1.yaml", hardware, f"{hardware}    first_boot: {FIRST_BOOT}\n"
    )
    (way,) = ways(repository.site("tsukuba-1")).values()
    assert "control plane" not in way


def test_only_another_time_for_drains_is_written() -> None:
    assert Rollout().drain_timeout_seconds == DRAIN_SECONDS
