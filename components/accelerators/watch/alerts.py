"""Accelerators of single nodes: fewer than there should be, and errors that nobody mends.

Errors are counted by the detector where it runs, each time anew. Else there is only the exporter's
gauge: DCGM_FI_DEV_XID_ERRORS is the number of the last error, which stays until the exporter starts
again. So a new value is looked for, and an error that comes twice in a row is seen once.
Sources: node-problem-detector 1.36.0, pkg/systemlogmonitor/log_monitor.go (counters begin at 0, so
that the first one is seen); dcgm-exporter 4.5.3-4.8.2, etc/default-counters.csv.
"""

from components.accelerators.watch.exporters import DCGM
from components.making.faults import CHOICE_REASON, DETECTOR
from components.making.promql import of, recent
from components.making.told import Told
from components.making.watch import Alert
from schemas.facts.site import Site
from schemas.model.remediation import Xids
from schemas.model.vocabulary import Fault

DEVICE = "max by (node, gpu, UUID, pci_bus_id)"
"""Labels that identify a device, whichever pod of the exporter reports it."""
SHOWN = "1h"
"""How long an error that happens once is shown."""
TOLD = Told(__file__)


def rules(site: Site, *, dcgm: bool) -> list[Alert]:
    """The alerts on single devices; ``dcgm``: NVIDIA's exporter runs."""
    found = [TOLD.alert("AcceleratorsMissing")] if site.models() else []
    if site.file.remediation and any(_nvidia(site, model) for model in site.models()):
        counted = of(site, DETECTOR, "problem_counter", f'reason="{CHOICE_REASON}"')
        found.append(TOLD.alert("ImagesChooseDevices", counted=counted))
    if any(Fault.ACCELERATOR_ERROR in site.faults(pool) for pool in site.file.pools):
        found.append(_xid(site))
    elif dcgm:
        found.append(_last_xid(site))
    if dcgm:
        found.append(_memory_wear(site))
    return found


def _nvidia(site: Site, model: str) -> bool:
    return site.accelerators[model].vendor == "nvidia"


def _xid(site: Site) -> Alert:
    counted = of(site, DETECTOR, "problem_counter", 'reason=~"Xid[0-9]+"')
    return TOLD.alert(
        "AcceleratorXid",
        expr=f"sum by (node, reason) (increase({counted}[{SHOWN}])) > 0",
        what="an accelerator reported {{ $labels.reason }}",
    )


def _last_xid(site: Site) -> Alert:
    """Without a detector."""
    xids = Xids()
    numbers = sorted({*xids.watch, *xids.reboot})
    last = of(site, DCGM, "DCGM_FI_DEV_XID_ERRORS")
    now = f"{DEVICE} ({recent(last)})"
    then = f"{DEVICE} (last_over_time({last}[1h] offset {SHOWN}))"
    any_of = " or ".join(f"{now} == {number}" for number in numbers)
    return TOLD.alert(
        "AcceleratorXid",
        expr=f"({any_of}) unless ({now} == {then})",
        what="accelerator {{ $labels.gpu }} ({{ $labels.UUID }}) reported XID {{ $value }}",
    )


def _memory_wear(site: Site) -> Alert:
    failed = recent(of(site, DCGM, "DCGM_FI_DEV_ROW_REMAP_FAILURE"))
    return TOLD.alert("AcceleratorMemoryWornOut", device=DEVICE, failed=failed)
