"""Rules on remediators: what each repairs is there, no two share a fault, none takes a pool out.

Sources: pfnet-research/node-operation-controller 0ac94deb (api/v1alpha1/noderemediation_types.go,
CompareNodeCondition; controllers/nodeoperation_controller.go), medik8s/self-node-remediation
640aac50. Detectors and times are judged in remediation_detector.py and remediation_repairs.py.
"""

from collections.abc import Iterator, Sequence
from math import ceil

from schemas.facts.rollout import failure_tolerance
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.faults import RECORDS
from schemas.model.nearest import nearest
from schemas.model.remediation import OwnCheck, Remediator
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Eviction, Fault, RemediatorKind, Role
from schemas.rules.finding import Finding, Path

PLACE: Path = ("remediation",)
_HEALERS: Path = (*PLACE, "healers")


def remediators(site: Site) -> list[tuple[Path, Remediator]]:
    """The remediators of a site, each with its place."""
    found = site.file.remediation.healers if site.file.remediation else []
    return [((*_HEALERS, index), each) for index, each in enumerate(found)]


def own_checks(site: Site) -> list[OwnCheck]:
    """The checks of a site's own."""
    return site.file.remediation.detector.checks if site.file.remediation else []


def has_remediator(site: Site, kind: RemediatorKind | None = None) -> bool:
    """True if any host of the site has a remediator (of a kind)."""
    found = (each for pool in site.file.pools for each in site.remediators_of(pool))
    return any(kind in (None, each.kind) for each in found)


def _pools(site: Site, healer: Remediator) -> list[tuple[int, Pool]]:
    """The pools of a remediator that the site has, each once, with its index in the remediator."""
    known = {pool.name: pool for pool in site.file.pools}
    first = {name: index for index, name in reversed([*enumerate(healer.pools)])}
    return [(index, known[name]) for name, index in first.items() if name in known]


def _is_known(site: Site, pool: Pool) -> bool:
    """True if the devices of a pool's hosts are known."""
    model = site.model(pool)
    return pool.hardware in site.hardware and (model is None or model in site.accelerators)


def remediator_names(site: Site) -> Iterator[Finding]:
    """Each remediator has a name of its own, with that of a pool behind it too."""
    seen: set[str] = set()
    objects: dict[str, tuple[str, str]] = {}
    fix = "give this one another name, or join the two"
    for at, healer in remediators(site):
        mine = {f"{healer.name}-{pool.name}": pool.name for _, pool in _pools(site, healer)}
        clash = next((name for name in mine if name in objects), None)
        if healer.name in seen:
            message = f"there are two remediators named {healer.name}"
            yield Finding(Code.DUPLICATE_NAME, (*at, "name"), message, fix)
        elif clash is not None:
            other, pool = objects[clash]
            message = (
                f"{healer.name} on pool {mine[clash]} is {clash}, and so is {other} on pool {pool}"
            )
            yield Finding(Code.DUPLICATE_NAME, (*at, "name"), message, fix)
        seen.add(healer.name)
        objects |= {name: (healer.name, pool) for name, pool in mine.items()}


def remediator_pools(site: Site) -> Iterator[Finding]:
    """A remediator repairs pools of the site, and names each once."""
    for at, healer in remediators(site):
        if not healer.pools:
            message = f"remediator {healer.name} has no pool, so it repairs nothing"
            fix = "name its pools, or remove it"
            yield Finding(Code.HEALER_MEANINGLESS, (*at, "pools"), message, fix)
        yield from pools_once(site, at, healer.pools)


def pools_once(site: Site, at: Path, names: Sequence[str]) -> list[Finding]:
    """The faults of a list of pools at a place: some are not there, or there twice."""
    known, found = [pool.name for pool in site.file.pools], []
    for index, name in enumerate(names):
        place = (*at, "pools", index)
        if name not in known:
            near = nearest(name, known)
            fix = f"write {near}" if near else f"write one of {', '.join(known)}"
            found.append(Finding(Code.UNKNOWN_POOL, place, f"there is no pool {name}", fix))
        elif name in names[:index]:
            message = f"pool {name} is there twice"
            found.append(Finding(Code.DUPLICATE_NAME, place, message, "remove one of the two"))
    return found


def remediator_faults(site: Site) -> Iterator[Finding]:
    """A remediator repairs some faults, each named once, and none that a reboot cannot repair."""
    known = [*RECORDS, *(each.name for each in own_checks(site))]
    for at, healer in remediators(site):
        if not healer.faults:
            message = f"remediator {healer.name} names no fault: each host would count as unhealthy"
            fix = "name the faults that it repairs, or remove faults: for the defaults"
            yield Finding(Code.HEALER_EMPTY, (*at, "faults"), message, fix)
        for index, fault in enumerate(healer.faults):
            place = (*at, "faults", index)
            hopeless = RECORDS.get(fault, {}).get("unrepaired")
            if fault in healer.faults[:index]:
                message = f"{fault} is there twice"
                yield Finding(Code.DUPLICATE_NAME, place, message, "remove one of the two")
            elif hopeless:
                fix = "remove it: an alert reports each fault that no remediator repairs"
                yield Finding(Code.REPAIR_LOOP, place, hopeless, fix)
            elif fault not in known:
                near = nearest(fault, known)
                fix = f"write {near}" if near else "remove it, or add the check of that name"
                message = f"no check looks for {fault}"
                yield Finding(Code.UNKNOWN_FAULT, place, message, fix)


def repairable_faults(site: Site) -> Iterator[Finding]:
    """Pools of a remediator can have some of its faults, and each of these some pool of it."""
    for at, healer in remediators(site):
        pools = [each for each in _pools(site, healer) if _is_known(site, each[1])]
        known = {*RECORDS, *(each.name for each in own_checks(site))}.issuperset(healer.faults)
        judged = pools if known and healer.faults else []
        useless = [each for each in judged if not site.repairs(each[1], healer)]
        for index, pool in useless:
            message = f"hosts of pool {pool.name} can have none of the faults of {healer.name}"
            fix = f"remove it: {_needs(site, healer.faults)}"
            yield Finding(Code.HEALER_MEANINGLESS, (*at, "pools", index), message, fix)
        complete = len(pools) == len(set(healer.pools))
        if complete and "faults" in healer.model_fields_set and len(useless) < len(pools):
            yield from _faults_of_no_pool(site, at, healer, [pool for _, pool in pools])


def _faults_of_no_pool(
    site: Site, at: Path, healer: Remediator, pools: Sequence[Pool]
) -> Iterator[Finding]:
    there = {fault for pool in pools for fault in site.faults(pool)}
    own_names = [each.name for each in own_checks(site)]
    for index, fault in enumerate(healer.faults):
        known = fault in own_names or fault in RECORDS
        if fault in there or not known or "unrepaired" in RECORDS.get(fault, {}):
            continue
        message = f"no pool of {healer.name} can have {fault}"
        fix = f"remove it: {_needs(site, [fault])}"
        own = sorted(site.file.accelerators.models if site.file.accelerators else ())
        mine = [name for name in own if any(site.model(pool) == name for pool in pools)]
        if fault == Fault.PCIE_LINK_DEGRADED and mine:
            fix = f"add link_width to pci of {mine[0]}, or remove it"
        yield Finding(Code.HEALER_MEANINGLESS, (*at, "faults", index), message, fix)


def _needs(site: Site, faults: Sequence[str]) -> str:
    """The missing part that a pool needs for some faults of devices: the least of it."""
    needed = [name for name in RECORDS if name in faults and "needs" in RECORDS[name]]
    if not needed:
        return "no check of these faults names the pool"
    if site.file.accelerators is None and not needed[0].startswith("network"):
        return "without an accelerators section nothing says how devices are found"
    return f"that needs {RECORDS[needed[0]]['needs']}"


def one_healer(site: Site) -> Iterator[Finding]:
    """A fault of a pool has one remediator, and all remediators of a pool are of one kind.

    Two kinds know nothing of each other: neither's budget counts what the other has out.
    """
    before: list[Remediator] = []
    for at, healer in remediators(site):
        for index, pool in _pools(site, healer):
            place = (*at, "pools", index)
            for other in (each for each in before if pool.name in each.pools):
                both = [f"{fault}" for fault in healer.faults if fault in other.faults]
                if other.kind is not healer.kind:
                    message = (
                        f"{other.name} ({other.kind.value}) and {healer.name} "
                        f"({healer.kind.value}) would both reboot hosts of pool {pool.name}"
                    )
                    fix = "give both one kind, or name the pool in one of the two"
                elif both:
                    more = f" and {len(both) - 1} more" * (len(both) > 1)
                    message = (
                        f"{other.name} and {healer.name} would both repair {both[0]}{more} on "
                        f"pool {pool.name}"
                    )
                    fix = "name the pool in one of the two, or divide the faults between them"
                else:
                    continue
                yield Finding(Code.HEALER_CLASH, place, message, fix)
                break
        before.append(healer)


def budgets(site: Site) -> Iterator[Finding]:
    """A remediator leaves hosts of each pool, and a majority of control planes; none takes out more
    than may be faulty."""
    for at, healer in remediators(site):
        wanted = healer.max_unavailable
        yield from _few_members(site, at, healer)
        counted = [(site.replicas(pool), pool) for _, pool in _pools(site, healer)]
        pools = [each for each in counted if not _too_few(each[1], each[0])]
        bounds = [(_most(pool, machines), machines, pool) for machines, pool in pools]
        # A lone worker has no other, and is repaired all the same.
        beyond = [each for each in bounds if 1 <= each[0] < wanted]
        place = (*at, "max_unavailable")
        if beyond:
            most, machines, pool = min(beyond, key=lambda each: each[0])
            yield Finding(Code.REPAIR_ALL_AT_ONCE, place, *_advice(wanted, most, machines, pool))
        elif pools:
            yield from _never_reached(site, place, healer, max(count for count, _ in pools))


def _few_members(site: Site, at: Path, healer: Remediator) -> Iterator[Finding]:
    """No remediator drains a control plane that the others cannot do without.

    What repairs runs on the control plane, and tolerates no taint of a repair: drained with the
    only one it starts nowhere, and the taint stays for ever.
    """
    for index, pool in _pools(site, healer):
        machines = site.replicas(pool)
        if not _too_few(pool, machines):
            continue
        message = "the repair controllers run on the only control plane, and would be drained too"
        if machines > 1:
            message = f"one of {machines} control planes costs etcd its majority"
        fix = f"remove {pool.name}, or give it three machines"
        yield Finding(Code.REPAIR_ALL_AT_ONCE, (*at, "pools", index), message, fix)


def _too_few(pool: Pool, machines: int) -> bool:
    """True if no machine of a pool may be out at any time."""
    return pool.role is Role.CONTROL_PLANE and machines > 0 and _most(pool, machines) < 1


def _most(pool: Pool, machines: int) -> int:
    """The most machines of a pool that may be out: etcd needs more than half of its members."""
    return failure_tolerance(machines) if pool.role is Role.CONTROL_PLANE else machines - 1


def _advice(wanted: int, most: int, machines: int, pool: Pool) -> tuple[str, str]:
    """The effect of a budget that takes out too much, and what to write instead."""
    name = pool.name
    if pool.role is Role.CONTROL_PLANE:
        message = f"max_unavailable: {wanted} of {machines} control planes costs etcd its majority"
        return message, f"write {most}" + " or less" * (most > 1)
    few = max(1, machines // 10)
    message = f"max_unavailable: {wanted} takes all {machines} machines of pool {name} at once"
    return message, f"write {few}" + f", or at most {most}" * (most > few)


def _never_reached(site: Site, place: Path, healer: Remediator, machines: int) -> Iterator[Finding]:
    """With more faulty hosts than max_faulty_percent nobody repairs: so many are never out. Two are
    always repaired by turns (node_repair/decide.py)."""
    wanted, settings = healer.max_unavailable, site.file.remediation
    if settings is None or not machines:
        return
    reached, percent = settings.may_be_faulty(healer.kind, machines), settings.max_faulty_percent
    if wanted <= reached:
        return
    message = (
        f"{wanted} can never be out at once: with more than {percent} % of {machines} hosts faulty "
        "(max_faulty_percent) no repair begins"
    )
    needed = ceil(100 * wanted / machines)
    fix = f"write {reached}" + f", or max_faulty_percent: {needed}" * (needed <= 99)
    yield Finding(Code.HEALER_MEANINGLESS, place, message, fix)


def evictions(site: Site) -> Iterator[Finding]:
    """A repair that waits for pods to end waits for jobs, not for services."""
    for at, healer in remediators(site):
        if healer.kind is RemediatorKind.MEDIK8S and "eviction" in healer.model_fields_set:
            message = "medik8s reboots a host with its pods on it, so eviction has no effect"
            yield Finding(
                Code.HEALER_MEANINGLESS, (*at, "eviction"), message, "remove it", key=True
            )
        elif healer.eviction is Eviction.WAIT:
            for _, pool in _pools(site, healer):
                if pool.role is Role.CONTROL_PLANE:
                    message = f"services such as CoreDNS run on pool {pool.name}, and never end"
                    yield Finding(Code.REPAIR_STUCK, (*at, "eviction"), message, "write evict")
                    break
