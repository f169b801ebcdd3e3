"""Rules on rollouts and health checks: the first make progress, the second do not loop (Cluster API
1.13, MachineDeployment rollout planner, MachineHealthCheck targets)."""

from collections.abc import Iterable, Iterator

from schemas.facts.quotas import groups
from schemas.facts.rollout import takes_all, waves
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Remedy, Role, RolloutStrategy
from schemas.reading.host_list import SPARE
from schemas.rules.finding import Finding, InPool, say

STARTUP_MARGIN_SECONDS = 600
"""Seconds of a start besides the re-image: waiting for a host, power-on, joining."""


def rollout_settings(at: InPool) -> Iterator[Finding]:
    """A setting of a rollout that is written has an effect."""
    pool = at.pool
    written = pool.rollout.model_fields_set
    if pool.role is Role.CONTROL_PLANE:
        row = "rollout-of-control-plane"
        names: Iterable[str] = written - {"drain_timeout_seconds"}
    elif pool.rollout.strategy is RolloutStrategy.ON_DELETE:
        row = "rollout-on-delete"
        names = written & {"max_unavailable", "max_surge"}
    else:
        return
    for name in sorted(names):
        yield say(row, at.path("rollout", name), name)


def surge(at: InPool) -> Iterator[Finding]:
    """A surge has spare hosts. Without any, and where no machine may go first, the new Machine
    stays in Provisioning for ever; else those that have none wait without harm: a hint."""
    pool, rollout = at.pool, at.pool.rollout
    surge, spares, place = rollout.max_surge, _spares(at), at.path("rollout", "max_surge")
    if not _rolls(pool) or surge <= spares:
        return
    if _is_stuck(at):
        where = " in any zone" if rollout.by_zone else ""
        yield say("surge-without-spares", place, surge, where)
    else:
        where = " in each zone" if rollout.by_zone else ""
        yield say("surge-beyond-spares", place, surge, where, spares)


def progress(at: InPool) -> Iterator[Finding]:
    """Some machine may go: old ones go only as far as max_unavailable and new ones allow."""
    rollout = at.pool.rollout
    if not rollout.max_surge and _is_stuck(at):
        yield say("rollout-without-progress", at.path("rollout", "max_unavailable"))


def all_at_once(at: InPool) -> Iterator[Finding]:
    """A rollout never takes the whole pool (or zone) out."""
    rollout = at.pool.rollout
    if not _rolls(at.pool):
        return
    sizes = ((machines, zone) for zone, machines in groups(at.site, at.pool) if machines > 1)
    machines, zone = min(sizes, default=(0, None))
    if takes_all(rollout.max_unavailable, machines):
        where = f" in zone {zone}" if zone else ""
        more = f", or at most {machines - 1}" * (machines > 2)
        values = rollout, machines, where, max(1, machines // 10), more
        yield say("rollout-all-at-once", at.path("rollout", "max_unavailable"), *values)


def _rolls(pool: Pool) -> bool:
    """True if a pool is replaced by a rollout that Foresite sets."""
    return pool.role is Role.WORKER and pool.rollout.strategy is RolloutStrategy.ROLLING_UPDATE


def _spares(at: InPool) -> int:
    """The free hosts that a pool is to have once none is out: who takes a host out in need is not
    held up by the next rollout."""
    named = sum(host.pool == at.pool.name for host in at.site.hosts if host.state == SPARE)
    return max(at.pool.spares, named)


def _is_stuck(at: InPool) -> bool:
    """True if no machine of a pool can be replaced, however many it has."""
    pool, rollout = at.pool, at.pool.rollout
    limits = rollout.max_unavailable, rollout.max_surge
    return _rolls(pool) and bool(waves(1, *limits, _spares(at)).stuck)


def health_settings(at: InPool) -> Iterator[Finding]:
    """A setting of a health check that is written has an effect."""
    pool = at.pool
    never = "remedy: replace never power-cycles a host"
    reasons = dict.fromkeys(("reboot_retries", "reboot_timeout_seconds"), never)
    if pool.health_check.remedy is Remedy.REBOOT:
        # components/machines/health.py: such a request would block the check of the others.
        why = "remedy: reboot leaves a machine alone that never became a node"
        reasons = {"node_startup_timeout_seconds": why}
    if pool.role is Role.CONTROL_PLANE:
        reasons["max_unhealthy_percent"] = "of a control plane one machine at most is touched"
    for name in sorted(reasons.keys() & pool.health_check.model_fields_set):
        place = at.path("health_check", name)
        remedy = "" if name == "max_unhealthy_percent" else ", or choose the other remedy"
        yield say("health-setting-unused", place, reasons[name], name, remedy)


def startup(at: InPool) -> Iterator[Finding]:
    """A machine is not given up while it still installs or boots. nodeStartupTimeout counts from
    its creation: cleaning, image, boot and join. Each expiry deletes it and starts over."""
    site, pool = at.site, at.pool
    limit = pool.health_check.node_startup_timeout_seconds
    replaced = pool.health_check.remedy is Remedy.REPLACE
    if limit is None or not replaced or pool.hardware not in site.hardware:
        return
    minutes = site.profile(pool).install_minutes
    need = minutes * 60 + STARTUP_MARGIN_SECONDS
    if limit < need:
        place = at.path("health_check", "node_startup_timeout_seconds")
        values = limit, pool, minutes, STARTUP_MARGIN_SECONDS, need
        yield say("startup-timeout-too-short", place, *values)
