"""A running cluster comes under Foresite on the real controllers, and no machine is replaced.

Each run takes two to six minutes beside others; what is forced is done by hand.
"""

from typing import Any

import pytest

from tests.kit import running_cluster as cluster
from tests.real.live import metal3_world
from tests.real.live.namespace import why_not
from tests.real.live.run import observe
from tools.toolchain import ToolchainError

pytestmark = [pytest.mark.capi, pytest.mark.proof]
Json = dict[str, Any]
_FIRST = ("plan", "prove", "up")
STEPS = {
    "kubectl": ("kubectl", *_FIRST, "finish"),
    "argocd-controller": ("argocd-controller", *_FIRST),
    "kustomize-controller": ("kustomize-controller", *_FIRST, "finish", "leave", "add_a_label"),
    "forced": ("kustomize-controller", *_FIRST, "ask_for_a_rollout", "add_a_byte"),
}
HELD = set(cluster.hosts()[: cluster.CONTROL + cluster.WORKERS])
CONTROL = set(cluster.hosts()[: cluster.CONTROL])


@pytest.mark.parametrize("run", STEPS)
def test_a_running_cluster_is_adopted_and_rolls_when_it_is_told_to(run: str) -> None:
    if reason := why_not():
        pytest.skip(reason)
    try:
        metal3_world.require()
    except ToolchainError as error:
        pytest.skip(str(error))
    seen: Json = observe("tests.real.live.adoption", *STEPS[run])
    assert seen["plan"]["plan"]["verdict"] == ["none, for each of 6 hosts"]
    assert seen["plan"]["secrets"] and not seen["plan"]["leaks"]
    assert seen["prove"]["proved"] and seen["prove"]["stopped"] == 0, seen["prove"]
    assert seen["prove"]["green"] == (run == "kubectl")
    up = seen["up"]
    assert len(up["before"]) == len(HELD)
    assert up["always"] and up["generations"] and up["after"] == up["before"]
    if "finish" in seen:
        assert seen["finish"]["same"]
        assert not {"kubectl-client-side-apply", "kustomize-controller"} & {
            *seen["finish"]["owners"]
        }
    for step, control in (("leave", False), ("ask_for_a_rollout", False), ("add_a_byte", True)):
        if step in seen:
            found = seen[step]
            mine = {
                host: uid for host, uid in found["before"].items() if (host in CONTROL) == control
            }
            assert mine.keys() <= {*found["replaced"]}
            assert all((host in CONTROL) == control for host in found["replaced"])
            assert not set(mine.values()) & set(found["after"].values())
    assert "add_a_label" not in seen or seen["add_a_label"]["replaced"] == []
