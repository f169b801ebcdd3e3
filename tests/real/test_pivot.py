"""``clusterctl move`` takes a site to another management cluster: what travels is what
docs/pivot.md says, and no machine is installed anew. One run, in about four minutes on two
cores."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.kit.host_network_site import NAME, copy_site
from tests.kit.repository import ROOT
from tests.real.live import metal3_world, pivot
from tests.real.live.run import observe_with
from tools.toolchain import ensure

pytestmark = [pytest.mark.capi, pytest.mark.proof]
Json = dict[str, Any]
SPARE = "osaka-1-b-001", "osaka-1-b-002"
"""The hosts of the pool with a spare."""
STAYS = {"Metal3RemediationTemplate", "ValidatingAdmissionPolicy"}
MADE_ANEW = {"FirmwareSchema", "HostFirmwareComponents", "HostFirmwareSettings"}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """The objects of both sides; skipped where there are no parts for it."""

    def require() -> None:
        metal3_world.require()
        ensure(["pivot"])

    root = tmp_path_factory.mktemp("repository")
    file = copy_site(root) / "sites" / f"{NAME}.yaml"
    text = file.read_text("utf-8")
    pool = "{name: cpu, hardware: cpu-1u, host_network: two"
    assert pool in text
    file.write_text(text.replace(pool, f"{pool}, spares: 1"), "utf-8")
    found: Json = observe_with(require, "tests.real.live.pivot", str(root), NAME)
    return found


def kinds(names: Iterable[str]) -> set[str]:
    return {name.partition(" ")[0] for name in names}


def test_what_travels_is_what_the_page_says(seen: Json) -> None:
    assert [seen[each]["code"] for each in ("dry run", "to directory", "move")] == [0, 0, 0]
    before, after, left = seen["before"], seen["after"], seen["left"]
    assert kinds(before.keys() - after.keys()) == STAYS
    assert kinds(left) == STAYS | {"Secret"}
    assert [name for name in left if name.startswith("Secret")] == [f"Secret {NAME}-{pivot.PLAYED}"]
    saved = {name.partition("_")[0] for name in seen["files"]}
    assert saved == kinds(before) - STAYS - MADE_ANEW
    page = (ROOT / "docs" / "pivot.md").read_text("utf-8")
    stay = STAYS - {"ValidatingAdmissionPolicy"} | MADE_ANEW
    assert all(kind in page for kind in stay)


def test_without_labels_no_host_travels(seen: Json) -> None:
    said = seen["without labels"]["said"]
    assert "Creating Machine=" in said and "Creating Metal3MachineTemplate=" in said
    assert "BareMetalHost" not in said and "-bmc" not in said


def test_no_machine_is_installed_anew_and_the_spare_is_inspected(seen: Json) -> None:
    before, after = seen["before"], seen["after"]
    machines = {name for name in before if name.startswith(("Machine ", "Metal3Machine "))}
    assert machines == {n for n in after if n.startswith(("Machine ", "Metal3Machine "))}
    assert all(pivot.is_ready(after[name]) for name in machines)
    hosts = {name: each for name, each in before.items() if name.startswith("BareMetalHost")}
    spares = set()
    for name, was in hosts.items():
        now, history = after[name]["status"], was["status"]["operationHistory"]
        assert now["provisioning"]["state"] == was["status"]["provisioning"]["state"]
        assert after[name]["spec"].get("consumerRef") == was["spec"].get("consumerRef")
        assert now["operationHistory"]["provision"] == history["provision"]
        assert now["operationHistory"]["register"] != history["register"]
        if now["operationHistory"]["inspect"] != history["inspect"]:
            spares.add(name.partition(" ")[2])
    assert len(spares) == 1 and spares < set(SPARE)


def test_what_foresite_reads_of_the_other_side_is_its_own(seen: Json) -> None:
    """uids are other ones, so that ``foresite recover`` asks before it takes them."""
    before, after = seen["before"], seen["after"]
    both = before.keys() & after.keys()
    assert not [n for n in both if before[n]["metadata"]["uid"] == after[n]["metadata"]["uid"]]
    pool = f"IPPool {NAME}"
    assert before[pool]["spec"] == after[pool]["spec"]
