"""Effects of changes to the GPU operator's objects, at the operator's 26.3.

The operator runs a DaemonSet for each of its parts, and writes it anew where its rendered form
changed. Drivers are the exception: their pods are only replaced by the operator's own upgrade, or
by who deletes them.

Sources: NVIDIA/gpu-operator 26.3.3, controllers/object_controls.go (parts),
controllers/upgrade_controller.go, internal/state/driver.go (drivers, one DaemonSet for each
NVIDIADriver and operating system, OnDelete), api/nvidia/v1alpha1/nvidiadriver_types.go;
NVIDIA/k8s-operator-libs, pkg/upgrade; NVIDIA/nvidia-container-toolkit 1.19.1,
cmd/nvidia-ctk-installer.
"""

from collections.abc import Iterable
from typing import Any

from components.accelerators.effects.concerned import by_operator, concerning, hosts_where, unsure
from components.effects.applying import Fixed, Kind, effect, former
from components.effects.bodies import mapping
from components.effects.placement import Fit, running
from components.effects.pods import scale
from components.effects.rules import Judge, harmless
from components.effects.vocabulary import Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.making.daemons import MAX_UNAVAILABLE
from components.making.manifest import Json
from schemas.kubernetes.node_labels import POOL_LABEL

PARTS = "NVIDIA/gpu-operator 26.3.3, controllers/object_controls.go"
UPGRADE = "NVIDIA/gpu-operator 26.3.3, controllers/upgrade_controller.go; k8s-operator-libs"
DRIVERS = "NVIDIA/gpu-operator 26.3.3, internal/state/driver.go"
TOOLKIT = f"{PARTS}; nvidia-container-toolkit 1.19.1, cmd/nvidia-ctk-installer"
TYPES = "NVIDIA/gpu-operator 26.3.3, api/nvidia/v1alpha1/nvidiadriver_types.go"
_JOBS_GO_ON = "jobs keep their devices; the host allocates no device meanwhile"
_CONTAINERD = (
    "containerd restarts with the toolkit, and pods with GPUs cannot start meanwhile; running "
    "pods continue"
)


def parts(names: str, more: str = _JOBS_GO_ON, source: str = PARTS) -> Judge:
    """A judge of fields that go into the pods of some parts."""

    def judge(
        site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        hosts = hosts_where(site, by_operator)
        rolling = mapping(change.one.body, "spec", "daemonsets", "rollingUpdate")
        count = scale(rolling.get("maxUnavailable", MAX_UNAVAILABLE), running(site.side, hosts))
        why = f"the operator's pods of {names} restart, {max(1, count)} at a time; {more}"
        told = effect(change, field, Impact.POD_RESTART, why, source)
        yield concerning(site, told, hosts)

    return judge


def not_known(why: str, source: str = PARTS) -> Judge:
    """A judge of what nobody can tell for the hosts that the operator serves."""

    def judge(
        site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        yield unsure(change, field, (why, source), hosts_where(site, by_operator))

    return judge


def _upgrade_policy(body: Json) -> Json:
    return mapping(body, "spec", "driver", "upgradePolicy")


def automatic(
    site: SiteChange, change: ObjectChange, field: FieldChange | None
) -> Iterable[Effect]:
    """The switch of automatic driver upgrades: waiting upgrades begin now, or begin no more."""
    policy = _upgrade_policy(change.one.body)
    if policy.get("autoUpgrade") is not True:
        why = (
            "no driver is renewed by itself from now on; a host that is in the middle of it stays "
            "cordoned"
        )
        yield effect(change, field, Impact.NONE, why, UPGRADE)
        return
    why = f"hosts whose driver is older than it should be are renewed now: {_renewal(policy)}"
    yield concerning(
        site, _drain_effect(change, field, why, policy), hosts_where(site, by_operator)
    )


def _drain_effect(
    change: ObjectChange, field: FieldChange | None, why: str, policy: Json
) -> Effect:
    told = effect(change, field, Impact.DRAIN, why, UPGRADE)
    return told._replace(at_once=_at_a_time(policy))


def _at_a_time(policy: Json) -> int:
    """Hosts that are renewed at a time; the definition's default is 1."""
    count = policy.get("maxParallelUpgrades")
    return count if isinstance(count, int) and count > 0 else 1


def _renewal(policy: Json) -> str:
    """How a host's driver is renewed, and how many at a time."""
    count = _at_a_time(policy)
    wait = mapping(policy, "waitForCompletion").get("timeoutSeconds", 0)
    return (
        f"{count} at a time over all pools; each is cordoned and its Jobs may end within {wait} s; "
        "then its pods with GPUs are evicted and the driver is installed again"
    )


def driver(site: SiteChange, change: ObjectChange, field: FieldChange | None) -> Iterable[Effect]:
    """A field of an NVIDIADriver: any of them goes into the driver's pods."""
    every = site.after.objects.values() if site.after else ()
    policies = [
        _upgrade_policy(each.body)
        for each in every
        if each.group_kind == "ClusterPolicy.nvidia.com"
    ]
    policy: Json = policies[0] if policies else {}
    if policy.get("autoUpgrade") is not True:
        why = (
            "the driver stays as it is on each host until someone deletes the driver's pod there "
            "or the host is installed again: none is renewed by itself "
            "(accelerators.gpu_operator.max_parallel_upgrades is 0)"
        )
        yield effect(change, field, Impact.NONE, why, DRIVERS)
        return
    why = f"the driver is renewed: {_renewal(policy)}"
    yield concerning(site, _drain_effect(change, field, why, policy), _pool_of(site, change))


def _pool_of(site: SiteChange, change: ObjectChange) -> dict[str, Fit]:
    """The hosts of the pool that an NVIDIADriver selects."""
    names: set[Any] = {
        mapping(each.body, "spec", "nodeSelector").get(POOL_LABEL)
        for each in (former(change), change.one)
    }
    return hosts_where(site, lambda _, each: each.pool.name in names)


def _of_its_pool(why: str) -> Judge:
    def judge(
        site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        yield unsure(change, field, (why, DRIVERS), _pool_of(site, change))

    return judge


EVERY = "toolkit, device plugin, feature discovery, exporter and validator"
SHAPES = harmless("it shapes the next renewal of drivers, and starts none", UPGRADE)
PACE = harmless("how pods are replaced when they change; none is replaced by that", PARTS)
APART = harmless("an object beside the pods changes, and no pod", PARTS)

OPERATOR = (
    Kind(
        "ClusterPolicy.nvidia.com",
        not_known("the operator starts on hosts that run jobs, and may install their driver"),
        not_known("all that the operator runs goes at once, drivers too, without a drain"),
        (
            ("spec.daemonsets.tolerations", parts(EVERY, _CONTAINERD, TOOLKIT)),
            ("spec.daemonsets.priorityClassName", parts(EVERY, _CONTAINERD, TOOLKIT)),
            ("spec.daemonsets.updateStrategy", PACE),
            ("spec.daemonsets.rollingUpdate", PACE),
            ("spec.driver.enabled", not_known("drivers come or go at once, without a drain")),
            (
                "spec.driver.useNvidiaDriverCRD",
                not_known("other DaemonSets bring the drivers, and the old ones go at once"),
            ),
            ("spec.driver.upgradePolicy", SHAPES),
            ("spec.driver.upgradePolicy.autoUpgrade", automatic),
            ("spec.toolkit", parts("the container toolkit", _CONTAINERD, TOOLKIT)),
            ("spec.devicePlugin", parts("the device plugin")),
            ("spec.gfd", parts("feature discovery")),
            ("spec.dcgmExporter", parts("the exporter")),
            ("spec.dcgmExporter.serviceMonitor", APART),
            ("spec.validator", parts(EVERY, _CONTAINERD, TOOLKIT)),
            ("spec.cdi", parts(EVERY, _CONTAINERD, TOOLKIT)),
        ),
    ),
    Kind(
        "NVIDIADriver.nvidia.com",
        _of_its_pool("a driver is installed on hosts that may have one and run jobs"),
        _of_its_pool("the drivers' pods go at once, without a drain"),
        (
            ("spec", driver),
            (
                "spec.nodeSelector",
                _of_its_pool("hosts that are no longer selected lose their driver's pod at once"),
            ),
        ),
        (Fixed("spec.driverType", replaces=False, refuses=True, source=TYPES),),
    ),
)
