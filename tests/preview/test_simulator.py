"""The preview against an independent model of the controllers, on random changes of sites."""

from pathlib import Path
from typing import Any

import pytest

from tests.kit.proof_shares import SHARES
from tests.preview.simulator.play import Figures, play
from tests.preview.simulator.trial import Bench
from tests.preview.simulator.world import Bodies, by_name

SITES, CHANGES = 350, 6
"""Sites of all shares, and changes of each site: 2,100 in all."""

WIDER = {
    "35:3532537985": "each of 6 Machines goes, one of them to a host that moved",
    "343:313808654": "a host was removed, 4 Machines stand on the other 5",
    "344:2454224661": "a host was removed, 4 Machines stand on the other 5",
}
"""Changes of which more is said than can happen, by one host: bounds that exclude each other are
added up. Nothing safer than the truth is said of them."""
REPLACES = 3
"""A site with a change that replaces Machines."""


@pytest.mark.parametrize(
    "share", [pytest.param(share, marks=pytest.mark.proof(share)) for share in range(SHARES)]
)
def test_no_play_of_the_controllers_is_worse_than_the_preview_says(
    share: int, tmp_path: Path
) -> None:
    bench = Bench(tmp_path)
    told = []
    for seed in range(share, SITES, SHARES):
        for change in bench.changes(seed, CHANGES):
            found = bench.mismatches(change, bench.report(change))
            if str(change.seed) in WIDER:
                found = [each for each in found if "WIDE:" not in each]
            if found:
                told.append("\n  ".join([f"seed {change.seed}: {change.words}", *found]))
    assert not told, "\n".join(told)


def test_the_comparison_finds_what_is_said_too_safe_and_too_wide(tmp_path: Path) -> None:
    """On a change that replaces Machines in waves, with each figure one off in turn."""
    bench = Bench(tmp_path)
    change = next(
        each
        for each in bench.changes(REPLACES, CHANGES)
        if (bench.report(each) or {"plans": []})["plans"]
    )
    said: Any = bench.report(change)
    assert bench.mismatches(change, said) == []
    (plan, *_), (host, *_) = said["plans"], [each for each in said["hosts"] if each["reasons"]]
    ledger = next(each for each in said["capacity"] if each["model"] == plan["out"]["model"])
    for part, name in [(plan, "machines"), (plan, "at_once"), (plan["out"], "hosts_out"),
                       (ledger, "hosts_out"), (ledger, "hosts"), (said["counts"], "re-image"),
                       (host, "impact")]:  # fmt: skip
        kept = part[name]
        for wrong in ["none"] if name == "impact" else [kept - 1, kept + 1]:
            part[name] = wrong
            assert bench.mismatches(change, said), f"{name}: {wrong} for {kept}"
        part[name] = kept


# --- the model against what the real controllers did ----------------------------------------------
def _objects(replicas: int, hosts: int, rollout: dict[str, Any], **template: str) -> Bodies:
    """One MachineDeployment, a control plane on a host of its own, and hosts for both."""
    version = template.get("version", "v1.34.3")
    machine = {"infrastructureRef": {"name": template.get("image", "w")}, "version": version,
               "bootstrap": {"configRef": {"name": "b"}}}  # fmt: skip
    bodies: list[dict[str, Any]] = [
        {"kind": "MachineDeployment", "metadata": {"name": "w"},
         "spec": {"replicas": replicas, "rollout": {"strategy": rollout},
                  "template": {"spec": machine}}},
        {"kind": "KubeadmControlPlane", "metadata": {"name": "c"},
         "spec": {"replicas": 1, "version": "v1.34.3", "kubeadmConfigSpec": {},
                  "rollout": {"strategy": {"rollingUpdate": {"maxSurge": 0}}},
                  "machineTemplate": {"spec": {"infrastructureRef": {"name": "c"}}}}},
    ]  # fmt: skip
    for name, pool in (("w", "w"), ("w2", "w"), ("c", "c")):
        selector = {"hostSelector": {"matchLabels": {"pool": pool}}}
        bodies.append({"kind": "Metal3MachineTemplate", "metadata": {"name": name},
                       "spec": {"template": {"spec": selector}}})  # fmt: skip
    for number in range(hosts + 1):
        labels = {"pool": "w" if number else "c"}
        metadata = {"name": f"h{number}", "labels": labels}
        spec = {"bmc": {"address": "a"}, "bootMACAddress": "m"}
        bodies.append({"kind": "BareMetalHost", "metadata": metadata, "spec": spec})
    return by_name(bodies)


def _rolling(surge: int, unavailable: int) -> dict[str, Any]:
    return {"type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}  # fmt: skip


@pytest.mark.parametrize(
    ("hosts", "rollout", "after", "expected"),
    [
        (8, _rolling(0, 1), {"image": "w2"}, Figures(8, 8, 8, 0, 8, 1, 7, 0)),
        (8, _rolling(0, 2), {"image": "w2"}, Figures(8, 8, 8, 0, 8, 2, 6, 0)),
        (8, _rolling(1, 0), {"image": "w2"}, Figures(8, 8, 0, 0, 0, 1, 8, 1)),
        (9, _rolling(1, 0), {"image": "w2"}, Figures(8, 8, 8, 0, 8, 1, 8, 0)),
        (8, _rolling(0, 2), {"version": "v1.35.0"}, Figures(8, 8, 2, 0, 0, 2, 6, 2)),
        (8, {"type": "OnDelete"}, {"image": "w2"}, Figures(8, 8, 0, 0, 0, 0, 8, 0)),
        (8, _rolling(0, 1), {}, Figures(8, 6, 2, 0, 0, 2, 6, 0)),
    ],
    ids=["one at a time", "two", "no spare host", "a spare host", "too new", "OnDelete", "fewer"],
)
def test_the_model_does_what_the_real_controllers_did(
    hosts: int, rollout: dict[str, Any], after: dict[str, str], expected: Figures
) -> None:
    """Eight Machines under Cluster API v1.13.6 with its webhooks, as it was measured."""
    base = _objects(8, hosts, rollout)
    head = _objects(expected.target, hosts, rollout, **after)
    for found in play(base, head):
        assert found.figures["w"] == expected
