"""Figures of a fit: errors beside their baselines, surfaces (Figure 4), single people (Figure 5)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from townsquare.humans.fit.alignment import groups_of
from townsquare.humans.fit.by_group import ALL
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.study import Study
from townsquare.humans.fit.traces import Trace, traces_of
from townsquare.humans.trajectories import Float
from townsquare.pages.people.tables import GROUP_NAMES, SPLITS
from townsquare.pages.people.words import method
from townsquare.pages.report.axes import NICE
from townsquare.pages.report.svg import POINTS, clean
from townsquare.pages.report.theme import colour, style
from townsquare.pages.report.words import number

WIDTH = 860.0
_SURFACE_COLOURS = "cividis_r"  # told apart by colour-blind readers; light is low
_MOST_ABOVE = 0.25  # of the best RMSE: what is worse than that is drawn alike


def figures_of(found: Study) -> dict[str, Figure]:
    """Every figure of a fit, by the stem of its file."""
    out = {"scores": scores_figure(found), "groups": groups_figure(found), "surfaces": surfaces_figure(found)}
    people = traces_of(found)
    if people:
        out["traces"] = traces_figure(people, found)
    return out


METHOD_SHADES = {"no change": "unknown", "prior only": "fourth", "linear": "second", "rule": "first"}


def groups_figure(found: Study) -> Figure:
    """Tables 1 and A6 as points, each group under its own profile, beside its baselines; Table A7 with intervals."""

    def draw(figure: Figure, panels: np.ndarray) -> None:
        _groups(panels[0, 0], found)
        _robustness(panels[0, 1], found)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=4, fontsize=10.5)

    return _made(1, 2, 50.0 * len(found.groups) + 110, draw)


def _groups(axes: Axes, found: Study) -> None:
    rows = found.groups[::-1]
    for at, row in enumerate(rows):
        values = {"no change": row.no_change, "prior only": row.prior_own, "linear": row.linear, "rule": row.rule}
        for lift, (name, value) in enumerate(values.items()):
            shade, label = colour(METHOD_SHADES[name]), name if at == 0 else None
            axes.plot([value], [at + 0.24 - 0.16 * lift], marker="os^D"[lift], linestyle="", color=shade, label=label)
    axes.set_yticks(range(len(rows)), [f"{GROUP_NAMES[row.group]}\nN = {row.n:,}" for row in rows], fontsize=10.5)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_xlim(left=0)
    axes.grid(True, axis="x")
    axes.set_xlabel("held-out RMSE; groups made from the outcome")


def _robustness(axes: Axes, found: Study) -> None:
    lines = [
        (f"{SPLITS[row.split]}:\n{against}", one)
        for row in found.robust
        for against, one in (("prior only", row.less_prior), ("one profile", row.less_global))
    ][::-1]
    for at, (_, one) in enumerate(lines):
        axes.plot([one.low, one.high], [at, at], color=colour("first"), linewidth=2.4, solid_capstyle="round")
        axes.plot([one.value], [at], marker="o", markersize=6.5, color=colour("first"))
    axes.axvline(0.0, color=colour("muted"), linewidth=1.0, linestyle=(0, (1.5, 2)))
    axes.set_yticks(range(len(lines)), [name for name, _ in lines], fontsize=10.5)
    axes.set_ylim(-0.6, len(lines) - 0.4)
    axes.grid(True, axis="x")
    axes.set_xlabel("groups' profiles: RMSE less that of")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=NICE))


def _made(rows: int, columns: int, height: float, draw: Callable[[Figure, np.ndarray], None]) -> Figure:
    with rc_context(style()):  # type: ignore[arg-type]  # its stub wants the literal name of every setting
        figure = Figure(figsize=(WIDTH / POINTS, height / POINTS), dpi=POINTS, layout="constrained")
        draw(figure, figure.subplots(rows, columns, squeeze=False))
        return figure


def scores_figure(found: Study) -> Figure:
    """RMSE of rule and baselines with 95 % intervals, best first."""
    scores = found.scored.scores
    names = sorted(scores, key=lambda name: -scores[name].rmse)

    def draw(_: Figure, panels: np.ndarray) -> None:
        axes: Axes = panels[0, 0]
        for at, name in enumerate(names):
            one, shade = scores[name].people, colour("first" if name == RULE else "unknown")
            axes.plot([one.low, one.high], [at, at], color=shade, linewidth=2.4, solid_capstyle="round")
            axes.plot([one.value], [at], marker="o", markersize=6.5, color=shade)
            axes.annotate(
                number(one.value, 3),
                (one.value, at),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=11,
            )
        axes.set_yticks(range(len(names)), [method(name, found.setup.grid.rule) for name in names])
        axes.set_ylim(-0.6, len(names) - 0.3)
        axes.grid(True, axis="x")
        axes.grid(False, axis="y")
        axes.set_xlabel(
            f"held-out RMSE of the final stance, {clean(found.ready.people.name, 40)}; 95 % over conversations"
        )

    return _made(1, 1, 40.0 * len(names) + 60, draw)


def surfaces_figure(found: Study) -> Figure:
    """RMSE of every cell above the best, for all and for each group; the star is the best cell (Figure 4)."""
    final = found.ready.spans.final
    square = (found.predicted - final[:, None]) ** 2
    members = {ALL: np.ones(final.size, np.bool_), **groups_of(found.ready.spans, found.options.thresholds)}
    shown = [row for row in found.groups if members[row.group].any()]
    columns = 2 if len(shown) == 4 else min(3, len(shown))
    rows = math.ceil(len(shown) / columns)

    def draw(figure: Figure, panels: np.ndarray) -> None:
        images = []
        for axes in panels.ravel()[len(shown) :]:
            axes.set_visible(False)
        for axes, row in zip(panels.ravel(), shown, strict=False):
            surface = np.sqrt(square[members[row.group]].mean(axis=0)).reshape(found.setup.grid.shape)
            images.append(_surface(axes, surface, found))
            axes.set_title(
                f"{GROUP_NAMES[row.group]}, N = {row.n:,}\nbest {number(float(surface.min()), 3)}; no change "
                f"{number(row.no_change, 3)},\nprior only {number(row.prior_own, 3)}",
                fontsize=10.5, loc="left",
            )  # fmt: skip
        bar = figure.colorbar(images[-1], ax=panels.ravel().tolist(), shrink=0.8, extend="max")
        bar.set_label("RMSE above the panel's best", fontsize=11)

    return _made(rows, columns, 300.0 * rows, draw)


def _surface(axes: Axes, surface: Float, found: Study) -> AxesImage:
    grid = found.setup.grid
    best = np.unravel_index(int(np.argmin(surface)), surface.shape)
    image = axes.imshow(
        surface - surface.min(), origin="lower", aspect="auto", cmap=_SURFACE_COLOURS, vmin=0.0, vmax=_MOST_ABOVE,
        interpolation="nearest",
    )  # fmt: skip
    axes.plot([best[1]], [best[0]], marker="*", markersize=13, color=colour("false"), markeredgecolor="white")
    axes.set_xticks(range(0, len(grid.y), 3), [f"{value:g}" for value in grid.y[::3]])
    axes.set_yticks(range(0, len(grid.x), 3), [f"{value:g}" for value in grid.x[::3]])
    axes.set_xlabel(grid.y_name)
    axes.set_ylabel(grid.x_name)
    axes.grid(False)
    return image


def traces_figure(people: list[Trace], found: Study) -> Figure:
    """One person a group: the replay after each event, what the person said, no change and prior only (Figure 5)."""
    grid = found.setup.grid

    def draw(figure: Figure, panels: np.ndarray) -> None:
        for axes, trace in zip(panels.ravel(), people, strict=True):
            _trace(axes, trace)
            axes.set_title(
                f"{GROUP_NAMES[trace.group]}\n{grid.x_short} = {trace.x:.3g}, {grid.y_short} = {trace.y:.3g}",
                fontsize=10.5, loc="left",
            )  # fmt: skip
        panels.ravel()[0].set_ylabel("stance")
        handles, labels = panels.ravel()[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=6, fontsize=10.5)

    return _made(1, len(people), 300.0, draw)


def _trace(axes: Axes, trace: Trace) -> None:
    at = np.arange(trace.stance.size)
    last = at[-1]
    axes.axhline(trace.initial, color=colour("muted"), linewidth=1.0, linestyle=(0, (1.5, 2)), label="no change")
    axes.axhline(trace.stance[0], color=colour("fourth"), linewidth=1.2, linestyle=(0, (6, 2)), label="prior only")
    axes.plot(at, trace.stance, color=colour("first"), label="replayed")
    for sign, marker, label in ((1.0, "^", "argument for"), (-1.0, "v", "argument against")):
        here = at[1:][trace.polarity == sign]
        axes.plot(
            here, trace.stance[here], linestyle="", marker=marker, markersize=7, color=colour("first"), label=label
        )
    places = np.concatenate([[0], trace.reading_at, [last]])
    held = np.concatenate([[trace.initial], trace.reading, [trace.final]])
    axes.plot(places, held, color=colour("false"), linestyle=(0, (4, 2)), marker="o", markersize=5, label="the person")
    axes.set_ylim(-1.08, 1.08)
    axes.set_yticks([-1, -0.5, 0, 0.5, 1])
    axes.set_xlabel("arguments taken in")
    axes.set_xticks(np.unique(np.linspace(0, last, min(last + 1, 6)).astype(int)))
