"""Facts that Git knows and metrics do not: the pool and model of a node, the owner of a namespace,
the remediator of a pool. Other rules join them."""

from collections.abc import Iterator

from components.making.faults import CONDITIONS, FAULTY_TAINT, OPERATING_TAINT, QUARANTINED_TAINT
from components.making.manifest import Json
from components.making.promql import one_of
from components.making.told import Told
from components.making.watch import record
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault

TOLD = Told(__file__)


def rules(site: Site) -> list[Json]:
    """Recording rules on the site itself."""
    told, taints = TOLD.at(site), (FAULTY_TAINT, QUARANTINED_TAINT, OPERATING_TAINT)
    keys = {"quarantined": QUARANTINED_TAINT, "operating": OPERATING_TAINT}
    faulty = any(site.faults(pool) for pool in site.file.pools)
    return [
        *(_nodes(site, pool) for pool in site.file.pools if site.hosts_of(pool)),
        *_racks(site),
        *told.records("out", taints=one_of(taints)),
        *(
            record("namespace_team:info", "vector(1)", namespace=namespace, team=team.name)
            for team in sorted(site.scheduling.teams, key=lambda each: each.name)
            for namespace in team.namespaces
        ),
        *_faults(site),
        *told.records("states", **keys, or_faulty=told.say("or_faulty") if faulty else ""),
    ]


def _nodes(site: Site, pool: Pool) -> Json:
    names = one_of(sorted(host.name for host in site.hosts_of(pool)))
    model = site.model(pool)
    labels = {"pool": pool.name, **({"model": model} if model else {})}
    return record("node_pool:info", TOLD.at(site).say("known", names=names), **labels)


def _racks(site: Site) -> Iterator[Json]:
    """The racks of nodes, and how many hosts each rack has with or without a Node."""
    places = group_by_key(((host.zone, host.rack), host.name) for host in site.hosts)
    for (zone, rack), names in sorted(places.items()):
        known = TOLD.at(site).say("known", names=one_of(sorted(names)))
        yield record("node_rack:info", known, zone=zone, rack=rack)
        yield record("rack_hosts:count", f"vector({len(names)})", zone=zone, rack=rack)


def _faults(site: Site) -> Iterator[Json]:
    there = {fault: None for pool in site.file.pools for fault in site.faults(pool)}
    for fault in there:
        pools = one_of(pool.name for pool in site.file.pools if fault in site.faults(pool))
        condition = CONDITIONS[fault]
        yield from TOLD.at(site).records("fault", fault=fault, pools=pools, condition=condition)
    for pool in site.file.pools:
        for remediator in site.remediators_of(pool):
            for fault in site.repairs(pool, remediator):
                if fault is Fault.PCIE_LINK_DEGRADED and site.taints_devices(pool):
                    continue  # whether it is the host's is the program's to say
                by = {"healer": remediator.name, "kind": remediator.kind.value}
                labels = {"pool": pool.name, "fault": f"{fault}", **by}
                yield record("fault_mended:info", "vector(1)", **labels)
