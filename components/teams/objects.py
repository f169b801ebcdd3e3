"""The teams of a site, in a fixed order; nothing where the site has none."""

from components.making.manifest import Manifest, annotate
from components.teams import kueue, volcano
from components.teams.limits import quotas, throttles
from components.teams.namespaces import limit_ranges, namespaces
from components.teams.people import people
from components.teams.policies import policies
from components.teams.tiers import priority_classes, priority_quotas
from schemas.facts.site import Site


def objects(site: Site) -> list[Manifest]:
    """Every object of the site's teams, on its own cluster."""
    return annotate(
        [
            *namespaces(site),
            *policies(site),
            *priority_classes(site),
            *priority_quotas(site),
            *limit_ranges(site),
            *quotas(site),
            *throttles(site),
            *kueue.queues(site),
            *volcano.queues(site),
            *people(site),
        ]
    )
