"""Rules on RAID volumes and firmware: the BMC can do it, and a repair waits for it.

Sources: BMO v0.13.2, internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go,
pkg/hardwareutils/bmc (ipmi has neither), baremetalhost_controller.go (doServiceIfNeeded);
Ironic 34 to 38, ironic/drivers/modules/redfish/raid.py, which makes the volumes of all others.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from schemas.facts.site import Site
from schemas.model.firmware import RaidVolume
from schemas.model.hardware import BmcProtocol
from schemas.rules.finding import Finding, InPool, Path, say

LEAST_DISKS = {"0": 1, "1": 2, "5": 3, "6": 4, "1+0": 4, "5+0": 6, "6+0": 8}
BOOT_SECONDS = 600
"""Time of a reboot without any change of firmware."""
_Fault = tuple[Any, ...]
"""The place of a fault in a profile, its row, and the row's values."""


def raid_and_firmware(site: Site) -> Iterator[Finding]:
    """RAID volumes and firmware of the site's own profiles are what an operator accepts."""
    for name, profile in site.file.hardware.items():
        found, given = [*_raid(profile.raid or [])], profile.firmware
        if given is not None and not given.model_fields_set & {"settings", "updates"}:
            found.append((("firmware",), "firmware-empty"))
        if profile.bmc.protocol is BmcProtocol.IPMI:
            both = (each for each in ("raid", "firmware") if getattr(profile, each) is not None)
            found += (((field,), "raid-by-ipmi") for field in both)
        for steps, row, *values in found:
            yield say(row, ("hardware", name, *steps), *values)


def _raid(volumes: list[RaidVolume]) -> Iterator[_Fault]:
    given = Counter(x for each in volumes for x in (each.name, *(each.physical_disks or ())))
    for number, each in enumerate(volumes):
        at: Path = ("raid", number)
        least, named = LEAST_DISKS[each.level], each.physical_disks
        disks = len(named) if named else each.disks or least
        if each.disks not in (None, disks):
            yield at, "raid-disks-differ", disks, each
        mirror = each.level == "1" and not named
        if disks < least:
            yield at, "raid-disks-too-few", each, least
        elif (disks > least) if mirror else ("+" in each.level and disks % 2):
            yield at, "raid-disks-unfit", each, "2 disks" if mirror else "an even number"
        if any(given[x] > 1 for x in (each.name, *(named or ())) if x):
            yield at, "raid-volume-twice"


def repair_time(at: InPool) -> Iterator[Finding]:
    """A repair's reboot, which flashes what is pending, may take as long as that takes."""
    profile, repairs = at.site.hardware.get(at.pool.hardware), at.site.file.remediation
    given = profile.firmware if profile else None
    if given is None or given.apply != "reboot":
        return
    least = BOOT_SECONDS + 60 * given.minutes
    check = at.pool.health_check.reboot_timeout_seconds
    times: list[tuple[Path, int]] = [(at.path("health_check", "reboot_timeout_seconds"), check)]
    if repairs and at.site.remediators_of(at.pool):
        times.append((("remediation", "reboot", "timeout_seconds"), repairs.reboot.timeout_seconds))
    for place, seconds in times:
        if seconds < least:
            yield say("firmware-reboot-too-short", place, at.pool, least, seconds)
