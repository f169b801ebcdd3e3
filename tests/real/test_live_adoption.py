"""A running cluster comes under Foresite on the real controllers, and no machine is replaced.

Each engine is a run of its own: two of about two minutes, and one with all steps of about eight.
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
    "kubectl": (*_FIRST, "finish"),
    "argocd-controller": _FIRST,
    "kustomize-controller": (*_FIRST, "finish", "leave", "ask_for_a_rollout", "add_a_label",
                             "add_a_byte"),
}  # fmt: skip
HELD = set(cluster.hosts()[: cluster.CONTROL + cluster.WORKERS])
CONTROL = set(cluster.hosts()[: cluster.CONTROL])


@pytest.mark.parametrize("engine", STEPS)
def test_a_running_cluster_is_adopted_and_rolls_when_it_is_told_to(engine: str) -> None:
    if reason := why_not():
        pytest.skip(reason)
    try:
        metal3_world.require()
    except ToolchainError as error:
        pytest.skip(str(error))
    seen: Json = observe("tests.real.live.adoption", engine, *STEPS[engine])
    assert seen["plan"]["plan"]["verdict"] == ["none, for each of 6 hosts"]
    assert seen["plan"]["secrets"] and not seen["plan"]["leaks"]
    assert seen["prove"]["proved"] and seen["prove"]["stopped"] == 0, seen["prove"]
    assert seen["prove"]["green"] == (engine == "kubectl")
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
