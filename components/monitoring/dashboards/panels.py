"""Dashboards that are data, made by Grafana's own builders.

The builders are only imported to build, so that they cost nothing elsewhere. Sizes are those of
Grafana's grid of 24 columns. Nothing of a dashboard comes from a clock or from chance.
"""

from typing import TYPE_CHECKING

from components.making.watch import Board, Choice, Panel, Query

if TYPE_CHECKING:
    from grafana_foundation_sdk.builders import dashboard as builders
    from grafana_foundation_sdk.builders import prometheus, table, timeseries
    from grafana_foundation_sdk.models import dashboard as models

DATASOURCE = "datasource"
"""The variable by which a person says which Prometheus is asked."""
COLUMNS, WIDTH, HEIGHT = 24, 12, 8


def render_dashboard(uid: str, site: str, board: Board) -> str:
    """A dashboard as Grafana imports it, as JSON."""
    from grafana_foundation_sdk.builders import dashboard
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    found = (
        dashboard.Dashboard(f"{board.title} ({site})")
        .uid(uid)
        .description(board.text)
        .tags(["foresite", site])
        .timezone("browser")
        .time("now-24h", "now")
        .refresh("1m")
        .readonly()
        .with_variable(
            dashboard.DatasourceVariable(DATASOURCE).label("Prometheus").type("prometheus")
        )
    )
    for choice in board.choices:
        found = found.with_variable(_variable(choice))
    for number, (each, x, y) in enumerate(_place_panels(board.panels), start=1):
        found = found.with_panel(_build_panel(each, number, (x, y)))
    return JSONEncoder(sort_keys=True, indent=1).encode(found.build()) + "\n"


def _place_panels(panels: tuple[Panel, ...]) -> list[tuple[Panel, int, int]]:
    """Panels from left to right, each row as high as the others."""
    found: list[tuple[Panel, int, int]] = []
    x = y = 0
    for each in panels:
        if x + WIDTH > COLUMNS:
            x, y = 0, y + HEIGHT
        found.append((each, x, y))
        x += WIDTH
    return found


def _variable(choice: Choice) -> "builders.CustomVariable":
    from grafana_foundation_sdk.builders import dashboard

    made = dashboard.CustomVariable(choice.name).label(choice.label)
    made = made.values(",".join(choice.values)).multi(True).include_all(True)
    # Whatever the site gets next is shown too.
    return made.all_value(".*").current(_all())


def _all() -> "models.VariableOption":
    from grafana_foundation_sdk.models import dashboard

    return dashboard.VariableOption(text="All", value="$__all", selected=True)


def _build_panel(each: Panel, number: int, at: tuple[int, int]) -> "table.Panel | timeseries.Panel":
    """A panel, made by Grafana's builders."""
    from grafana_foundation_sdk.builders import table, timeseries
    from grafana_foundation_sdk.models import dashboard

    place = dashboard.GridPos(h=HEIGHT, w=WIDTH, x=at[0], y=at[1])
    source = dashboard.DataSourceRef(type_val="prometheus", uid=f"${{{DATASOURCE}}}")
    made = table.Panel() if each.table else timeseries.Panel().min(0)
    made = made.id(number).title(each.title).description(each.text).unit(each.unit)
    made = made.grid_pos(place).datasource(source)
    for letter, query in zip("ABCDEFGH", each.queries, strict=False):
        made = made.with_target(_target(query, letter, table=each.table).datasource(source))
    return made


def _target(query: Query, letter: str, *, table: bool) -> "prometheus.Dataquery":
    from grafana_foundation_sdk.builders import prometheus
    from grafana_foundation_sdk.models.prometheus import PromQueryFormat

    made = prometheus.Dataquery().expr(query.expression).legend_format(query.legend)
    made = made.ref_id(letter)
    return made.instant().format(PromQueryFormat.TABLE) if table else made.range()
