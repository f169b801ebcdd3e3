"""The site at a glance: what it has, who uses it, who waits, and what is broken."""

from components.making.promql import Exporter, by, pending, resource_label
from components.making.watch import Board, Panel, panel
from schemas.facts.site import Site

STATE = Exporter.KUBE_STATE_METRICS


def overview(site: Site) -> Board:
    """The dashboard that a person opens first."""
    panels = [*_capacity(), *_teams(site), _waiting(site)] if site.models() else []
    panels += [*_nodes(site), _alerts(site)]
    text = "Accelerators by model and team, nodes, and alerts."
    return Board("overview", "Site overview", text, tuple(panels), place=0)


def _capacity() -> list[Panel]:
    parts = {
        "there should be": "foresite:accelerators_expected:sum",
        "nodes offer": "foresite:accelerators_allocatable:sum",
        "can be had": "foresite:accelerators_usable:sum",
        "pods have": "sum by (model) (foresite:accelerators_requested:namespace)",
    }
    queries = [(query, f"{{{{model}}}}: {name}") for name, query in parts.items()]
    return [
        panel(
            "Accelerators by model",
            "By the hardware profiles; what device plugins offer; what is on nodes that take pods; "
            "what pods have.",
            *queries,
        ),
        panel(
            "Accelerators in use",
            "Share of those that nodes offer.",
            ("foresite:accelerators_used:ratio", "{{model}}"),
            unit="percentunit",
        ),
    ]


def _teams(site: Site) -> list[Panel]:
    if not any(team.accelerators for team in site.scheduling.teams):
        return []
    used = 'foresite:accelerators_used:team{team=~"$team"}'
    promised = 'foresite:accelerators_promised:team{team=~"$team"}'
    return [
        panel(
            "Accelerators by team",
            "What a team's pods have.",
            (used, "{{team}} {{model}}"),
        ),
        panel(
            "Guaranteed accelerators in use",
            "Share of what a team is guaranteed; off-peak it may exceed 1.",
            (f"{used} / ({promised} > 0)", "{{team}} {{model}}"),
            unit="percentunit",
        ),
    ]


def _waiting(site: Site) -> Panel:
    resources = "|".join(resource_label(site.resource(model)) for model in site.models())
    wanted = by(site, STATE, f'resource=~"{resources}"', 'node=""')
    asked = f"kube_pod_container_resource_requests{wanted} {pending(site)}"
    return panel(
        "Accelerators that pods wait for",
        "What pods without a node ask for.",
        (f"sum by (namespace, resource) ({asked})", "{{namespace}} {{resource}}"),
    )


def _nodes(site: Site) -> list[Panel]:
    ready = by(site, STATE, 'condition="Ready"', 'status="true"')
    pools = 'foresite:node_pool:info{pool=~"$pool"}'
    return [
        panel(
            "Nodes",
            "Nodes that are ready, and those that are not or do not answer.",
            (f"sum(kube_node_status_condition{ready})", "ready"),
            (f"sum(1 - kube_node_status_condition{ready})", "not ready"),
        ),
        panel(
            "Nodes that take no pods",
            "By pool: not ready, cordoned, faulty or under repair.",
            (f"sum by (pool) ({pools} and on (node) foresite:node_out:info)", "{{pool}}"),
        ),
    ]


def _alerts(site: Site) -> Panel:
    return panel(
        "Alerts that fire",
        "Of this site, by name and severity.",
        (
            f'sum by (alertname, severity) (ALERTS{{alertstate="firing", site="{site.name}"}})',
            "{{alertname}}",
        ),
        table=True,
    )
