"""A running cluster comes under Foresite on the real controllers, and no machine is replaced.

Each run takes two to six minutes beside others. FORESITE_WATCH_SECONDS=900 watches for that long
that nothing happens (docs/adoption.md has the last such run).
"""

from typing import Any

import pytest

from tests.kit import running_cluster as cluster
from tests.real.live.adoption import LOOKS
from tests.real.live.run import observe_metal3

pytestmark = [pytest.mark.capi, pytest.mark.proof]
Json = dict[str, Any]
_ADOPTED = ("plan", "prove", "up", "finish")
STEPS = {
    "kubectl": ("kubectl", *_ADOPTED, "add_a_byte"),
    "argocd-controller": ("argocd-controller", *_ADOPTED, "ask_for_a_rollout"),
    "kustomize-controller": ("kustomize-controller", *_ADOPTED, "add_a_label", "leave"),
}
HELD = set(cluster.hosts()[: cluster.CONTROL + cluster.WORKERS])


@pytest.mark.parametrize("run", STEPS)
def test_a_running_cluster_is_adopted_and_rolls_when_its_rollout_is_requested(run: str) -> None:
    seen: Json = observe_metal3("tests.real.live.adoption", *STEPS[run])
    assert seen["plan"]["plan"]["verdict"] == ["none, for each of 6 hosts"]
    assert seen["plan"]["secrets"] and not seen["plan"]["leaks"]
    assert seen["prove"]["proved"] and seen["prove"]["stopped"] == 0, seen["prove"]
    assert seen["prove"]["green"] == (run == "kubectl")
    up = seen["up"]
    assert len(up["before"]) == len(HELD)
    assert up["always"] and up["generations"] and up["after"] == up["before"]
    for controller in ("machinedeployment", "machineset", "kubeadmcontrolplane", "metal3machine"):
        assert up["reconciled"][controller][1] >= LOOKS
    assert seen["finish"]["same"]
    assert not {"kubectl-client-side-apply", run} & {*seen["finish"]["owners"]}
    for step in STEPS[run][len(_ADOPTED) + 1 :]:
        found = seen[step]
        said = set(found["preview"])  # a spare of the pool may take a machine's place
        assert set(found["replaced"]) <= said and not found["others"]
        mine = {host: uid for host, uid in found["before"].items() if host in said}
        assert bool(mine) == (step != "add_a_label") and mine.keys() <= {*found["replaced"]}
        assert not set(mine.values()) & set(found["after"].values())
