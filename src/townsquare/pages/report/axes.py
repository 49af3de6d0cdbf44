"""What several figures draw alike: courses over steps, bars, intervals, and their axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.clock import Clock
from townsquare.core.array_types import Float
from townsquare.core.words import printable
from townsquare.pages.report.chart import Chart, Dashes, Numbers
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES, color

NICE = [1, 2, 5, 10]
"""Ticks are at multiples of these."""
DOTTED: Dashes = (0, (1.5, 2))
DASHES: tuple[Dashes, ...] = ("-", (0, (4, 1.6)), DOTTED, (0, (7, 1.6, 1.4, 1.6)))
MARKERS = ("o", "s", "D", "^", "v")
"""Patterns and points of the lines of a figure, in order, so that none is told by color alone."""
FEW_STEPS = 30
"""Up to so many steps a line shows its points."""


def over_steps(axes: Chart, clock: Clock, label: str, *, ages: bool = False) -> None:
    """Draw a horizontal axis of time, and what the other one shows.

    It is in days or hours where steps have a length, with a line at the end of a warm-up that is over, else in whole
    steps. ``ages`` are those of posts, which have no warm-up.
    """
    axes.set(ylabel=label)
    amounts(axes)
    axes.margins(x=0.02)
    if clock.last <= 1:
        axes.set(xlim=(0, 2))
    if clock.hours is None:
        axes.set(xlabel="age of the post (steps)" if ages else "step")
        axes.locator_params("x", nbins=7, integer=True, steps=NICE)
        return
    places, names, unit = clock.ticks()
    axes.set(xlabel=f"age of the post ({unit})" if ages else unit, xticks=places, xticklabels=names)
    if 0 < clock.warm_up <= clock.last and not ages:
        axes.axvline(clock.warm_up, color=color("muted"), linewidth=1.0, linestyle=DOTTED, zorder=1.5)
        near: dict[str, Any] = {"xytext": (4, -2), "textcoords": "offset points", "va": "top", "fontsize": 10}
        end, units = (clock.warm_up, 1.0), ("data", "axes fraction")
        axes.annotate("end of warm-up", end, xycoords=units, color=color("muted"), **near)


def amounts(axes: Chart) -> None:
    """Draw a vertical axis with few round ticks."""
    axes.locator_params("y", nbins=5, steps=NICE)


def amounts_across(axes: Chart, label: str, *, ticks: int = 5, whole: bool = False) -> None:
    """Draw a horizontal axis of amounts with its grid, below rows that are read across."""
    axes.grid(False, axis="y")
    axes.grid(True, axis="x")
    axes.set(xlabel=label)
    axes.locator_params("x", nbins=ticks, integer=whole, steps=NICE)


def course(
    key: str,
    caption: str,
    frame: pl.DataFrame,
    lines: Mapping[str, tuple[str, str]],
    clock: Clock,
    y: str,
    *,
    label: str = "",
    top: float | None = 0.0,
    level: tuple[float, str] | None = None,
    finish: Callable[[Chart], object] | None = None,
) -> Figure:
    """Return a figure of courses over steps.

    Parameters
    ----------
    key, caption, label
        As of :class:`~townsquare.pages.report.svg.Figure`.
    frame : DataFrame
        ``step``, and the columns of ``lines``.
    lines : mapping of str to (str, str)
        Role and name of each column that is drawn.
    clock : Clock
        Of the run.
    y : str
        What the vertical axis shows.
    top : float or None
        The vertical axis starts at 0 and reaches this at least; None leaves its ends to the courses.
    level : (float, str), optional
        A reference line and its name.
    finish : callable, optional
        Draws what else there is.
    """

    def draw(axes: Chart, data: pl.DataFrame) -> None:
        for at, (column, (role, name)) in enumerate(lines.items()):
            line(axes, data, column, role, name, at)
        if level is not None:
            reference(axes, *level, [data["step"], *(data[column] for column in lines)])
        if top is not None:
            from_zero(axes, [top, *(value for column in lines for value in data[column])])
        over_steps(axes, clock, y)
        if finish is not None:
            finish(axes)

    return Figure(key, caption, frame, draw, label)


def by_proposition(frame: pl.DataFrame, column: str) -> tuple[pl.DataFrame, dict[str, tuple[str, str]]]:
    """Return one column of a frame by proposition, and how each line is drawn, as :func:`course` takes them."""
    names = dict(frame.select("proposition", "name").unique().sort("proposition").head(len(SERIES)).rows())
    wide = frame.filter(pl.col("proposition").is_in(list(names))).pivot("proposition", index="step", values=column)
    alone = frame["proposition"].n_unique() == 1
    shades = zip(names.items(), SERIES, strict=False)
    lines = {str(number): (role, "" if alone else printable(name, 52)) for (number, name), role in shades}
    return wide.sort("step"), lines


def bars(axes: Chart, names: Sequence[str], values: Iterable[float], roles: Sequence[str]) -> None:
    """Draw horizontal bars, the first at the top."""
    places = range(len(names))[::-1]
    for at, value, role in zip(places, values, roles, strict=True):
        axes.fill([0, value, value, 0], [at - 0.31, at - 0.31, at + 0.31, at + 0.31], color=color(role), linewidth=0)
    axes.set(yticks=places, yticklabels=[printable(name, 26) for name in names])


def upright_bars(axes: Chart, x: Float, low: Float, high: Float, role: str, label: str) -> None:
    """Draw bars upward from ``low`` to ``high``."""
    across, gap = np.asarray(x, np.float64), np.full(np.shape(x), np.nan)
    left, right = across - 0.85 / 2, across + 0.85 / 2
    places, ends = (left, right, right, left, gap), (low, low, high, high, gap)
    axes.fill(np.array(places).ravel("F"), np.array(ends).ravel("F"), color=color(role), linewidth=0, label=label)


def band(
    axes: Chart, x: Numbers, low: Numbers, high: Numbers, role: str, *, alpha: float, label: str | None = None
) -> None:
    """Fill the band between two courses, where both are numbers."""
    across, below, above = np.broadcast_arrays(np.asarray(x, np.float64), low, high)
    known = np.isfinite(below) & np.isfinite(above)
    for part in np.split(np.arange(known.size), np.flatnonzero(np.diff(known)) + 1):
        if known[part].any():
            corners = (np.concatenate([of[part], back[part][::-1]]) for of, back in ((across, across), (below, above)))
            axes.fill(*corners, color=color(role), alpha=alpha, linewidth=0, label=label)
            label = None


def intervals(axes: Chart, rows: Sequence[tuple[str, float, float, float, str]]) -> None:
    """Draw values with CIs: (name, value, low, high, role) a row, the first at the top; NaN if none exists."""
    places = range(len(rows))[::-1]
    for at, (_, value, low, high, role) in zip(places, rows, strict=True):
        interval(axes, value, low, high, at, color(role))
    axes.set(yticks=places, yticklabels=[name for name, *_ in rows], ylim=(-0.6, len(rows) - 0.4))


def interval(axes: Chart, value: float, low: float | None, high: float | None, y: float, shade: str) -> None:
    """Draw one value with its interval, if it has one."""
    if low is not None and high is not None and not math.isnan(low) and not math.isnan(high):
        axes.plot([low, high], [y, y], color=shade, linewidth=2.2, zorder=3)
    axes.plot([value], [y], marker="o", markersize=6, color=shade, zorder=4)


def line(axes: Chart, frame: pl.DataFrame, column: str, role: str, label: str = "", at: int = 0) -> None:
    """Draw one course over steps; gaps where it is undefined, points where there are few."""
    x, y = frame["step"].to_numpy(), frame[column].cast(pl.Float64).to_numpy()
    dashes, marker = DASHES[at % len(DASHES)], MARKERS[at % len(MARKERS)] if frame.height <= FEW_STEPS else ""
    axes.plot(x, y, color=color(role), linestyle=dashes, marker=marker, markersize=3.6, label=label or None)


def reference(axes: Chart, value: float, label: str = "", courses: Sequence[pl.Series] = ()) -> None:
    """Draw a thin horizontal line that others are read against, named below the end where courses leave more room.

    ``courses`` are the steps, then the values of each course.
    """
    axes.axhline(value, color=color("muted"), linewidth=1.0, linestyle=DOTTED, zorder=1.5)
    if label:
        left, right = _room_below(value, courses)
        at_right = right > left
        axes.annotate(
            label, (1.0 if at_right else 0.0, value), xycoords=("axes fraction", "data"),
            xytext=(-5 if at_right else 5, -3), textcoords="offset points", ha="right" if at_right else "left",
            va="top", color=color("muted"), fontsize=11,
        )  # fmt: skip


def _room_below(value: float, courses: Sequence[pl.Series]) -> tuple[float, float]:
    """Return the distance from ``value`` down to the first line, in the first and the last third; infinite if none."""
    steps, *lines = (np.asarray(course, np.float64) for course in courses)
    if not steps.size:
        return np.inf, np.inf
    third, below = np.ptp(steps) / 3, value - np.array(lines)
    rooms = np.where(below >= 0, below, np.inf)
    left, right = rooms[:, steps <= steps.min() + third], rooms[:, steps >= steps.max() - third]
    return float(left.min(initial=np.inf)), float(right.min(initial=np.inf))


def from_zero(axes: Chart, values: Sequence[float | None]) -> None:
    """Start the vertical axis at 0, with room above; for amounts that are never negative."""
    known = [value for value in values if value is not None and np.isfinite(value)]
    top = max(known, default=0.0)
    axes.set(ylim=(0, 1.08 * top if top > 0 else 1.0))
