"""Rules on the times and programs of repairs: a repair ends before anybody else steps in, loops are
seen, and it is known which programs repair.

Sources: Cluster API 1.13 (MachineHealthCheck targets), pfnet-research/node-operation-controller
0ac94deb.
"""

from collections.abc import Iterator
from math import ceil

from schemas.facts.resets import device_reset
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.remediation import Detector
from schemas.model.vocabulary import Fault, RemediatorKind
from schemas.rules.finding import Finding, Path
from schemas.rules.remediation import PLACE, has_remediator

HOUR = 3600
DETECTOR_IMAGE = "node-problem-detector"
CONTROLLER_IMAGE = "node-operation-controller"
REPAIR_IMAGE = "node-repair"
_LATER_SECONDS = 300
"""By how much Cluster API's health check should wait for longer than a reboot may take."""
_LEAST_SECONDS = 10
"""Between two checks at least, as the model has it."""
_REBOOT: Path = (*PLACE, "reboot")
_DETECTOR: Path = (*PLACE, "detector")


def last_resort(site: Site) -> Iterator[Finding]:
    """Cluster API's health check waits for longer than a reboot by a remediator may take: its node
    is not ready all that time."""
    remediation = site.file.remediation
    if remediation is None:
        return
    takes = remediation.reboot.timeout_seconds
    others = []
    for index, pool in enumerate(site.file.pools):
        check = pool.health_check
        waits = check.unhealthy_timeout_seconds
        if waits > takes or not site.remediators_of(pool):
            continue
        if "unhealthy_timeout_seconds" not in check.model_fields_set:
            others.append((waits, pool.name))
            continue
        message = (
            f"after {waits} seconds Cluster API steps in, and a remediator's reboot may take "
            f"{takes}"
        )
        fix = f"write {takes + _LATER_SECONDS} or more, or lower remediation.reboot.timeout_seconds"
        place = ("pools", index, "health_check", "unhealthy_timeout_seconds")
        yield Finding(Code.HEALER_CLASH, place, message, fix)
    if others:
        waits, name = min(others)
        message = (
            f"a reboot may take {takes} seconds, and Cluster API steps in after {waits} on {name}"
        )
        fix = (
            f"write {waits - _LATER_SECONDS} or less, or raise "
            "health_check.unhealthy_timeout_seconds of its pools"
        )
        yield Finding(Code.HEALER_CLASH, (*_REBOOT, "timeout_seconds"), message, fix)


def window(site: Site) -> Iterator[Finding]:
    """As many reboots as are allowed fit the window in which they are counted: else the first is
    forgotten before the last, and there is always one more."""
    remediation = site.file.remediation
    if remediation is None or not has_remediator(site, RemediatorKind.NODE_OPERATION_CONTROLLER):
        return
    reboot = remediation.reboot
    needed = ceil(reboot.attempts * reboot.timeout_seconds / HOUR)
    if reboot.window_hours < needed:
        message = (
            f"{reboot.attempts} reboots of up to {reboot.timeout_seconds} seconds do not fit "
            f"{reboot.window_hours} h, so a host may never have had too many"
        )
        fix = f"write {needed} or more"
        also = tuple((*_REBOOT, name) for name in ("attempts", "timeout_seconds"))
        yield Finding(Code.REPAIR_LOOP, (*_REBOOT, "window_hours"), message, fix, also=also)


def reporting_times(site: Site) -> Iterator[Finding]:
    """A fault is reported within an hour, and its end while the repair still counts."""
    remediation = site.file.remediation
    if remediation is None:
        return
    detector, every = remediation.detector, remediation.detector.interval_seconds
    if every * detector.bad_after > HOUR:
        message = (
            f"{detector.bad_after} checks, one in {every} seconds, take "
            f"{every * detector.bad_after / HOUR:.1f} h to find a fault"
        )
        fix = f"write {HOUR // every} or less, or check more often"
        also = ((*_DETECTOR, "interval_seconds"),)
        yield Finding(Code.OUT_OF_BOUNDS, (*_DETECTOR, "bad_after"), message, fix, also=also)
    if has_remediator(site):
        yield from _recovery_time(detector, remediation.reboot.timeout_seconds)


def _recovery_time(detector: Detector, takes: int) -> Iterator[Finding]:
    """The checks begin to count when the host has booted: half of the time is left for that."""
    every, half = detector.interval_seconds, takes // 2
    if every * detector.good_after <= half:
        return
    by_count = "good_after" in detector.model_fields_set and every <= half
    field = "good_after" if by_count else "interval_seconds"
    most = half // every if by_count else max(half // detector.good_after, _LEAST_SECONDS)
    message = (
        f"{detector.good_after} checks, one in {every} seconds, leave less than half of the "
        f"{takes} seconds of a reboot for the boot"
    )
    fix = f"write {most} or less, or raise remediation.reboot.timeout_seconds"
    others = {"good_after", "interval_seconds"} - {field}
    also = (*((*_DETECTOR, each) for each in others), (*_REBOOT, "timeout_seconds"))
    yield Finding(Code.REPAIR_STUCK, (*_DETECTOR, field), message, fix, also=also)


def remediation_images(site: Site) -> Iterator[Finding]:
    """It is known which programs find faults, and which repair them."""
    remediation = site.file.remediation
    if remediation is None:
        return
    controller = remediation.controller
    needed = [(remediation.detector.image, DETECTOR_IMAGE, "image: in detector", "detector")]
    operated = has_remediator(site, RemediatorKind.NODE_OPERATION_CONTROLLER)
    if operated:
        needed.append((controller.image, CONTROLLER_IMAGE, "image: in controller", "controller"))
    if operated or remediation.device_taints:
        needed.append((remediation.repair_image, REPAIR_IMAGE, "repair_image:", "repair_image"))
    for own, name, field, part in needed:
        if own is None and name not in site.release.images:
            message = f"release {site.release.release} has no image {name}"
            fix = f"write {field}, or name a release that has it"
            yield Finding(Code.IMAGE_UNKNOWN, (*PLACE, part), message, fix)


def bad_devices(site: Site) -> Iterator[Finding]:
    """What happens by the number of bad devices can happen: single ones are taken out, at most half
    of a host's, and somebody repairs the host."""
    remediation = site.file.remediation
    counted = remediation.bad_devices if remediation else None
    if remediation is None or counted is None:
        return
    place: Path = (*PLACE, "bad_devices")
    pools = [pool for pool in site.file.pools if site.taints_devices(pool)]
    if not pools:
        message = "no single device is taken out of use here"
        fix = "remove it, or write device_taints: true where a DRA driver allocates devices"
        yield Finding(Code.HEALER_MEANINGLESS, place, message, fix, key=True)
        return
    counts = [each.count for pool in pools if (each := site.profile(pool).accelerators)]
    count = max(counts, default=2)
    if counted.taint_up_to > max(1, count // 2):
        message = f"at most half of the {count} devices of a host are taken out, but always one"
        fix = f"write {max(1, count // 2)} or less"
        yield Finding(Code.OUT_OF_BOUNDS, (*place, "taint_up_to"), message, fix)
    repaired = (
        Fault.PCIE_LINK_DEGRADED in site.repairs(pool, each)
        for pool in pools
        for each in site.remediators_of(pool)
        if each.kind is RemediatorKind.NODE_OPERATION_CONTROLLER
    )
    if counted.repair_beyond and not any(repaired):
        message = "no remediator repairs pcie-link-degraded on a pool whose devices are taken out"
        fix = "name the fault and the pool in a remediator, or remove it"
        yield Finding(Code.HEALER_MEANINGLESS, (*place, "repair_beyond"), message, fix, key=True)


def settings_used(site: Site) -> Iterator[Finding]:
    """Settings for a kind of remediator are written only where the site has one of the kind."""
    remediation = site.file.remediation
    if remediation is None:
        if PLACE[0] in site.file.model_fields_set:
            message = "an empty section enables no check"
            fix = "write {} after it to enable the default checks, or remove it"
            yield Finding(Code.HEALER_MEANINGLESS, PLACE, message, fix, key=True)
        return
    controller, medik8s = RemediatorKind.NODE_OPERATION_CONTROLLER, RemediatorKind.MEDIK8S
    lacking: list[tuple[Path, RemediatorKind]] = [(("controller",), controller)]
    lacking += [(("medik8s",), medik8s)]
    lacking += [(("repair_image",), controller)] * (not remediation.device_taints)
    if remediation.healers:
        counted = remediation.reboot.model_fields_set - {"timeout_seconds"}
        lacking += [(("reboot", each), controller) for each in sorted(counted)]
    else:
        lacking += [((each,), controller) for each in ("max_faulty_percent", "reboot")]
    for place, kind in lacking:
        unwritten = place[0] not in remediation.model_fields_set
        if unwritten or any(each.kind is kind for each in remediation.healers):
            continue
        of_kind = f" of kind {kind.value}" * bool(remediation.healers)
        message = f"the site has no remediator{of_kind}, so {place[-1]} has no effect"
        where = (*PLACE, *place)
        yield Finding(Code.HEALER_MEANINGLESS, where, message, "remove it", key=True)
    operated = has_remediator(site, controller)
    resets = any(device_reset(site, pool) for pool in site.file.pools)
    if remediation.reboot.reset_first and operated and not resets:
        message = "no repair can reset the devices of a pool, so reset_first has no effect"
        fix = "remove it, or write reset: in a model's record where Foresite runs its device plugin"
        yield Finding(Code.HEALER_MEANINGLESS, (*_REBOOT, "reset_first"), message, fix, key=True)
