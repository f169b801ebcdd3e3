"""What a site says of its kubelets is taken by the real kubelet: by its validation, and by its
managers of topology, processors and memory, on hosts that are a table."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.machines.kubelet import configuration as kubelet
from schemas.facts.site import Site
from schemas.model.kubelet import Kubelet
from schemas.rules.finding import InPool
from schemas.rules.kubelet import managers
from tests.golden import every_site
from tests.kit.go_programs import program
from tests.kit.repository import ROOT
from tests.schemas.facts.test_feature_gates import PAST_ITS_CONFIGURATION, started

SITE = every_site()["lab-1"]
POOL = SITE.file.pools[0]
FULL: dict[str, Any] = {
    "cpu_manager_policy": "static",
    "cpu_manager_policy_options": ["full-pcpus-only", "strict-cpu-reservation"],
    "topology_manager_policy": "restricted",
    "topology_manager_scope": "pod",
    "prefer_closest_numa_nodes": True,
    "max_allowable_numa_nodes": 16,
    "memory_manager_policy": "Static",
    "reserved_memory_by_numa_node": ["1274Mi", "1274Mi"],
    "reserved_system_cpus": "0-1,32-33",
    "seccomp_default": True,
    "max_parallel_image_pulls": 4,
    "allowed_unsafe_sysctls": ["net.core.somaxconn", "kernel.msg*"],
    "protect_kernel_defaults": True,
    "image_maximum_gc_age_hours": 200,
    "reserved_storage": "10Gi",
    "reserved_pids": 4096,
    "max_pids": 65536,
}
MANAGERS = ROOT / "tests" / "kit" / "kubelet_managers"


def with_kubelet(**settings: Any) -> Site:
    pools = [POOL.model_copy(update={"kubelet": Kubelet(**settings)}), *SITE.file.pools[1:]]
    return replace(SITE, file=SITE.file.model_copy(update={"pools": pools}))


def managed(configuration: Any, numa: int = 2, cores: int = 32) -> str:
    """What the managers say on a host: ``started``, or why they do not."""
    script = {"Configuration": configuration, "NumaNodes": numa, "Cores": cores, "MemoryGiB": 512}
    done = subprocess.run(
        [program(MANAGERS)], input=json.dumps(script), capture_output=True, text=True, check=False
    )
    assert done.returncode != 2, done.stdout
    return done.stdout.strip()


def rendered(**settings: Any) -> Any:
    site = with_kubelet(**settings)
    return kubelet(site, site.file.pools[0])


def test_a_setting_that_is_not_written_leaves_the_kubelets_default() -> None:
    assert rendered() == rendered(max_pods=110)
    assert not {"cpuManagerPolicy", "reservedMemory", "seccompDefault"} & rendered().keys()


@pytest.mark.scheduling
def test_the_real_kubelet_takes_every_setting(tmp_path: Path) -> None:
    assert PAST_ITS_CONFIGURATION in started(rendered(**FULL), tmp_path)


@pytest.mark.scheduling
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cpuManagerPolicy": "none"}, None),
        ({"topologyManagerPolicy": "single"}, "topologyManagerPolicy"),
        ({"reservedSystemCPUs": "4-2"}, "reservedSystemCPUs"),
        ({"reservedMemory": [{"numaNode": 0, "limits": {"memory": "0"}}]}, "may not be zero"),
    ],
)
def test_the_real_kubelets_validation(
    change: dict[str, Any], says: str | None, tmp_path: Path
) -> None:
    """The first is let through here, and stops the CPU manager later."""
    said = started({**rendered(**FULL), **change}, tmp_path)
    assert (PAST_ITS_CONFIGURATION if says is None else says) in said


@pytest.mark.scheduling
@pytest.mark.parametrize(
    ("settings", "host", "says"),
    [
        (FULL, {}, "started"),
        ({**FULL, "reserved_memory_by_numa_node": None}, {}, "started"),
        ({"memory_manager_policy": "Static", "reserved_memory": "3Gi"}, {}, "started"),
        ({**FULL, "cpu_manager_policy": "none"}, {}, "unsupported options"),
        ({**FULL, "reserved_memory_by_numa_node": ["1Gi", "1Gi"]}, {}, "is not equal to the value"),
        (
            {
                **FULL,
                "cpu_manager_policy_options": [
                    "distribute-cpus-across-numa",
                    "prefer-align-cpus-by-uncorecache",
                ],
            },
            {},
            "can not be used at the same time",
        ),
        ({**FULL, "reserved_system_cpus": "0,900"}, {"numa": 2}, "unknown CPU ID"),
        ({**FULL, "max_allowable_numa_nodes": None}, {"numa": 16}, "more than 8 NUMA Nodes"),
        (
            {**FULL, "reserved_memory_by_numa_node": ["848Mi", "850Mi", "850Mi"]},
            {"numa": 2},
            "NUMA node 2 that does not exist",
        ),
    ],
)
def test_the_rules_say_what_the_real_managers_say(
    settings: dict[str, Any], host: dict[str, int], says: str
) -> None:
    assert says in managed(rendered(**settings), **host)
    profile = SITE.profile(POOL).model_copy(
        update={"numa_nodes": host.get("numa", 2), "cpu_cores": 32, "memory_gib": 512}
    )
    site = replace(with_kubelet(**settings), hardware={**SITE.hardware, POOL.hardware: profile})
    found = list(managers(InPool(site, 0, site.file.pools[0])))
    assert bool(found) is (says != "started"), [each.message for each in found]
