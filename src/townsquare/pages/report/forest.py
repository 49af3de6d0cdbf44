"""Panels of a comparison: a forest plot of paired differences, and every run as a dot."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.text import Annotation
from matplotlib.ticker import FuncFormatter, MaxNLocator

from townsquare.analysis.outcomes import Outcome
from townsquare.pages.report.axes import NICE, tick
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.svg import clean, panel
from townsquare.pages.report.theme import SERIES, colour

ROW = 17.0
TITLE_ROW = 19.0
GAP = 7.0
FRAME = 42
"""Points of a row, of the title above a group of rows, between groups, and around the axes."""


def roles(comparison: Comparison) -> dict[str, str]:
    """The colour of each arm: grey for the baseline."""
    others = {arm: SERIES[i % len(SERIES)] for i, arm in enumerate(comparison.others)}
    return {comparison.baseline: "unknown", **others}


def forest(comparison: Comparison, outcomes: Sequence[Outcome], key: str, label: str) -> str:
    """Differences to the baseline with 95 % intervals, as inline SVG: one group an outcome, one row another arm.

    Small dots below an interval are the differences of the single seeds.
    """
    arms = comparison.others
    cells = {(r["outcome"], r["arm"]): r for r in comparison.paired.iter_rows(named=True)}
    each = {
        (str(outcome), str(arm)): part["difference"].to_list()
        for (outcome, arm), part in comparison.differences.group_by("outcome", "arm")
    }

    def draw(axes: Axes) -> None:
        axes.axvline(0.0, color=colour("muted"), linewidth=1.0)
        for what, arm, y in _rows(axes, outcomes, arms):
            row = cells.get((what.name, arm))
            if row is not None:
                shade = colour(roles(comparison)[arm])
                seeds = each.get((what.name, arm), [])
                axes.scatter(seeds, [y - 0.3 * ROW] * len(seeds), s=9, color=shade, alpha=0.4, linewidths=0, zorder=2)
                _interval(axes, row["difference"], row["low"], row["high"], y, shade)
        _finish(axes, outcomes, len(arms))

    return panel(draw, key, clean(label), height=_height(outcomes, len(arms)))


def strip(comparison: Comparison, outcomes: Sequence[Outcome], key: str, label: str) -> str:
    """Every run as a dot and the mean of each arm as a bar, as inline SVG: one group an outcome, one row an arm."""
    arms = [name for name, _ in comparison.arms]
    defined = comparison.outcomes.drop_nulls("value").drop_nans("value")
    values = {
        (str(outcome), str(arm)): part["value"].to_list()
        for (outcome, arm), part in defined.sort("seed").group_by("outcome", "arm")
    }

    def draw(axes: Axes) -> None:
        for what, arm, y in _rows(axes, outcomes, arms):
            here = values.get((what.name, arm), [])
            if not here:
                _words(axes, "undefined", 0.5, y, "muted", 10.5)
                continue
            shade = colour(roles(comparison)[arm])
            axes.scatter(here, [y] * len(here), s=16, color=shade, alpha=0.55, linewidths=0, zorder=3)
            mean = sum(here) / len(here)
            axes.plot([mean, mean], [y - 0.36 * ROW, y + 0.36 * ROW], color=shade, linewidth=2.6, zorder=4)
        _finish(axes, outcomes, len(arms))

    return panel(draw, key, clean(label), height=_height(outcomes, len(arms)))


def _height(outcomes: Sequence[Outcome], n_arms: int) -> int:
    return round(len(outcomes) * (TITLE_ROW + n_arms * ROW + GAP) + FRAME)


def _rows(axes: Axes, outcomes: Sequence[Outcome], arms: Sequence[str]) -> list[tuple[Outcome, str, float]]:
    """Where each row stands, downward from 0; writes the title above each group."""
    found, top = [], 0.0
    for what in outcomes:
        title = _words(axes, clean(what.title, 58), 0.0, -(top + 0.62 * TITLE_ROW), "ink", 11.5)
        title.set_bbox({"facecolor": colour("paper"), "edgecolor": "none", "pad": 1.0})
        for i, arm in enumerate(arms):
            found.append((what, arm, -(top + TITLE_ROW + (i + 0.5) * ROW)))
        top += TITLE_ROW + len(arms) * ROW + GAP
    return found


def _words(axes: Axes, text: str, x: float, y: float, role: str, size: float) -> Annotation:
    return axes.annotate(
        text,
        (x, y),
        xycoords=("axes fraction", "data"),
        ha="left" if x == 0 else "center",
        va="center",
        fontsize=size,
        color=colour(role),
        zorder=6,
    )


def _interval(
    axes: Axes, difference: float | None, low: float | None, high: float | None, y: float, shade: str
) -> None:
    if difference is None or math.isnan(difference):
        _words(axes, "undefined", 0.5, y, "muted", 10.5)
        return
    if low is not None and high is not None and not math.isnan(low) and not math.isnan(high):
        axes.plot([low, high], [y, y], color=shade, linewidth=2.2, solid_capstyle="round", zorder=3)
    axes.plot([difference], [y], marker="o", markersize=6, color=shade, zorder=4)


def _finish(axes: Axes, outcomes: Sequence[Outcome], n_arms: int) -> None:
    total = len(outcomes) * (TITLE_ROW + n_arms * ROW + GAP)
    axes.set_ylim(-total, 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(False, axis="y")
    axes.grid(True, axis="x")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=NICE))
    axes.xaxis.set_major_formatter(FuncFormatter(tick))
    axes.set_xlabel(outcomes[0].unit)
    axes.margins(x=0.06)
