"""Names of the teams' objects, and the marks that tell a team's from others'."""

from functools import partial

from components.making.manifest import Json, Manifest, metadata_of, site_object
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN, TEAM_LABEL
from schemas.model.scheduling import Team

COMPONENT = "teams"
PRIORITIES_ANNOTATION = f"{OWN_DOMAIN}/priorities"
"""On a team's namespace: the PriorityClasses that it may use, with commas between them."""

TOLERATIONS_ANNOTATION = f"{OWN_DOMAIN}/tolerations"
"""On a team's namespace: the keys of the taints of its pools, with commas between them."""

metadata = partial(metadata_of, COMPONENT)


def resource_quota(site: Site, namespace: str, name: str, logical: str, spec: Json) -> Manifest:
    """A ResourceQuota of a namespace; ``logical`` is the last part of its logical name."""
    named = metadata(site, name, namespace)
    return site_object(f"ResourceQuota/{namespace}/{logical}", "v1", named, spec=spec)


def of_team(team: Team) -> Json:
    """Selects the namespaces of a team."""
    return {"matchLabels": {TEAM_LABEL: team.name}}


def of_any_team() -> Json:
    """Selects the namespaces of all teams."""
    return {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}


def priorities_of(site: Site, team: Team) -> list[str]:
    """The PriorityClasses that a team may use, the default one too, in the order of the site's."""
    priorities = site.scheduling.priorities
    return [
        priority.name
        for priority in priorities
        if priority.default or priority.name in team.priorities
    ]
