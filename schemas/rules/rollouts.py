"""Rules on rollouts and health checks: the first make progress, the second do not loop.

Sources: the controllers of Cluster API 1.13 (MachineDeployment rollout planner, MachineHealthCheck
targets).
"""

from collections.abc import Iterable, Iterator

from schemas.facts.quotas import groups
from schemas.facts.rollout import takes_all, waves
from schemas.model.codes import Code
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Remedy, Role, RolloutStrategy
from schemas.rules.finding import Finding
from schemas.rules.scope import InPool

STARTUP_MARGIN_SECONDS = 600
"""Seconds of a start besides the re-image: waiting for a host, power-on, joining."""


def rollout_settings(at: InPool) -> Iterator[Finding]:
    """A setting of a rollout that is written has an effect."""
    pool = at.pool
    written = pool.rollout.model_fields_set
    if pool.role is Role.CONTROL_PLANE:
        why = "a control plane is always rolled one machine at a time"
        fix = "remove it; spares: 1 lets a new machine come before an old one goes"
        names: Iterable[str] = written - {"drain_timeout_seconds"}
    elif pool.rollout.strategy is RolloutStrategy.ON_DELETE:
        why = "with OnDelete a machine is replaced when a person deletes it"
        fix = "remove it, or write strategy: RollingUpdate"
        names = written & {"max_unavailable", "max_surge"}
    else:
        return
    for name in sorted(names):
        place = at.path("rollout", name)
        message = f"{why}, so {name} has no effect"
        yield Finding(Code.ROLLOUT_MEANINGLESS, place, message, fix, key=True)


def surge(at: InPool) -> Iterator[Finding]:
    """A surge has spare hosts. Without any, and where no machine may go first, the new Machine
    stays in Provisioning for ever; else those that have none wait without harm: a hint."""
    pool, rollout = at.pool, at.pool.rollout
    surge, spares, place = rollout.max_surge, pool.spares, at.path("rollout", "max_surge")
    if not _rolls(pool) or surge <= spares:
        return
    if _is_stuck(at):
        where = " in any zone" if rollout.by_zone else ""
        message = (
            f"max_unavailable: 0 keeps every old machine, and max_surge: {surge} finds no spare "
            f"host{where}"
        )
        fix = "write max_surge: 0 and max_unavailable: 1, or spares: 1 if the pool has a free host"
        yield Finding(Code.ROLLOUT_STUCK, place, message, fix)
    else:
        where = " in each zone" if rollout.by_zone else ""
        message = f"max_surge: {surge} is more than the pool's spare hosts{where}: {spares}"
        fix = f"write max_surge: {spares}, or spares: {surge} if the pool has as many free hosts"
        yield Finding(Code.SURGE_UNUSED, place, message, fix)


def progress(at: InPool) -> Iterator[Finding]:
    """Some machine may go: old ones go only as far as max_unavailable and new ones allow."""
    rollout = at.pool.rollout
    if not rollout.max_surge and _is_stuck(at):
        message = "with max_unavailable: 0 and no surge, no old machine may ever be deleted"
        fix = "write max_unavailable: 1"
        yield Finding(Code.ROLLOUT_STUCK, at.path("rollout", "max_unavailable"), message, fix)


def all_at_once(at: InPool) -> Iterator[Finding]:
    """A rollout never takes the whole pool (or zone) out."""
    rollout = at.pool.rollout
    if not _rolls(at.pool):
        return
    sizes = ((machines, zone) for zone, machines in groups(at.site, at.pool) if machines > 1)
    machines, zone = min(sizes, default=(0, None))
    if takes_all(rollout.max_unavailable, machines):
        where = f" in zone {zone}" if zone else ""
        yield Finding(
            Code.ROLLOUT_ALL_AT_ONCE,
            at.path("rollout", "max_unavailable"),
            f"max_unavailable: {rollout.max_unavailable} takes all {machines} machines{where} at "
            "once",
            f"write {max(1, machines // 10)}" + f", or at most {machines - 1}" * (machines > 2),
        )


def _rolls(pool: Pool) -> bool:
    """True if a pool is replaced by a rollout that Foresite sets."""
    return pool.role is Role.WORKER and pool.rollout.strategy is RolloutStrategy.ROLLING_UPDATE


def _is_stuck(at: InPool) -> bool:
    """True if no machine of a pool can be replaced, however many it has."""
    pool, rollout = at.pool, at.pool.rollout
    limits = rollout.max_unavailable, rollout.max_surge
    return _rolls(pool) and bool(waves(1, *limits, pool.spares).stuck)


def health_settings(at: InPool) -> Iterator[Finding]:
    """A setting of a health check that is written has an effect."""
    pool = at.pool
    reasons = {
        "reboot_retries": "remedy: replace never power-cycles a host",
        "reboot_timeout_seconds": "remedy: replace never power-cycles a host",
    }
    if pool.health_check.remedy is Remedy.REBOOT:
        # components/machines/health.py: such a request would block the check of the others.
        why = "remedy: reboot leaves a machine alone that never became a node"
        reasons = {"node_startup_timeout_seconds": why}
    if pool.role is Role.CONTROL_PLANE:
        reasons["max_unhealthy_percent"] = "of a control plane one machine at most is touched"
    for name in sorted(reasons.keys() & pool.health_check.model_fields_set):
        place = at.path("health_check", name)
        message = f"{reasons[name]}, so {name} has no effect"
        remedy = "" if name == "max_unhealthy_percent" else ", or choose the other remedy"
        yield Finding(Code.HEALTH_CHECK_MEANINGLESS, place, message, f"remove it{remedy}", key=True)


def startup(at: InPool) -> Iterator[Finding]:
    """A machine is not given up while it still installs or boots.

    MachineHealthCheck counts nodeStartupTimeout from the Machine's creation, so cleaning, writing
    the image, booting and joining all count; each expiry deletes the Machine and starts over.
    """
    site, pool = at.site, at.pool
    limit = pool.health_check.node_startup_timeout_seconds
    replaced = pool.health_check.remedy is Remedy.REPLACE
    if limit is None or not replaced or pool.hardware not in site.hardware:
        return
    minutes = site.profile(pool).reimage_minutes
    need = minutes * 60 + STARTUP_MARGIN_SECONDS
    if limit < need:
        yield Finding(
            Code.HEALTH_CHECK_LOOP,
            at.path("health_check", "node_startup_timeout_seconds"),
            f"{limit} seconds are less than a re-image of {pool.hardware} ({minutes} minutes) and "
            f"{STARTUP_MARGIN_SECONDS} seconds to join",
            f"write {need} or more",
        )
