"""The sections on pools: how their machines are replaced, and what capacity is left meanwhile."""

from collections.abc import Iterable

from components.effects.vocabulary import Impact, Ledger, PoolPlan
from preview.report.blocks import Line, Row, Section, Table, heads
from preview.report.hours import duration, installed_after
from preview.report.phrase import Phrase, Strong, join_phrases, prose, value
from preview.report.words import count, few
from preview.result import SitePreview
from schemas.kubernetes.grouping import group_by_key

_LEFT_HEADS = heads("accelerator", "out at worst", "left")
_POOL_HEADS = heads(
    "pool", "replaced:", "at a time:", "waves:", "takes", "drains add", "accelerator",
    "out at worst", "left",
)  # fmt: skip


def pools(site: SitePreview) -> Section:
    """The replacement of each pool's machines; rollouts that never end come first."""
    stuck = [
        Line((Strong("Stuck"), ", ", *_pool(plan), ": ", *prose(plan.stuck)), tone=Impact.UNKNOWN)
        for plan in site.plans
        if plan.stuck
    ]
    rows = [_pool_row(plan) for plan in sorted(site.plans, key=lambda plan: not plan.stuck)]
    table = [Table(_POOL_HEADS, tuple(_merge_zones(rows)))] if rows else []
    return Section("pools", ("Pools",), (*stuck, *table, *_notes(site.plans)))


def _merge_zones(rows: Iterable[Row]) -> Iterable[Row]:
    """The rows of a pool's zones as one, where they are equal."""
    alike = group_by_key(((row.cells[0][:1], row.cells[1:], row.tone), row) for row in rows)
    for first, *others in alike.values():
        if not others:
            yield first
            continue
        zones = [row.cells[0][-1] for row in (first, *others)]
        names = join_phrases([(zone,) for zone in zones])
        pool: Phrase = (first.cells[0][0], f" in each of {len(zones)} zones: ", *names)
        yield Row((pool, *first.cells[1:]), first.tone)


def _notes(plans: Iterable[PoolPlan]) -> Iterable[Line]:
    """Each note once, with the pools that it is about."""
    about = group_by_key((note, plan.pool) for plan in plans for note in plan.notes)
    for note, names in about.items():
        pools = tuple(dict.fromkeys(names))
        yield Line(("pool " if len(pools) == 1 else "pools ", *few(pools), ": ", *prose(note)))


def _pool(plan: PoolPlan) -> Phrase:
    zone: Phrase = (" in zone ", value(plan.zone)) if plan.zone else ()
    return ("pool ", value(plan.pool), *zone)


def _pool_row(plan: PoolPlan) -> Row:
    surge = f" ({plan.surge:,} by surge)" if plan.surge else ""
    time: Phrase = (Strong("never ends"),) if plan.stuck else (duration(plan.hours),)
    drains = f"up to {duration(plan.drain_hours)}" if plan.drain_hours else ""
    cells: tuple[Phrase, ...] = (
        _pool(plan)[1:],
        (f"{plan.machines:,}",),
        (f"{plan.at_once:,}{surge}",),
        (f"{plan.waves:,}",),
        time,
        (drains,) if drains and not plan.stuck else (),
        *_out_and_left(plan.out),
    )
    return Row(cells, Impact.UNKNOWN if plan.stuck else None)


def _out_and_left(ledger: Ledger) -> tuple[Phrase, Phrase, Phrase]:
    """The model, ``32 of 832 (4 of 104 hosts)`` and what is left; without a model only hosts."""
    out = f"{ledger.hosts_out:,} of {count(ledger.hosts, 'host')}"
    left = count(ledger.hosts - ledger.hosts_out, "host")
    if not ledger.model:
        return ("none",), (out,), (left,)
    number, gone = ledger.accelerators, ledger.accelerators_out
    model = (value(ledger.model),)
    return model, (f"{gone:,} of {number:,} ({out})",), (f"{number - gone:,} ({left})",)


def capacity(site: SitePreview) -> Section:
    """The devices of each model that are out and left when all pools are at their worst moment at
    once. Left away where the one pool that is rolled says the same."""
    out = [each for each in site.capacity if each.hosts_out]
    if out == [plan.out for plan in site.plans]:
        out = []
    rows = tuple(Row(_out_and_left(each)) for each in out)
    title = ("Capacity when all pools are at their worst at once",)
    return Section("capacity", title, (Table(_LEFT_HEADS, rows),) if rows else ())


# --- a new site -----------------------------------------------------------------------------------
_INSTALL_HEADS = heads("pool", "machines:", "begins after", "takes", "accelerators")
_INSTALL_NOTES = (
    "the control plane adds a machine at a time; workers begin once its first machine is there",
    "the Bare Metal Operator installs at most {} hosts at a time, over all pools",
    "hours are without the inspection of hosts, which comes before",
)


def installation(site: SitePreview) -> Section:
    """The first installation of a new site, a line for each pool."""
    rows = []
    for each in site.installations:
        zone = (" in zone ", value(each.zone)) if each.zone else ()
        begins = duration(each.begins) if each.begins else "at once"
        model = (f"{each.accelerators:,} ", value(each.model)) if each.model else ("none",)
        first = ((value(each.pool), *zone), (f"{each.machines:,}",), (begins,))
        rows.append(Row((*first, (duration(each.hours),), model)))
    limit = min((each.limit for each in site.installations), default=0)
    notes = tuple(Line((note.format(limit),)) for note in _INSTALL_NOTES)
    title = (f"First installation: {duration(installed_after(site))}",)
    table = Table(_INSTALL_HEADS, tuple(rows))
    return Section("installation", title, (table, *notes) if rows else ())
