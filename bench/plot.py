"""A plot of lines on two logarithmic axes, as SVG text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT = 760, 460
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 20, 150, 50
_COLOURS = ("#888888", "#6baed6", "#08519c", "#e6550d", "#31a354", "#756bb1", "#a63603")


def svg(across: str, up: str, lines: Mapping[str, Points]) -> str:
    """The plot; ``across`` and ``up`` name the axes."""
    every = [point for points in lines.values() for point in points]
    x, y = (
        _Axis([p[0] for p in every], _LEFT, _WIDTH - _RIGHT),
        _Axis([p[1] for p in every], _HEIGHT - _BOTTOM, _TOP),
    )
    parts = [*_frame(x, y, across, up)]
    ends = _apart({name: y.at(points[-1][1]) for name, points in lines.items()})
    for (name, points), colour in zip(lines.items(), _COLOURS * len(lines), strict=False):
        places = [(x.at(a), y.at(b)) for a, b in points]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>' for a, b in places]
        parts.append(_text(places[-1][0] + 8, ends[name] + 4, name, "start", colour))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12">\n'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


class _Axis:
    """A logarithmic axis from one place on the picture to another."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        """The place of a value on the axis."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def marks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**power for power in range(self.low, self.high + 1)]


def _frame(x: _Axis, y: _Axis, across: str, up: str) -> Iterator[str]:
    for value in x.marks():
        at = x.at(value)
        yield _line(at, y.start, at, y.end)
        yield _text(at, y.start + 18, f"{value:,g}", "middle")
    for value in y.marks():
        at = y.at(value)
        yield _line(x.start, at, x.end, at)
        yield _text(x.start - 8, at + 4, f"{value:g}", "end")
    yield _text((x.start + x.end) / 2, y.start + 38, across, "middle")
    yield _text(x.start - 8, y.end - 6, up, "end")


def _apart(ends: dict[str, float], distance: float = 15) -> dict[str, float]:
    """The places of names beside their lines' ends, moved so that none covers another."""
    placed: dict[str, float] = {}
    last = -math.inf
    for name, at in sorted(ends.items(), key=lambda item: item[1]):
        placed[name] = last = max(at, last + distance)
    return placed


def _line(a: float, b: float, c: float, d: float) -> str:
    return f'<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" stroke="#dddddd"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = "#333333") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {place} text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
