"""Rollouts that make progress, and health checks that do not loop, in the objects of any site."""

from dataclasses import replace

import pytest

from components.machines.fleet import from_site
from components.machines.health import startup_timeout
from schemas.facts.site import Site
from schemas.model.firmware import Firmware
from schemas.model.hardware import HardwareProfile
from schemas.model.vocabulary import Remedy
from tests.golden import MANAGED, every_site, name_of, of_kind, one, pool_of, pools, with_pool


@pytest.fixture(params=sorted(every_site()))
def site(request: pytest.FixtureRequest) -> Site:
    return every_site()[request.param]


def test_a_deployment_selects_its_own_machines_only(site: Site) -> None:
    deployments = [m.body for m in of_kind(site, "MachineDeployment")]
    for deployment in deployments:
        wanted = deployment["spec"]["selector"]["matchLabels"].items()
        selected = [
            name_of(other)
            for other in deployments
            if wanted <= other["spec"]["template"]["metadata"]["labels"].items()
        ]
        assert selected == [name_of(deployment)]


def test_a_rollout_can_always_take_its_next_step(site: Site) -> None:
    for manifest in of_kind(site, "MachineDeployment"):
        strategy = manifest.body["spec"]["rollout"]["strategy"]
        if strategy["type"] == "OnDelete":
            assert strategy.keys() == {"type"}
            continue
        # Cluster API's defaults, 1 and 0, wait for ever where there is no spare host.
        update = strategy["rollingUpdate"]
        assert update["maxSurge"] + update["maxUnavailable"] > 0
        assert update["maxUnavailable"] <= manifest.body["spec"]["replicas"]
    spec = one(site, "KubeadmControlPlane")["spec"]
    surge = spec["rollout"]["strategy"]["rollingUpdate"]["maxSurge"]
    assert spec["replicas"] % 2 == 1
    assert surge in {0, 1}
    assert surge == 1 or spec["replicas"] >= 3
    assert surge == min(1, site.control_plane.spares)


def test_nothing_waits_for_ever_when_a_machine_goes(site: Site) -> None:
    for manifest in of_kind(site, *MANAGED):
        spec = manifest.body["spec"]
        limits = (spec.get("machineTemplate") or spec["template"])["spec"]["deletion"]
        assert limits.keys() == {
            "nodeDeletionTimeoutSeconds",
            "nodeDrainTimeoutSeconds",
            "nodeVolumeDetachTimeoutSeconds",
        }
        assert all(seconds > 0 for seconds in limits.values())  # 0 is for ever
        drain = pool_of(site, manifest.body).rollout.drain_timeout_seconds
        assert limits["nodeDrainTimeoutSeconds"] == drain


def test_workers_never_run_ahead_of_the_control_plane(site: Site) -> None:
    control_plane = one(site, "KubeadmControlPlane")["spec"]["version"]
    for manifest in of_kind(site, "MachineDeployment"):
        version = manifest.body["spec"]["template"]["spec"]["version"]
        assert version == (site.file.cluster.workers or site.file.cluster.kubernetes)
        assert [*map(int, version[1:].split("."))] <= [*map(int, control_plane[1:].split("."))]


def test_each_pool_is_watched_by_one_health_check_that_cannot_loop(site: Site) -> None:
    checks = {name_of(m.body): m.body for m in of_kind(site, "MachineHealthCheck")}
    assert checks.keys() == pools(site).keys()
    for name, body in checks.items():
        pool, spec = pools(site)[name], body["spec"]
        start = spec["checks"]["nodeStartupTimeoutSeconds"]
        template = spec["remediation"].get("templateRef")
        if pool.health_check.remedy is Remedy.REBOOT:
            # CAPM3 cannot power-cycle what never became a node, and its request blocks the others.
            assert start == 0
            assert template["name"] == name
        else:
            assert start >= site.profile(pool).reimage_minutes * 60 + 600
            assert template is None
        watched = [
            m.body["spec"]["replicas"]
            for m in of_kind(site, *MANAGED)
            if pool_of(site, m.body).name == name
        ]
        limit = spec["remediation"]["triggerIf"]["unhealthyLessThanOrEqualTo"]
        share = sum(watched) * pool.health_check.max_unhealthy_percent // 100
        assert limit == (1 if pool is site.control_plane else max(1, share))
        selector = spec["selector"]["matchLabels"]
        if pool is site.control_plane:
            assert selector == {"cluster.x-k8s.io/control-plane": ""}
        else:
            assert selector == {"node.cluster.x-k8s.io/pool": name}


def test_of_a_control_plane_one_machine_at_most_is_taken_down() -> None:
    site = every_site()["edge-1"]
    name = site.control_plane.name
    check = site.control_plane.health_check.model_copy(update={"max_unhealthy_percent": 99})
    body = one(with_pool(site, name, health_check=check), f"MachineHealthCheck/{name}")
    # The power cycle asks nobody for the quorum.
    assert body["spec"]["remediation"]["triggerIf"] == {"unhealthyLessThanOrEqualTo": 1}


@pytest.mark.parametrize("minutes", [5, 9, 10, 30, 480])
def test_the_time_to_start_is_never_shorter_than_a_re_image(minutes: int) -> None:
    site = every_site()["edge-1"]
    pool = site.control_plane
    assert pool.health_check.remedy is Remedy.REPLACE
    assert pool.health_check.node_startup_timeout_seconds is None
    firmware = Firmware(settings={"WorkloadProfile": "HPC"}, minutes=110)
    cases: dict[int, dict[str, object]] = {
        0: {},
        20: {"raid": []},
        130: {"raid": [], "firmware": firmware},
    }
    for more, longer in cases.items():
        said: dict[str, object] = {"reimage_minutes": minutes, **longer}
        profile: HardwareProfile = site.profile(pool).model_copy(update=said)
        slow = replace(site, hardware={**site.hardware, pool.hardware: profile})
        assert startup_timeout(slow, pool) >= (minutes + more) * 60 + 600
        groups = from_site(slow).groups
        assert {g.pace.install_minutes for g in groups if g.pool == pool.name} == {minutes + more}
        (control,) = (m.body for m in of_kind(slow, "KubeadmControlPlane"))
        times = control["spec"]["remediation"]
        assert times["retryPeriodSeconds"] == 120 * (minutes + more)
