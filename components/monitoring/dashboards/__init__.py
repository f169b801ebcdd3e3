"""Grafana dashboards of a site: a ConfigMap for each, by whose label Grafana's sidecar finds it."""

import functools
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from components.making.manifest import Manifest
from components.making.promql import NODES
from components.making.told import Told
from components.making.watch import Board, Choice, Watched
from components.monitoring import fleet
from components.monitoring.dashboards.fabric import fabric
from components.monitoring.dashboards.nodes import nodes
from components.monitoring.dashboards.overview import ALERTS, overview
from components.monitoring.dashboards.panels import panel_id, render_dashboard
from components.monitoring.names import PREFIX, files
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring

Panels = Mapping[str, tuple[str, int]]
"""The dashboard's uid and the panel's id by alert."""
RACKS = Told(str(Path(__file__).with_name("racks")))
LONGEST_UID = 40
"""Characters that Grafana allows (11.6, pkg/util/shortid_generator.go, IsShortUIDTooLong)."""
UID_TAIL = 10
"""Digits of the hash at the end of an address that would be longer."""


def dashboards(site: Site, monitoring: Monitoring, shown: Sequence[Board]) -> list[Manifest]:
    """The ConfigMaps with dashboards; none where the site wants none."""
    folder = (monitoring.runbooks_url or "").rstrip("/")
    found = []
    for board in shown if monitoring.dashboards_label else ():
        name = f"{PREFIX}-{board.name}"
        text = _text(tuple(each.name for each in shown), site.name, board, folder)
        each = files(site, monitoring, f"{name}-dashboard", {f"{name}.json": text})
        each.body["metadata"]["labels"][monitoring.dashboards_label] = "1"
        found.append(each)
    return found


def boards(site: Site, watched: Iterable[Watched], alerts: Collection[str] = ()) -> list[Board]:
    """The dashboards of a site and of its components; panels name those of ``alerts`` alone."""
    racks = RACKS.board(RACKS.panels("racks"))
    whole = (fleet.board(site), overview(site), racks, nodes(site), *fabric(site))
    found: dict[str, Board] = {}
    for board in (*whole, *(board for each in watched for board in each.boards)):
        known = found.setdefault(board.name, board._replace(panels=()))
        panels = (
            panel._replace(alerts=tuple(each for each in panel.alerts if each in alerts))
            for panel in (*known.panels, *board.panels)
        )
        # One that is repeated may be long, and stands last.
        ordered = tuple(sorted(panels, key=lambda panel: bool(panel.repeat)))
        found[board.name] = known._replace(panels=ordered)
    placed = sorted(found.values(), key=lambda each: each.place)
    return [_with_choices(site, board) for board in placed]


def panels_of_alerts(site: Site, shown: Iterable[Board]) -> Panels:
    """The panel of each alert; what has none of its own is in the list of all alerts, which stands
    under an empty name."""
    found: dict[str, tuple[str, int]] = {}
    for board in shown:
        for panel in board.panels:
            for alert in ("",) if panel.title == ALERTS else panel.alerts:
                found.setdefault(alert, (_uid(board.name, site.name), panel_id(panel.title)))
    return found


def _uid(board: str, site: str) -> str:
    """The address of a dashboard; of long names a hash is its end, as they may begin alike."""
    whole = f"{board}-{site}"
    if len(whole) <= LONGEST_UID:
        return whole
    tail = hashlib.sha256(whole.encode()).hexdigest()[:UID_TAIL]
    return f"{whole[: LONGEST_UID - UID_TAIL - 1]}-{tail}"


@functools.lru_cache(maxsize=64)
def _text(names: tuple[str, ...], site: str, board: Board, runbooks: str) -> str:
    """Boards are plain data, so the same one is built once: traces make a site many times."""
    uids = {name: _uid(name, site) for name in names}
    return render_dashboard(site, uids, board, runbooks)


def _with_choices(site: Site, board: Board) -> Board:
    """The dashboard with the variables that its queries have."""
    choices = [
        Choice("site", "Site", query=f"label_values({fleet.NODES}, site)"),
        Choice("team", "Team", tuple(team.name for team in site.scheduling.teams)),
        Choice("pool", "Pool", tuple(pool.name for pool in site.file.pools)),
        Choice("rack", "Rack", tuple(sorted(set(site.cells("rack"))))),
        Choice("node", "Node", query=f"label_values({NODES}, node)"),
    ]
    queries = " ".join(query.expression for panel in board.panels for query in panel.queries)
    return board._replace(choices=tuple(each for each in choices if f"${each.name}" in queries))
