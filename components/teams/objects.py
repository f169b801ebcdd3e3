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
    parts = (
        namespaces, policies, priority_classes, priority_quotas, limit_ranges, network_policies,
        quotas, object_quotas, throttles, kueue.queues, volcano.queues, people, recorder,
    )  # fmt: skip
    return annotate([each for part in parts for each in part(site)])
