"""The plot of docs/hashing.md: two panels as SVG text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT, _PANEL = 920, 380, 290
_TOP, _BOTTOM = 50, 330
_COLOURS = ("#e6550d", "#08519c", "#31a354", "#756bb1", "#888888")


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot: its lines by name, its axes' names and marks; the marks' ends are the axes'."""

    title: str
    across: str
    up: str
    lines: Mapping[str, Points]
    x_marks: Sequence[float]
    y_marks: Sequence[float]
    logarithmic: bool = False


def svg(panels: Sequence[Panel]) -> str:
    """The panels beside each other."""
    parts = [line for number, each in enumerate(panels) for line in _panel(each, 50 + 470 * number)]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


def _panel(panel: Panel, left: float) -> Iterator[str]:
    def x(value: float) -> float:
        return left + _PANEL * _part(value, panel.x_marks, panel.logarithmic)

    def y(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * _part(value, panel.y_marks, panel.logarithmic)

    right = left + _PANEL
    yield _text(left, 20, panel.title, "start", "#000000")
    yield _text(left, _TOP - 10, panel.up, "start")
    yield _text(left + _PANEL / 2, _BOTTOM + 38, panel.across, "middle")
    for value in panel.x_marks:
        yield _line(x(value), _TOP, x(value), _BOTTOM)
        yield _text(x(value), _BOTTOM + 18, f"{value:,g}", "middle")
    for value in panel.y_marks:
        yield _line(left, y(value), right, y(value))
        yield _text(left - 8, y(value) + 4, f"{value:g}", "end")
    ends = _apart({name: y(points[-1][1]) for name, points in panel.lines.items()})
    for (name, points), colour in zip(panel.lines.items(), _COLOURS, strict=False):
        places = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
        yield f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield _text(right + 6, ends[name], name, "start", colour)


def _apart(ends: Mapping[str, float], distance: float = 15) -> dict[str, float]:
    """The places of the names of lines beside their ends: none on another, none below the panel."""
    placed: dict[str, float] = {}
    highest = _BOTTOM + distance
    for name, at in sorted(ends.items(), key=lambda item: item[1], reverse=True):
        placed[name] = highest = min(at + 4, highest - distance)
    return placed


def _part(value: float, marks: Sequence[float], logarithmic: bool) -> float:
    """How far along an axis a value stands."""
    low, high = marks[0], marks[-1]
    if logarithmic:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def _line(a: float, b: float, c: float, d: float) -> str:
    return f'<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#333333") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {place} text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
