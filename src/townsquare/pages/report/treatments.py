"""Figure: what treatments that were drawn within the run did, to those who got them and to those who follow them."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes

from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.treatments import treatment_effect
from townsquare.core.text_table import Table, table
from townsquare.experiments.paired import corrected
from townsquare.pages.report.axes import amounts_across, intervals
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import color
from townsquare.pages.report.words import number, percent, printable, signed, significant, three

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
    says: list[str] = []
    figures: list[Figure] = []
    tables: list[Table] = []
    for at, treatment in enumerate(listed):
        name = printable(str(treatment["name"]), 40)
        effects = treatment_effect(run, at)
        if not effects.height:
            says.append(f"{name}: too few people were assigned, or left out, to say anything.")
            continue
        tested = corrected(effects)
        says.append(_sentence(name, float(treatment["share"]), tested))
        tables.append(
            table(
                name, tested, (_outcome, "outcome"), (str, "estimate"), (signed, "value", "low", "high"),
                (three, "p", "p, Holm=p_holm"), (number, "people=persons", "treated"),
            )
        )  # fmt: skip
        figures += [
            Figure(
                f"treatment-{at}-{nth}",
                f"{name}: {_outcome(outcome)}, with 95% intervals",
                of_outcome,
                _draw,
                height=170,
            )
            for nth, outcome in enumerate(tested["outcome"].unique(maintain_order=True))
            for of_outcome in [tested.filter(pl.col("outcome") == outcome)]
        ]
    return Section("treatments", TITLE, says=says, notes=_NOTES if tables else [], figures=figures, tables=tables)


def _sentence(name: str, share: float, tested: pl.DataFrame) -> str:
    row = tested.row(0, named=True)
    clear = tested.filter(pl.col("p_holm") < 0.05)
    clear_effects = [
        f"{_outcome(effect['outcome'])} ({effect['estimate']} {significant(effect['value'], 2, signed=True)})"
        for effect in clear.iter_rows(named=True)
    ]
    people = (
        f"{name} (assigned with chance {percent(share)}): {number(row['treated'])} of {number(row['persons'])} people"
    )
    return f"{people} got it. " + (
        f"Told apart from chance after correction: {'; '.join(clear_effects)}."
        if clear_effects
        else "Nothing is told apart from chance."
    )


def _outcome(name: str) -> str:
    kind, dot, proposition = name.partition(".")
    return printable(f"move of stance, {proposition}" if dot and kind == "move" else name.replace("_", " "), 50)


def _draw(axes: Axes, rows: pl.DataFrame) -> None:
    values = rows.select("estimate", "value", "low", "high").rows()
    intervals(axes, [(*row, _ROLES[row[0]]) for row in values])
    axes.axvline(0.0, color=color("ink"), linewidth=0.9)
    amounts_across(axes, "stance" if rows["outcome"][0].startswith("move.") else "actions per person")
