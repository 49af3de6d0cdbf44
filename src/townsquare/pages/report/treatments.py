"""Figure: what treatments that were drawn within the run did, to those who got them and to those who follow them."""

from __future__ import annotations

import math

import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.treatments import treatment_effect
from townsquare.experiments.paired import corrected
from townsquare.pages.report.axes import NICE, tick
from townsquare.pages.report.section import Panel, Section, Table
from townsquare.pages.report.svg import clean, panel
from townsquare.pages.report.theme import colour
from townsquare.pages.report.words import number, percent, significant

TITLE = "Treatments: what they did to those who got them, and to others"
_NOTES = [
    "Difference: treated less untreated people, as they are. Direct: of being treated, at equal treatment of those one "
    "follows. Spillover: of having all one follows treated rather than none. Total: both, that is, treating everybody "
    "rather than nobody, as far as effects travel no further than one follow and grow evenly.",
    "p values come from drawing the assignment anew; with many outcomes some are small by chance, so the tables have "
    "Holm's correction over all rows of a treatment.",
]
_ROLES = {"difference": "unknown", "direct": "first", "spillover": "second", "total": "fourth"}


def treatment_section(run: Reads) -> Section | None:
    """The figure, from a run; None for a run without treatments."""
    listed = list(setting(run, "treatments", default=()))
    if not listed or run.last_step < 1:
        return None
    says, panels, tables = [], [], []
    for at, treatment in enumerate(listed):
        name = clean(str(treatment["name"]), 40)
        found = treatment_effect(run, at)
        if not found.height:
            says.append(f"{name}: too few people were assigned, or left out, to say anything.")
            continue
        tested = corrected(found)
        says.append(_sentence(name, float(treatment["share"]), tested))
        tables.append(_table(name, tested))
        for number_, outcome in enumerate(tested["outcome"].unique(maintain_order=True)):
            mine = tested.filter(pl.col("outcome") == outcome)
            caption = f"{name}: {_outcome(outcome)}, with 95% intervals"
            panels.append(Panel(caption, panel(_intervals(mine), f"treatment-{at}-{number_}", caption, height=170)))
    return Section("treatments", TITLE, says=says, notes=_NOTES if tables else [], panels=panels, tables=tables)


def _sentence(name: str, share: float, tested: pl.DataFrame) -> str:
    row = tested.row(0, named=True)
    clear = tested.filter(pl.col("p_holm") < 0.05)
    told = [
        f"{_outcome(one['outcome'])} ({one['estimate']} {significant(one['value'], 2, signed=True)})"
        for one in clear.iter_rows(named=True)
    ]
    people = (
        f"{name} (assigned with chance {percent(share)}): {number(row['treated'])} of {number(row['persons'])} people"
    )
    return f"{people} got it. " + (
        f"Told apart from chance after correction: {'; '.join(told)}." if told else "Nothing is told apart from chance."
    )


def _outcome(name: str) -> str:
    kind, dot, proposition = name.partition(".")
    return clean(f"move of stance, {proposition}" if dot and kind == "move" else name.replace("_", " "), 50)


def _intervals(rows: pl.DataFrame):  # type: ignore[no-untyped-def]
    def draw(axes: Axes) -> None:
        for at, row in enumerate(rows.iter_rows(named=True)):
            shade = colour(_ROLES[row["estimate"]])
            if not math.isnan(row["low"]):
                axes.plot([row["low"], row["high"]], [-at, -at], color=shade, linewidth=2.2, solid_capstyle="round")
            axes.plot([row["value"]], [-at], marker="o", markersize=6, color=shade)
        axes.axvline(0.0, color=colour("ink"), linewidth=0.9)
        axes.set_yticks([-at for at in range(rows.height)], rows["estimate"].to_list())
        axes.set_ylim(-rows.height + 0.4, 0.6)
        axes.grid(False, axis="y")
        axes.grid(True, axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=NICE))
        axes.xaxis.set_major_formatter(FuncFormatter(tick))
        axes.set_xlabel("stance" if rows["outcome"][0].startswith("move.") else "actions per person")

    return draw


def _table(name: str, tested: pl.DataFrame) -> Table:
    cells = [
        [_outcome(row["outcome"]), row["estimate"], significant(row["value"], signed=True),
         significant(row["low"], signed=True), significant(row["high"], signed=True), number(row["p"], 3),
         number(row["p_holm"], 3), number(row["persons"]), number(row["treated"])]
        for row in tested.iter_rows(named=True)
    ]  # fmt: skip
    head = ["outcome", "estimate", "value", "low", "high", "p", "p, Holm", "people", "treated"]
    return Table(name, head, cells, frozenset({0, 1}))
