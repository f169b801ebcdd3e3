"""tokyo-1 with teams, as tests want them: v100 by a throttler, a100 by what a test says, h100 by
the default scheduler."""

from dataclasses import replace
from typing import Any

from components.making.manifest import Json, Manifest
from components.teams.objects import objects
from schemas.facts.site import Site
from schemas.rules import site_findings
from schemas.rules.finding import Finding
from tests.golden import with_pool
from tests.kit.scheduling_site import A100, H100, IMAGE, PREFIX, V100
from tests.kit.scheduling_site import site as with_backends

GANG, THROTTLER = "gang-scheduler", "gpu"
V, A, H = "v100-sxm2-32gb", "a100-sxm4-80gb", "h100-sxm5-80gb"
RESOURCES = {V: V100, A: A100, H: H100}
THROTTLED: Json = {
    "name": GANG,
    "kind": "kube-scheduler",
    "pools": ["v100", "cpu"],
    "scheduler": {"image": IMAGE, "throttler": THROTTLER, "gang": {"annotation_prefix": PREFIX}},
}
KUEUE: Json = {"name": "kueue", "kind": "kueue", "pools": ["a100"]}
VOLCANO: Json = {"name": "volcano", "kind": "volcano", "pools": ["a100"]}
VISION: Json = {
    "name": "vision",
    "namespaces": ["vision", "vision-dev"],
    "groups": ["oidc:vision"],
    "accelerators": {V: 400},
    "off_peak": {V: 600},
    "priorities": ["project"],
}
LANGUAGE: Json = {
    "name": "language",
    "namespaces": ["language"],
    "accelerators": {V: 500, A: 600},
    "priorities": ["low"],
}
TIERS: list[Json] = [
    {"name": "project", "value": 1000},
    {"name": "normal", "value": 100, "default": True},
    {"name": "low", "value": 10, "preempts": False},
]
INFINIBAND: Json = {"name": "hca", "interfaces": ["ib0", "ib1"]}
NIGHTS: Json = {"time_zone": "Asia/Tokyo", "first_day": "2026-12-01", "last_day": "2026-12-31"}


def site(*backends: Json, **scheduling: Any) -> Site:
    """tokyo-1 with these backends besides the throttled one; fields of scheduling as given."""
    given = {"priorities": TIERS, "teams": [VISION, LANGUAGE], "off_peak": NIGHTS, **scheduling}
    return with_backends(THROTTLED, *backends, **given)


def on_volcano(**scheduling: Any) -> Site:
    """The site with a100 on Volcano, which looks for resources on nodes: so a100's plugin makes the
    resource that researchers ask for."""
    made = site(VOLCANO, **scheduling)
    record = made.accelerators[A]
    plugin = record.plugin.model_copy(update={"resource": A100})
    own = record.model_copy(update={"plugin": plugin})
    return replace(made, accelerators={**made.accelerators, A: own})


def by_name(made: Site) -> dict[str, Manifest]:
    """The objects of a site's teams by their logical names."""
    return {each.name: each for each in objects(made)}


def spec(made: Site, name: str) -> Json:
    """The spec of an object of a site's teams."""
    found: Json = by_name(made)[name].body["spec"]
    return found


def findings(made: Site) -> list[Finding]:
    """The findings of the rules on a site's teams, PriorityClasses and limits."""
    return [each for each in site_findings(made) if each.place[:1] == ("scheduling",)]


def with_rdma(made: Site, pool: str, **rdma: Any) -> Site:
    """A site one of whose pools shares RDMA cards."""
    given = made.file.pools[0].network_devices.model_validate({"rdma": [{**INFINIBAND, **rdma}]})
    return with_pool(made, pool, network_devices=given)
