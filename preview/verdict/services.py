"""Consequences of a change that no machine feels: alerts, jobs that wait, limits, spare hosts.

Found in the objects that differ, by their kinds. Usage is in no Git: of a lower limit only the
limit itself is known.
Sources: components/monitoring, components/schedulers and components/teams, whose effects say what
each deletion does.
"""

from collections import Counter
from collections.abc import Collection, Iterator

from components.effects import kinds
from components.effects.vocabulary import ABSENT, FieldChange, Side, SiteChange
from components.management.objects import NAME as MANAGEMENT
from components.object_cache.effects.consequences import Consequence
from preview.verdict import decommission
from schemas.kubernetes.quantities import quantity
from schemas.kubernetes.tables import read_table

_KINDS = read_table(__file__)
_ALERTS, _ROUTES = _KINDS["alerts"], _KINDS["routes"]
_POLICY, _FIRMWARE = _KINDS["policy"], _KINDS["firmware"]


def services(site: SiteChange) -> Iterator[Consequence]:
    """The consequences for people and jobs of a site, the worst first; ``applied`` is false where
    they will hold once the site's own cluster is named."""
    if site.before is None or site.after is None or decommission.special(site):
        return
    applied = all(side.fleet.context is not None for side in site.sides)
    for clause, line in (
        *_alerts(site, site.before, site.after), *_waiting(site), *_limits(site),
        *_prepared(site), *_flashed(site),
    ):  # fmt: skip
        yield Consequence(clause, line, applied)
    yield from _managed(site)


def _managed(site: SiteChange) -> Iterator[Consequence]:
    """Differences on the management cluster, a line for each sort of objects."""
    left = {each.kind for each in site.changes.values() if each.component == MANAGEMENT}
    for row in _KINDS["management"]:
        mine = left if "kinds" not in row else left & set(row["kinds"])
        left = left - mine
        if mine:
            yield Consequence(row["clause"], f"{row['clause']}: {row['why']}")


def _alerts(site: SiteChange, before: Side, after: Side) -> Iterator[tuple[str, str]]:
    changed = {each.group_kind for each in site.changes.values()}
    for kind, clause, why in (
        (_ALERTS, "all alerts end", "no PrometheusRule of the site is left"),
        (_ROUTES, "nobody is notified of alerts", "no AlertmanagerConfig of the site is left"),
    ):
        if kind not in changed:
            continue
        was, now = (
            sum(each.group_kind == kind for each in side.objects.values())
            for side in (before, after)
        )
        if was and not now:
            yield clause, f"{clause}: {why}"
            return  # who is notified of no alert is nothing to tell
        if now < was and kind == _ALERTS:
            some = f"alerts of {was - now} of {was} PrometheusRules end"
            yield some, f"{some}: what holds them is deleted"


def _waiting(site: SiteChange) -> Iterator[tuple[str, str]]:
    """Jobs that wait for something that is deleted; running jobs continue."""
    # An object goes, also to make way for one of another name.
    gone = [
        each
        for each in site.changes.values()
        if each.before and (each.after is None or each.before.key != each.after.key)
    ]
    schedulers = [
        each.one.key[3]
        for each in gone
        if each.component == "schedulers" and each.group_kind == kinds.DEPLOYMENT
    ]
    queues = [each.one.key[3] for each in gone if each.group_kind in _KINDS["queues"]]
    for what, names in (("scheduler", schedulers), ("queue", queues)):
        if names:
            those = f"{len(names)} {what}{'s' * (len(names) > 1)}"
            clause = f"pending jobs of {those} wait for ever"
            yield clause, f"{clause}: {', '.join(names)}; running jobs continue"


def _limits(site: SiteChange) -> Iterator[tuple[str, str]]:
    lower = [
        each.one.key[3]
        for each in site.changes.values()
        if any(_falls(field, _KINDS["limits"].get(each.group_kind, ())) for field in each.fields)
    ]
    if lower:
        many = f"{len(lower)} limits may fall below the use"
        clause = "1 limit may fall below its use" if len(lower) == 1 else many
        said = "running jobs continue above it, and no other starts until there is room"
        yield clause, f"{clause}: {', '.join(lower)}; {said}"


def _prepared(site: SiteChange) -> Iterator[tuple[str, str]]:
    """Spare hosts that get other RAID volumes or firmware: no Machine waits to be replaced first
    (BMO v0.13.2, host_state_machine.go, handleAvailable)."""
    names = {
        each.one.key[3]
        for each in site.changes.values()
        if (each.after is not None and each.group_kind in _FIRMWARE)
        # Volumes that are no longer spoken of stay (pkg/provisioner/ironic/raid.go).
        or any(f.path[:2] == ("spec", "raid") and f.after is not ABSENT for f in each.fields)
    }
    free: dict[str, int] = {}
    for group in site.before.fleet.groups if site.before and names else ():
        mine = sum(host.name in names for host in group.hosts)
        spare = min(mine, len(group.hosts) - group.replicas)
        if spare > 0:
            free[group.pool] = free.get(group.pool, 0) + spare
    if number := sum(free.values()):
        those = "1 spare host is" if number == 1 else f"{number} spare hosts are"
        clause = f"{those} power-cycled and prepared now"
        said = "RAID takes 5 to 20 minutes, firmware longer, and no Machine gets such a host"
        yield clause, f"{clause}: {', '.join(free)}; {said}; Git does not say which"


def _flashed(site: SiteChange) -> Iterator[tuple[str, str]]:
    """Firmware that the next reboot through the BMC flashes, a repair's too (BMO v0.13.2,
    baremetalhost_controller.go, doServiceIfNeeded)."""
    changed = {each.one.key[3] for each in site.changes.values()
               if each.after and each.group_kind in (*_FIRMWARE, _POLICY)}  # fmt: skip
    there = site.side.objects.values() if changed else ()
    policies = {each.key[3] for each in there if each.group_kind == _POLICY}
    pools = Counter(site.side.fleet.group_of_host[host].pool for host in changed & policies)
    if pools:
        count = pools.total()
        clause = f"{count} host{'s flash' if count > 1 else ' flashes'} firmware at the next reboot"
        why = "nothing reboots for it; a repair of a fault does, and takes firmware.minutes longer"
        yield clause, f"{clause} through the BMC: {', '.join(sorted(pools))}; {why}"


def _falls(field: FieldChange, steps: Collection[str]) -> bool:
    """True if a number of a limit is lower than before, or is there now where none was."""
    if not any(step in steps for step in field.path):
        return False
    before, after = (quantity(side) for side in (field.before, field.after))
    return after is not None and (field.before is ABSENT or (before or 0) > after)
