"""Accelerators of single nodes: fewer than there should be, and errors that nobody mends.

Errors are counted by the detector where it runs, each time anew. Else there is only the exporter's
gauge: DCGM_FI_DEV_XID_ERRORS is the number of the last error, which stays until the exporter starts
again. So a new value is looked for, and an error that comes twice in a row is seen once.
Sources: node-problem-detector 1.36.0, pkg/systemlogmonitor/log_monitor.go (counters begin at 0, so
that the first one is seen); dcgm-exporter 4.5.3-4.8.2, etc/default-counters.csv.
"""

from components.making.faults import CHOICE_REASON
from components.making.told import Told
from components.making.watch import Alert
from schemas.facts.site import Site
from schemas.model.remediation import Xids
from schemas.model.vocabulary import Fault

TOLD = Told(__file__)


def rules(site: Site, *, dcgm: bool) -> list[Alert]:
    """The alerts on single devices; ``dcgm``: NVIDIA's exporter runs."""
    told = TOLD.at(site)
    found = [told.alert("AcceleratorsMissing")] if site.models() else []
    if site.file.remediation and any(_nvidia(site, model) for model in site.models()):
        found.append(told.alert("ImagesChooseDevices", reason=CHOICE_REASON))
    if any(Fault.ACCELERATOR_ERROR in site.faults(pool) for pool in site.file.pools):
        found.append(told.alert("AcceleratorXid", **told.table("counted")))
    elif dcgm:
        numbers = sorted({*Xids().watch, *Xids().reboot})
        now = told.table("now")["each"]
        any_of = " or ".join(f"{now} == {number}" for number in numbers)
        found.append(told.alert("AcceleratorXid", **told.table("last", any_of=any_of)))
    if dcgm:
        found.append(told.alert("AcceleratorMemoryWornOut"))
    return found


def _nvidia(site: Site, model: str) -> bool:
    return site.accelerators[model].vendor == "nvidia"
