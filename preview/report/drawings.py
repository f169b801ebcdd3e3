"""The pictures as shapes of SVG: where each box, line and word of a scene is, in units.

A picture is 340 units wide, so that its words can be read on a telephone; a wide screen shows three
side by side. Nothing here depends on how long a name is but the name itself.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from preview.report.hours import duration
from preview.report.phrase import visible
from preview.report.scenes import (
    Cell,
    Level,
    Rack,
    RackMap,
    Scene,
    Stretch,
    Timeline,
    describe_level,
    describe_racks,
    describe_time,
    host_words,
)
from preview.report.words import by_impact

WIDTH = 340
CELL, PITCH = 9, 10
"""Units of a host's side, and from one host to the next."""
HIGH = 8
"""Hosts of a rack that stand above each other, in two columns or more."""
LABEL = 4
"""Characters of a rack's name that are drawn."""
LINE = 15
"""Units from one line of words to the next."""
WAVES = 40
"""Waves that can be told apart."""

_SIGNS = by_impact("path")
"""The sign of each impact in a cell, so that colour is never the only one."""


class Shape(NamedTuple):
    """A path, and the class by which the style colours it."""

    path: str
    kind: str


class Word(NamedTuple):
    """Text at a place; ``anchor`` is the end of it that stands there."""

    x: float
    y: float
    text: str
    kind: str = ""
    anchor: str = "start"


class Drawing(NamedTuple):
    """A picture: its name, its text for a reader who cannot see it, and what it is made of."""

    kind: str
    title: str
    description: str
    height: int
    shapes: tuple[Shape, ...]
    words: tuple[Word, ...]


def drawings(found: Scene) -> list[Drawing]:
    """The pictures of a scene."""
    racks = [_draw_racks(found.site, found.racks)] if found.racks else []
    time = [_draw_time(found.site, found.timeline)] if found.timeline else []
    left = [_draw_capacity(found.site, found.capacity, found.timeline)] if found.capacity else []
    return [*racks, *time, *left]


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"


# --- racks ----------------------------------------------------------------------------------------
def _draw_racks(site: str, found: RackMap) -> Drawing:
    cells: dict[Cell, list[tuple[float, float]]] = {}
    words: list[Word] = []
    y = 0.0
    for zone, racks in found.zones:
        words.append(Word(0, y + 11, f"zone {zone}", "label"))
        y += LINE + 2
        x, rows = 0.0, max(math.ceil(len(rack.cells) / _columns(rack)) for rack in racks)
        for rack in racks:
            columns = _columns(rack)
            wide = columns * PITCH + 5
            if x + wide > WIDTH + 5 and x:
                x, y = 0.0, y + rows * PITCH + 14
            for number, cell in enumerate(rack.cells):
                at = (x + number % columns * PITCH, y + number // columns * PITCH)
                cells.setdefault(cell, []).append(at)
            # Racks differ in the ends of their names.
            end = visible(rack.name[-LABEL:], LABEL)
            words.append(Word(x, y + rows * PITCH + 9, end, "small"))
            x += wide
        y += rows * PITCH + 17
    shapes = [shape for cell, places in cells.items() for shape in _cell_shapes(cell, places)]
    for cell, hosts, concerned in found.key:
        shapes += _cell_shapes(cell, [(0, y + 3)])
        words.append(Word(CELL + 6, y + 11, host_words(cell, hosts, concerned)))
        y += LINE
    if found.left_out:
        words.append(Word(0, y + 11, f"{found.left_out:,} more racks are not drawn", "small"))
        y += LINE
    what = "a cell is a rack" if found.whole_racks else "a cell is a host"
    return Drawing(
        "racks", f"Racks of {site}: {what}", describe_racks(found), math.ceil(y + 3), tuple(shapes),
        tuple(words),
    )  # fmt: skip


def _columns(rack: Rack) -> int:
    return max(2, math.ceil(len(rack.cells) / HIGH))


def _cell_shapes(cell: Cell, places: Iterable[tuple[float, float]]) -> Iterator[Shape]:
    """All cells of one kind as one path, and their signs as another."""
    places = list(places)
    tone = f"tone-{cell.impact.value.replace(' ', '-')}"
    kind = f"{tone} maybe" if cell.vague else tone
    yield Shape("".join(_box(x, y, CELL, CELL) for x, y in places), f"cell {kind}")
    if sign := _SIGNS.get(cell.impact):
        yield Shape("".join(f"M{x:g} {y:g}{sign}" for x, y in places), f"sign {kind}")


# --- time -----------------------------------------------------------------------------------------
def _scale(hours: float, at: float) -> float:
    return round(WIDTH * at / hours, 1) if hours else 0.0


def _hatch(x: float, y: float, width: float, height: float) -> str:
    """Slanted lines in a box: what may come, and need not."""
    starts = (x + number * 6 for number in range(int((width - height) // 6) + 1))
    slants = (f"M{start:g} {y + height:g}l{height:g}-{height:g}" for start in starts)
    return _box(x, y, width, height) + "".join(slants)


def _draw_time(site: str, found: Timeline) -> Drawing:
    shapes: list[Shape] = []
    words: list[Word] = []
    for number, row in enumerate(found.rows):
        y = number * 34
        words.append(Word(0, y + 11, row.name, "label"))
        words.append(Word(WIDTH, y + 11, row.said, "", "end"))
        shapes += _row_shapes(row, found.hours, y + 16)
    y = len(found.rows) * 34
    if found.left_out:
        words.append(Word(0, y + 9, f"{found.left_out:,} more pools are not drawn", "small"))
        y += LINE
    shapes.append(Shape(f"M0 {y}h{WIDTH}", "axis"))
    # Where no rollout ends there are no hours to read.
    for part, anchor in ((0, "start"), (0.5, "middle"), (1, "end")) if found.hours else ():
        shapes.append(Shape(f"M{part * WIDTH:g} {y}v4", "axis"))
        text = duration(found.hours * part) if part else "start"
        words.append(Word(part * WIDTH, y + 15, text, "small", anchor))
    drains = "; hatched: what drains may add" if any(row.more for row in found.rows) else ""
    if found.hours:
        words.append(Word(0, y + 32, f"filled: waves of installs{drains}", "small"))
    title = f"Time that pools of {site} take"
    return Drawing("time", title, describe_time(found), y + 36, tuple(shapes), tuple(words))


def _row_shapes(row: Stretch, hours: float, y: float) -> Iterator[Shape]:
    yield Shape(_box(0, y, WIDTH, 12), "track")
    if row.stuck:
        yield Shape(_hatch(0, y, WIDTH, 12), "hatch tone-unknown")
        return
    start, work = _scale(hours, row.start), max(1.0, _scale(hours, row.work))
    more = _scale(hours, row.more)
    yield Shape(_box(start, y, work, 12), f"bar tone-{'add' if row.new else 're-image'}")
    if 1 < row.steps <= WAVES and work / row.steps >= 2:
        edges = (start + work * step / row.steps for step in range(1, row.steps))
        yield Shape("".join(f"M{edge:.1f} {y:g}v12" for edge in edges), "edge")
    if more:
        yield Shape(_hatch(start + work, y, more, 12), "hatch tone-drain")


# --- capacity -------------------------------------------------------------------------------------
_TALL = 56


def _draw_capacity(site: str, levels: Iterable[Level], line: Timeline | None) -> Drawing:
    hours = line.hours if line else 0.0
    shapes: list[Shape] = []
    words: list[Word] = []
    said: list[str] = []
    y = 0
    for level in levels:
        said.append(f"{level.name}: {describe_level(level)}")
        words.append(Word(0, y + 11, level.name, "label"))
        words.append(Word(WIDTH, y + 11, f"{level.least:,} of {level.total:,} left", "", "end"))
        y += LINE + 3
        shapes += _level_shapes(level, hours, y)
        low = _lowest(level)
        words.append(Word(3, y + _TALL - 4, f"axis from {low:,}", "on-bar"))
        if level.guaranteed:
            short = level.guaranteed > level.least
            text = describe_level(level).partition("; ")[2]
            words.append(Word(0, y + _TALL + 13, f"dashed: {text}", "alarm" if short else ""))
            y += LINE
        y += _TALL + 12
    end = duration(hours) if hours else ""
    words += [Word(0, y, "start", "small"), Word(WIDTH, y, end, "small", "end")]
    title = f"Capacity of {site} that is left over time"
    return Drawing("capacity", title, "; ".join(said), y + 5, tuple(shapes), tuple(words))


def _lowest(level: Level) -> int:
    """The number at the foot of a picture: below what is left and what is guaranteed, so that a few
    of many can be seen."""
    least = min(level.least, level.guaranteed or level.least)
    room = max(1, level.total - least)
    return max(0, least - room) if least > level.total / 2 else 0


def _level_shapes(level: Level, hours: float, y: float) -> Iterator[Shape]:
    low = _lowest(level)
    above = max(1, max(level.total, level.guaranteed) - low)

    def height(number: int) -> float:
        return round(y + _TALL - _TALL * (number - low) / above, 1)

    edges = [*level.steps, (max(hours, level.steps[-1][0]), level.steps[-1][1])]
    top = f"M0 {height(edges[0][1]):g}"
    for (_, _), (at, left) in pairwise(edges):
        top += f"H{min(WIDTH, _scale(hours, at)) or WIDTH:g}V{height(left):g}"
    top += f"H{WIDTH}"
    yield Shape(f"{top}V{y + _TALL:g}H0z", "left")
    yield Shape(top, "edge-line")
    yield Shape(_box(0, y, WIDTH, _TALL), "frame")
    if level.guaranteed:
        yield Shape(f"M0 {height(level.guaranteed):g}H{WIDTH}", "guaranteed")
