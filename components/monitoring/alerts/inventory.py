"""Facts that Git knows and the cluster's metrics do not: the pool and model of a node, the owner of
a namespace, the remediator of a pool. Other rules join them.

Node labels would say some of it, but kube-state-metrics shows none unless it is told to
(--metric-labels-allowlist). A node has the name of its host (docs/machines.md).
"""

from collections.abc import Iterator

from components.making.faults import CONDITIONS, FAULTY_TAINT, OPERATING_TAINT, QUARANTINED_TAINT
from components.making.manifest import Json
from components.making.promql import FAULTS, NODES, OUT, one_of, state
from components.making.watch import record
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault


def rules(site: Site) -> list[Json]:
    """Recording rules on the site itself."""
    return [
        *(_nodes(site, pool) for pool in site.file.pools if site.hosts_of(pool)),
        *_racks(site),
        _out(site),
        *_teams(site),
        *_faults(site),
        _state(site),
    ]


def _nodes(site: Site, pool: Pool) -> Json:
    names = one_of(sorted(host.name for host in site.hosts_of(pool)))
    model = site.model(pool)
    labels = {"pool": pool.name, **({"model": model} if model else {})}
    known = state(site, "kube_node_info", f'node=~"{names}"')
    return record("node_pool:info", f"max by (node) ({known})", **labels)


def _racks(site: Site) -> Iterator[Json]:
    """The racks of nodes, and how many hosts each rack has with or without a Node."""
    places: dict[tuple[str, str], list[str]] = {}
    for host in site.hosts:
        places.setdefault((host.zone, host.rack), []).append(host.name)
    for (zone, rack), names in sorted(places.items()):
        known = state(site, "kube_node_info", f'node=~"{one_of(sorted(names))}"')
        yield record("node_rack:info", f"max by (node) ({known})", zone=zone, rack=rack)
        yield record("rack_hosts:count", f"vector({len(names)})", zone=zone, rack=rack)


def _state(site: Site) -> Json:
    """What a node is, the most telling first: one under repair is not ready meanwhile."""
    unready = state(site, "kube_node_status_condition", 'condition="Ready"', 'status="true"')
    quarantined, operating = (
        state(site, "kube_node_spec_taint", f'key="{key}"') + " == 1"
        for key in (QUARANTINED_TAINT, OPERATING_TAINT)
    )
    faulty = [(FAULTS, 2)] if any(site.faults(pool) for pool in site.file.pools) else []
    order = ((quarantined, 4), (operating, 3), (f"{unready} == 0", 5), *faulty, (OUT, 1))
    states = [f"group by (node) ({series}) * {number}" for series, number in order]
    return record("node_state:worst", f"{' or '.join(states)} or group by (node) ({NODES}) * 0")


def _out(site: Site) -> Json:
    taints = one_of((FAULTY_TAINT, QUARANTINED_TAINT, OPERATING_TAINT))
    unready = state(site, "kube_node_status_condition", 'condition="Ready"', 'status="true"')
    cordoned = state(site, "kube_node_spec_unschedulable")
    tainted = state(site, "kube_node_spec_taint", f'key=~"{taints}"')
    return record(
        "node_out:info", f"group by (node) ({unready} == 0 or {cordoned} == 1 or {tainted} == 1)"
    )


def _teams(site: Site) -> Iterator[Json]:
    for team in sorted(site.scheduling.teams, key=lambda each: each.name):
        for namespace in team.namespaces:
            yield record("namespace_team:info", "vector(1)", namespace=namespace, team=team.name)


def _faults(site: Site) -> Iterator[Json]:
    there = {fault: None for pool in site.file.pools for fault in site.faults(pool)}
    for fault in there:
        yield _fault(site, fault)
    for pool in site.file.pools:
        for remediator in site.remediators_of(pool):
            for fault in site.repairs(pool, remediator):
                if fault is Fault.PCIE_LINK_DEGRADED and site.taints_devices(pool):
                    continue  # whether it is the host's is the program's to say
                yield record(
                    "fault_mended:info",
                    "vector(1)",
                    pool=pool.name,
                    fault=f"{fault}",
                    healer=remediator.name,
                    kind=remediator.kind.value,
                )


def _fault(site: Site, fault: str) -> Json:
    condition = f'condition="{CONDITIONS[fault]}"'
    found = state(site, "kube_node_status_condition", condition, 'status="true"')
    looked = [pool.name for pool in site.file.pools if fault in site.faults(pool)]
    # No condition is ever taken off a node, so one whose check has gone says nothing.
    nodes = f'{NODES}{{pool=~"{one_of(looked)}"}}'
    expr = f"(max by (node) ({found}) == 1) * on (node) group_left (pool) {nodes}"
    return record("node_fault:info", expr, fault=f"{fault}")
