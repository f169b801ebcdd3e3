"""What a site shows to a Grafana of many: series with the label ``site``, and the page of these."""

from components.making.manifest import Json
from components.making.promql import GUARANTEED, READY, state
from components.making.told import Told
from components.making.watch import Board, record
from schemas.facts.site import Site

NODES = "foresite:site_nodes:count"
"""Nodes of a pool of a site, by ``state``."""
TOLD = Told(__file__)


def rules(site: Site) -> list[Json]:
    """The recording rules of a site's figures for the fleet."""
    declared = {"site": site.name, "state": "declared"}
    values = {"site": site.name, "pool_ready": READY, "guaranteed": GUARANTEED}
    values |= {name: state(site, f"kube_node_{name}") for name in ("created", "info")}
    counts = [
        record("site_nodes:count", f"vector({site.replicas(pool)})", pool=pool.name, **declared)
        for pool in site.file.pools
    ]
    names = [f"{name}_rules" for name in ("pools", *_parts(site))]
    return [*counts, *(rule for name in names for rule in TOLD.records(name, **values))]


def board(site: Site) -> Board:
    """The page of all sites that Grafana sees."""
    panels = [each for name in ("sites", *_parts(site), "pools") for each in TOLD.panels(name)]
    return TOLD.board(panels)._replace(repeat="datasource")


def _parts(site: Site) -> list[str]:
    guaranteed = any(team.accelerators for team in site.scheduling.teams)
    parts = {"accelerators": bool(site.models()), "guarantees": guaranteed}
    return [name for name, there in parts.items() if there]
