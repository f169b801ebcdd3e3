"""Rules on detectors: what they look at is there, and their checks can work.

Sources: Kubernetes 1.34 and node-problem-detector 1.36 run checks in the image's shell, whose grep
is GNU's; PCI Express 5.0, 7.5.3.7 (link widths).
"""

import re
import warnings
from collections.abc import Iterator
from math import floor, prod

from schemas.facts.site import Site
from schemas.kubernetes.quantities import amount
from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.faults import KUBERNETES_CONDITIONS, RECORDS, condition_of
from schemas.model.object_cache import Cache, share
from schemas.model.remediation import Detector, Remediation
from schemas.model.texts import nearest
from schemas.reading.paths import each_at
from schemas.rules.accelerators import all_known
from schemas.rules.finding import Finding, Path, say
from schemas.rules.object_cache import FILLED_PERCENT
from schemas.rules.object_cache_server import below
from schemas.rules.remediation import PLACE, own_checks

LINK_WIDTHS = (1, 2, 4, 8, 12, 16, 32)
"""Lanes that a PCIe link can have."""
_DETECTOR: Path = (*PLACE, "detector")
_PROGRAM = re.compile(r"(/[^\s/]+)+|[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_COMMANDS = (
    "accelerators.models.*.health.command.*", "accelerators.models.*.fabric.commands.*.command.*",
    "remediation.detector.checks.*.command.*",
)  # fmt: skip
_EXPRESSIONS = (
    "accelerators.models.*.health.lines", "accelerators.models.*.fabric.commands.*.lines",
    "accelerators.models.*.kernel_log.*",
)  # fmt: skip
_TEXTS = read_table(__file__, "expressions.toml")
_REFUSED = [(re.compile(each["where"]), (each["what"], each["fix"])) for each in _TEXTS["refused"]]
_MOST_STATES = 5000
"""States of an expression with its repeats written out, as far as grep is quick with it."""


def cache_disks(site: Site, detector: Detector, cache: Cache) -> Iterator[Finding]:
    """The cache fills its disk by design: up to its buckets' shares."""
    disks = detector.disks
    known = (pool for pool in site.cache_pools() if pool.hardware in site.hardware)
    sizes = [site.profile(pool).data_nvme_gb or 0 for pool in known]
    if not any(sizes):
        return
    looked_at = [each for each in disks if each != "/" and below(cache.data_path, each)]
    kept = sum(share(bucket.quota, site.cache_servers()) for bucket in cache.buckets)
    filled = min(kept, amount(cache.capacity))
    percent = floor(filled * 100 / (min(filter(None, sizes)) * 10**9 * FILLED_PERCENT / 100))
    if not looked_at or percent < detector.disk_full_percent:
        return
    fix = "lower cache.capacity or the buckets' quotas"
    place: Path = (*_DETECTOR, "disks", disks.index(looked_at[-1]))
    if "disk_full_percent" in detector.model_fields_set:
        place = (*_DETECTOR, "disk_full_percent")
        fix = f"write {percent + 1} or more, or {fix}" if percent < 99 else fix
    elif percent < 99:
        fix = f"add disk_full_percent: {percent + 1}, or {fix}"
    quotas = (("cache", "buckets", index, "quota") for index in range(len(cache.buckets)))
    also = (("cache", "capacity"), *quotas)
    yield say("disk-full-by-design", place, percent, looked_at[-1], fix, also=also)


def xids(site: Site, detector: Detector) -> Iterator[Finding]:
    """An error of NVIDIA's driver calls for one thing, and the site has such a driver."""
    listed, place = detector.xids, (*_DETECTOR, "xids")
    # What is written goes before a default.
    for index, number in enumerate(listed.watch if "watch" in listed.model_fields_set else ()):
        if number in listed.reboot:
            yield say("xid-reboots-too", (*place, "watch", index), number)
    vendors = (site.accelerators[model].vendor for model in site.models() if all_known(site))
    others = all_known(site) and "nvidia" not in vendors  # as far as accelerators are known
    if "xids" in detector.model_fields_set and others:
        yield say("xids-without-nvidia", place)


def device_taints(site: Site, remediation: Remediation) -> Iterator[Finding]:
    """Single cards are tainted where a DRA driver hands them out, and nowhere else."""
    if not remediation.device_taints or not all_known(site):
        return
    if not any(site.uses_dra(model) for model in site.models()):
        yield say("device-taints-without-dra", (*PLACE, "device_taints"))


def health_commands(site: Site) -> Iterator[Finding]:
    """A command of the site's own is one that a host can run, and grep its expression."""
    for place, width in each_at(site.file, "accelerators.models.*.pci.link_width"):
        if width not in (None, *LINK_WIDTHS):
            near = min(LINK_WIDTHS, key=lambda each: abs(each - width))
            yield say("link-width-unknown", place, width, near, ", ".join(map(str, LINK_WIDTHS)))
    for place, program in each_at(site.file, *_COMMANDS):
        if place[-1] == 0 and not _PROGRAM.fullmatch(program):
            yield say("program-unfit", place, program[:40], _program_advice(program)[:200])
    for place, text in each_at(site.file, *_EXPRESSIONS):
        if said := broken_expression(text):
            yield Finding(Code.INVALID_VALUE, place, *said)


def _program_advice(program: str) -> str:
    if set(program) & set("|<>;&$`"):
        return "write a script into the OS image, and name that: no shell reads the command"
    if " " in program.strip():
        return f"give each word an element of its own: [{', '.join(program.split())}]"
    return "name a program of the host, or its path from the root"


def own_check_names(site: Site) -> Iterator[Finding]:
    """A check of the site's own has a condition to itself: neither Foresite's, nor Kubernetes'."""
    taken = {each.lower() for each in (*KUBERNETES_CONDITIONS, *map(condition_of, RECORDS))}
    for index, check in enumerate(own_checks(site)):
        kind = condition_of(check.name)
        if kind.lower() in taken:
            yield say("check-name-taken", (*_DETECTOR, "checks", index, "name"), kind)
        taken.add(kind.lower())


def fabrics(site: Site) -> Iterator[Finding]:
    """What a site's own profile or model says of switches is looked at: each needs the other."""
    settings = site.file.accelerators
    for own, model in settings.models.items() if settings else ():
        hosts = [each.accelerators for each in site.hardware.values()]
        marks = [each.fabric for each in hosts if each and each.model == own]
        if model.fabric and marks and not any(marks):
            yield say("fabric-of-no-profile", ("accelerators", "models", own, "fabric"), own)
    for name, profile in site.file.hardware.items() if all_known(site) else ():
        said = profile.accelerators
        record = site.accelerators.get(said.model) if said and said.fabric else None
        if said and record and record.fabric is None:
            yield say("fabric-unknown", ("hardware", name, "accelerators", "fabric"), said)


def link_errors(site: Site, detector: Detector) -> Iterator[Finding]:
    """Counters of interfaces are written where a pool has network devices, as they are spelt."""
    if "link_errors" not in detector.model_fields_set:
        return
    place: Path = (*_DETECTOR, "link_errors")
    if not any(pool.network_devices.links() for pool in site.file.pools):
        yield say("link-errors-without-devices", place)
    for name in detector.link_errors:
        near = nearest(name, Detector().link_errors, 0.9)
        if near not in (None, name):
            yield say("link-error-unknown", (*place, name), name, near)


def broken_expression(text: str) -> tuple[str, str] | None:
    """The fault of an extended regular expression, and a way out, if any. Python's expressions
    stand for grep's, with which they agree but for Perl's additions and named classes."""
    most = [int(each) for each in re.findall(r"\{[0-9,]*?([0-9]+),?\}", text)]
    groups = prod(int(each) for each in re.findall(r"\)\{[0-9,]*?([0-9]+),?\}", text))
    if groups * max([len(text), *most]) > _MOST_STATES:
        return "so many repeats take grep time and memory", "repeat less, or write * or +"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            # ** is no fault in brackets alone, as a class.
            compiled = re.compile(re.sub(r"\[:[a-z]+:\]", "**", text))
    except re.error as error:
        return f"no regular expression: {error.msg}", "correct it; grep -E on the host reads it"
    if compiled.search(""):
        return "it matches the empty text, and so every line", "leave out what may be empty"
    return next((said for where, said in _REFUSED if where.search(text)), None)
