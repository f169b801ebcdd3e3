"""Limits by team and model where Volcano admits jobs: a queue for each team. What its capability
does not name has no limit but the cluster's; 0 is one (Volcano 1.15.1, proportion, capacity)."""

from components.making.manifest import Manifest, site_object
from components.teams.names import metadata
from schemas.facts.quotas import Holder, models_held_by
from schemas.facts.site import Site
from schemas.model.scheduling import Team


def queues(site: Site) -> list[Manifest]:
    """Each team's queue; none where Volcano serves no model."""
    models = models_held_by(site, Holder.VOLCANO)
    return [_queue(site, team, models) for team in site.scheduling.teams] if models else []


def _queue(site: Site, team: Team, models: tuple[str, ...]) -> Manifest:
    capability = {site.resource(m): str(team.accelerators.get(m, 0)) for m in models}
    # What a team is guaranteed is its own: no other queue takes it back.
    spec = {"weight": 1, "reclaimable": False, "capability": capability}
    api, named = "scheduling.volcano.sh/v1beta1", metadata(site, team.name)
    return site_object(f"Queue/{team.name}", api, named, spec=spec)
