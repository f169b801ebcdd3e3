"""The rule groups of a site: what is recorded, and what is an alert.

Each module owns one group or two. What a site does not have is not asked for.
"""

from collections.abc import Sequence

from components.making.manifest import Json
from components.monitoring.alerts import (
    cache,
    capacity,
    devices,
    disks,
    inventory,
    nodes,
    queues,
    repairs,
    schedulers,
    watched,
)
from components.monitoring.rules import Alert, group
from schemas.facts.site import Site


def groups(site: Site) -> list[Json]:
    """Prometheus rule groups (name, interval, rules) of a site; none where nothing watches it."""
    monitoring = site.file.monitoring
    if monitoring is None:
        return []
    found: dict[str, Sequence[Json | Alert]] = {
        "inventory": inventory.rules(site),
        "capacity": capacity.rules(site),
        "devices": devices.rules(site),
        "queues": queues.rules(site, monitoring.thresholds),
        "schedulers": schedulers.rules(site),
        "repairs": repairs.rules(site, monitoring.thresholds),
        "nodes": nodes.rules(site),
        "disks": disks.rules(site, monitoring.thresholds),
        "cache": cache.rules(site, monitoring.thresholds),
        "watched": watched.rules(site),
    }
    return [group(name, rules) for name, rules in found.items() if rules]
