"""Accelerators by model and team: how many there are, can be used, are used and guaranteed.

A pod asks for what its model is called (Site.resource), also where admission adds the plugin's own
resource beside it. kube-state-metrics writes names of resources with underscores (2.20,
internal/store/utils.go, SanitizeLabelName).
"""

from collections.abc import Iterator

from components.making.manifest import Json
from components.making.promql import (
    ALLOCATABLE,
    GUARANTEED,
    NODES,
    TEAMS,
    Exporter,
    answers_recently,
    asks,
    of,
    ready,
    resource_label,
    state,
)
from components.making.told import Told
from components.making.watch import Alert, record
from components.monitoring.alerts.nodes import KNOWN, REINSTALLED, least
from schemas.facts.feature_gates import uses_dra
from schemas.facts.site import Site
from schemas.model.site_file import Pool

REQUESTED = "foresite:accelerators_requested:namespace"
"""Accelerators of a namespace's pods that are placed and have not ended, by ``model``."""
TOLD = Told(__file__)


def rules(site: Site) -> list[Json | Alert]:
    """Recording rules and alerts on accelerators; none where the site serves none."""
    pools = [pool for pool in site.file.pools if site.model(pool) and site.hosts_of(pool)]
    if not pools:
        return []
    return [
        *(each for pool in pools for each in _of_pool(site, pool)),
        *TOLD.records("sums", requested=REQUESTED),
        *(_machines(site, model) for model in site.models()),
        *(_requests(site, model) for model in site.models()),
        *_of_teams(site),
        *(_missing_devices(site, model) for model in site.models()),
    ]


def _of_pool(site: Site, pool: Pool) -> Iterator[Json]:
    nodes = f'{NODES}{{pool="{pool.name}"}}'
    accelerators = site.profile(pool).accelerators
    count = accelerators.count if accelerators else 0
    yield record("accelerators_expected:node", f"{nodes} * {count}", pool=pool.name)
    model = site.model(pool) or ""
    if uses_dra(site, model):
        # No metric tells what a DRA driver offers.
        yield record("accelerators_allocatable:node", f"{nodes} * {count}", pool=pool.name)
        return
    resource = resource_label(site.accelerators[model].plugin.resource)
    offered = state(site, "kube_node_status_allocatable", f'resource="{resource}"')
    expr = f"{nodes} * on (node) group_left () max by (node) ({offered}) or {nodes} * 0"
    yield record("accelerators_allocatable:node", expr, pool=pool.name)


def _machines(site: Site, model: str) -> Json:
    """The devices of all machines that the site file declares, with or without a Node."""
    found = 0
    for pool in site.pools_with(model):
        accelerators = site.profile(pool).accelerators
        found += site.replicas(pool) * (accelerators.count if accelerators else 0)
    return record("accelerators_expected:sum", f"vector({found})", model=model)


def _requests(site: Site, model: str) -> Json:
    asked = asks(site, model, 'node!=""')
    alive = of(site, Exporter.KUBE_STATE_METRICS, "kube_pod_status_phase", 'phase="Running"')
    starts = of(site, Exporter.KUBE_STATE_METRICS, "kube_pod_status_phase", 'phase="Pending"')
    there = f"(max by (namespace, pod) ({alive} == 1 or {starts} == 1))"
    expr = f"sum by (namespace) ({asked} * on (namespace, pod) {there})"
    return record("accelerators_requested:namespace", expr, model=model)


def _of_teams(site: Site) -> Iterator[Json]:
    promised = False
    for team in sorted(site.scheduling.teams, key=lambda each: each.name):
        for model, count in sorted(team.accelerators.items()):
            if count and model in site.models():
                promised = True
                yield record(
                    "accelerators_promised:team", f"vector({count})", team=team.name, model=model
                )
    if promised:
        joined = f"{REQUESTED} * on (namespace) group_left (team) {TEAMS}"
        yield record(
            "accelerators_used:team", f"sum by (team, model) ({joined}) or {GUARANTEED} * 0"
        )


def _missing_devices(site: Site, model: str) -> Alert:
    """A dead Node still reports what it offered, so only ready ones count."""
    own = f'{{model="{model}"}}'
    there = f"{ALLOCATABLE}{own} and on (node) {ready(site)} == 1"
    before = f"max_over_time(foresite:accelerators_allocatable:sum{own}[{KNOWN}]) > 0"
    known = answers_recently(site, Exporter.KUBE_STATE_METRICS)
    planned = all(least(site, pool) < 1 for pool in site.pools_with(model))
    return TOLD.alert(
        "AcceleratorsGone",
        model=model,
        there=there,
        known=known,
        before=before,
        lasts=REINSTALLED if planned else "15m",
    )
