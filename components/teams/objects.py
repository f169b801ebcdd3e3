"""The teams of a site, in a fixed order; nothing where the site has none."""

from components.making.manifest import Manifest, annotate
from components.teams import kueue, volcano
from components.teams.disruptions import recorder
from components.teams.limits import object_quotas, quotas, throttles
from components.teams.namespaces import limit_ranges, namespaces, network_policies
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
            *network_policies(site),
            *quotas(site),
            *object_quotas(site),
            *throttles(site),
            *kueue.queues(site),
            *volcano.queues(site),
            *people(site),
            *recorder(site),
        ]
    )
