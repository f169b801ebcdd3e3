"""Rules on the times and programs of repairs: a repair ends before anybody else steps in, loops are
seen, and it is known which programs repair.

Sources: Cluster API 1.13 (MachineHealthCheck targets), pfnet-research/node-operation-controller
0ac94deb.
"""

from collections.abc import Iterator
from math import ceil

from schemas.facts.resets import device_reset
from schemas.facts.site import Site
from schemas.model.remediation import BadDevices, Detector, Reboot, Remediation
from schemas.model.vocabulary import Fault, RemediatorKind
from schemas.rules.finding import Finding, Path, say
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


def last_resort(site: Site, remediation: Remediation) -> Iterator[Finding]:
    """Cluster API's health check waits for longer than a reboot by a remediator may take: its node
    is not ready all that time."""
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
        place = ("pools", index, "health_check", "unhealthy_timeout_seconds")
        yield say("health-check-too-early", place, waits, takes, takes + _LATER_SECONDS)
    if others:
        waits, name = min(others)
        values = takes, waits, name, waits - _LATER_SECONDS
        yield say("reboot-too-long", (*_REBOOT, "timeout_seconds"), *values)


def window(site: Site, reboot: Reboot) -> Iterator[Finding]:
    """As many reboots as are allowed fit the window in which they are counted: else the first is
    forgotten before the last, and there is always one more."""
    if not has_remediator(site, RemediatorKind.NODE_OPERATION_CONTROLLER):
        return
    needed = ceil(reboot.attempts * reboot.timeout_seconds / HOUR)
    if reboot.window_hours < needed:
        also = tuple((*_REBOOT, name) for name in ("attempts", "timeout_seconds"))
        yield say("reboots-beyond-window", (*_REBOOT, "window_hours"), reboot, needed, also=also)


def reporting_times(site: Site, remediation: Remediation) -> Iterator[Finding]:
    """A fault is reported within an hour, and its end while the repair still counts."""
    detector, every = remediation.detector, remediation.detector.interval_seconds
    if every * detector.bad_after > HOUR:
        also = ((*_DETECTOR, "interval_seconds"),)
        values = detector, every, every * detector.bad_after / HOUR, HOUR // every
        yield say("fault-found-late", (*_DETECTOR, "bad_after"), *values, also=also)
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
    others = {"good_after", "interval_seconds"} - {field}
    also = (*((*_DETECTOR, each) for each in others), (*_REBOOT, "timeout_seconds"))
    yield say("recovery-too-slow", (*_DETECTOR, field), detector, every, takes, most, also=also)


def remediation_images(site: Site, remediation: Remediation) -> Iterator[Finding]:
    """It is known which programs find faults, and which repair them."""
    controller = remediation.controller
    needed = [(remediation.detector.image, DETECTOR_IMAGE, "image: in detector", "detector")]
    operated = has_remediator(site, RemediatorKind.NODE_OPERATION_CONTROLLER)
    if operated:
        needed.append((controller.image, CONTROLLER_IMAGE, "image: in controller", "controller"))
    if operated or remediation.device_taints:
        needed.append((remediation.repair_image, REPAIR_IMAGE, "repair_image:", "repair_image"))
    for own, name, field, part in needed:
        if own is None and name not in site.images:
            yield say("remediation-image-missing", (*PLACE, part), site, name, field)


def bad_devices(site: Site, counted: BadDevices) -> Iterator[Finding]:
    """What happens by the number of bad devices can happen: single ones are taken out, at most half
    of a host's, and somebody repairs the host."""
    place: Path = (*PLACE, "bad_devices")
    pools = [pool for pool in site.file.pools if site.taints_devices(pool)]
    if not pools:
        yield say("bad-devices-unused", place)
        return
    counts = [each.count for pool in pools if (each := site.profile(pool).accelerators)]
    count = max(counts, default=2)
    if counted.taint_up_to > max(1, count // 2):
        yield say("taint-up-to-too-large", (*place, "taint_up_to"), count, max(1, count // 2))
    every = ((pool, each) for pool in pools for each in site.remediators_of(pool))
    operated = (e for e in every if e[1].kind is RemediatorKind.NODE_OPERATION_CONTROLLER)
    repaired = (Fault.PCIE_LINK_DEGRADED in site.repairs(*each) for each in operated)
    if counted.repair_beyond and not any(repaired):
        yield say("repair-beyond-unused", (*place, "repair_beyond"))


def settings_used(site: Site, remediation: Remediation) -> Iterator[Finding]:
    """Settings for a kind of remediator are written only where the site has one of the kind."""
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
        yield say("remediation-setting-unused", (*PLACE, *place), of_kind, place[-1])
    operated = has_remediator(site, controller)
    resets = any(device_reset(site, pool) for pool in site.file.pools)
    if remediation.reboot.reset_first and operated and not resets:
        yield say("reset-first-unused", (*_REBOOT, "reset_first"))
