"""Figures of a fit: errors with baselines, error surfaces (Figure 4), individual people (Figure 5)."""

from __future__ import annotations

import math

import numpy as np

from townsquare.core.array_types import Float
from townsquare.core.words import number, printable
from townsquare.humans.fit.alignment import groups_of
from townsquare.humans.fit.by_group import ALL
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.study import Study
from townsquare.humans.fit.traces import Trace, traces_of
from townsquare.pages.people.tables import GROUP_NAMES, SPLITS
from townsquare.pages.people.words import method
from townsquare.pages.report.axes import DOTTED, amounts_across, intervals
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import color

WIDTH = 860.0
_MOST_ABOVE = 0.25  # of the best RMSE: what is worse than that is drawn alike


def figures_of(study: Study) -> dict[str, Figure]:
    """Return every figure of a fit, by the stem of its file."""
    made = [scores_figure(study), groups_figure(study), surfaces_figure(study)]
    people = traces_of(study)
    return {figure.key: figure for figure in [*made, *([traces_figure(people, study)] if people else [])]}


METHOD_SHADES = {"no change": "unknown", "prior only": "fourth", "linear": "second", "rule": "first"}


def groups_figure(study: Study) -> Figure:
    """Draw Tables 1 and A6 as points, with baselines by group, and Table A7 with CIs."""
    caption = "Held-out RMSE by group, and robustness over folds"
    height = 50.0 * len(study.groups) + 110
    return Figure("groups", caption, study, _draw_groups, height=height, width=WIDTH, grid=(1, 2))


def _draw_groups(panels: np.ndarray, study: Study) -> None:
    axes, rows = panels[0, 0], study.groups[::-1]
    for at, row in enumerate(rows):
        values = {"no change": row.no_change, "prior only": row.prior_own, "linear": row.linear, "rule": row.rule}
        for lift, (name, value) in enumerate(values.items()):
            shade, label = color(METHOD_SHADES[name]), name if at == 0 else None
            axes.plot([value], [at + 0.24 - 0.16 * lift], marker="os^D"[lift], linestyle="", color=shade, label=label)
    names = [f"{GROUP_NAMES[row.group]}\nN = {row.n:,}" for row in rows]
    axes.set(yticks=range(len(rows)), yticklabels=names, xlim=(0, None), ylim=(-0.6, len(rows) - 0.4))
    amounts_across(axes, "held-out RMSE; groups made from the outcome")
    intervals(panels[0, 1], [
        (f"{SPLITS[row.split]}:\n{against}", *interval, "first")
        for row in study.robust
        for against, interval in (("prior only", row.less_prior), ("one profile", row.less_global))
    ])  # fmt: skip
    panels[0, 1].axvline(0.0, color=color("muted"), linewidth=1.0, linestyle=DOTTED)
    amounts_across(panels[0, 1], "RMSE of group profiles minus that of")


def scores_figure(study: Study) -> Figure:
    """Return RMSE of rule and baselines with 95% intervals, best first."""
    scores = study.scored.scores
    names = sorted(scores, key=lambda name: scores[name].rmse)
    rule = study.setup.grid.rule
    rows = [(method(name, rule), *scores[name].people, "first" if name == RULE else "unknown") for name in names]

    def draw(axes: Chart, rows: list[tuple[str, float, float, float, str]]) -> None:
        intervals(axes, rows)
        for at, (_, value, *_) in enumerate(reversed(rows)):
            label = number(value, 3)
            axes.annotate(label, (value, at), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=11)
        axes.set(ylim=(-0.6, len(rows) - 0.3))
        people = printable(study.ready.people.name, 40)
        amounts_across(axes, f"held-out RMSE of the final stance, {people}; 95% CI over conversations")

    return Figure("scores", "Held-out error", rows, draw, height=40.0 * len(rows) + 60, width=WIDTH)


def surfaces_figure(study: Study) -> Figure:
    """Return RMSE of every cell above the best, for all and for each group; the star is the best cell (Figure 4)."""
    final = study.ready.spans.final
    square = (study.predicted - final[:, None]) ** 2
    members = {ALL: np.ones(final.size, np.bool_), **groups_of(study.ready.spans, study.options.thresholds)}
    shown = [row for row in study.groups if members[row.group].any()]
    columns = 2 if len(shown) == 4 else min(3, len(shown))
    rows = math.ceil(len(shown) / columns)

    def draw(panels: np.ndarray, square: Float) -> None:
        for axes in panels.ravel()[len(shown) :]:
            axes.set(visible=False)
        for axes, row in zip(panels.ravel(), shown, strict=False):
            surface = np.sqrt(square[members[row.group]].mean(axis=0)).reshape(study.setup.grid.shape)
            _surface(axes, surface, study)
            best, still, prior = (number(rmse, 3) for rmse in (float(surface.min()), row.no_change, row.prior_own))
            errors = f"best {best}; no change {still},\nprior only {prior}"
            axes.set(title=f"{GROUP_NAMES[row.group]}, N = {row.n:,}\n{errors}")

    caption = "RMSE of each parameter pair above the best, for everybody and by group"
    return Figure("surfaces", caption, square, draw, height=300.0 * rows, width=WIDTH, grid=(rows, columns))


def _surface(axes: Chart, surface: Float, study: Study) -> None:
    grid, above = study.setup.grid, np.minimum((surface - surface.min()) / _MOST_ABOVE, 1.0)
    for opacity, words in ((0.0, "RMSE above the best of the panel: 0"), (1.0, f"{_MOST_ABOVE} or more")):
        axes.fill([np.nan], [np.nan], color=color("first"), alpha=0.1 + 0.9 * opacity, linewidth=0, label=words)
    for (x, y), opacity in np.ndenumerate(above):
        corners = [y - 0.5, y + 0.5, y + 0.5, y - 0.5], [x - 0.5, x - 0.5, x + 0.5, x + 0.5]
        axes.fill(*corners, color=color("first"), alpha=0.1 + 0.9 * float(opacity), linewidth=0)
    best = np.unravel_index(int(np.argmin(surface)), surface.shape)
    axes.plot([best[1]], [best[0]], marker="D", markersize=9, color=color("false"))
    axes.set(xticks=range(0, len(grid.y), 3), xticklabels=[f"{value:g}" for value in grid.y[::3]], xlabel=grid.y_name)
    axes.set(yticks=range(0, len(grid.x), 3), yticklabels=[f"{value:g}" for value in grid.x[::3]], ylabel=grid.x_name)
    axes.set(xlim=(-0.5, len(grid.y) - 0.5), ylim=(-0.5, len(grid.x) - 0.5))
    axes.grid(False)


def traces_figure(people: list[Trace], study: Study) -> Figure:
    """Draw one person per group: replayed and reported stances, no change, and prior only (Figure 5)."""
    grid = study.setup.grid

    def draw(panels: np.ndarray, people: list[Trace]) -> None:
        for axes, trace in zip(panels.ravel(), people, strict=True):
            _trace(axes, trace)
            parameters = f"{grid.x_short} = {trace.x:.3g}, {grid.y_short} = {trace.y:.3g}"
            axes.set(title=f"{GROUP_NAMES[trace.group]}\n{parameters}")
        panels.flat[0].set(ylabel="stance")

    caption = "One person per group: replayed stance and reported stance"
    return Figure("traces", caption, people, draw, height=300.0, width=WIDTH, grid=(1, len(people)))


def _trace(axes: Chart, trace: Trace) -> None:
    at = np.arange(trace.stance.size)
    ends, still, prior = [0, at[-1]], [trace.initial] * 2, [trace.stance[0]] * 2
    axes.plot(ends, still, color=color("muted"), linewidth=1.0, linestyle=DOTTED, label="no change")
    axes.plot(ends, prior, color=color("fourth"), linewidth=1.2, linestyle=(0, (6, 2)), label="prior only")
    shade = color("first")
    axes.plot(at, trace.stance, color=shade, label="replayed")
    for sign, marker, label in ((1.0, "^", "argument for"), (-1.0, "v", "argument against")):
        here = at[1:][trace.polarity == sign]
        axes.plot(here, trace.stance[here], linestyle="", marker=marker, markersize=7, color=shade, label=label)
    places = np.concatenate([[0], trace.reading_at, at[-1:]])
    stances = np.concatenate([[trace.initial], trace.reading, [trace.final]])
    axes.plot(places, stances, color=color("false"), linestyle=(0, (4, 2)), marker="o", markersize=5, label="reported")
    axes.set(ylim=(-1.08, 1.08), yticks=[-1, -0.5, 0, 0.5, 1], xlabel="arguments received")
    axes.locator_params("x", nbins=6, integer=True)
