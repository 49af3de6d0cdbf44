"""Figures of a fit: errors with baselines, error surfaces (Figure 4), individual people (Figure 5)."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from townsquare.core.array_types import Float
from townsquare.humans.fit.alignment import groups_of
from townsquare.humans.fit.by_group import ALL
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.study import Study
from townsquare.humans.fit.traces import Trace, traces_of
from townsquare.pages.people.tables import GROUP_NAMES, SPLITS
from townsquare.pages.people.words import method
from townsquare.pages.report.axes import amounts_across, intervals
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import color
from townsquare.pages.report.words import number, printable

WIDTH = 860.0
_SURFACE_COLORS = "cividis_r"  # told apart by color-blind readers; light is low
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
    axes.set_yticks(range(len(rows)), [f"{GROUP_NAMES[row.group]}\nN = {row.n:,}" for row in rows], fontsize=10.5)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    amounts_across(axes, "held-out RMSE; groups made from the outcome")
    axes.set_xlim(left=0)
    intervals(panels[0, 1], [
        (f"{SPLITS[row.split]}:\n{against}", *interval, "first")
        for row in study.robust
        for against, interval in (("prior only", row.less_prior), ("one profile", row.less_global))
    ])  # fmt: skip
    panels[0, 1].axvline(0.0, color=color("muted"), linewidth=1.0, linestyle=(0, (1.5, 2)))
    amounts_across(panels[0, 1], "RMSE of group profiles minus that of")


def scores_figure(study: Study) -> Figure:
    """Return RMSE of rule and baselines with 95 % intervals, best first."""
    scores = study.scored.scores
    names = sorted(scores, key=lambda name: scores[name].rmse)
    rule = study.setup.grid.rule
    rows = [(method(name, rule), *scores[name].people, "first" if name == RULE else "unknown") for name in names]

    def draw(axes: Axes, rows: list[tuple[str, float, float, float, str]]) -> None:
        intervals(axes, rows)
        for at, (_, value, *_) in enumerate(reversed(rows)):
            label = number(value, 3)
            axes.annotate(label, (value, at), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=11)
        axes.set_ylim(-0.6, len(rows) - 0.3)
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
        images = []
        for axes in panels.ravel()[len(shown) :]:
            axes.set_visible(False)
        for axes, row in zip(panels.ravel(), shown, strict=False):
            surface = np.sqrt(square[members[row.group]].mean(axis=0)).reshape(study.setup.grid.shape)
            images.append(_surface(axes, surface, study))
            axes.set_title(
                f"{GROUP_NAMES[row.group]}, N = {row.n:,}\nbest {number(float(surface.min()), 3)}; no change "
                f"{number(row.no_change, 3)},\nprior only {number(row.prior_own, 3)}",
                fontsize=10.5, loc="left",
            )  # fmt: skip
        bar = panels.flat[0].figure.colorbar(images[-1], ax=panels.ravel().tolist(), shrink=0.8, extend="max")
        bar.set_label("RMSE above the best of the panel", fontsize=11)

    caption = "RMSE of each parameter pair above the best, for everybody and by group"
    return Figure("surfaces", caption, square, draw, height=300.0 * rows, width=WIDTH, grid=(rows, columns))


def _surface(axes: Axes, surface: Float, study: Study) -> AxesImage:
    grid = study.setup.grid
    best = np.unravel_index(int(np.argmin(surface)), surface.shape)
    image = axes.imshow(
        surface - surface.min(), origin="lower", aspect="auto", cmap=_SURFACE_COLORS, vmin=0.0, vmax=_MOST_ABOVE,
        interpolation="nearest",
    )  # fmt: skip
    axes.plot([best[1]], [best[0]], marker="*", markersize=13, color=color("false"), markeredgecolor="white")
    axes.set_xticks(range(0, len(grid.y), 3), [f"{value:g}" for value in grid.y[::3]])
    axes.set_yticks(range(0, len(grid.x), 3), [f"{value:g}" for value in grid.x[::3]])
    axes.set_xlabel(grid.y_name)
    axes.set_ylabel(grid.x_name)
    axes.grid(False)
    return image


def traces_figure(people: list[Trace], study: Study) -> Figure:
    """Draw one person per group: replayed and reported stances, no change, and prior only (Figure 5)."""
    grid = study.setup.grid

    def draw(panels: np.ndarray, people: list[Trace]) -> None:
        for axes, trace in zip(panels.ravel(), people, strict=True):
            _trace(axes, trace)
            axes.set_title(
                f"{GROUP_NAMES[trace.group]}\n{grid.x_short} = {trace.x:.3g}, {grid.y_short} = {trace.y:.3g}",
                fontsize=10.5, loc="left",
            )  # fmt: skip
        panels.flat[0].set_ylabel("stance")

    caption = "One person per group: replayed stance and reported stance"
    return Figure("traces", caption, people, draw, height=300.0, width=WIDTH, grid=(1, len(people)))


def _trace(axes: Axes, trace: Trace) -> None:
    at = np.arange(trace.stance.size)
    last = at[-1]
    axes.axhline(trace.initial, color=color("muted"), linewidth=1.0, linestyle=(0, (1.5, 2)), label="no change")
    axes.axhline(trace.stance[0], color=color("fourth"), linewidth=1.2, linestyle=(0, (6, 2)), label="prior only")
    axes.plot(at, trace.stance, color=color("first"), label="replayed")
    for sign, marker, label in ((1.0, "^", "argument for"), (-1.0, "v", "argument against")):
        here = at[1:][trace.polarity == sign]
        axes.plot(
            here, trace.stance[here], linestyle="", marker=marker, markersize=7, color=color("first"), label=label
        )
    places = np.concatenate([[0], trace.reading_at, [last]])
    stances = np.concatenate([[trace.initial], trace.reading, [trace.final]])
    axes.plot(places, stances, color=color("false"), linestyle=(0, (4, 2)), marker="o", markersize=5, label="reported")
    axes.set_ylim(-1.08, 1.08)
    axes.set_yticks([-1, -0.5, 0, 0.5, 1])
    axes.set_xlabel("arguments received")
    axes.set_xticks(np.unique(np.linspace(0, last, min(last + 1, 6)).astype(int)))
