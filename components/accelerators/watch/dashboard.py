"""Health per device, by what the exporter of its maker shows. MN-Core has no public exporter."""

from collections.abc import Collection, Iterator

from components.accelerators.watch.exporters import AMD, DCGM
from components.making.promql import by
from components.making.told import Told
from components.making.watch import Board, Panel
from schemas.facts.site import Site

TOLD = Told(__file__)


def boards(site: Site, exporters: Collection[str | None]) -> Iterator[Board]:
    """The page of devices, and what racks show of them; none without an exporter that is known."""
    panels: list[Panel] = []
    racks: list[Panel] = []
    if DCGM in exporters:
        asked = by(site, DCGM, 'node=~"$node"')
        panels += TOLD.panels("nvidia", asked=asked)
        racks = TOLD.panels("racks", asked=by(site, DCGM))
        if any(_several(site, model) for model in site.models()):
            panels += TOLD.panels("nvlink", asked=asked)
    if AMD in exporters:
        panels += TOLD.panels("amd", asked=by(site, AMD, 'node=~"$node"'))
    if panels:
        yield TOLD.board(panels)
    if racks:
        yield TOLD.board(racks)._replace(name="racks")


def _several(site: Site, model: str) -> bool:
    """True if hosts have several devices of NVIDIA's model, which NVLink may join."""
    found = (site.profile(pool).accelerators for pool in site.pools_with(model))
    nvidia = site.accelerators[model].vendor == "nvidia"
    return nvidia and any(each is not None and each.count > 1 for each in found)
