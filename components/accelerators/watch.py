"""The scrapes, alerts and panels of single accelerators: too few, errors that nobody mends, and
health by their maker's exporter; MN-Core has no public one."""

from collections.abc import Collection, Iterator

from components.accelerators.names import NAMESPACE, served_pools
from components.accelerators.plugins import EXPORTER
from components.making.faults import CHOICE_REASON
from components.making.promql import by
from components.making.told import Told
from components.making.watch import Alert, Board, Group, Scrape, Watched, program
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.site import Site
from schemas.model.remediation import Xids
from schemas.model.vocabulary import Fault

DCGM = "dcgm-exporter"
"""NVIDIA's exporter."""
KNOWN = {"nvidia": DCGM, "amd": "amd-exporter"}
"""The exporters of whose metrics panels ask, by the maker."""
DCGM_PORT = 9400
TOLD = Told(__file__)


def watch(site: Site) -> Watched:
    """The data from which monitoring renders single accelerators."""
    found = scrapes(site)
    dcgm = any(each.exporter == DCGM for each in found)
    pages = boards(site, {each.exporter for each in found})
    return Watched(found, [Group("devices", rules(site, dcgm=dcgm), place=2)], [*pages])


def scrapes(site: Site) -> list[Scrape]:
    """The exporters: Foresite's, by the ports of their records, and the GPU operator's."""
    found: dict[tuple[str, int], list[str]] = {}
    by_operator = False
    for each in served_pools(site):
        exporter = each.record.exporter
        if exporter and uses_gpu_operator(site, each.model):
            by_operator = True
        elif exporter:
            found.setdefault((each.record.vendor, exporter.port), []).append(each.pool.name)
    made = [_exporter(found, key) for key in sorted(found)]
    return [*made, *(_operators(site) if by_operator else [])]


def _exporter(found: dict[tuple[str, int], list[str]], key: tuple[str, int]) -> Scrape:
    """The exporters of a vendor's devices at one port."""
    vendor, port = key
    job = KNOWN.get(vendor, f"{vendor}-exporter")
    several = len([each for each in found if each[0] == vendor]) > 1
    name, pools = f"{job}-{port}" if several else job, tuple(found[key])
    made = program(EXPORTER, NAMESPACE, port)._replace(name=name, pools=pools, place=3)
    return made._replace(exporter=KNOWN.get(vendor), job=job)


def _operators(site: Site) -> list[Scrape]:
    """The exporter that the GPU operator runs (NVIDIA/gpu-operator,
    state-dcgm-exporter/0900_daemonset.yaml); Foresite turns the operator's own monitor off."""
    settings = site.file.accelerators
    if settings is None or settings.gpu_operator is None:
        return []
    space, labels = settings.gpu_operator.namespace, {"app": "nvidia-dcgm-exporter"}
    return [Scrape("gpu-operator", DCGM, DCGM, space, labels, "metrics", DCGM_PORT, place=3)]


def rules(site: Site, *, dcgm: bool) -> list[Alert]:
    """The alerts on single devices; ``dcgm``: NVIDIA's exporter runs."""
    told = TOLD.at(site)
    found = [told.alert("AcceleratorsMissing")] if site.models() else []
    vendors = {site.accelerators[model].vendor for model in site.models()}
    if site.file.remediation and "nvidia" in vendors:
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


def boards(site: Site, exporters: Collection[str | None]) -> Iterator[Board]:
    """The page of devices, and what racks show of them; none without an exporter that is known."""
    asked = {each: by(site, each, 'node=~"$node"') for each in KNOWN.values() if each in exporters}
    panels = [panel for each in asked for panel in TOLD.panels(each, asked=asked[each])]
    if DCGM in asked:
        profiles = [site.profile(pool).accelerators for pool in site.file.pools]
        # NVLink joins devices of one host.
        if any(each is not None and each.count > 1 for each in profiles):
            panels += TOLD.panels("nvlink", asked=asked[DCGM])
        yield TOLD.board(TOLD.panels("racks", asked=by(site, DCGM)))._replace(name="racks")
    if panels:
        yield TOLD.board(panels)
