"""Faults of nodes and their repairs: what nobody repairs, what did not help, what takes too long.

A node under repair by Node Operation Controller has its taint; what Foresite's own taints mean is
in components/making/faults.py.
"""

from collections.abc import Iterator
from math import ceil

from components.making.faults import CONDITIONS, FAULTY_TAINT, OPERATING_TAINT, QUARANTINED_TAINT
from components.making.manifest import Json
from components.making.promql import (
    FAULTS,
    NODES,
    REPAIRED,
    Exporter,
    answers_recently,
    minutes,
    of,
    one_of,
    recent,
    state,
)
from components.making.told import Told
from components.making.watch import Alert, record
from components.remediation.devicetaints import NAME as DEVICE_TAINTS
from components.remediation.names import CONTROLLER, TURNS
from schemas.facts.site import Site
from schemas.model.monitoring import Thresholds
from schemas.model.remediation import ALWAYS_REPAIRED, Remediation
from schemas.model.vocabulary import Fault, RemediatorKind

CHECKED = "foresite:faults_checked:pool"
"""Number of faults that are checked on each node of a pool."""
QUARANTINED = "foresite:node_quarantined:info"
"""1 for each node that repairs did not help."""
REPAIRS = "foresite:node_repair:info"
"""1 for each node under repair, by ``pool``."""
TOLD = Told(__file__)
_NOW_AND_THEN = f'max_over_time({FAULTS}{{fault="{Fault.NETWORK_LINK_ERRORS}"}}[15m])'
"""Errors of a link come and go, and one rise lasts shorter than the alert waits."""
NOC = f'kind="{RemediatorKind.NODE_OPERATION_CONTROLLER.value}"'
MEDIK8S = f'kind="{RemediatorKind.MEDIK8S.value}"'


def rules(site: Site, remediation: Remediation, limits: Thresholds) -> list[Json | Alert]:
    """Recording rules and alerts of faults and their repairs."""
    kinds = {
        remediator.kind
        for pool in site.file.pools
        for remediator in site.remediators_of(pool)
        if site.repairs(pool, remediator)
    }
    found: list[Json | Alert] = [
        *_fault_counts(site),
        _unrepaired(site, remediation, mended=bool(kinds)),
        *_own(remediation, mended=bool(kinds)),
        _silent(site),
    ]
    if kinds:
        quarantined = record("node_quarantined:info", _taint_series(site, QUARANTINED_TAINT))
        found += [quarantined, _persists(remediation, limits, kinds)]
        found += _storms(remediation, kinds)
    if RemediatorKind.NODE_OPERATION_CONTROLLER in kinds:
        under_repair = (
            f"{_taint_series(site, OPERATING_TAINT)} * on (node) group_left (pool) {NODES}"
        )
        found += [
            record("node_repair:info", under_repair),
            *_repairs(site, remediation, limits),
            *(_down(site, remediation, name, NO_REPAIRS) for name in (TURNS, CONTROLLER)),
            *_often(site, remediation),
        ]
    if any(site.taints_devices(pool) for pool in site.file.pools):
        found.append(_down(site, remediation, DEVICE_TAINTS, "devices with a fault stay in use"))
        known = recent(of(site, DEVICE_TAINTS, "node_repair_bad_devices_in_use"))
        found.append(
            TOLD.alert("BadDevicesInUse", known=known, faulty=_taint_series(site, FAULTY_TAINT))
        )
    return found


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
        cut = f"group by (node) ({cut} or {_taint_series(site, OPERATING_TAINT)})"
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


def _crowd(remediation: Remediation, kind: str) -> str:
    """The share of each pool's nodes that have a fault which remediators of a kind repair, where it
    is too large for any repair to begin. Those that repairs did not help count too."""
    repairs = f"{REPAIRED}{{{kind}}}"
    faulty = f"{FAULTS} and on (pool, fault) {repairs}"
    out = f"{QUARANTINED} * on (node) group_left (pool) {NODES} and on (pool) {repairs}"
    many = f"count by (pool) (group by (pool, node) ({faulty} or {out}))"
    share = f"100 * {many} / count by (pool) ({NODES})"
    few = ALWAYS_REPAIRED[RemediatorKind.NODE_OPERATION_CONTROLLER]
    return f"{share} > {remediation.max_faulty_percent} and {many} > {few}"


_HELD = {
    RemediatorKind.NODE_OPERATION_CONTROLLER: (
        NOC,
        "No repair begins in this pool until fewer nodes have one.",
    ),
    RemediatorKind.MEDIK8S: (
        MEDIK8S,
        "medik8s starts no repair while more nodes than its max_unavailable have a fault.",
    ),
}


def _storms(remediation: Remediation, kinds: set[RemediatorKind]) -> Iterator[Alert]:
    """One for each kind of remediator, as each stops for its own reason."""
    for kind, (chosen, held) in _HELD.items():
        if kind in kinds:
            percent = remediation.max_faulty_percent
            crowd = _crowd(remediation, chosen)
            yield TOLD.alert("FaultStorm", crowd=crowd, percent=percent, held=held)


def _silent(site: Site) -> Alert:
    pools: dict[tuple[str, ...], list[str]] = {}
    for pool in site.file.pools:
        pools.setdefault(site.faults(pool), []).append(pool.name)
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


def _taint_series(site: Site, key: str) -> str:
    taint = state(site, "kube_node_spec_taint", f'key="{key}"')
    return f"max by (node) ({taint})"


def _persists(remediation: Remediation, limits: Thresholds, kinds: set[RemediatorKind]) -> Alert:
    """A fault that a remediator repairs and that stays: for each repair of the pool before it, and
    its own; the budget lets one or more go at a time."""
    turns = 2 if RemediatorKind.NODE_OPERATION_CONTROLLER in kinds else 1
    lasts = turns * limits.repair_minutes + ceil(remediation.medik8s.unhealthy_seconds / 60)
    return TOLD.alert(
        "NodeFaultPersists",
        quarantined=QUARANTINED,
        lasts=minutes(lasts),
        minutes=lasts,
    )


def _repairs(site: Site, remediation: Remediation, limits: Thresholds) -> Iterator[Alert]:
    reboot, slow = remediation.reboot, limits.repair_minutes
    yield TOLD.alert(
        "NodeQuarantined",
        quarantined=QUARANTINED,
        attempts=reboot.attempts,
        hours=reboot.window_hours,
    )
    yield TOLD.alert(
        "NodeRepairSlow",
        repairs=REPAIRS,
        quarantined=QUARANTINED,
        lasts=minutes(slow),
        minutes=slow,
    )
    yield TOLD.alert(
        "FaultyNodeTakesPods",
        mended=f"{FAULTS} and on (pool, fault) {REPAIRED}{{{NOC}}}",
        faulty=_taint_series(site, FAULTY_TAINT),
        quarantined=QUARANTINED,
        crowd=_crowd(remediation, NOC),
    )


def _often(site: Site, remediation: Remediation) -> Iterator[Alert]:
    """Hosts and devices whose faults come back. The program leaves out those repaired once."""
    for name, device in (("HostRepairedOften", 'device=""'), ("DeviceRepairedOften", 'device!=""')):
        repairs = recent(of(site, TURNS, "node_repair_history", device))
        yield TOLD.alert(name, repairs=repairs, often=remediation.reboot.often)


NO_REPAIRS = "faults of nodes are not repaired"


def _down(site: Site, remediation: Remediation, name: str, then: str) -> Alert:
    """A Deployment of repairs without a pod that works, and what follows."""
    metric = "kube_deployment_status_replicas_available"
    where = f'namespace="{remediation.namespace}"'
    known = answers_recently(site, Exporter.KUBE_STATE_METRICS)
    runs = recent(of(site, Exporter.KUBE_STATE_METRICS, metric, where, f'deployment="{name}"'))
    return TOLD.alert("HealerDown", deployment=name, then=then, runs=runs, known=known)
