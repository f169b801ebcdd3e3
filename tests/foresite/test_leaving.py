"""A host that goes out and comes back with another board, by the real Pulumi and API server. The
controllers are played: what they make of it is in tests/real/test_live_hosts.py."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.machines.names import CLUSTER_API, INFRASTRUCTURE_API, METAL3_API
from controlplane import Client, ControlPlane
from foresite.cli import main
from tests.kit.preview_repository import Repository
from tests.kit.trial_repository import small_sites, use_trial
from tests.verdicts.edits import Lines, listed, states

pytestmark = [pytest.mark.pulumi, pytest.mark.proof]
SITE, HOST = "fuji-1", "fuji-1-lab-004"
POOLS = "hardware: t4-pcie-16gb-x1, taints: []}\n"
MARK = "cluster.x-k8s.io/delete-machine"


@pytest.fixture
def client(api: ControlPlane) -> Iterator[Client]:
    with api.client() as found:
        yield found


def host(client: Client) -> dict[str, Any]:
    found = client.get(METAL3_API, "BareMetalHost", HOST, SITE)
    assert found is not None
    return found


def machine(client: Client) -> dict[str, Any] | None:
    return client.get(CLUSTER_API, "Machine", "m", SITE)


def install(client: Client) -> None:
    """The part of Cluster API and CAPM3: the host has a Machine, which waits for nothing."""
    made = client.apply(
        {
            "apiVersion": CLUSTER_API,
            "kind": "Machine",
            "metadata": {"name": "m", "namespace": SITE},
            "spec": {
                "clusterName": SITE,
                "bootstrap": {"dataSecretName": "none"},
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io",
                                      "kind": "Metal3Machine", "name": "m"},
            },
        }
    )  # fmt: skip
    owner = {"apiVersion": CLUSTER_API, "kind": "Machine", "name": "m"}
    client.apply(
        {
            "apiVersion": INFRASTRUCTURE_API,
            "kind": "Metal3Machine",
            "metadata": {
                "name": "m",
                "namespace": SITE,
                "annotations": {"metal3.io/BareMetalHost": f"{SITE}/{HOST}"},
                "ownerReferences": [{**owner, "uid": made["metadata"]["uid"]}],
            },
            "spec": {"image": {"url": "http://files.test/os", "checksum": "f" * 64}},
        }
    )
    consume(client, {"image": {"url": "http://files.test/os"}, "consumerRef": {"name": "m"}})


def consume(client: Client, spec: dict[str, Any]) -> None:
    path = f"/apis/{METAL3_API}/namespaces/{SITE}/baremetalhosts/{HOST}"
    client.request("PATCH", path, {"spec": spec}, "application/merge-patch+json")


def one_more(rows: Lines) -> None:
    old = {"name": "3", "bmc": "13", "ip": "13", "mac": "3", "serial": "D"}
    new = {"name": "4", "bmc": "14", "ip": "14", "mac": "4", "serial": "E"}
    changed = {key: rows[2][key].removesuffix(end) + new[key] for key, end in old.items()}
    rows.append({**rows[2], **changed, "pool": "work"})


def up(repository: Repository, edit: Any = None) -> int:
    if edit is not None:
        edit(repository)
        repository.commit("an edit")
    return main(["--root", str(repository.root), "up", "--trial", SITE])


def test_a_board_is_replaced_in_two_merges_and_nothing_is_acknowledged(
    api: ControlPlane,
    client: Client,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    use_trial(monkeypatch, api)
    repository = small_sites(tmp_path, {SITE: 0})
    pool = f"{POOLS}  - {{name: work, hardware: t4-pcie-16gb-x1}}\n"
    repository.replace(f"sites/{SITE}.yaml", POOLS, pool)
    assert up(repository, listed(SITE, one_more)) == 0, capsys.readouterr()
    install(client)
    uid = host(client)["metadata"]["uid"]

    assert up(repository, states(SITE, {HOST: "out"})) == 0, capsys.readouterr()
    metadata = host(client)["metadata"]
    assert metadata["labels"]["foresite.dev/state"] == "out" and metadata["uid"] == uid
    assert metadata["annotations"]["capm3.metal3.io/unhealthy"] == "capm3/UnhealthyNode"
    assert machine(client) is None
    assert "marked: the Machines of" in capsys.readouterr().err

    # The second merge comes too early: the host still has its image, and nothing happens to it.
    back = states(SITE, {HOST: "in-service"}, mac="52:54:00:a0:ff:01")
    assert up(repository, back) == 2
    assert "would be wiped without a drain" in capsys.readouterr().err
    assert host(client)["metadata"]["uid"] == uid
    consume(client, {"image": None})
    assert up(repository) == 0, capsys.readouterr()
    found = host(client)
    assert found["metadata"]["uid"] != uid and found["spec"]["bootMACAddress"][-2:] == "01"
    assert "consumerRef" not in found["spec"]
    assert "foresite.dev/state" not in found["metadata"]["labels"]
