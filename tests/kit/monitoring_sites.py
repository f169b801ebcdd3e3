"""The repository's sites, each watched with the Prometheus operator and without it."""

from dataclasses import replace

from components.making.manifest import Json
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring
from tests.golden import every_site

RECEIVERS: list[Json] = [
    {"name": "pager", "kind": "pagerduty", "secret": "receivers", "key": "routing-key"},
    {"name": "chat", "kind": "slack", "secret": "receivers", "key": "slack", "channel": "#gpu"},
    {"name": "hook", "kind": "webhook", "secret": "hooks", "key": "url"},
]
WATCH: Json = {
    "namespace": "watch",
    "labels": {"prometheus": "site"},
    "receivers": RECEIVERS,
    "routes": {"critical": "pager", "warning": "chat", "repeat_hours": 4},
}


def watched(name: str, **changes: object) -> Site:
    """A site of the repository, watched as WATCH says, but for ``changes``."""
    site = every_site()[name]
    monitoring = Monitoring.model_validate({**WATCH, **changes})
    return replace(site, file=site.file.model_copy(update={"monitoring": monitoring}))


def monitoring_of(site: Site) -> Monitoring:
    """What the site file says of monitoring."""
    assert site.file.monitoring is not None
    return site.file.monitoring


NAMES = ("tokyo-1", "tsukuba-1", "lab-1", "edge-1")
OPERATED: dict[str, Site] = {name: watched(name) for name in NAMES}
"""With the operator."""
PLAIN: dict[str, Site] = {name: watched(name, prometheus_operator=False) for name in NAMES}
"""With files alone."""
SITES: dict[str, Site] = {
    **{f"{name}-operator": site for name, site in OPERATED.items()},
    **{f"{name}-files": site for name, site in PLAIN.items()},
}
