"""Nodes that are out for long, pools that lack some, and nodes that boot again and again.

Planned work is no fault: what a rollout takes out at a time is left out (schemas/facts/quotas.py),
and so is the boot of a host that was installed again, which makes its Node anew.
"""

from collections.abc import Iterator
from math import ceil

from components.making.manifest import Json
from components.making.promql import NODES, minutes, ready, state
from components.making.told import Told
from components.making.watch import Alert, record
from schemas.facts.quotas import machines_out
from schemas.facts.site import Site
from schemas.model.remediation import Reboot
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Remedy

HOUR = 3600
KNOWN = "7d"
"""A pool or model that has not been there for so long is not gone: it was never there."""
REINSTALLED = "2h"
"""Longer than a host takes to be installed again; what has one host alone is gone meanwhile."""
SETTLED_HOURS = 4
"""Without a new Node for so long, no rollout or repair of a pool goes on."""
REPLACE_SECONDS = 3600
"""Seconds that Cluster API may take to delete the Machine of a failed node."""
TOLD = Told(__file__)


def rules(site: Site) -> list[Json | Alert]:
    """Recording rules and alerts on nodes."""
    pools = [pool for pool in site.file.pools if site.hosts_of(pool)]
    running = TOLD.at(site).say("running")
    return [
        # Since the last start of the kernel.
        record("node_uptime:seconds", f"max by (node) ({join_node(site, running)})"),
        _loop(site),
        *(_stays_out(site, pool) for pool in pools),
        *(rule for pool in pools for rule in _of_pool(site, pool)),
    ]


def join_node(site: Site, query: str) -> str:
    """Series of node_exporter by ``node``: their label ``instance`` is an address with a port, or
    the name of the node, as the site scrapes it. Of two Nodes with one address, as when a host came
    back by another name, it is the ready one."""
    info = f"max by (internal_ip, node) ({state(site, 'kube_node_info')})"
    owner = f"topk by (internal_ip) (1, {info} + on (node) group_left () {ready(site)}) > bool 0"
    address, name = (
        f'label_replace({query}, "{label}", "$1", "instance", "([^:]+)(:[0-9]+)?")'
        for label in ("internal_ip", "node")
    )
    joined = f"{address} * on (internal_ip) group_left (node) ({owner})"
    return f"{joined} or {name} and on (node) {NODES}"


def _loop(site: Site) -> Alert:
    """A Node that is younger than the window has one boot that was its installation."""
    reboot = site.file.remediation.reboot if site.file.remediation else Reboot()
    hours, most = reboot.window_hours, max(2, reboot.attempts)
    return TOLD.at(site).alert("NodeRebootLoop", hours=hours, seconds=hours * HOUR, most=most)


def _stays_out(site: Site, pool: Pool) -> Alert:
    check = pool.health_check
    tries = (check.reboot_retries + 1) * check.reboot_timeout_seconds
    seconds = check.unhealthy_timeout_seconds
    seconds += tries if check.remedy is Remedy.REBOOT else REPLACE_SECONDS
    lasts = minutes(ceil(seconds / 60))
    return TOLD.alert("NodeStaysOut", pool=pool.name, ready=ready(site), lasts=lasts)


def least(site: Site, pool: Pool) -> int:
    """How many nodes of a pool planned work leaves; below 1 where it can be empty by plan."""
    machines = site.replicas(pool)
    return machines - max(machines_out(site, pool), ceil(machines / 10))


def _of_pool(site: Site, pool: Pool) -> Iterator[Json | Alert]:
    """The alerts on a pool as a whole; none for one without machines."""
    if not site.replicas(pool):
        return
    told = TOLD.at(site)
    values = {"pool": pool.name, "machines": site.replicas(pool), "least": least(site, pool)}
    yield from told.records("ready_nodes", is_ready=ready(site), **values)
    yield _down(site, pool)
    if least(site, pool) >= 1:
        yield told.alert("PoolTooSmall", **values)
    # A Machine whose Node is deleted is in no other series: only Git knows how many there are. A
    # rollout makes new Nodes all the time, and one that stands still makes none.
    settled = {"hours": SETTLED_HOURS, "seconds": SETTLED_HOURS * HOUR}
    yield told.alert("NodesMissing", lasts=REINSTALLED, **settled, **values)


def _down(site: Site, pool: Pool) -> Alert:
    """Half of a pool is more than planned work takes; a pool that planned work may empty is down
    when it is empty for longer than that."""
    half, left = ceil(site.replicas(pool) / 2), least(site, pool)
    values = {"pool": pool.name, "machines": site.replicas(pool), "known": KNOWN}
    lasts = "15m" if left >= 1 else REINSTALLED
    return TOLD.alert("PoolDown", **values, floor=max(1, min(half, left)), lasts=lasts)
