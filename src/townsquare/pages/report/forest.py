"""Figures of a comparison: a forest plot of paired differences, and every run as a dot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.text import Annotation

from townsquare.analysis.contract import Measure
from townsquare.pages.report.axes import amounts_across, interval
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES, color
from townsquare.pages.report.words import printable

ROW = 17.0
TITLE_ROW = 19.0
GAP = 7.0
FRAME = 42
"""Points of a row, of the title above a group of rows, between groups, and around the axes."""


def roles(comparison: Comparison) -> dict[str, str]:
    """Return the color of each arm: gray for the baseline."""
    others = {arm: SERIES[i % len(SERIES)] for i, arm in enumerate(comparison.others)}
    return {comparison.baseline: "unknown", **others}


def forest(comparison: Comparison, outcomes: Sequence[Measure], key: str, caption: str) -> Figure:
    """Draw differences from the baseline with 95% CIs: a group for each outcome, a row for each other arm.

    Small dots below a CI are the differences of single seeds.
    """
    arms = comparison.others
    known = [what.name for what in outcomes]
    cells = {(r["outcome"], r["arm"]): r for r in comparison.paired.iter_rows(named=True)}

    def draw(axes: Axes, differences: pl.DataFrame) -> None:
        seeds = _by_row(differences, "difference")
        axes.axvline(0.0, color=color("muted"), linewidth=1.0)
        for what, arm, y in _rows(axes, outcomes, arms):
            row = cells.get((what.name, arm))
            if row is not None:
                shade, each = color(roles(comparison)[arm]), seeds.get((what.name, arm), [])
                axes.scatter(each, [y - 0.3 * ROW] * len(each), s=9, color=shade, alpha=0.4, linewidths=0, zorder=2)
                if row["difference"] is None or math.isnan(row["difference"]):
                    _words(axes, "undefined", 0.5, y, "muted", 10.5)
                else:
                    interval(axes, row["difference"], row["low"], row["high"], y, shade)
        _finish(axes, outcomes, len(arms))

    data = comparison.differences.filter(pl.col("outcome").is_in(known))
    return Figure(key, caption, data, draw, height=_height(outcomes, len(arms)))


def strip(comparison: Comparison, outcomes: Sequence[Measure], key: str, caption: str) -> Figure:
    """Draw every run as a dot and the mean of each arm as a bar: a group for each outcome, a row for each arm."""
    arms = [name for name, _ in comparison.arms]
    known = [what.name for what in outcomes]

    def draw(axes: Axes, runs: pl.DataFrame) -> None:
        values = _by_row(runs, "value")
        for what, arm, y in _rows(axes, outcomes, arms):
            here = values.get((what.name, arm), [])
            if not here:
                _words(axes, "undefined", 0.5, y, "muted", 10.5)
                continue
            shade = color(roles(comparison)[arm])
            axes.scatter(here, [y] * len(here), s=16, color=shade, alpha=0.55, linewidths=0, zorder=3)
            mean = sum(here) / len(here)
            axes.plot([mean, mean], [y - 0.36 * ROW, y + 0.36 * ROW], color=shade, linewidth=2.6, zorder=4)
        _finish(axes, outcomes, len(arms))

    data = comparison.outcomes.drop_nulls("value").drop_nans("value").filter(pl.col("outcome").is_in(known))
    return Figure(key, caption, data.sort("seed"), draw, height=_height(outcomes, len(arms)))


def _by_row(frame: pl.DataFrame, column: str) -> dict[tuple[str, str], list[float]]:
    """Return values by outcome and arm."""
    return {(str(what), str(arm)): part[column].to_list() for (what, arm), part in frame.group_by("outcome", "arm")}


def _height(outcomes: Sequence[Measure], n_arms: int) -> int:
    return round(len(outcomes) * (TITLE_ROW + n_arms * ROW + GAP) + FRAME)


def _rows(axes: Axes, outcomes: Sequence[Measure], arms: Sequence[str]) -> list[tuple[Measure, str, float]]:
    """Return where each row stands, downward from 0; writes the title above each group."""
    rows, top = [], 0.0
    for what in outcomes:
        title = _words(axes, printable(what.title, 58), 0.0, -(top + 0.62 * TITLE_ROW), "ink", 11.5)
        title.set_bbox({"facecolor": color("paper"), "edgecolor": "none", "pad": 1.0})
        for i, arm in enumerate(arms):
            rows.append((what, arm, -(top + TITLE_ROW + (i + 0.5) * ROW)))
        top += TITLE_ROW + len(arms) * ROW + GAP
    return rows


def _words(axes: Axes, text: str, x: float, y: float, role: str, size: float) -> Annotation:
    return axes.annotate(
        text,
        (x, y),
        xycoords=("axes fraction", "data"),
        ha="left" if x == 0 else "center",
        va="center",
        fontsize=size,
        color=color(role),
        zorder=6,
    )


def _finish(axes: Axes, outcomes: Sequence[Measure], n_arms: int) -> None:
    axes.set_ylim(-len(outcomes) * (TITLE_ROW + n_arms * ROW + GAP), 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    amounts_across(axes, outcomes[0].unit, ticks=6)
    axes.margins(x=0.06)
