"""Small things that several figures draw alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from townsquare.pages.report.theme import colour

NICE = [1, 2, 5, 10]
"""Ticks stand at multiples of these."""
FEW_STEPS = 30
"""Up to so many steps a line shows its points."""


def over_steps(axes: Axes, last: int, label: str) -> None:
    """A horizontal axis of whole steps, and what the other one shows."""
    axes.set_xlabel("step")
    axes.set_ylabel(label)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True, steps=NICE))
    amounts(axes)
    axes.margins(x=0.02)
    if last <= 1:
        axes.set_xlim(0, 2)


def amounts(axes: Axes) -> None:
    """A vertical axis with few round ticks, thousands apart."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=NICE))
    axes.yaxis.set_major_formatter(FuncFormatter(tick))


def tick(value: float, _: int) -> str:
    """A number at an axis, as :class:`matplotlib.ticker.FuncFormatter` asks for it."""
    return f"{value:,.6g}".replace("-", "\u2212")


def line(axes: Axes, frame: pl.DataFrame, column: str, role: str, label: str = "", dashed: bool = False) -> None:
    """One course over steps; gaps where it is undefined, points where there are few."""
    few = frame.height <= FEW_STEPS
    axes.plot(
        frame["step"].to_numpy(),
        frame[column].cast(pl.Float64).to_numpy(),
        color=colour(role),
        linestyle=(0, (4, 1.6)) if dashed else "-",
        marker=("s" if dashed else "o") if few else "",
        markersize=3.6,
        label=label or None,
    )


def reference(axes: Axes, value: float, label: str = "") -> None:
    """A thin horizontal line that others are read against, named below the end where courses leave more room."""
    axes.axhline(value, color=colour("muted"), linewidth=1.0, linestyle=(0, (1.5, 2)), zorder=1.5)
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
            color=colour("muted"),
            fontsize=11,
        )


def _room_below(axes: Axes, value: float) -> tuple[float, float]:
    """How far below ``value`` the first course is met, in the first and the last third; infinite where none is."""
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
