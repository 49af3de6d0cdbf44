"""Figure: effects of treatments assigned within the run, direct and by spillover."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.contract import Reads, setting
from townsquare.analysis.treatments import treatment_effect
from townsquare.core.text_table import Table, table
from townsquare.core.words import number, percent, printable, signed, significant, three
from townsquare.experiments.paired import corrected
from townsquare.pages.report.axes import amounts_across, intervals
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import color

TITLE = "Treatments: direct effects and spillover"
_NOTES = [
    "Difference: mean of treated minus untreated people. Direct: effect of being treated, holding the treatment of the "
    "people that a person follows constant. Spillover: effect of all followed people being treated rather than none. "
    "Total: direct plus spillover. The model assumes linear effects that reach direct followers only.",
    "p values are two-sided, by re-randomization of the assignment. The tables add p values corrected by Holm's method "
    "over all rows of a treatment.",
]
_ROLES = {"difference": "unknown", "direct": "first", "spillover": "second", "total": "fourth"}


def treatment_section(run: Reads) -> Section | None:
    """Return the section on treatments; None for a run without treatments."""
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
            says.append(f"{name}: too few treated or untreated people to estimate effects.")
            continue
        tested = corrected(effects)
        says.append(_sentence(name, float(treatment["share"]), tested))
        columns = (_outcome, "outcome"), (str, "estimate"), (signed, "value", "95% CI low=low", "95% CI high=high")
        tests = (three, "p", "p, Holm=p_holm"), (number, "people=persons", "treated")
        tables.append(table(name, tested, *columns, *tests))
        figures += [
            Figure(f"treatment-{at}-{nth}", f"{name}: {_outcome(outcome)}, with 95% CI", of_outcome, _draw, height=170)
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
    people = f"{number(row['treated'])} of the {number(row['persons'])} people present before it began were treated"
    some = f"Significant at the 5% level after Holm's correction: {'; '.join(clear_effects)}."
    none = "No effect is significant at the 5% level after Holm's correction."
    return f"{name} (assigned with probability {percent(share)}): {people}. {some if clear_effects else none}"


def _outcome(name: str) -> str:
    if name == "false_engagement":
        return "likes and shares of false posts"
    kind, dot, proposition = name.partition(".")
    return printable(f"change of stance, {proposition}" if dot and kind == "move" else name.replace("_", " "), 50)


def _draw(axes: Chart, rows: pl.DataFrame) -> None:
    values = rows.select("estimate", "value", "low", "high").rows()
    intervals(axes, [(*row, _ROLES[row[0]]) for row in values])
    axes.axvline(0.0, color=color("ink"), linewidth=0.9)
    amounts_across(axes, "stance" if rows["outcome"][0].startswith("move.") else "actions per person")
