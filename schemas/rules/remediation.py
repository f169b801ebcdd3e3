"""Rules on remediators: what each repairs is there, no two share a fault, none takes a pool out.

Sources: pfnet-research/node-operation-controller 0ac94deb (api/v1alpha1/noderemediation_types.go,
CompareNodeCondition; controllers/nodeoperation_controller.go), medik8s/self-node-remediation
640aac50. Detectors and times are judged in remediation_detector.py and remediation_repairs.py.
"""

from collections.abc import Iterator, Sequence
from math import ceil

from schemas.facts.rollout import failure_tolerance
from schemas.facts.site import Site
from schemas.model.faults import RECORDS
from schemas.model.remediation import OwnCheck, Remediator
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Eviction, Fault, RemediatorKind, Role
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, advise, say

PLACE: Path = ("remediation",)
_HEALERS = "remediation.healers.*"


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
    for at, healer in each_at(site.file, _HEALERS):
        mine = {f"{healer.name}-{pool.name}": pool.name for _, pool in _pools(site, healer)}
        clash = next((name for name in mine if name in objects), None)
        if healer.name in seen:
            yield say("two-of-a-name", (*at, "name"), "remediators", healer.name, "join the two")
        elif clash is not None:
            values = healer.name, mine[clash], clash, *objects[clash]
            yield say("remediator-name-taken", (*at, "name"), *values)
        seen.add(healer.name)
        objects |= {name: (healer.name, pool) for name, pool in mine.items()}


def remediator_faults(site: Site) -> Iterator[Finding]:
    """A remediator repairs faults that there are, and none that a reboot cannot repair."""
    known = [*RECORDS, *(each.name for each in own_checks(site))]
    for at, healer in each_at(site.file, _HEALERS):
        for index, fault in enumerate(healer.faults):
            place = (*at, "faults", index)
            hopeless = RECORDS.get(fault, {}).get("unrepaired")
            if hopeless:
                yield say("fault-unrepairable", place, hopeless)
            elif fault not in known:
                advice = advise(fault, known, "remove it, or add the check of that name")
                yield say("fault-unknown", place, fault, advice)


def repairable_faults(site: Site) -> Iterator[Finding]:
    """Pools of a remediator can have some of its faults, and each of these some pool of it."""
    for at, healer in each_at(site.file, _HEALERS):
        pools = [each for each in _pools(site, healer) if _is_known(site, each[1])]
        known = {*RECORDS, *(each.name for each in own_checks(site))}.issuperset(healer.faults)
        judged = pools if known and healer.faults else []
        useless = [each for each in judged if not site.repairs(each[1], healer)]
        for index, pool in useless:
            need = _needs(site, healer.faults)
            yield say("remediator-useless-on-pool", (*at, "pools", index), pool, healer, need)
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
        fix = f"remove it: {_needs(site, [fault])}"
        own = sorted(site.file.accelerators.models if site.file.accelerators else ())
        mine = [name for name in own if any(site.model(pool) == name for pool in pools)]
        if fault == Fault.PCIE_LINK_DEGRADED and mine:
            fix = f"add link_width to pci of {mine[0]}, or remove it"
        yield say("fault-of-no-pool", (*at, "faults", index), healer, fault, fix)


def _needs(site: Site, faults: Sequence[str]) -> str:
    """The missing part that a pool needs for some faults of devices: the least of it."""
    needed = [name for name in RECORDS if name in faults and "needs" in RECORDS[name]]
    if not needed:
        return "no check of these faults names the pool"
    if site.file.accelerators is None and not needed[0].startswith("network"):
        return "without an accelerators section nothing says how devices are found"
    return f"that needs {RECORDS[needed[0]]['needs']}"


def one_healer(site: Site) -> Iterator[Finding]:
    """A fault of a pool has one remediator, and all remediators of a pool are of one kind: of two,
    neither's budget counts what the other has out."""
    before: list[Remediator] = []
    for at, healer in each_at(site.file, _HEALERS):
        for index, pool in _pools(site, healer):
            place = (*at, "pools", index)
            for other in (each for each in before if pool.name in each.pools):
                both = [f"{fault}" for fault in healer.faults if fault in other.faults]
                if other.kind is not healer.kind:
                    yield say("remediators-of-two-kinds", place, other, healer, pool)
                    break
                if both:
                    more = f" and {len(both) - 1} more" * (len(both) > 1)
                    yield say("fault-of-two-remediators", place, other, healer, both, more, pool)
                    break
        before.append(healer)


def budgets(site: Site) -> Iterator[Finding]:
    """A remediator leaves hosts of each pool, and a majority of control planes; none takes out more
    than may be faulty."""
    for at, healer in each_at(site.file, _HEALERS):
        wanted = healer.max_unavailable
        # What repairs runs on the control plane, and tolerates no taint of a repair: drained with
        # the only one it starts nowhere, and the taint stays for ever.
        for index, pool in _pools(site, healer):
            if _too_few(pool, machines := site.replicas(pool)):
                row = "repair-costs-majority" if machines > 1 else "repair-of-only-control-plane"
                yield say(row, (*at, "pools", index), machines, pool)
        counted = [(site.replicas(pool), pool) for _, pool in _pools(site, healer)]
        pools = [each for each in counted if not _too_few(each[1], each[0])]
        bounds = [(_most(pool, machines), machines, pool) for machines, pool in pools]
        # A lone worker has no other, and is repaired all the same.
        beyond = [each for each in bounds if 1 <= each[0] < wanted]
        place = (*at, "max_unavailable")
        if beyond:
            most, machines, pool = min(beyond, key=lambda each: each[0])
            if pool.role is Role.CONTROL_PLANE:
                less = " or less" * (most > 1)
                yield say("repairs-beyond-majority", place, wanted, machines, most, less)
            else:
                few = max(1, machines // 10)
                more = f", or at most {most}" * (most > few)
                yield say("repairs-of-all-machines", place, wanted, machines, pool, few, more)
        elif pools:
            yield from _never_reached(site, place, healer, max(count for count, _ in pools))


def _too_few(pool: Pool, machines: int) -> bool:
    """True if no machine of a pool may be out at any time."""
    return pool.role is Role.CONTROL_PLANE and machines > 0 and _most(pool, machines) < 1


def _most(pool: Pool, machines: int) -> int:
    """The most machines of a pool that may be out: etcd needs more than half of its members."""
    return failure_tolerance(machines) if pool.role is Role.CONTROL_PLANE else machines - 1


def _never_reached(site: Site, place: Path, healer: Remediator, machines: int) -> Iterator[Finding]:
    """With more faulty hosts than max_faulty_percent nobody repairs: so many are never out. Two are
    always repaired by turns (node_repair/decide.py)."""
    wanted, settings = healer.max_unavailable, site.file.remediation
    if settings is None or not machines:
        return
    reached, percent = settings.may_be_faulty(healer.kind, machines), settings.max_faulty_percent
    if wanted <= reached:
        return
    needed = ceil(100 * wanted / machines)
    more = f", or max_faulty_percent: {needed}" * (needed <= 99)
    values = wanted, percent, machines, reached, more
    yield say("max-unavailable-never-reached", place, *values)


def evictions(site: Site) -> Iterator[Finding]:
    """A repair that waits for pods to end waits for jobs, not for services."""
    for at, healer in each_at(site.file, _HEALERS):
        if healer.eviction is Eviction.WAIT and healer.kind is not RemediatorKind.MEDIK8S:
            for _, pool in _pools(site, healer):
                if pool.role is Role.CONTROL_PLANE:
                    yield say("eviction-of-services", (*at, "eviction"), pool)
                    break
