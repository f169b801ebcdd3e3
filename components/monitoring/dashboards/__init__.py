"""Grafana dashboards of a site: a ConfigMap for each, by whose label Grafana's sidecar finds it."""

import functools
import hashlib
from collections.abc import Collection, Iterable, Mapping
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
"""Panels by the alert that they show: the dashboard's uid and the panel's id."""
RACKS = Told(str(Path(__file__).with_name("racks")))
LONGEST_UID = 40
"""Characters that Grafana allows (11.6, pkg/util/shortid_generator.go, IsShortUIDTooLong)."""
UID_TAIL = 10
"""Digits of the hash at the end of an address that would be longer."""


def dashboards(
    site: Site, monitoring: Monitoring, watched: Iterable[Watched], alerts: Collection[str]
) -> list[Manifest]:
    """The ConfigMaps with dashboards; none where the site wants none. ``alerts`` are the names of
    those that the site has."""
    label = monitoring.dashboards_label
    if label is None:
        return []
    made = boards(site, watched)
    folder = (monitoring.runbooks_url or "").rstrip("/")
    names = tuple(board.name for board in made)
    found = []
    for board in made:
        panels = (
            panel._replace(alerts=tuple(each for each in panel.alerts if each in alerts))
            for panel in board.panels
        )
        name = f"{PREFIX}-{board.name}"
        text = _text(names, site.name, board._replace(panels=tuple(panels)), folder)
        each = files(site, monitoring, f"{name}-dashboard", {f"{name}.json": text})
        each.body["metadata"]["labels"][label] = "1"
        found.append(each)
    return found


def boards(site: Site, watched: Iterable[Watched]) -> list[Board]:
    """The dashboards of a site: of the site as a whole, and of its components."""
    racks = RACKS.board(RACKS.panels("racks"))
    whole = (fleet.board(site), overview(site), racks, nodes(site), *fabric(site))
    found = {each.name: each for each in whole}
    for board in (board for each in watched for board in each.boards):
        known = found.get(board.name)
        every = (*known.panels, *board.panels) if known else board.panels
        # One that is repeated may be long, and stands last.
        panels = sorted(every, key=lambda panel: bool(panel.repeat))
        found[board.name] = (known or board)._replace(panels=tuple(panels))
    return [
        _with_choices(site, board) for board in sorted(found.values(), key=lambda each: each.place)
    ]


def panels_of_alerts(site: Site, watched: Iterable[Watched]) -> Panels:
    """The panel of each alert; what has none of its own is in the list of all alerts, which stands
    under an empty name."""
    found: dict[str, tuple[str, int]] = {}
    for board in boards(site, watched):
        for panel in board.panels:
            for alert in panel.alerts or (("",) if panel.title == ALERTS else ()):
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
