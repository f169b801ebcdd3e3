"""Dashboards that are data, filled into the templates of ``panels.yaml``.

Nothing of a dashboard comes from a clock or from chance, and the number of a panel comes from its
title alone: alerts link to panels, and links in old messages stay.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from components.making.manifest import Json, documents, fill
from components.making.watch import Board, Choice, Panel

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
"""The Prometheus that is asked: a person chooses it by the variable of that name."""
NODE = "Show ${__field.labels.node}"
NODE_PAGE = "/d/{}?var-node=${{__field.labels.node}}"
"""From a series of a node to the page of its node."""
COLUMNS = 24
_PAGE, _DATASOURCE, _VARIABLE, _PANEL, _LINK, _ROW, _KINDS, _STATES = documents(__file__)


def render_dashboard(site: str, uids: Mapping[str, str], board: Board, runbooks: str) -> str:
    """A dashboard as Grafana imports it, as JSON. ``uids`` are those of the site's dashboards by
    name; ``runbooks`` is the folder of runbooks as a URL, or empty."""
    repeated = {"variable": f"${board.repeat}", "repeat": board.repeat}
    panels = [_panel(*each, uids, runbooks) for each in _place_panels(board)]
    source = fill(_DATASOURCE, {"many": bool(board.repeat)})
    values = {
        **board._asdict(),
        "title": f"{board.title} ({site})",
        "uid": uids[board.name],
        "tags": ["foresite", site],
        "panels": [fill(_ROW, repeated), *panels] if board.repeat else panels,
        "variables": [source, *map(_variable, board.choices)],
    }
    return json.dumps(fill(_PAGE, values), sort_keys=True, indent=1) + "\n"


def panel_id(title: str) -> int:
    """The number of a panel within its dashboard."""
    return int(hashlib.sha256(title.encode()).hexdigest()[:6], 16) + 2


def _place_panels(board: Board) -> Iterator[tuple[Panel, Json]]:
    """Panels from left to right; the highest of a row makes room for the next."""
    x, y, tallest = 0, 1 if board.repeat else 0, 0
    for each in board.panels:
        width, height = each.size or {**_KINDS["any"], **_KINDS[each.kind]}["size"]
        if x + width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        yield each, {"h": height, "w": width, "x": x, "y": y}
        x, tallest = x + width, max(tallest, height)


def _variable(choice: Choice) -> Any:
    more = {"type": "custom", "query": ",".join(choice.values), "asked": {}}
    if choice.query:
        asked = {"datasource": SOURCE, "refresh": 2, "sort": 1}
        more = {"type": "query", "query": choice.query, "asked": asked}
    return fill(_VARIABLE, {**choice._asdict(), "all": "$__all", **more})


def _panel(each: Panel, place: Json, uids: Mapping[str, str], runbooks: str) -> Any:
    queries = list(zip("ABCDEFGH", each.queries, strict=False))
    columns = {f"Value #{letter}": query.legend for letter, query in queries}
    kind = fill(
        {**_KINDS["any"], "type": each.kind, **_KINDS[each.kind]},
        {"columns": columns if len(queries) > 1 else {}},
    )
    how = {"datasource": SOURCE, "range": not kind["query"]["instant"], **kind["query"]}
    states = {
        value: {"text": text, "color": colour, "index": index}
        for index, (value, text, colour) in enumerate(_STATES[each.states] if each.states else ())
    }
    values = {
        **each._asdict(),
        **kind,
        "id": panel_id(each.title),
        "source": SOURCE,
        "place": place,
        "links": list(_links(each, runbooks)),
        "targets": [
            {**how, "expr": query.expression, "legendFormat": query.legend, "refId": letter}
            for letter, query in queries
        ],
        "data_links": [_link(NODE, NODE_PAGE.format(uids[each.link]))] if each.link in uids else [],
        "mappings": [{"type": "value", "options": states}] if states else [],
        "steps": [{"color": c, "value": v} for c, v in ((kind["base"], None), *each.steps)],
        "repeated": {"repeat": each.repeat} if each.repeat else {},
    }
    return fill(_PANEL, values)


def _links(each: Panel, runbooks: str) -> Iterator[Any]:
    """From a panel to the alerts that ask for what it shows, and to their runbooks."""
    for alert in each.alerts:
        yield _link(f"Alert {alert}", f"/alerting/list?search=rule:{alert}")
        if runbooks:
            yield _link(f"Runbook of {alert}", f"{runbooks}/{alert}.md")


def _link(title: str, url: str) -> Any:
    return fill(_LINK, {"title": title, "url": url})
