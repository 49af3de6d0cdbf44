"""Figure: distribution of stances at the start and at the end, and their course."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from townsquare.analysis.beliefs import belief_change, belief_course, names, stance_bins, stance_lines, true_sides
from townsquare.analysis.clock import Clock, after_warm_up, clock_of, over_whole_run
from townsquare.analysis.contract import Reads
from townsquare.analysis.polarization import BINS
from townsquare.core.array_types import Float
from townsquare.core.text_table import Table, table, turned
from townsquare.core.words import capital, count, number, percent, printable, short, signed_three, significant, three
from townsquare.pages.report.axes import NICE, amounts, band, from_zero, over_steps, reference
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.section import Section, with_statements
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import color

TITLE = "Beliefs: initial and final stances"
_HOW_TO_READ = (
    "Stance runs from −1 (against) to +1 (for). Polarization is 0 when all agree and 1 when two equal camps hold the "
    "extremes. Thin lines are individual people, spread evenly over initial stances."
)
_SAME_PEOPLE = (
    "Shifts, SD ratio, changes of side and of accuracy compare the first stance of each person{} with the final one; "
    "other rows describe everybody present at the start and at the end of the run."
)
MOST_DRAWN = 4
"""Propositions with panels; the tables include all."""


def stance_section(run: Reads) -> Section:
    """Return the section on beliefs."""
    bins, course = stance_bins(run), with_statements(run, belief_course(run))
    if not bins.height:
        why = "The scenario has no proposition" if not names(run).height else "No beliefs were recorded"
        return Section("stances", TITLE, [f"{why}, so no stances can be shown."])
    change, lines = with_statements(run, belief_change(run)), stance_lines(run)
    drawn, clock = change.head(MOST_DRAWN), clock_of(run)
    sides = dict(true_sides(run).select("proposition", "side").rows())
    notes = [_HOW_TO_READ]
    if change.height > MOST_DRAWN:
        notes.append(f"Panels show the first {MOST_DRAWN} of {change.height} propositions; the tables include all.")
    return Section(
        "stances", TITLE, notes=notes,
        says=[_sentence(row, course, sides[row["proposition"]], clock) for row in change.iter_rows(named=True)],
        figures=[p for row in drawn.iter_rows(named=True) for p in _figures(row, bins, course, lines, clock)],
        tables=[made for row in change.iter_rows(named=True) for made in _tables(row, course, clock)],
    )  # fmt: skip


def _figures(
    row: dict[str, Any], bins: pl.DataFrame, course: pl.DataFrame, lines: pl.DataFrame, clock: Clock
) -> list[Figure]:
    proposition, name = row["proposition"], printable(row["name"], 90)
    histogram, bands, single = (frame.filter(pl.col("proposition") == proposition) for frame in (bins, course, lines))
    return [
        Figure(
            f"spread-{proposition}", f"“{name}”: initial and final stances", histogram,
            partial(_draw_histogram, clock=clock), f"Distribution of initial and final stances toward {name}",
        ),
        Figure(
            f"course-{proposition}", f"“{name}”: median, middle 50% and 90%, and individual people", bands,
            partial(_draw_bands, lines=single, clock=clock), f"Quantiles of stances toward {name} over steps",
        ),
    ]  # fmt: skip


def _draw_histogram(axes: Chart, bins: pl.DataFrame, clock: Clock) -> None:
    start, end = (_shares(bins.filter(pl.col("step") == step)) for step in (0, clock.last))
    edges = np.repeat(np.linspace(-1, 1, BINS + 1), 2)
    outlines = [np.pad(np.repeat(100 * shares, 2), 1) for shares in (start, end)]
    if clock.last > 0:
        axes.fill(edges, outlines[1], color=color("first"), alpha=0.45, linewidth=0, label=clock.says(clock.last))
    axes.plot(edges, outlines[0], color=color("ink"), linewidth=1.6, label=clock.says(0))
    axes.set(xlim=(-1.02, 1.02), xlabel="stance", ylabel="% of people")
    from_zero(axes, np.ravel(outlines).tolist())
    axes.locator_params("x", nbins=5, steps=NICE)
    amounts(axes)


def _shares(bins: pl.DataFrame) -> Float:
    counts = np.bincount(bins["bin"].to_numpy(), bins["agents"].to_numpy(), BINS)
    return np.asarray(counts / max(1.0, float(counts.sum())), np.float64)


def _draw_bands(axes: Chart, course: pl.DataFrame, lines: pl.DataFrame, clock: Clock) -> None:
    steps = course["step"].to_numpy()
    for low, high, alpha, label in (("q05", "q95", 0.14, "middle 90%"), ("q25", "q75", 0.28, "middle 50%")):
        band(axes, steps, course[low].to_numpy(), course[high].to_numpy(), "first", alpha=alpha, label=label)
    for _, person in sorted(lines.group_by("agent"), key=lambda item: item[0]):
        single = person["step"].to_numpy(), person["stance"].to_numpy()
        axes.plot(*single, color=color("muted"), linewidth=0.7, alpha=0.9)
    axes.plot(steps, course["q50"].to_numpy(), color=color("first"), linewidth=2.4, label="median")
    reference(axes, 0.0)
    over_steps(axes, clock, "stance")
    axes.set(ylim=(-1.03, 1.03))


def _sentence(row: dict[str, Any], course: pl.DataFrame, side: float, clock: Clock) -> str:
    of_proposition = course.filter(pl.col("proposition") == row["proposition"])
    start, end = of_proposition.row(0, named=True), of_proposition.row(-1, named=True)
    statement = f"“{printable(row['name'], 200)}”"
    first, final = signed_three(row["mean_start"]), signed_three(row["mean_end"])
    if row["agents"] == 1:
        return f"{statement}: the stance of the only person changed from {first} to {final}."
    initial = "value after the warm-up" if clock.warm_up else "initial value"
    people, shift = count(row["agents"], "person", "people"), significant(row["absolute_shift"], 2)
    changed = f"the mean stance changed from {first} (each person's first stance{after_warm_up(clock)}) to {final}"
    sentences = [f"{statement}: over {people}, {changed}, with a mean absolute shift of {shift}."]
    if not math.isnan(row["spread_kept"]):
        sentences.append(f"The standard deviation is {percent(row['spread_kept'])} of its {initial}.")
    grew = start["agents"] != end["agents"]  # unlike the changes above, of everybody present
    before, after = (three(ends["polarization"]) for ends in (start, end))
    if grew:
        before += f" (over {count(start['agents'], 'person', 'people')})"
        after += f" (over {count(end['agents'], 'person', 'people')})"
    sentences.append(capital(f"{over_whole_run(clock)}polarization changed from {before} to {after}."))
    return " ".join([*sentences, _accuracy(row, side)])


def _accuracy(row: dict[str, Any], side: float) -> str:
    change, final = row["accuracy_shift"], three(row["accuracy_end"])
    if math.isnan(change):
        return "Neither the scenario nor its true posts say whether the statement is true, so accuracy is undefined."
    sentence = f"The statement counts as {'true' if side > 0 else 'false'}; mean accuracy"
    if round(change, 3) == 0:
        return f"{sentence} stayed at {final}."
    return f"{sentence} {'rose' if change > 0 else 'fell'} by {three(abs(change))} to {final}."


def _tables(row: dict[str, Any], course: pl.DataFrame, clock: Clock) -> list[Table]:
    of_proposition = course.filter(pl.col("proposition") == row["proposition"]).sort("step")
    name = short(row["name"])
    columns = ((number, "step"), (signed_three, "mean"), (three, "sd"), (percent, "for=share_for"), (three, "accuracy"))
    return [_ends_table(name, row, of_proposition, clock), table(f"{name}: by step", of_proposition, *columns)]


def _ends_table(name: str, row: dict[str, Any], course: pl.DataFrame, clock: Clock) -> Table:
    """Return initial and final values over everybody present, then changes over the same persons."""
    ends = [course.row(0, named=True), course.row(-1, named=True)]
    caption, head = f"{name}: initial and final", ["", "initial", "final"]
    both, each = turned(caption, head, ends, *_ENDS), turned(caption, ["", ""], [row], *_CHANGES)
    rows = [*both.rows, *([title, "", value] for title, value in each.rows)]
    return Table(caption, head, rows, note=_SAME_PEOPLE.format(after_warm_up(clock)))


_ENDS = (
    (number, "people=agents"), (signed_three, "mean stance=mean"), (three, "standard deviation=sd"),
    (percent, "for (above 0)=share_for", "against (below 0)=share_against", "at the bounds=share_at_bounds"),
    (three, "polarization", "bimodality", "accuracy", "confidence"),
)  # fmt: skip
_CHANGES = (
    (partial(significant, signed=True), "mean shift=shift"), (significant, "mean absolute shift=absolute_shift"),
    (percent, "final SD ÷ initial SD=spread_kept", "changed side=changed_side"),
    (signed_three, "change in accuracy=accuracy_shift"),
)  # fmt: skip
