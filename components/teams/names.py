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


def resource_quotas(
    site: Site, team: Team, name: str, spec: Json, logical: str = ""
) -> list[Manifest]:
    """A ResourceQuota for each namespace of a team; ``logical`` ends their logical names."""
    return [
        site_object(
            f"ResourceQuota/{each}/{logical or name}", "v1", metadata(site, name, each), spec=spec
        )
        for each in team.namespaces
    ]


def of_team(team: Team) -> Json:
    """Selects the namespaces of a team."""
    return {"matchLabels": {TEAM_LABEL: team.name}}


def of_any_team() -> Json:
    """Selects the namespaces of all teams."""
    return {"matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}]}


def priorities_of(site: Site, team: Team) -> list[str]:
    """The PriorityClasses that a team may use, the default one too, in the order of the site's."""
    priorities = site.scheduling.priorities
    return [each.name for each in priorities if each.default or each.name in team.priorities]
