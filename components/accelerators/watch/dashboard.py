"""Health per device, by what the exporter of its maker shows. MN-Core has no public exporter."""

from collections.abc import Collection, Iterator

from components.accelerators.watch.exporters import DCGM, KNOWN
from components.making.promql import by
from components.making.told import Told
from components.making.watch import Board
from schemas.facts.site import Site

TOLD = Told(__file__)


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
