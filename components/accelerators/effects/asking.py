"""Effects of changes to the ways to request a device: policies, classes, labels, expected devices.

None of them touches what runs. Sources: Kubernetes 1.34, apiserver pkg/admission/plugin/policy, and
pkg/scheduler/framework/plugins/dynamicresources (a class is read when a claim is allocated);
node-feature-discovery 0.19.0, pkg/nfd-master/nfd-api-controller.go and nfd-master.go.
"""

from collections.abc import Iterable

from components.accelerators.discovery import SEEN_DOMAIN
from components.accelerators.effects.concerned import (
    changes_allocation,
    hosts_where,
    otherwise_served,
    unsure,
)
from components.effects import kinds
from components.effects.applying import Kind, effect, not_known
from components.effects.configuration import content, readers
from components.effects.rules import Judge, harmless
from components.effects.vocabulary import Effect, FieldChange, Impact, ObjectChange, SiteChange

ADMISSION = "Kubernetes 1.34, apiserver pkg/admission/plugin/policy"
ALLOCATION = "Kubernetes 1.34, pkg/scheduler/framework/plugins/dynamicresources"
DEVICES = "Kubernetes 1.34, pkg/kubelet/cm/devicemanager/manager.go; KEP-5004"
MASTER = "node-feature-discovery 0.19.0, pkg/nfd-master/nfd-api-controller.go"
NOBODY = "foresite, components/accelerators/discovery.py"
LATER = "running pods stay as they are; those made later that ask for accelerators"

JUDGED = harmless(f"{LATER} are judged so, and no others", ADMISSION)
UNJUDGED = harmless(f"{LATER} are no longer judged by it", ADMISSION)


def late_policy(
    site: SiteChange, change: ObjectChange, field: FieldChange | None
) -> Iterable[Effect]:
    """A new mutating policy, maybe before the control plane serves its kind."""
    why = f"{LATER} are completed so, and no others"
    if otherwise_served(site):
        why += (
            "; the control plane serves this kind once its machines were replaced, until then "
            "`pulumi up` stops here and has to be run again"
        )
    yield effect(change, field, Impact.NONE, why, ADMISSION)


COMPLETED = harmless(f"{LATER} are completed so, and no others", ADMISSION)
UNCOMPLETED = harmless(
    f"{LATER} are no longer completed by it: another policy does it, or they are refused", ADMISSION
)


def device_labels(
    site: SiteChange, change: ObjectChange, field: FieldChange | None
) -> Iterable[Effect]:
    """Labels that show a node's devices: harmless while nothing is placed by them."""
    every = (each for side in site.sides for each in side.objects.values())
    placed = [
        each.title
        for each in every
        if each.group_kind not in ("NodeFeatureRule.nfd.k8s-sigs.io", "ConfigMap")
        and SEEN_DOMAIN in str(each.body)
    ]
    if placed:
        why = f"{', '.join(dict.fromkeys(placed))} may be placed by these labels"
        yield from not_known(why, MASTER)(site, change, field)
        return
    why = (
        "node feature discovery labels every node again within seconds; nothing of the site is "
        "placed by these labels"
    )
    yield effect(change, field, Impact.NONE, why, MASTER)


def expected_devices(
    site: SiteChange, change: ObjectChange, field: FieldChange | None
) -> Iterable[Effect]:
    """The number of devices that a host should show; who mounts it is judged as any reader."""
    if any(True for side in site.sides for _ in readers(side, change.one)):
        yield from content(site, change, field)
        return
    why = "it says what a host should show; no pod reads it"
    yield effect(change, field, Impact.NONE, why, NOBODY)


def _handover(otherwise: Judge) -> Judge:
    """Devices allocated in one way change to the other: neither knows of the other's pods."""

    def judge(
        site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        model = change.one.name.partition("/")[2]
        moved = changes_allocation(site)
        hosts = hosts_where(site, lambda _, each: each.model == model) if moved else {}
        if not hosts:
            yield from otherwise(site, change, field)
            return
        why = (
            f"{model} is allocated by another mechanism, which does not know the pods that hold "
            "devices by the present one: one device may be given to two jobs, unless the hosts are "
            "drained first"
        )
        yield unsure(change, field, (why, DEVICES), hosts)

    return judge


SELECTED = harmless(
    "allocated claims keep their devices; pending and later claims get devices that "
    "are selected so",
    ALLOCATION,
)
RENAMED = harmless(
    "running pods keep their devices; later pods ask by the new name, and pods pending under "
    "the old name stay pending",
    ALLOCATION,
)

ASKING = (
    Kind(kinds.MUTATING_POLICY, late_policy, UNCOMPLETED, (("spec", COMPLETED),)),
    Kind(kinds.MUTATING_BINDING, late_policy, UNCOMPLETED, (("spec", COMPLETED),)),
    Kind(kinds.POLICY, JUDGED, UNJUDGED, (("spec", JUDGED),)),
    Kind(kinds.POLICY_BINDING, JUDGED, UNJUDGED, (("spec", JUDGED),)),
    Kind(
        "NodeFeatureRule.nfd.k8s-sigs.io", device_labels, device_labels, (("spec", device_labels),)
    ),
    Kind("ConfigMap", expected_devices, expected_devices, (("data", expected_devices),)),
    Kind(
        "DeviceClass.resource.k8s.io",
        _handover(harmless("later pods may ask by this name", ALLOCATION)),
        _handover(harmless("running pods keep their devices; later ones stay pending", ALLOCATION)),
        (("spec", SELECTED), ("spec.extendedResourceName", RENAMED)),
        replaced=RENAMED,
    ),
)
