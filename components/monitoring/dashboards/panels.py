"""Dashboards that are data, filled into the templates of ``panels.yaml``.

Nothing of a dashboard comes from a clock or from chance, and the number of a panel comes from its
title alone: alerts link to panels, and links in old messages stay.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from components.making.manifest import Json
from components.making.template import documents, fill
from components.making.watch import Board, Choice, Panel

DATASOURCE = "datasource"
"""The variable by which a person says which Prometheus is asked."""
SOURCE = {"type": "prometheus", "uid": f"${{{DATASOURCE}}}"}
COLUMNS = 24
_PAGE, _VARIABLE, _PANEL, _ROW, _KINDS, _STATES = documents(Path(__file__).with_suffix(".yaml"))


def render_dashboard(site: str, uids: Mapping[str, str], board: Board, runbooks: str) -> str:
    """A dashboard as Grafana imports it, as JSON. ``uids`` are those of the site's dashboards by
    name; ``runbooks`` is the folder of runbooks as a URL, or empty."""
    panels = [_panel(*each, uids, runbooks) for each in _place_panels(board)]
    if board.repeat:
        panels.insert(0, fill(_ROW, {"title": f"${board.repeat}", "repeat": board.repeat}))
    values = {
        "title": f"{board.title} ({site})",
        "uid": uids[board.name],
        "text": board.text,
        "tags": ["foresite", site],
        "panels": panels,
        "variables": [_source(board), *map(_variable, board.choices)],
    }
    return json.dumps(fill(_PAGE, values), sort_keys=True, indent=1) + "\n"


def panel_id(title: str) -> int:
    """The number of a panel within its dashboard."""
    return int(hashlib.sha256(title.encode()).hexdigest()[:6], 16) + 2


def _place_panels(board: Board) -> Iterator[tuple[Panel, Json]]:
    """Panels from left to right; the highest of a row makes room for the next."""
    x, y, tallest = 0, 1 if board.repeat else 0, 0
    for each in board.panels:
        width, height = each.size or _KINDS[each.kind]["size"]
        if x + width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        yield each, {"h": height, "w": width, "x": x, "y": y}
        x, tallest = x + width, max(tallest, height)


def _source(board: Board) -> Json:
    values = {"name": DATASOURCE, "label": "Prometheus", "query": "prometheus", "more": {}}
    return _filled(_VARIABLE, **values, type="datasource", many=bool(board.repeat))


def _variable(choice: Choice) -> Json:
    more: Json = {
        "allValue": ".*",
        "current": {"selected": True, "text": "All", "value": "$__all"},
    }
    if choice.query:
        more |= {"datasource": SOURCE, "refresh": 2, "sort": 1}
    return _filled(
        _VARIABLE,
        name=choice.name,
        label=choice.label,
        query=choice.query or ",".join(choice.values),
        type="query" if choice.query else "custom",
        many=True,
        more=more,
    )


def _panel(each: Panel, place: Json, uids: Mapping[str, str], runbooks: str) -> Json:
    kind = _KINDS[each.kind]
    states = {
        value: {"text": text, "color": colour, "index": index}
        for index, (value, text, colour) in enumerate(_STATES[each.states] if each.states else ())
    }
    steps = [{"color": kind["base"], "value": None}]
    steps += [{"color": colour, "value": value} for colour, value in each.steps]
    return _filled(
        _PANEL,
        id=panel_id(each.title),
        title=each.title,
        text=each.text,
        type=kind.get("type", each.kind),
        source=SOURCE,
        place=place,
        links=list(_links(each, runbooks)),
        options=kind.get("options", {}),
        targets=_targets(each, instant=kind.get("instant", False)),
        transformations=_columns(each) if each.kind == "table" else [],
        defaults=kind["defaults"],
        unit=each.unit,
        data_links=[_data_link(each.link, uids)] if each.link in uids else [],
        mappings=[{"type": "value", "options": states}] if states else [],
        steps=steps,
        overrides=kind.get("overrides", []),
        more={**kind.get("more", {}), **({"repeat": each.repeat} if each.repeat else {})},
    )


def _targets(each: Panel, *, instant: bool) -> list[Json]:
    how: Json = {"datasource": SOURCE, "instant": instant, "range": not instant}
    if each.kind == "table":
        how["format"] = "table"
    return [
        {**how, "expr": query.expression, "legendFormat": query.legend, "refId": letter}
        for letter, query in zip("ABCDEFGH", each.queries, strict=False)
    ]


def _columns(each: Panel) -> list[Json]:
    """One table of all queries: a column for each, called by its legend."""
    several = len(each.queries) > 1
    names = {
        f"Value #{a}": query.legend for a, query in zip("ABCDEFGH", each.queries, strict=False)
    }
    options = {"excludeByName": {"Time": True}, "renameByName": names if several else {}}
    return [{"id": "merge", "options": {}}, {"id": "organize", "options": options}]


def _links(each: Panel, runbooks: str) -> Iterator[Json]:
    """From a panel to the alerts that ask for what it shows, and to their runbooks."""
    for alert in each.alerts:
        yield _link(f"Alert {alert}", f"/alerting/list?search=rule:{alert}")
        if runbooks:
            yield _link(f"Runbook of {alert}", f"{runbooks}/{alert}.md")


def _data_link(board: str, uids: Mapping[str, str]) -> Json:
    """From a series of a node to the page of its node."""
    url = f"/d/{uids[board]}?var-node=${{__field.labels.node}}"
    return _link("Show ${__field.labels.node}", url)


def _link(title: str, url: str) -> Json:
    whole = {"asDropdown": False, "icon": "", "includeVars": False, "keepTime": False}
    more = {"tags": [], "targetBlank": True, "tooltip": "", "type": "link"}
    return {**whole, **more, "title": title, "url": url}


def _filled(template: Json, /, **values: Any) -> Json:
    found: Json = fill(template, values)
    return found
