"""Figures of a comparison: the primary outcome, courses by arm, forests of paired differences, every run as a dot.

Every row and line has its name beside it or a pattern of its own, so that nothing is told by color alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from townsquare.analysis.contract import Measure
from townsquare.core.words import printable, signed
from townsquare.experiments.answer import amount
from townsquare.pages.report.axes import DASHES, MARKERS, amounts, amounts_across, band, from_zero, interval, intervals
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES, color

ROW = 17.0
TITLE_ROW = 21.0
GAP = 7.0
FRAME = 46
"""Points of a row, of the title above a group of rows, between groups, and around the axes."""
TITLE_LETTERS = 62
SUMMARY_ROW, SUMMARY_WIDTH, WIDTH = 42.0, 640.0, 540.0
"""Height of a row of the summary, its width, and that of forests."""


def roles(comparison: Comparison) -> dict[str, str]:
    """Return the color of each arm: gray for the baseline."""
    others = {arm: SERIES[i % len(SERIES)] for i, arm in enumerate(comparison.others)}
    return {comparison.baseline: "unknown", **others}


def summary(comparison: Comparison) -> Figure | None:
    """Draw the primary outcome: a row for each other arm with its interval, and the effect in words beside it."""
    rows = comparison.answer.effects.filter(pl.col("role") == "primary").to_dicts()
    if not rows:
        return None
    base, first = comparison.labels[comparison.baseline], rows[0]
    caption = f"{printable(first['title'], 80)}: difference from {base}, with 95% CI{_better(first['direction'])}"
    data = comparison.differences.filter(outcome=first["outcome"])
    draw = partial(_draw_summary, rows=rows, comparison=comparison)
    return Figure("answer", caption, data, draw, height=FRAME + 14 + SUMMARY_ROW * len(rows), width=SUMMARY_WIDTH)


def _draw_summary(axes: Chart, seeds: pl.DataFrame, rows: Sequence[Mapping[str, Any]], comparison: Comparison) -> None:
    axes.axvline(0.0, color=color("muted"), linewidth=1.0)
    for at, row in enumerate(rows):
        shade, each = color(roles(comparison)[row["arm"]]), seeds.filter(arm=row["arm"])["difference"].to_list()
        axes.scatter(each, [-at - 0.28] * len(each), s=11, color=shade, alpha=0.45, linewidths=0, zorder=2)
        interval(axes, row["difference"], row["low"], row["high"], -at, shade)
    named = [f"{comparison.labels[row['arm']]}\n{_in_words(row)}" for row in rows]
    axes.set(yticks=[-at for at in range(len(rows))], yticklabels=named, ylim=(-len(rows) + 0.4, 0.5))
    amounts_across(axes, f"difference, {rows[0]['unit']} (small dots: single seeds)", ticks=6)


def _in_words(row: Mapping[str, Any]) -> str:
    if math.isnan(row["low"]):
        return f"{signed(row['difference'])} (one seed)"
    size, low, high = amount(row, sign=True)
    return f"{size} [{low}, {high}], {row['verdict']}"


def _better(direction: str) -> str:
    return "" if direction == "neither" else f" ({direction})"


def courses(comparison: Comparison) -> list[Figure]:
    """Draw each course over time, a line an arm, with its 95% interval over seeds."""
    drawn = comparison.courses
    return [
        Figure(
            f"course-{course.replace('.', '-')}",
            f"{printable(part['title'][0].removesuffix('.'), 160)}, by arm: mean over seeds with 95% CI",
            part, partial(_draw_course, comparison=comparison), height=300,
        )
        for (course,), part in (drawn.group_by("course", maintain_order=True) if drawn.height else ())
    ]  # fmt: skip


MOST_MARKERS = 10
"""Of a line, so that lines of many steps remain lines."""


def _draw_course(axes: Chart, drawn: pl.DataFrame, comparison: Comparison) -> None:
    for at, (arm, label) in enumerate(comparison.labels.items()):
        part, role = drawn.filter(arm=arm).sort("at"), roles(comparison)[arm]
        if part.height:
            x, y = part["at"].to_numpy(), part["value"].to_numpy()
            band(axes, x, part["low"].to_numpy(), part["high"].to_numpy(), role, alpha=0.1)
            dashes, marker = DASHES[at % len(DASHES)], MARKERS[at % len(MARKERS)]
            draw, nowhere = partial(axes.plot, color=color(role), linewidth=1.8, markersize=4.4), [math.nan]
            draw(x, y, linestyle=dashes)
            every = max(4, x.size // MOST_MARKERS)
            draw(x[at * every // 4 :: every], y[at * every // 4 :: every], linestyle="", marker=marker)
            draw(nowhere, nowhere, linestyle=dashes, marker=marker, label=label)
    amounts(axes)
    axes.locator_params("x", nbins=7, integer="days" not in drawn["over"][0])
    axes.margins(x=0.02)
    axes.set(xlabel=drawn["over"][0], ylabel=drawn["unit"][0])
    if drawn["unit"][0] != "change of stance":
        from_zero(axes, [*drawn["value"], *drawn["high"]])


def forest(comparison: Comparison, outcomes: Sequence[Measure], key: str, caption: str) -> Figure:
    """Draw differences from the baseline with 95% CIs: a group for each outcome, a row for each other arm.

    Small dots below a CI are the differences of single seeds.
    """
    arms = comparison.others
    cells = {(row["outcome"], row["arm"]): row for row in comparison.answer.effects.iter_rows(named=True)}

    def draw(axes: Chart, differences: pl.DataFrame) -> None:
        seeds = _by_row(differences, "difference")
        for what, arm, y in _rows(axes, outcomes, arms, comparison):
            axes.plot([0, 0], [y - ROW / 2, y + ROW / 2], color=color("muted"), linewidth=1.0)
            row = cells.get((what.name, arm))
            shade, each = color(roles(comparison)[arm]), seeds.get((what.name, arm), [])
            axes.scatter(each, [y - 0.3 * ROW] * len(each), s=9, color=shade, alpha=0.4, linewidths=0, zorder=2)
            if row is None:
                _words(axes, "undefined", (0.5, y), "muted", 10.5, ha="center")
            else:
                interval(axes, row["difference"], row["low"], row["high"], y, shade)
        amounts_across(axes, f"difference, {outcomes[0].unit}", ticks=5)

    data = comparison.differences.filter(pl.col("outcome").is_in([what.name for what in outcomes]))
    return Figure(key, caption, data, draw, height=_height(outcomes, len(arms)), width=WIDTH)


def answers(comparison: Comparison, key: str, effects: pl.DataFrame) -> Figure:
    """Draw effects on stances by answer to one question: a row for each answer and other arm, with its 95% CI."""
    first, base = effects.row(0, named=True), comparison.labels[comparison.baseline]
    statement = comparison.called(first["proposition"])
    caption = f"{printable(first['trait'], 40)}: difference from {base} in final stance on “{statement}”, 95% CI"

    def draw(axes: Chart, rows: pl.DataFrame) -> None:
        named = []
        for row in rows.iter_rows(named=True):
            arm = f", {comparison.labels[row['arm']]}" if len(comparison.others) > 1 else ""
            ends = (row["value"], row["low"], row["high"], roles(comparison)[row["arm"]])
            named.append((printable(f"{row['answer']}{arm}", 40), *ends))
        intervals(axes, named)
        axes.axvline(0.0, color=color("muted"), linewidth=1.0)
        amounts_across(axes, "difference, stance")

    return Figure(key, caption, effects, draw, height=round(FRAME + 1.3 * ROW * effects.height))


def strip(comparison: Comparison, outcomes: Sequence[Measure], key: str, caption: str) -> Figure:
    """Draw every run as a dot and the mean of each arm as a bar: a group for each outcome, a row for each arm."""
    arms = [arm.name for arm in comparison.arms]

    def draw(axes: Chart, runs: pl.DataFrame) -> None:
        values = _by_row(runs, "value")
        for what, arm, y in _rows(axes, outcomes, arms, comparison):
            here = values.get((what.name, arm), [])
            if not here:
                _words(axes, "undefined", (0.5, y), "muted", 10.5, ha="center")
                continue
            shade = color(roles(comparison)[arm])
            axes.scatter(here, [y] * len(here), s=16, color=shade, alpha=0.55, linewidths=0, zorder=3)
            mean = sum(here) / len(here)
            axes.plot([mean, mean], [y - 0.36 * ROW, y + 0.36 * ROW], color=shade, linewidth=2.6, zorder=4)
        amounts_across(axes, outcomes[0].unit, ticks=6)

    known = pl.col("outcome").is_in([what.name for what in outcomes])
    data = comparison.outcomes.drop_nulls("value").drop_nans("value").filter(known)
    return Figure(key, caption, data.sort("seed"), draw, height=_height(outcomes, len(arms)), width=WIDTH)


def _by_row(frame: pl.DataFrame, column: str) -> dict[tuple[str, str], list[float]]:
    """Return values by outcome and arm."""
    return {(str(what), str(arm)): part[column].to_list() for (what, arm), part in frame.group_by("outcome", "arm")}


def _height(outcomes: Sequence[Measure], n_arms: int) -> int:
    return round(len(outcomes) * (TITLE_ROW + n_arms * ROW + GAP) + FRAME)


def _rows(
    axes: Chart, outcomes: Sequence[Measure], arms: Sequence[str], comparison: Comparison
) -> list[tuple[Measure, str, float]]:
    """Return where each row stands, downward from 0; writes the title above each group, and the name of each row."""
    rows, top = [], 0.0
    for what in outcomes:
        better = _better(what.direction)
        title = printable(what.title.removesuffix("."), TITLE_LETTERS - len(better)) + better
        _words(axes, title, (0.0, -(top + 0.62 * TITLE_ROW)), "ink", 11.5)
        rows += [(what, arm, -(top + TITLE_ROW + (i + 0.5) * ROW)) for i, arm in enumerate(arms)]
        top += TITLE_ROW + len(arms) * ROW + GAP
    axes.set(yticks=[y for _, _, y in rows], yticklabels=[comparison.labels[arm] for _, arm, _ in rows], ylim=(-top, 0))
    axes.margins(x=0.06)
    return rows


def _words(axes: Chart, text: str, at: tuple[float, float], role: str, size: float, ha: str = "left") -> None:
    """Write a text at a part of the width, and at a height in units of the data."""
    along = ("axes fraction", "data")
    axes.annotate(text, at, xycoords=along, ha=ha, va="center", fontsize=size, color=color(role), zorder=6)
