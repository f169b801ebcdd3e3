"""Limits by team and model where a kube-scheduler places pods: throttles, or quotas without one.

Sources: pfnet/kube-throttler 1.7.4, pkg/apis/schedule/v1alpha1. Its README spells selectorTerms in
another way, and says that an override is merged with the threshold: in truth one that is active
takes its place, and what it does not name has no limit (throttle_types.go, CalculateThreshold).
"""

from components.making.manifest import Json, Manifest, prune, site_object
from components.teams.names import metadata, of_team, resource_quotas
from schemas.facts.off_peak import windows
from schemas.facts.quotas import Holder, compute_share, models_held_by, object_limits
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, Team

RFC_3339 = "%Y-%m-%dT%H:%M:%SZ"
ACCELERATORS, OBJECTS = "accelerators", "objects"


def throttles(site: Site) -> list[Manifest]:
    """For each throttler a throttle of each team, for all the team's namespaces together."""
    throttled = models_held_by(site, Holder.THROTTLE)
    made = []
    for backend in site.scheduling.backends:
        models = [model for model in throttled if site.backend_of(model) is backend]
        if models and _throttler(backend):
            made += [_throttle(site, team, backend, models) for team in site.scheduling.teams]
    return made


def _throttler(backend: Backend) -> str | None:
    return backend.scheduler.throttler if backend.scheduler else None


def _throttle(site: Site, team: Team, backend: Backend, models: list[str]) -> Manifest:
    # An empty selector of pods means all of them; none at all would mean no pod.
    term: Json = {"namespaceSelector": of_team(team), "podSelector": {}}
    spec: Json = {
        "throttlerName": _throttler(backend),
        "selector": {"selectorTerms": [term]},
        "threshold": _threshold(site, models, team.accelerators),
        "temporaryThresholdOverrides": _overrides(site, team, models) or None,
    }
    # Names of teams have no dots, so no two throttles have one name.
    named, logical = metadata(site, f"{team.name}.{backend.name}"), f"{team.name}/{backend.name}"
    api = "schedule.k8s.everpeace.github.com/v1alpha1"
    return site_object(f"ClusterThrottle/{logical}", api, named, spec=prune(spec))


def _threshold(site: Site, models: list[str], given: dict[str, int]) -> Json:
    """All models of a throttler: one that is not named would have no limit."""
    return {"resourceRequests": {site.resource(m): str(given.get(m, 0)) for m in models}}


def _overrides(site: Site, team: Team, models: list[str]) -> list[Json]:
    """The limits off-peak, each with every model, also those that stay as they are."""
    off_peak = site.scheduling.off_peak
    if off_peak is None or not any(model in team.off_peak for model in models):
        return []
    most = {**team.accelerators, **team.off_peak}
    spans = [(f"{e.begin:{RFC_3339}}", f"{e.end:{RFC_3339}}") for e in windows(off_peak)]
    return [{"begin": b, "end": e, "threshold": _threshold(site, models, most)} for b, e in spans]


def quotas(site: Site) -> list[Manifest]:
    """For each namespace of a team a quota of the models that no throttler limits; a rule sees to
    it that a team with a guarantee of such a model has one namespace alone."""
    models, found = models_held_by(site, Holder.QUOTA), []
    for team in site.scheduling.teams if models else ():
        count = team.accelerators.get
        spec: Json = {"hard": {f"requests.{site.resource(m)}": str(count(m, 0)) for m in models}}
        found += resource_quotas(site, team, ACCELERATORS, spec)
    return found


def object_quotas(site: Site) -> list[Manifest]:
    """For each team's namespace a quota of objects and, with a share, of cores and memory."""
    found = []
    for team in site.scheduling.teams:
        hard = {name: str(count) for name, count in object_limits(site, team).items()}
        share = compute_share(site, team)
        if share:
            hard |= {"requests.cpu": str(share[0]), "requests.memory": f"{share[1]}Gi"}
        found += resource_quotas(site, team, OBJECTS, {"hard": hard})
    return found
