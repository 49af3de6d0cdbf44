"""What several figures draw alike: courses over steps, bars, intervals, and their axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES, color
from townsquare.pages.report.words import printable

NICE = [1, 2, 5, 10]
"""Ticks stand at multiples of these."""
FEW_STEPS = 30
"""Up to so many steps a line shows its points."""


def over_steps(axes: Axes, last: int, label: str) -> None:
    """Draw a horizontal axis of whole steps, and what the other one shows."""
    axes.set_xlabel("step")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=NICE))
    amounts(axes)
    axes.margins(x=0.02)
    if last <= 1:
        axes.set_xlim(0, 2)


def amounts(axes: Axes) -> None:
    """Draw a vertical axis with few round ticks, thousands apart."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=NICE))
    axes.yaxis.set_major_formatter(FuncFormatter(tick))


def tick(value: float, _: int) -> str:
    """Return a number at an axis, as :class:`matplotlib.ticker.FuncFormatter` asks for it."""
    return f"{value:,.6g}".replace("-", "\u2212")


def amounts_across(axes: Axes, label: str, *, ticks: int = 5, whole: bool = False) -> None:
    """Draw a horizontal axis of amounts with its grid, below rows that are read across."""
    axes.grid(False, axis="y")
    axes.grid(True, axis="x")
    axes.set_xlabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=ticks, integer=whole, steps=NICE))
    axes.xaxis.set_major_formatter(FuncFormatter(tick))


def course(
    key: str,
    caption: str,
    frame: pl.DataFrame,
    lines: Mapping[str, tuple[str, str]],
    last: int,
    y: str,
    *,
    label: str = "",
    top: float | None = 0.0,
    level: tuple[float, str] | None = None,
    finish: Callable[[Axes], object] | None = None,
) -> Figure:
    """Return a figure of courses over steps.

    Parameters
    ----------
    key, caption, label
        As of :class:`~townsquare.pages.report.svg.Figure`.
    frame : DataFrame
        ``step``, and the columns of ``lines``.
    lines : mapping of str to (str, str)
        Role and name of each column that is drawn; every second line is dashed.
    last : int
        The last step.
    y : str
        What the vertical axis shows.
    top : float or None
        The vertical axis starts at 0 and reaches this at least; None leaves its ends to the courses.
    level : (float, str), optional
        A reference line and its name.
    finish : callable, optional
        Draws what else there is.
    """

    def draw(axes: Axes, data: pl.DataFrame) -> None:
        for at, (column, (role, name)) in enumerate(lines.items()):
            line(axes, data, column, role, name, dashed=at % 2 == 1)
        if level is not None:
            reference(axes, *level)
        if top is not None:
            from_zero(axes, [top, *(value for column in lines for value in data[column])])
        over_steps(axes, last, y)
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


def bars(axes: Axes, names: Sequence[str], values: Iterable[float], roles: Sequence[str]) -> None:
    """Draw horizontal bars, the first at the top."""
    places = range(len(names))[::-1]
    axes.barh(places, list(values), color=[color(role) for role in roles], height=0.62)
    axes.set_yticks(places, [printable(name, 26) for name in names], fontsize=10.5)
    axes.tick_params(axis="y", length=0)


def intervals(axes: Axes, rows: Sequence[tuple[str, float, float, float, str]]) -> None:
    """Draw values with CIs: (name, value, low, high, role) a row, the first at the top; NaN where there is none."""
    places = range(len(rows))[::-1]
    for at, (_, value, low, high, role) in zip(places, rows, strict=True):
        interval(axes, value, low, high, at, color(role))
    axes.set_yticks(places, [name for name, *_ in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)


def interval(axes: Axes, value: float, low: float | None, high: float | None, y: float, shade: str) -> None:
    """Draw one value with its interval, if it has one."""
    if low is not None and high is not None and not math.isnan(low) and not math.isnan(high):
        axes.plot([low, high], [y, y], color=shade, linewidth=2.2, solid_capstyle="round", zorder=3)
    axes.plot([value], [y], marker="o", markersize=6, color=shade, zorder=4)


def line(axes: Axes, frame: pl.DataFrame, column: str, role: str, label: str = "", dashed: bool = False) -> None:
    """Draw one course over steps; gaps where it is undefined, points where there are few."""
    few = frame.height <= FEW_STEPS
    axes.plot(
        frame["step"].to_numpy(),
        frame[column].cast(pl.Float64).to_numpy(),
        color=color(role),
        linestyle=(0, (4, 1.6)) if dashed else "-",
        marker=("s" if dashed else "o") if few else "",
        markersize=3.6,
        label=label or None,
    )


def reference(axes: Axes, value: float, label: str = "") -> None:
    """Draw a thin horizontal line that others are read against, named below the end where courses leave more room."""
    axes.axhline(value, color=color("muted"), linewidth=1.0, linestyle=(0, (1.5, 2)), zorder=1.5)
    if label:
        left, right = _room_below(axes, value)
        at_right = right > left
        axes.annotate(
            label,
            (1.0 if at_right else 0.0, value),
            xycoords=("axes fraction", "data"),
            xytext=(-5 if at_right else 5, -3),
            textcoords="offset points",
            ha="right" if at_right else "left",
            va="top",
            color=color("muted"),
            fontsize=11,
        )


def _room_below(axes: Axes, value: float) -> tuple[float, float]:
    """Return the distance from ``value`` down to the first line, in the first and the last third; infinite if none."""
    courses = [course for course in axes.get_lines() if course.get_transform() == axes.transData]
    x, y = (
        np.concatenate([np.empty(0), *(np.asarray(data, np.float64) for data in columns)])
        for columns in ([course.get_xdata() for course in courses], [course.get_ydata() for course in courses])
    )
    if not x.size:
        return np.inf, np.inf
    third, below = (x.max() - x.min()) / 3, value - y
    thirds = x <= x.min() + third, x >= x.max() - third
    left, right = (float(below[part & (below >= 0)].min(initial=np.inf)) for part in thirds)
    return left, right


def from_zero(axes: Axes, values: Sequence[float | None]) -> None:
    """Start the vertical axis at 0, with room above; for amounts that are never negative."""
    known = [value for value in values if value is not None and np.isfinite(value)]
    top = max(known, default=0.0)
    axes.set_ylim(0, 1.08 * top if top > 0 else 1.0)
