"""The chart of ``benchmarks/peers.md``: agents × steps a second by agents, one panel a model."""

from __future__ import annotations

import io
import re
from itertools import zip_longest

import matplotlib as mpl
import matplotlib.pyplot as plt
from cells import MODELS, Cell, Model
from matplotlib.ticker import NullFormatter

mpl.use("Agg")
INK = "#0a0b0c"  # stands for the color of the page's text, put in below
# Middle tones that are read on white and on black; a form keeps its color in every panel.
COLORS = {
    "townsquare": "#2f81f7",
    "townsquare_1": "#2f81f7",
    "sqlite": "#2f81f7",
    "numpy": "#8b8f94",
    "frames": "#2da44e",
    "mesa": "#d4762c",
    "ndlib": "#c0529d",
    "ndlib_hk": "#c0529d",
    "in_place": "#8b8f94",
    "page": "#d4762c",
    "direct": "#d4762c",
    "environment": "#c0529d",
}
DASHED = {"townsquare_1", "sqlite", "ndlib_hk"}
SHORT = {
    "townsquare_1": "Townsquare, 1 thread",
    "townsquare": "Townsquare, all threads",
    "sqlite": "Townsquare, all in SQLite",
    "numpy": "NumPy, a few lines",
    "ndlib_hk": "NDlib, HKModel",
    "in_place": "the formula as a loop",
    "page": "the formula as published",
    "direct": "camel-oasis, Platform directly",
    "environment": "camel-oasis, env.step",
}
STYLE = "<style>svg{color:#1f2328}@media(prefers-color-scheme:dark){svg{color:#e6edf3}}</style>"


def draw(found: list[Cell]) -> str:
    """The chart as SVG, with text and axes in the reader's dark or light."""
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "townsquare",
        "font.family": "sans-serif",
        "font.size": 10,
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
    }
    with mpl.rc_context(settings):
        figure, axes = plt.subplots(2, 2, figsize=(11, 8.6), layout="constrained")
        measured = [model for model in MODELS if any(cell.model == model.key for cell in found)]
        for axis, model in zip_longest(axes.flat, measured):
            if model is None:
                axis.set_axis_off()
                continue
            panel(axis, model, [cell for cell in found if cell.model == model.key and not cell.why_not])
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
        plt.close(figure)
    text = buffer.getvalue().replace(INK, "currentColor")
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"(<svg\b[^>]*>)", r"\1\n " + STYLE, text, count=1)


def panel(axis: plt.Axes, model: Model, cells: list[Cell]) -> None:
    """One model."""
    for form in model.forms:
        mine = [cell for cell in cells if cell.form == form.key]
        if not mine:
            continue
        axis.plot(
            [cell.agents for cell in mine],
            [cell.rate for cell in mine],
            marker="o",
            markersize=5,
            markerfacecolor="none" if form.key in DASHED else None,
            color=COLORS[form.key],
            linestyle="--" if form.key in DASHED else "-",
            label=SHORT.get(form.key, form.label),
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.yaxis.set_minor_formatter(NullFormatter())
    low, high = axis.get_ylim()
    axis.set_ylim(low / 3, high * 3)
    axis.set_title(model.title, fontsize=11)
    axis.set_xlabel("agents")
    axis.set_ylabel("agents × steps a second")
    axis.grid(color="#8b8f94", alpha=0.3, linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    if cells:
        legend = axis.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
        for text in legend.get_texts():
            text.set_color(INK)
