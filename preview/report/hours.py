"""How long things take, in hours of plans and in words."""

import math
from collections.abc import Iterable

from components.effects.vocabulary import PoolPlan
from preview.result import SitePreview


def duration(hours: float) -> str:
    """Hours for a person, rounded up: a rollout is never said to be shorter than it is."""
    minutes = math.ceil(round(hours * 60, 6))
    if minutes < 90:
        return f"{minutes} min"
    if hours >= 100:
        return f"{math.ceil(round(hours, 6)):,} h"
    return f"{math.ceil(round(hours * 10, 6)) / 10:g} h"


def takes(plan: PoolPlan) -> str:
    """How long a pool's rollout takes from the change on, after the control plane's upgrade."""
    drains = plan.drain_hours + plan.wait_drain_hours
    more = f" plus up to {duration(drains)} of drains" if drains else ""
    return duration(plan.hours + plan.wait_hours) + more


def spans(plan: PoolPlan) -> tuple[float, float]:
    """Hours until a pool's rollout begins at the latest, and hours that it takes at most."""
    return plan.wait_hours + plan.wait_drain_hours, plan.hours + plan.drain_hours


def shared_hours(plans: Iterable[PoolPlan]) -> float:
    """Hours that a site's rollouts take at least, as they share the hosts that the operator
    provisions at a time; 0 where they do not reach that number together."""
    moving = [plan for plan in plans if plan.waves and not plan.stuck]
    waiting = [plan for plan in moving if plan.wait_hours]
    together = waiting or moving
    limit = min((plan.limit for plan in together), default=0)
    if len(together) < 2 or sum(plan.at_once for plan in together) <= limit:
        return 0.0
    turns = [max(plan.waves, math.ceil(plan.machines / limit)) for plan in together]
    work = sum(p.machines * p.hours / number for p, number in zip(together, turns, strict=True))
    slowest = max(plan.hours + plan.wait_hours for plan in together)
    return max(slowest, together[0].wait_hours + work / limit)


def installed_after(site: SitePreview) -> float:
    """Hours until all pools of a new site are installed."""
    return max((each.begins + each.hours for each in site.installations), default=0.0)
