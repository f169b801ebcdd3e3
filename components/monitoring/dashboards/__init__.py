"""Grafana dashboards of a site: a ConfigMap for each, by whose label Grafana's sidecar finds it."""

import functools
import hashlib
from collections.abc import Iterable

from components.making.manifest import Manifest
from components.making.watch import Board, Choice, Watched
from components.monitoring.dashboards.nodes import nodes
from components.monitoring.dashboards.overview import overview
from components.monitoring.dashboards.panels import render_dashboard
from components.monitoring.names import PREFIX, files
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring

LONGEST_UID = 40
"""Characters that Grafana allows (11.6, pkg/util/shortid_generator.go, IsShortUIDTooLong)."""
UID_TAIL = 10
"""Digits of the hash at the end of an address that would be longer."""


def dashboards(site: Site, monitoring: Monitoring, watched: Iterable[Watched]) -> list[Manifest]:
    """The ConfigMaps with dashboards; none where the site wants none."""
    label = monitoring.dashboards_label
    if label is None:
        return []
    return [_config(site, monitoring, label, board) for board in boards(site, watched)]


def boards(site: Site, watched: Iterable[Watched]) -> list[Board]:
    """The dashboards of a site: of the site as a whole, and of its components."""
    found = {each.name: each for each in (overview(site), nodes(site))}
    for board in (board for each in watched for board in each.boards):
        known = found.get(board.name)
        panels = (*known.panels, *board.panels) if known else board.panels
        found[board.name] = (known or board)._replace(panels=panels)
    return [
        _with_choices(site, board) for board in sorted(found.values(), key=lambda each: each.place)
    ]


def _config(site: Site, monitoring: Monitoring, label: str, board: Board) -> Manifest:
    name = f"{PREFIX}-{board.name}"
    uid = _uid(board.name, site.name)
    made = files(
        site, monitoring, f"{name}-dashboard", {f"{name}.json": _text(uid, site.name, board)}
    )
    made.body["metadata"]["labels"][label] = "1"
    return made


def _uid(board: str, site: str) -> str:
    """The address of a dashboard; of long names a hash is its end, as they may begin alike."""
    whole = f"{board}-{site}"
    if len(whole) <= LONGEST_UID:
        return whole
    tail = hashlib.sha256(whole.encode()).hexdigest()[:UID_TAIL]
    return f"{whole[: LONGEST_UID - UID_TAIL - 1]}-{tail}"


@functools.lru_cache(maxsize=64)
def _text(uid: str, site: str, board: Board) -> str:
    """Boards are plain data, so the same one is built once: traces make a site many times."""
    return render_dashboard(uid, site, board)


def _with_choices(site: Site, board: Board) -> Board:
    """The dashboard with the variables that its queries have."""
    teams = [team.name for team in site.scheduling.teams]
    pools = [pool.name for pool in site.file.pools]
    choices = [Choice("team", "Team", tuple(teams)), Choice("pool", "Pool", tuple(pools))]
    queries = [query.expression for panel in board.panels for query in panel.queries]
    used = [each for each in choices if any(f"${each.name}" in query for query in queries)]
    return board._replace(choices=tuple(used))
