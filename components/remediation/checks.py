"""The checks of a pool's hosts: which there are, what each is told, and how often it runs."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from components.making.dump import dump_json
from components.making.faults import CONDITIONS
from components.making.manifest import Json, filled
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.resets import reset_first
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorModel, Fabric, Health
from schemas.model.faults import RECORDS
from schemas.model.remediation import RESETS, Detector, OwnCheck
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault

SCRIPTS = Path(__file__).parent / "checks"
"""The scripts as they are shipped."""
PROGRAMS = "/etc/node-problem-detector"
"""Where the detector's container has its configuration and the scripts."""
HOST = "/host"
"""Where it has the root of its host, read-only."""
STATE = "/run/foresite/detector"
"""The folder, of host and container, in which checks remember: a reboot empties it."""
BOOT_ID = "/proc/sys/kernel/random/boot_id"
SYSTEM = "/sys"
PROCESSES = "/proc"
MOUNTS = "/proc/1/mounts"
"""Mounts of the host's first process, as the pod shares its process ids."""
DRIVER_ROOT = "/run/nvidia/driver"
"""The root of the GPU operator's driver container (26.3, state-driver/0500_daemonset.yaml)."""
SETTLED = "settled.sh"
_SOURCED = re.compile(r'^\. "\$\{0%/\*\}/(\S+)"$', re.MULTILINE)
"""A line by which a script reads another of its folder."""
SECONDS = 30
"""Seconds that a check without a command of the site may take; its own limits are lower."""
KILL_SECONDS = 5
"""Seconds that a check has beyond its command's time limit, to end the command and report it."""
SLACK_SECONDS = 15
"""Seconds by which the rule's timeout exceeds a check's limit."""
RISE_SECONDS = 300
"""The time for which ``detector.link_errors`` says a rise (schemas/model/remediation.py)."""


class Check(NamedTuple):
    """A check of a fault: its arguments, how many seconds it may take, and whether it is bad, and
    not only unknown, when it takes longer; ``by`` is its script, where that is not the fault's."""

    fault: str
    arguments: tuple[str, ...]
    seconds: int = SECONDS
    hung_is_bad: bool = False
    by: str = ""

    @property
    def script(self) -> str:
        """The file of the script."""
        return f"{self.by or self.fault}.sh"


class _Place(NamedTuple):
    """A pool of a site, with what its checks are made from."""

    site: Site
    pool: Pool
    detector: Detector

    @property
    def record(self) -> AcceleratorModel:
        """The model of its accelerators. Raises KeyError where it has none."""
        return self.site.accelerators[self.site.model(self.pool) or ""]

    @property
    def devices(self) -> str:
        """The number of accelerators of a host, as text."""
        accelerators = self.site.profile(self.pool).accelerators
        return str(accelerators.count if accelerators else 0)

    def limits(self, health: Health) -> tuple[str, ...]:
        """How a command that counts is run and read: SECONDS ROOT LINES CODES."""
        codes = ",".join(str(code) for code in health.silent_codes)
        return (str(health.timeout_seconds), _root(self, health), health.lines, codes)


def checks(site: Site, pool: Pool) -> tuple[Check, ...]:
    """The checks of a pool: one for each fault that is looked for."""
    remediation = site.file.remediation
    if remediation is None:
        return ()
    place = _Place(site, pool, remediation.detector)
    own = {each.name: each for each in remediation.detector.checks}
    found = []
    for fault in site.faults(pool):
        made = _CHECKS[fault](place) if fault in RECORDS else _own(own[fault])
        found.append(made if isinstance(made, Check) else Check(Fault(fault), made))
    return tuple(found)


def files(site: Site, pool: Pool) -> dict[str, str]:
    """The files that the detector of a pool reads and runs, by their names."""
    found = checks(site, pool)
    if not found:
        return {}
    texts = _scripts({SETTLED, *(each.script for each in found)})
    remediation = site.file.remediation
    detector = remediation.detector if remediation else Detector()
    # Who takes out or resets devices reads from the message which they are.
    telling = {Fault.PCIE_LINK_DEGRADED} if site.taints_devices(pool) else set()
    telling |= {Fault.ACCELERATOR_ERROR} if reset_first(site, pool) else set()
    made = {monitor(each): _monitor(each, detector, each.fault in telling) for each in found}
    return {name: dump_json(body, indent=1) for name, body in made.items()} | texts


def _scripts(names: set[str]) -> dict[str, str]:
    """Scripts, with those that they read."""
    texts = {name: (SCRIPTS / name).read_text("utf-8") for name in sorted(names)}
    sourced = {each for text in texts.values() for each in _SOURCED.findall(text)} - names
    return dict(sorted((texts | _scripts(sourced)).items())) if sourced else texts


def files_of(check: Check) -> set[str]:
    """The files that only a check and its like read, by their names."""
    return {monitor(check), *_scripts({check.script})}


def stem(fault: str) -> str:
    """The name of a fault's files: a site's own are apart from all others."""
    return f"{fault}" if fault in RECORDS else f"check-{fault}"


def monitor(check: Check) -> str:
    """The name of the file with a check's monitor."""
    return f"{stem(check.fault)}.json"


def _monitor(check: Check, detector: Detector, tells_changes: bool) -> Json:
    counts = [str(detector.bad_after), str(detector.good_after)]
    of_run = [str(check.seconds), "1" if check.hung_is_bad else "2", f"{PROGRAMS}/{check.script}"]
    return filled(
        __file__,
        interval=f"{detector.interval_seconds}s",
        timeout=f"{check.seconds + SLACK_SECONDS}s",
        tells_changes=tells_changes,
        condition=CONDITIONS[check.fault],
        path=f"{PROGRAMS}/{SETTLED}",
        args=[STATE, BOOT_ID, stem(check.fault), *counts, *of_run, *check.arguments],
    )[0]


def _pci(record: AcceleratorModel) -> tuple[str, str, str]:
    pci = record.pci
    return pci.vendor, ",".join(pci.classes), ",".join(pci.devices)


def _missing(place: _Place) -> Check:
    record, health = place.record, place.record.health
    asked = (*place.limits(health), *health.command) if health else ()
    arguments = (SYSTEM, place.devices, *_pci(record), *asked)
    seconds = health.timeout_seconds + KILL_SECONDS if health else SECONDS
    return Check(Fault.ACCELERATOR_MISSING, arguments, seconds, hung_is_bad=health is not None)


def _fabric(place: _Place) -> Check:
    fabric = place.record.fabric or Fabric()
    arguments = [PROCESSES, fabric.process or "", place.devices]
    for each in fabric.commands:
        counts = (str(each.per_device), str(len(each.command)))
        arguments += [*place.limits(each), *counts, *each.command]
    longest = sum(each.timeout_seconds + KILL_SECONDS for each in fabric.commands)
    return Check(Fault.FABRIC_DOWN, tuple(arguments), longest or SECONDS, hung_is_bad=True)


def _own(check: OwnCheck) -> Check:
    limit = "" if check.threshold is None else str(check.threshold)
    limits = (str(check.timeout_seconds), f"{HOST}{check.root}".rstrip("/"), limit)
    seconds = check.timeout_seconds + KILL_SECONDS
    return Check(check.name, (*limits, *check.command), seconds, by="own-check")


def _links(place: _Place) -> tuple[str, ...]:
    links = place.pool.network_devices.links().items()
    return tuple(f"{name}:{'' if rail is None else rail}:{rate}" for name, (rail, rate) in links)


def _root(place: _Place, health: Health) -> str:
    """The root of the health command as the container sees it: where the GPU operator brings the
    driver, its tools are in the driver's container, unless the model names another folder."""
    settings = place.site.file.accelerators
    operator = settings.gpu_operator if settings else None
    model = place.site.model(place.pool)
    brought = operator and operator.drivers and uses_gpu_operator(place.site, model or "")
    root = DRIVER_ROOT if brought and health.root == "/" else health.root
    return f"{HOST}{root}".rstrip("/")


def _error(place: _Place) -> Check:
    messages = "|".join(f"({each})" for each in place.record.kernel_log)
    if messages:
        return Check(Fault.ACCELERATOR_ERROR, (STATE, BOOT_ID, messages), by="kernel-messages")
    xids = place.detector.xids.reboot
    lists = [xids, [each for each in xids if each in RESETS]]
    known = lists if reset_first(place.site, place.pool) else lists[:1]
    texts = (",".join(map(str, each)) for each in known)
    return Check(Fault.ACCELERATOR_ERROR, (STATE, BOOT_ID, *texts))


def _link_errors(place: _Place) -> tuple[str, ...]:
    limits = ",".join(f"{name}={most}" for name, most in place.detector.link_errors.items())
    return (f"{HOST}{SYSTEM}", PROCESSES, STATE, BOOT_ID, str(RISE_SECONDS), limits, *_links(place))


_CHECKS: Mapping[str, Callable[[_Place], Check | tuple[str, ...]]] = {
    Fault.ACCELERATOR_MISSING: _missing,
    Fault.ACCELERATOR_ERROR: _error,
    Fault.FABRIC_DOWN: _fabric,
    Fault.PCIE_LINK_DEGRADED: lambda at: (SYSTEM, str(at.record.pci.link_width), *_pci(at.record)),
    Fault.DISK_FULL: lambda at: (HOST, str(at.detector.disk_full_percent), *at.detector.disks),
    Fault.READ_ONLY_FILESYSTEM: lambda at: (HOST, MOUNTS, *at.detector.disks),
    Fault.KERNEL_DEADLOCK: lambda at: (PROCESSES, STATE, BOOT_ID, str(at.detector.blocked_seconds)),
    # Interfaces are those of the host's network, which its own /sys shows.
    Fault.NETWORK_LINK_DOWN: lambda at: (f"{HOST}{SYSTEM}", *_links(at)),
    Fault.NETWORK_LINK_ERRORS: _link_errors,
}
"""The check for each fault, or the arguments of one without other settings."""
