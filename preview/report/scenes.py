"""The three pictures of a site as data, before any format draws them.

The rack map has every host at its place, the timeline a row for each pool, the capacity a line for
each accelerator model. Names are made safe to show here; how many are shown is bounded.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from components.effects.vocabulary import Impact, Ledger, PoolPlan
from preview.report.hours import duration, spans
from preview.report.phrase import visible
from preview.report.words import count
from preview.result import HostVerdict, SitePreview, count_hosts
from schemas.kubernetes.grouping import group_by_key

MOST_CELLS = 1_000
"""Hosts that are drawn one by one; of a larger site each rack is one cell."""
MOST_RACKS = 400
"""Racks that are drawn, those with the worst cells first to stay."""
MOST_ROWS = 10
"""Pools of a timeline, and with a third of it the models of a capacity."""
NAME, POOL = 24, 14
"""Characters of a model's and of a pool's name in a picture."""


class Cell(NamedTuple):
    """A host, or a rack of many; ``vague``: one of those of which Git does not say which."""

    impact: Impact
    vague: bool


class Rack(NamedTuple):
    """A rack of a zone, its cells in the order of the host list."""

    name: str
    cells: tuple[Cell, ...]


class RackMap(NamedTuple):
    """Racks by zone; ``key`` has the hosts of each kind of cell, worst first, and how many of these
    are concerned. ``left_out`` racks are not drawn."""

    zones: tuple[tuple[str, tuple[Rack, ...]], ...]
    key: tuple[tuple[Cell, int, int], ...]
    whole_racks: bool
    left_out: int


class Stretch(NamedTuple):
    """A pool's row: it begins after ``start`` hours, takes ``work`` and with drains up to ``more``.
    ``steps`` are its waves; ``stuck`` rows never end, and ``new`` ones are installed for the first
    time."""

    name: str
    said: str
    start: float
    work: float
    more: float
    steps: int
    stuck: bool = False
    new: bool = False


class Timeline(NamedTuple):
    """Rows from the start of the change to ``hours``; ``left_out`` pools are not drawn."""

    rows: tuple[Stretch, ...]
    hours: float
    left_out: int


class Level(NamedTuple):
    """What is left of ``total`` accelerators of a model, or of hosts without. ``steps`` are hours
    and how many are left from then on; ``guaranteed`` is 0 for none."""

    name: str
    total: int
    steps: tuple[tuple[float, int], ...]
    least: int
    guaranteed: int


class Scene(NamedTuple):
    """The pictures of one site; None where there is nothing to draw."""

    site: str
    racks: RackMap | None
    timeline: Timeline | None
    capacity: tuple[Level, ...]


def scene(site: SitePreview) -> Scene:
    """The pictures of a site."""
    name = visible(site.name, NAME)
    return Scene(name, _rack_map(site), _timeline(site), tuple(_capacity(site)))


# --- racks ----------------------------------------------------------------------------------------
def _rack_map(site: SitePreview) -> RackMap | None:
    """None where nothing happens to any host, or no host has a rack."""
    concerned = [host for host in site.hosts if host.impact is not Impact.NONE]
    if not concerned or not any(host.rack for host in site.hosts):
        return None
    whole = len(site.hosts) > MOST_CELLS
    found = group_by_key(((host.zone, host.rack), _cell(host)) for host in site.hosts)

    def worse(cell: Cell) -> tuple[int, bool]:
        return cell.impact.rank, not cell.vague

    racks = [
        (zone, Rack(name, (max(cells, key=worse),) if whole else tuple(cells)))
        for (zone, name), cells in found.items()
    ]
    worst = [-max(cell.impact.rank for cell in rack.cells) for _, rack in racks]
    kept = set(sorted(range(len(racks)), key=worst.__getitem__)[:MOST_RACKS])
    zones = group_by_key(each for number, each in enumerate(racks) if number in kept)
    shown = tuple((visible(zone, NAME), tuple(those)) for zone, those in zones.items())
    return RackMap(shown, tuple(_key(site.hosts)), whole, len(racks) - len(kept))


def _cell(host: HostVerdict) -> Cell:
    return Cell(host.impact, host.at_most is not None)


def _key(hosts: Iterable[HostVerdict]) -> Iterable[tuple[Cell, int, int]]:
    alike = group_by_key((_cell(host), host) for host in hosts)
    for cell in sorted(alike, key=lambda cell: (-cell.impact.rank, cell.vague)):
        those = alike[cell]
        yield cell, len(those), count_hosts(those).get(cell.impact, 0)


# --- time -----------------------------------------------------------------------------------------
def _timeline(site: SitePreview) -> Timeline | None:
    """The rollouts, the control plane first; of a new site the installation of its pools."""
    if site.installations:
        rows = [
            Stretch(_name(each.pool, (each.zone,)), duration(each.hours), each.begins, each.hours,
                    0.0, 1, new=True)
            for each in site.installations
        ]  # fmt: skip
    else:
        plans = sorted(site.plans, key=lambda plan: (not plan.control_plane, not plan.stuck))
        rows = [*map(_stretch, group_by_key((e._replace(zone=""), e) for e in plans).values())]
    hours = max((row.start + row.work + row.more for row in rows), default=0.0)
    left_out = max(0, len(rows) - MOST_ROWS)
    return Timeline(tuple(rows[:MOST_ROWS]), hours, left_out) if rows else None


def _stretch(plans: Sequence[PoolPlan]) -> Stretch:
    first = plans[0]
    name = _name(first.pool, [plan.zone for plan in plans])
    if first.stuck:
        return Stretch(name, "never ends", 0.0, 0.0, 0.0, 0, stuck=True)
    drains = f" + {duration(first.drain_hours)} of drains" if first.drain_hours else ""
    start, _ = spans(first)
    said = f"{count(first.waves, 'wave')}, {duration(first.hours)}{drains}"
    return Stretch(name, said, start, first.hours, first.drain_hours, first.waves)


def _name(pool: str, zones: Sequence[str]) -> str:
    named = [zone for zone in zones if zone]
    where = "" if not named else f" in {named[0]}" if len(named) == 1 else f", {len(named)} zones"
    return visible(pool, POOL) + visible(where, NAME - POOL)


# --- capacity -------------------------------------------------------------------------------------
def _capacity(site: SitePreview) -> Iterable[Level]:
    """The models of which most are out, and hosts without where these are all."""
    guaranteed = dict(site.guaranteed)
    missing = [each for each in site.capacity if each.hosts_out]
    missing.sort(key=lambda each: (not each.model, -each.accelerators_out))
    for ledger in missing[: MOST_ROWS // 3]:
        total, out = _numbers(ledger)
        plans = [plan for plan in site.plans if plan.out.model == ledger.model and not plan.stuck]
        steps = _steps(total, out, plans)
        least = min(left for _, left in steps)
        name = visible(ledger.model, NAME) if ledger.model else "hosts without accelerators"
        yield Level(name, total, steps, least, guaranteed.get(ledger.model, 0))


def _numbers(ledger: Ledger) -> tuple[int, int]:
    """All of a ledger and what is out of it: accelerators, or hosts where it has none."""
    if ledger.model:
        return ledger.accelerators, ledger.accelerators_out
    return ledger.hosts, ledger.hosts_out


def _steps(total: int, out: int, plans: Sequence[PoolPlan]) -> tuple[tuple[float, int], ...]:
    """What is left over time: what no rollout takes out is out for as long as the picture lasts."""
    outs = [(*spans(plan), _numbers(plan.out)[1]) for plan in plans]
    always = max(0, out - sum(number for *_, number in outs))
    edges = sorted({0.0, *(start for start, *_ in outs), *(a + b for a, b, _ in outs)})
    found = []
    for edge in edges:
        away = sum(number for start, length, number in outs if start <= edge < start + length)
        found.append((edge, max(0, total - always - away)))
    return tuple(found)


# --- words ----------------------------------------------------------------------------------------
def describe_racks(found: RackMap) -> str:
    """The rack map for who cannot see it: each zone with what happens there."""
    parts = []
    for zone, racks in found.zones:
        cells = Counter(cell.impact for rack in racks for cell in rack.cells)
        what = ", ".join(f"{number:,} {impact.value}" for impact, number in sorted(
            cells.items(), key=lambda item: -item[0].rank))  # fmt: skip
        noun = "racks" if found.whole_racks else "hosts"
        parts.append(f"zone {zone}: {count(len(racks), 'rack')}, {noun}: {what}")
    return "; ".join(parts[:40])


def describe_time(found: Timeline) -> str:
    """The timeline for who cannot see it."""
    rows = [
        f"{row.name}: {row.said}" + (f", begins after {duration(row.start)}" if row.start else "")
        for row in found.rows
    ]
    return "; ".join(rows)


def describe_level(found: Level) -> str:
    """A line of the capacity for who cannot see it."""
    said = f"{found.least:,} of {found.total:,} left at worst"
    if not found.guaranteed:
        return said
    short = found.guaranteed - found.least
    less = f", {short:,} fewer than teams are guaranteed" if short > 0 else ""
    return f"{said}; guaranteed {found.guaranteed:,}{less}"


def host_words(cell: Cell, hosts: int, concerned: int) -> str:
    """An entry of the rack map's key."""
    which = f"{concerned:,} of these " if cell.vague else ""
    return f"{cell.impact.value}: {which}{count(hosts, 'host')}"
