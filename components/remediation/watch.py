"""The scrapes, alerts and panels of faults and repairs of nodes: what nobody repairs, what did not
help, what takes too long. Taints are explained in components/making/faults.py."""

from collections.abc import Iterator
from math import ceil

from components.making.faults import CONDITIONS, FAULTY_TAINT, OPERATING_TAINT, QUARANTINED_TAINT
from components.making.manifest import Json, documents
from components.making.promql import FAULTS, NODES, REPAIRED, minutes, one_of, state
from components.making.told import Told
from components.making.watch import Alert, Board, Group, Watched, program, record
from components.remediation import controller, detector
from components.remediation.names import CONTROLLER, TURNS
from components.remediation.program import METRICS_PORT
from components.remediation.program import NAME as DEVICE_TAINTS
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.model.monitoring import Thresholds
from schemas.model.remediation import ALWAYS_REPAIRED, Remediation
from schemas.model.vocabulary import Fault, RemediatorKind

CHECKED = "foresite:faults_checked:pool"
"""Number of faults that are checked on each node of a pool."""
TOLD = Told(__file__)
_NOW_AND_THEN = f'max_over_time({FAULTS}{{fault="{Fault.NETWORK_LINK_ERRORS}"}}[15m])'
"""Errors of a link come and go, and one rise lasts shorter than the alert waits."""
_TAINTS = {"faulty": FAULTY_TAINT, "quarantine": QUARANTINED_TAINT, "operating": OPERATING_TAINT}
NO_REPAIRS = "faults of nodes are not repaired"


def watch(site: Site) -> Watched:
    """The data from which monitoring renders faults and repairs; nothing where no detector runs."""
    remediation, monitoring = site.file.remediation, site.file.monitoring
    if remediation is None or monitoring is None:
        return Watched()
    group = Group("repairs", rules(site, remediation, monitoring.thresholds), place=5)
    kinds = {remediator.kind for remediator in remediation.healers}
    operated = RemediatorKind.NODE_OPERATION_CONTROLLER in kinds
    space = remediation.namespace
    own = program(detector.NAME, space, detector.METRICS_PORT)
    scrapes = [own._replace(every_node=True, place=0)]
    if operated:
        scrapes.append(program(CONTROLLER, space, controller.METRICS_PORT)._replace(place=0))
        scrapes.append(program(TURNS, space, METRICS_PORT))
    if any(site.taints_devices(pool) for pool in site.file.pools):
        scrapes.append(program(DEVICE_TAINTS, space, METRICS_PORT))
    resources = documents(__file__) if operated else ()
    return Watched(scrapes, [group], [board(site, operated=operated)], resources)


def rules(site: Site, remediation: Remediation, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts of faults and their repairs."""
    kinds = {
        remediator.kind
        for pool in site.file.pools
        for remediator in site.remediators_of(pool)
        if site.repairs(pool, remediator)
    }
    told, values = TOLD.at(site), _values(remediation, limits)
    found: list[Json | Alert] = [
        *_fault_counts(site),
        _unrepaired(site, remediation, mended=bool(kinds)),
        *_own(remediation, mended=bool(kinds)),
        _silent(site),
    ]
    if kinds:
        found += told.records("quarantined", **values)
        lasts = _persists(remediation, limits, kinds)
        persists = {**values, "minutes": lasts, "lasts": minutes(lasts)}
        found.append(told.alert("NodeFaultPersists", **persists))
    for kind, held in TOLD.table("held").items():
        if kind in kinds:
            found.append(told.alert("FaultStorm", **{**values, "kind": kind, "held": held}))
    if RemediatorKind.NODE_OPERATION_CONTROLLER in kinds:
        found += told.records("repairs", **values)
        slots = ("NodeQuarantined", "NodeRepairSlow", "FaultyNodeTakesPods")
        found += [told.alert(each, **values) for each in slots]
        for name in (TURNS, CONTROLLER):
            found.append(told.alert("HealerDown", **values, deployment=name, then=NO_REPAIRS))
        often = ("HostRepairedOften", "DeviceRepairedOften")
        found += [told.alert(each, **values) for each in often]
    if any(site.taints_devices(pool) for pool in site.file.pools):
        then = "devices with a fault stay in use"
        found.append(told.alert("HealerDown", **values, deployment=DEVICE_TAINTS, then=then))
        found.append(told.alert("BadDevicesInUse", **values))
    return found


def _values(remediation: Remediation, limits: Thresholds) -> dict[str, object]:
    """The values that the alerts ask for, by their names there."""
    return {
        **{f"{name}_taint": key for name, key in _TAINTS.items()},
        "percent": remediation.max_faulty_percent,
        "few": ALWAYS_REPAIRED[RemediatorKind.NODE_OPERATION_CONTROLLER],
        "kind": RemediatorKind.NODE_OPERATION_CONTROLLER.value,
        "attempts": remediation.reboot.attempts,
        "hours": remediation.reboot.window_hours,
        "often": remediation.reboot.often,
        "namespace": remediation.namespace,
        "minutes": limits.repair_minutes,
        "lasts": minutes(limits.repair_minutes),
    }


def _fault_counts(site: Site) -> Iterator[Json]:
    for pool in site.file.pools:
        faults = site.faults(pool)
        if faults and site.hosts_of(pool):
            yield record("faults_checked:pool", f"vector({len(faults)})", pool=pool.name)


def _unrepaired(site: Site, remediation: Remediation, *, mended: bool) -> Alert:
    """A device that is tainted by itself leaves its host in use, and nobody has to repair that. Nor
    a fabric that lacks a device, or whose host reboots."""
    own = one_of(each.name for each in remediation.detector.checks)
    mine = FAULTS + f'{{fault!~"{own}"}}' * bool(own)
    seen = {fault for pool in site.file.pools for fault in site.faults(pool)}
    if Fault.NETWORK_LINK_ERRORS in seen:
        mine = f"({mine} or {_NOW_AND_THEN})"
    expr = f"{mine} unless on (pool, fault) {REPAIRED}" if mended else mine
    if Fault.FABRIC_DOWN in seen:
        cut = f'{FAULTS}{{fault="{Fault.ACCELERATOR_MISSING}"}}'
        operating = state(site, "kube_node_spec_taint", f'key="{OPERATING_TAINT}"')
        cut = f"group by (node) ({cut} or max by (node) ({operating}))"
        named = f'"fault", "{Fault.FABRIC_DOWN}", "", ""'
        expr += f" unless on (node, fault) label_replace({cut}, {named})"
    alone = one_of(pool.name for pool in site.file.pools if site.taints_devices(pool))
    if alone:
        fault = f"{Fault.PCIE_LINK_DEGRADED}"
        expr += f' unless {FAULTS}{{fault="{fault}", pool=~"{alone}"}}'
    return TOLD.alert("NodeFaultUnmended", unrepaired=expr)


def _own(remediation: Remediation, *, mended: bool) -> Iterator[Alert]:
    """One for each check of the site's own, with its words."""
    unless = f" unless on (pool, fault) {REPAIRED}" * mended
    for check in remediation.detector.checks:
        words = check.model_dump(include={"name", "message", "runbook"})
        severity = "critical" if check.critical else "warning"
        yield TOLD.alert("SiteCheckFails", unless=unless, severity=severity, **words)


def _silent(site: Site) -> Alert:
    pools = group_by_key((site.faults(pool), pool.name) for pool in site.file.pools)
    told = " or ".join(_told(site, *each) for each in pools.items() if each[0])
    expected = f"{NODES} * on (pool) group_left () {CHECKED}"
    lacks = f"({expected}) - on (node) group_left () ({told} or on (node) {NODES} * 0)"
    return TOLD.alert("DetectorSilent", lacks=lacks)


def _told(site: Site, faults: tuple[str, ...], pools: list[str]) -> str:
    """How many of the faults each node of some pools reports as there or not."""
    conditions = f'condition=~"{one_of(CONDITIONS[fault] for fault in faults)}"'
    known = state(site, "kube_node_status_condition", conditions, 'status=~"true|false"')
    nodes = f'{NODES}{{pool=~"{one_of(pools)}"}}'
    return f"count by (node) (max by (node, condition) ({known}) == 1 and on (node) {nodes})"


def _persists(remediation: Remediation, limits: Thresholds, kinds: set[RemediatorKind]) -> int:
    """Minutes that a fault which a remediator repairs may stay: for each repair of the pool before
    it, and its own; the budget lets one or more go at a time."""
    turns = 2 if RemediatorKind.NODE_OPERATION_CONTROLLER in kinds else 1
    return turns * limits.repair_minutes + ceil(remediation.medik8s.unhealthy_seconds / 60)


def board(site: Site, *, operated: bool) -> Board:
    """The dashboard of faults and repairs; ``operated``: Node Operation Controller runs."""
    faults = (fault for pool in site.file.pools for fault in site.faults(pool))
    types = one_of(dict.fromkeys(CONDITIONS[fault] for fault in faults))
    values = {"types": types, "taints": f"{FAULTY_TAINT}|{QUARANTINED_TAINT}"}
    names = ["faults", *(["operations"] if operated else []), "events"]
    names += ["history", "controller"] if operated else []
    told = TOLD.at(site)
    return told.board([panel for name in names for panel in told.panels(name, **values)])
