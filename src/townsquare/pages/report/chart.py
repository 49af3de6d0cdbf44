"""Axes that are written as SVG directly: the methods of matplotlib's axes that figures use, and no others.

A page has dozens of figures. Written here they take milliseconds; matplotlib takes seconds to load and to lay them out.
A drawing function gets a :class:`Chart` for a page, and axes of matplotlib for PNG and PDF, so that it may use the
methods below only, in matplotlib's names, units (points) and defaults. A color with a role also becomes a class, which
the style sheet of a page gives another color in the dark; see :mod:`townsquare.pages.report.theme`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Float
from townsquare.core.words import printable
from townsquare.pages.report.theme import SHADES, color

Numbers = npt.ArrayLike
Dashes = str | tuple[float, tuple[float, ...]]
Places = Sequence[tuple[float, float]]

_ROLE = {shade.light: role for role, shade in SHADES.items()}
_SHAPES = {
    "s": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "D": ((0, -1.35), (1.35, 0), (0, 1.35), (-1.35, 0)),
    "^": ((0, -1.1), (1.1, 1), (-1.1, 1)),
    "v": ((0, 1.1), (1.1, -1), (-1.1, -1)),
}
"""Corners of markers of radius 1; ``o`` is a circle."""
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_BASELINES = {"top": 0.76, "center": 0.35, "bottom": -0.24, "baseline": 0.0}
"""From a place down to the baseline of its text, in parts of the size."""
TEXT, TICK, LEGEND_ROW, SWATCH = 12.0, 11.5, 20.0, 21.0
_WIDTHS = dict.fromkeys("iljtfrI.,:;|!'()[] ", 0.38) | dict.fromkeys("mwMW@%", 0.92)
"""Of letters, in parts of the size."""


def text_width(text: str, size: float) -> float:
    """Return about how wide a text is, in points; each reader has another font."""
    return size * max(sum(_WIDTHS.get(letter, 0.6) for letter in line) for line in text.split("\n"))


def tick(value: float, _: int = 0) -> str:
    """Return a number at an axis."""
    return f"{value:,.6g}".replace("-", "\u2212")


@dataclass
class Axis:
    """One axis: what it must show, and how its ticks are placed and written."""

    has_grid: bool
    low: float = math.inf
    high: float = -math.inf
    least: float = math.inf  # above 0, where a logarithmic axis begins
    ends: tuple[float | None, float | None] = (None, None)
    margin: float = 0.05
    scale: str = "linear"
    most: int = 6
    whole: bool = False
    label: str = ""
    ticks: Sequence[float] | None = None
    words: Sequence[str] | None = None
    form: Callable[[float, int], str] = tick

    def set_major_formatter(self, form: Callable[[float, int], str]) -> None:
        """Write ticks as a function of the value says."""
        self.form = form

    def see(self, values: Numbers) -> None:
        """Make room for values."""
        known = np.asarray(values, np.float64)
        known = known[np.isfinite(known)]
        if known.size:
            self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))
            self.least = min(self.least, float(known[known > 0].min(initial=math.inf)))

    def scaled(self, values: Numbers) -> Float:
        """Return values as they are placed along the axis; NaN for what a logarithmic axis cannot show."""
        plain = np.asarray(values, np.float64)
        return np.log10(np.where(plain > 0, plain, np.nan)) if self.scale == "log" else plain

    def limits(self) -> tuple[float, float]:
        """Return both ends, as :meth:`scaled`; they always differ."""
        least = self.least if self.scale == "log" else self.low
        low, high = self.scaled((least, self.high)).tolist() if least <= self.high else (0.0, 1.0)
        room = self.margin * ((high - low) or abs(high) or 1.0)
        bounds = zip(self.ends, (low - room, high + room), strict=True)
        first, last = (bound if end is None else float(self.scaled(end)) for end, bound in bounds)
        return (first, last) if first != last else (first - 0.5, last + 0.5)

    def part(self, values: Numbers) -> Float:
        """Return where values stand, from 0 to 1 along the axis."""
        low, high = self.limits()
        return (self.scaled(values) - low) / (high - low)

    def marks(self) -> list[tuple[float, str]]:
        """Return where each tick stands, from 0 to 1, with its words."""
        low, high = self.limits()
        if self.ticks is not None:
            ticks = list(self.ticks)
        elif self.scale == "log":
            fine = (1, 2, 5) if high - low < 2 else (1,)
            ticks = [k * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for k in fine]
        else:
            step = nice_step((high - low) / self.most, whole=self.whole)
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            ticks = [round(k * step, 12) for k in range(first, last + 1)]
        words = self.words or [self.form(value, at) for at, value in enumerate(ticks)]
        pairs = zip(self.part(ticks).tolist(), words, strict=True)
        return [(at, text) for at, text in pairs if -1e-6 <= at <= 1 + 1e-6]


def nice_step(least: float, *, whole: bool = False) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is not below ``least``.

    >>> nice_step(0.03), nice_step(3), nice_step(0.2, whole=True)
    (0.05, 5.0, 1.0)
    """
    power = 10.0 ** math.floor(math.log10(least))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= least * (1 - 1e-9))
    return max(1.0, step) if whole else step


@dataclass(frozen=True)
class Box:
    """The rectangle of some axes, in points from the upper left corner of the figure."""

    left: float
    right: float
    top: float
    bottom: float

    def at(self, x: Numbers, y: Numbers) -> list[tuple[float, float]]:
        """Return places, given as parts of the axes from their lower left corner."""
        across = self.left + (self.right - self.left) * np.ravel(x)
        down = self.bottom - (self.bottom - self.top) * np.ravel(y)
        return list(zip(across.tolist(), down.tolist(), strict=True))


@dataclass
class Chart:
    """Axes of a figure, in one part of it, with methods named as matplotlib's."""

    region: Box
    title: str = ""
    visible: bool = True
    xaxis: Axis = field(default_factory=lambda: Axis(has_grid=False))
    yaxis: Axis = field(default_factory=lambda: Axis(has_grid=True))
    legend: list[tuple[str, str]] = field(default_factory=list)
    _drawn: list[tuple[float, Callable[[Box], str]]] = field(default_factory=list)

    def plot(
        self, x: Numbers, y: Numbers, *, color: str = color("first"), linestyle: Dashes = "-", linewidth: float = 2.0,
        marker: str = "", markersize: float = 4.5, label: str | None = None, alpha: float = 1.0, zorder: float = 2.0,
    ) -> None:  # fmt: skip
        """Draw a line through points, with gaps where one is no number, and markers."""

        def mark(places: Places) -> str:
            line = f'<path d="{_path(places)}" {_stroke(color, linewidth, linestyle, alpha)}/>' if linestyle else ""
            return line + _markers(places, marker, [(markersize + 1) / 2] * len(places), color, alpha)

        self._add(mark, x, y, zorder)
        self._name(label, mark([(0.0, 0.0), (SWATCH, 0.0)] if linestyle else [(SWATCH / 2, 0.0)]))

    def scatter(
        self, x: Numbers, y: Numbers, *, s: Numbers = 16.0, color: str = color("first"), marker: str = "o",
        label: str | None = None, alpha: float = 1.0, zorder: float = 1.0, linewidths: float = 0.0,
    ) -> None:  # fmt: skip
        """Draw markers of these areas, without an outline."""
        radii = (np.sqrt(np.broadcast_to(np.asarray(s, np.float64), np.shape(x))) / 2).tolist()
        self._add(lambda places: _markers(places, marker, radii, color, alpha), x, y, zorder)
        self._name(label, _markers([(SWATCH / 2, 0.0)], marker, [3.2], color, alpha))

    def fill(
        self, x: Numbers, y: Numbers, *, color: str, alpha: float = 1.0, label: str | None = None, zorder: float = 1.0,
        linewidth: float = 0.0,
    ) -> None:  # fmt: skip
        """Fill polygons: the corners of each, with a place that is no number between two of them."""
        look = _look("fill", color, alpha)
        self._add(lambda places: f'<path d="{_path(places)}" {look}/>', x, y, zorder)
        self._name(label, f'<path d="M0 -4.5h{SWATCH:g}v9h-{SWATCH:g}Z" {look}/>')

    def axhline(self, y: float, *, color: str, linewidth: float, linestyle: Dashes = "-", zorder: float = 2.0) -> None:
        """Draw a level line from end to end."""
        self.yaxis.see(y)
        look = _stroke(color, linewidth, linestyle)
        self._drawn.append((zorder, lambda box: _line(box.at([0, 1], [self.yaxis.part(y)] * 2), look)))

    def axvline(self, x: float, *, color: str, linewidth: float, linestyle: Dashes = "-", zorder: float = 2.0) -> None:
        """Draw an upright line from end to end."""
        self.xaxis.see(x)
        look = _stroke(color, linewidth, linestyle)
        self._drawn.append((zorder, lambda box: _line(box.at([self.xaxis.part(x)] * 2, [0, 1]), look)))

    def annotate(
        self, text: str, xy: tuple[float, float], *, xycoords: str | tuple[str, str] = "data",
        xytext: tuple[float, float] = (0.0, 0.0), textcoords: str = "offset points", ha: str = "left",
        va: str = "baseline", color: str = color("ink"), fontsize: float = TEXT, zorder: float = 3.0,
    ) -> None:  # fmt: skip
        """Write a text at a place, in units of the data or of ``"axes fraction"``, and so many points next to it."""
        along, up = (xycoords, xycoords) if isinstance(xycoords, str) else xycoords

        def draw(box: Box) -> str:
            x_part = self.xaxis.part(xy[0]) if along == "data" else xy[0]
            [(x, y)] = box.at(x_part, self.yaxis.part(xy[1]) if up == "data" else xy[1])
            return _text(text, x + xytext[0], y - xytext[1], fontsize, color, ha, va)

        self._drawn.append((zorder, draw))

    def set(self, **properties: Any) -> None:
        """Set ``title``, ``visible`` or, of an axis, ``xlabel``, ``xlim``, ``xscale``, ``xticks``, ``xticklabels``."""
        self.title = properties.pop("title", self.title)
        self.visible = properties.pop("visible", self.visible)
        for name, value in properties.items():
            axis = {"x": self.xaxis, "y": self.yaxis}[name[0]]
            setattr(axis, {"lim": "ends", "ticklabels": "words"}.get(name[1:], name[1:]), value)
            if name[1:] == "ticks":
                axis.see(value)

    def grid(self, visible: bool, axis: str = "both") -> None:
        """Draw lines at the ticks of ``"x"``, ``"y"`` or both, or leave them out."""
        self.xaxis.has_grid = visible if axis in ("x", "both") else self.xaxis.has_grid
        self.yaxis.has_grid = visible if axis in ("y", "both") else self.yaxis.has_grid

    def margins(self, x: float) -> None:
        """Leave this part of the horizontal axis free at both ends."""
        self.xaxis.margin = x

    def locator_params(self, axis: str, *, nbins: int, integer: bool = False, steps: object = None) -> None:
        """Place at most so many ticks, at whole numbers only if asked."""
        chosen = self.xaxis if axis == "x" else self.yaxis
        chosen.most, chosen.whole = nbins, integer

    def _add(self, mark: Callable[[Places], str], x: Numbers, y: Numbers, zorder: float) -> None:
        self.xaxis.see(x)
        self.yaxis.see(y)
        self._drawn.append((zorder, lambda box: mark(box.at(self.xaxis.part(x), self.yaxis.part(y)))))

    def _name(self, label: str | None, swatch: str) -> None:
        if label:
            self.legend.append((label, swatch))

    def box(self) -> Box:
        """Return where the axes stand: what titles, ticks and labels leave of the region."""
        region, ticks = self.region, self.xaxis.marks()
        wide = max((text_width(text, TICK) + 6 for _, text in self.yaxis.marks()), default=0.0)
        under = max((text.count("\n") + 1 for _, text in ticks), default=0)
        left = region.left + 8 + wide + (TEXT + 6 if self.yaxis.label else 0)
        across = region.right - left - 8
        return Box(
            left,
            region.right - max([8.0, *(text_width(text, TICK) / 2 + 2 - across * (1 - at) for at, text in ticks)]),
            region.top + 8 + (TEXT + 3) * (self.title.count("\n") + 1 if self.title else 0),
            region.bottom - 6 - under * (TICK + 3) - (TEXT + 6 if self.xaxis.label else 0),
        )

    def svg(self, box: Box) -> str:
        """Return what is drawn, with its axes in this box."""
        line, frame, ink, out = _stroke(color("line"), 0.7), _stroke(color("muted"), 0.8), color("ink"), []
        for at, words in self.xaxis.marks():
            out.append(_line(box.at([at, at], [0, 1]), line) if self.xaxis.has_grid else "")
            out.append(_text(words, *box.at(at, 0)[0], TICK, ink, "center", "top", 5))
        for at, words in self.yaxis.marks():
            out.append(_line(box.at([0, 1], [at, at]), line) if self.yaxis.has_grid else "")
            out.append(_text(words, box.left - 6, box.at(0, at)[0][1], TICK, ink, "right", "center"))
        out.append(_line(box.at([0, 0, 1], [1, 0, 0]), frame))
        (x, y), turned = box.at(0.5, 0.5)[0], self.region.left + TEXT + 1
        out.append(_text(self.xaxis.label, x, self.region.bottom - 5, TEXT, ink, "center", "baseline"))
        rotated = _text(self.yaxis.label, turned, y, TEXT, ink, "center", "baseline")
        out.append(f'<g transform="rotate(-90 {turned:g} {y:.1f})">{rotated}</g>' if rotated else "")
        out.append(_text(self.title, box.left, self.region.top + 12, TICK, ink, "left", "baseline"))
        x, y, wide, high = box.left - 5, box.top - 5, box.right - box.left + 10, box.bottom - box.top + 10
        marks = "".join(draw(box) for _, draw in sorted(self._drawn, key=lambda mark: mark[0]))
        size = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}"'
        return f'{"".join(out)}<svg {size} viewBox="{x:.1f} {y:.1f} {wide:.1f} {high:.1f}">{marks}</svg>'


def figure_svg(
    draw: Callable[[Any], None], width: float, height: float, grid: tuple[int, int] | None, attributes: str
) -> str:
    """Return the ``<svg>`` element of a figure: one chart, or rows and columns of them, below one legend.

    ``draw`` gets the chart, or where there is a ``grid`` an array of charts.
    """
    rows, columns = grid or (1, 1)
    charts = np.array([[Chart(Box(0, 0, 0, 0)) for _ in range(columns)] for _ in range(rows)])
    draw(charts[0, 0] if grid is None else charts)
    legend, top = _legend(charts[0, 0].legend, width)
    across, down = width / columns, (height - top) / rows
    for (row, column), chart in np.ndenumerate(charts):
        chart.region = Box(column * across, (column + 1) * across, top + row * down, top + (row + 1) * down)
    for column in charts.T:
        boxes = [chart.box() for chart in column]
        left, right = max(box.left for box in boxes), min(box.right for box in boxes)
        pairs = zip(column, boxes, strict=True)
        legend += [chart.svg(replace(box, left=left, right=right)) for chart, box in pairs if chart.visible]
    return f'<svg {attributes} viewBox="0 0 {width:g} {height:g}">{"".join(legend)}</svg>'


def _legend(entries: Sequence[tuple[str, str]], width: float) -> tuple[list[str], float]:
    """Return the legend in columns that are as wide as their longest name, and how high it is."""
    if not entries:
        return [], 0.0
    widest = 40 + max(text_width(name, TEXT) for name, _ in entries)
    columns = max(1, min(int(width // max(140.0, widest)), len(entries)))
    out, left = [], 4.0
    for number in range(columns):
        for row, (name, swatch) in enumerate(entries[number::columns]):
            y = 10 + LEGEND_ROW * row
            out.append(f'<g transform="translate({left:g} {y:g})">{swatch}</g>')
            out.append(_text(name, left + SWATCH + 7, y, TEXT, color("ink"), "left", "center"))
        left += SWATCH + 23 + max(text_width(name, TEXT) for name, _ in entries[number::columns])
    return out, LEGEND_ROW * math.ceil(len(entries) / columns)


def _path(places: Places) -> str:
    """Return a path through places, begun again after each that is no number."""
    out, order = [], "M"
    for x, y in places:
        known = math.isfinite(x) and math.isfinite(y)
        out.append(f"{order}{x:.1f} {y:.1f}" if known else "")
        order = "L" if known else "M"
    return "".join(out)


def _look(kind: str, shade: str, alpha: float = 1.0) -> str:
    """Return attributes for a color: itself, the class of its role, how opaque it is."""
    role = f' class="{kind}-{_ROLE[shade]}"' if shade in _ROLE else ""
    return f'{kind}="{shade}"{role}' + (f' {kind}-opacity="{alpha:g}"' if alpha < 1 else "")


def _stroke(shade: str, width: float, dashes: Dashes = "-", alpha: float = 1.0) -> str:
    lengths = " ".join(f"{width * part:g}" for part in dashes[1]) if isinstance(dashes, tuple) else ""
    dashed = f' stroke-dasharray="{lengths}"' if lengths else ""
    return f'fill="none" stroke-width="{width:g}" {_look("stroke", shade, alpha)}{dashed}'


def _line(places: Places, look: str) -> str:
    return f'<path d="{_path(places)}" {look}/>'


def _markers(places: Places, shape: str, radii: Sequence[float], shade: str, alpha: float) -> str:
    """Return markers in one group; those at places that are no numbers are left out."""
    known = [(x, y, r) for (x, y), r in zip(places, radii, strict=True) if math.isfinite(x) and math.isfinite(y)]
    if shape == "o":
        drawn = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:.2f}"/>' for x, y, r in known)
    else:
        corners = [[(x + r * a, y + r * b) for a, b in _SHAPES.get(shape, ())] for x, y, r in known]
        drawn = f'<path d="{"".join(_path(each) + "Z" for each in corners)}"/>'
    return f"<g {_look('fill', shade, alpha)}>{drawn}</g>" if known and shape else ""


def _text(words: str, x: float, y: float, size: float, shade: str, ha: str, va: str, below: float = 0.0) -> str:
    """Return a text, whose lines stand below each other."""
    lines = words.split("\n") if words else []
    first = y + below + _BASELINES[va] * size - (0.6 * size * (len(lines) - 1) if va == "center" else 0.0)
    look = f'font-size="{size:g}" text-anchor="{_ANCHORS[ha]}" {_look("fill", shade)}'
    return "".join(
        f'<text x="{x:.1f}" y="{first + 1.2 * size * number:.1f}" {look}>{escape(printable(line))}</text>'
        for number, line in enumerate(lines)
    )
