"""The reports of a host's kernel log: an event and a counter for each line about its hardware."""

from collections.abc import Mapping

from components.making.dump import dump_json
from components.making.manifest import filled
from schemas.facts.site import Site
from schemas.kubernetes.tables import read_table
from schemas.model.site_file import Pool

FILE = "kernel-log.json"
REST = "(?s:.*)"
XID_REASON = "Xid"
"""Prefix of the reasons of XIDs, before the number."""
PATTERNS: Mapping[str, str] = read_table(__file__)
"""Beginnings of messages by the reason of their events."""


def text(site: Site, pool: Pool) -> str:
    """The file of the kernel log's monitor for a pool."""
    remediation = site.file.remediation
    patterns = dict(PATTERNS)
    record = site.accelerators.get(site.model(pool) or "")
    if remediation and record and record.vendor == "nvidia":
        xids = remediation.detector.xids
        numbers = sorted({*xids.reboot, *xids.watch})
        patterns |= {f"{XID_REASON}{n}": rf"^NVRM: Xid \(PCI:[^)]*\): {n}," for n in numbers}
    rules = [{"type": "temporary", "reason": r, "pattern": p + REST} for r, p in patterns.items()]
    return dump_json(filled(__file__, rules=rules)[0], indent=1)
