"""Accelerators by model and team: how many there are, can be used, are used and guaranteed."""

from collections.abc import Iterator
from itertools import chain

from components.making.manifest import Json
from components.making.promql import NODES, asks, ready, resource_label, state
from components.making.told import Told
from components.making.watch import Alert, record
from components.monitoring.alerts.nodes import KNOWN, REINSTALLED, least
from schemas.facts.site import Site
from schemas.model.site_file import Pool

TOLD = Told(__file__)


def rules(site: Site) -> list[Json | Alert]:
    """Recording rules and alerts on accelerators; none where the site serves none."""
    pools = [pool for pool in site.file.pools if site.model(pool) and site.hosts_of(pool)]
    if not pools:
        return []
    told, models = TOLD.at(site), site.models()
    asked = {model: asks(site, model, 'node!=""') for model in models}
    # The devices of all machines that the site file declares, with or without a Node.
    declared = [
        (model, sum(site.replicas(pool) * site.devices(pool) for pool in site.pools_with(model)))
        for model in models
    ]
    requests = (told.records("requests", asked=asked[model], model=model) for model in models)
    return [
        *(each for pool in pools for each in _of_pool(site, pool)),
        *TOLD.records("sums"),
        *(record("accelerators_expected:sum", f"vector({n})", model=m) for m, n in declared),
        *chain.from_iterable(requests),
        *_of_teams(site),
        *(_missing_devices(site, model) for model in models),
    ]


def _of_pool(site: Site, pool: Pool) -> Iterator[Json]:
    nodes, model = f'{NODES}{{pool="{pool.name}"}}', site.model(pool) or ""
    expr = f"{nodes} * {site.devices(pool)}"
    yield record("accelerators_expected:node", expr, pool=pool.name)
    # No metric tells what a DRA driver offers.
    if not site.uses_dra(model):
        resource = resource_label(site.accelerators[model].plugin.resource)
        offered = state(site, "kube_node_status_allocatable", f'resource="{resource}"')
        expr = f"{nodes} * on (node) group_left () max by (node) ({offered}) or {nodes} * 0"
    yield record("accelerators_allocatable:node", expr, pool=pool.name)


def _of_teams(site: Site) -> list[Json]:
    guarantees = [
        record("accelerators_promised:team", f"vector({count})", team=team.name, model=model)
        for team in sorted(site.scheduling.teams, key=lambda each: each.name)
        for model, count in sorted(team.accelerators.items())
        if count and model in site.models()
    ]
    return [*guarantees, *(TOLD.records("used") if guarantees else ())]


def _missing_devices(site: Site, model: str) -> Alert:
    """A dead Node still reports what it offered, so only ready ones count."""
    planned = all(least(site, pool) < 1 for pool in site.pools_with(model))
    values = {"model": model, "is_ready": ready(site), "known": KNOWN}
    lasts = REINSTALLED if planned else "15m"
    return TOLD.at(site).alert("AcceleratorsGone", **values, lasts=lasts)
