"""Figure: polarization by several measures, distance to the start, what stays, and who moved."""

from __future__ import annotations

import math

import polars as pl
from matplotlib.axes import Axes

from townsquare.analysis.belief_groups import belief_change_by, exposure_groups
from townsquare.analysis.belief_paths import crossing_counts, distance_to_start, persistence
from townsquare.analysis.belief_spread import polarization_course
from townsquare.analysis.beliefs import names
from townsquare.analysis.contract import Reads
from townsquare.analysis.groups import stance_groups
from townsquare.pages.report.axes import from_zero, line, over_steps
from townsquare.pages.report.section import Format, Panel, Section, Table, table_of
from townsquare.pages.report.svg import clean, panel
from townsquare.pages.report.words import count, number, significant

TITLE = "Polarization: apart or together, and who moved"
MOST_DRAWN = 2
_MEASURES = {
    "sd": ("first", "spread (sd)"),
    "mean_distance": ("second", "mean distance"),
    "polarization": ("third", "polarization"),
    "extremity": ("fourth", "extremity"),
}
_NOTE = (
    "Spread and mean distance rise when people stand further apart; polarization is the variance of those distances, "
    "high only for two camps; extremity is the mean distance from the middle. Say beforehand which one you mean."
)


def polarization_section(run: Reads) -> Section:
    """The figure, from a run."""
    course = polarization_course(run)
    if not course.height:
        return Section("polarization", TITLE, ["No beliefs were recorded, so there is nothing to measure."])
    away, crossed, left = distance_to_start(run), crossing_counts(run), persistence(run)
    groups = pl.concat([stance_groups(run), exposure_groups(run)])
    by = belief_change_by(run, groups)
    shown = names(run).head(MOST_DRAWN)
    return Section(
        "polarization",
        TITLE,
        says=[_sentence(row, away) for row in crossed.iter_rows(named=True)],
        notes=[_NOTE],
        panels=[one for row in shown.iter_rows(named=True) for one in _panels(row, course, away, run.last_step)],
        tables=[_measures_table(course), _crossing_table(crossed), _persistence_table(left), _group_table(by)],
    )


def _sentence(row: dict[str, object], away: pl.DataFrame) -> str:
    mine = away.filter(pl.col("proposition") == row["proposition"])
    name = clean(str(row["name"]), 60)
    if not mine.height:
        return f"{name}: no beliefs were recorded."
    last = mine.row(-1, named=True)
    said = f"{name}: at the end people stood {significant(last['mean'], 2)} from where they started on average"
    many = int(str(row["crossed"]))
    ends = f"{row['to_for']} to for, {row['to_against']} to against, {row['returned']} there and back"
    return f"{said}; {count(many, 'person', 'people')} crossed the middle" + (f" ({ends})." if many else ".")


def _panels(row: dict[str, object], course: pl.DataFrame, away: pl.DataFrame, last: int) -> list[Panel]:
    name, number_ = clean(str(row["name"]), 40), row["proposition"]
    mine, moved = (frame.filter(pl.col("proposition") == number_) for frame in (course, away))

    def measures(axes: Axes) -> None:
        for at, (column, (role, label)) in enumerate(_MEASURES.items()):
            line(axes, mine, column, role, label, dashed=at % 2 == 1)
        from_zero(axes, [value for column in _MEASURES for value in mine[column]])
        over_steps(axes, last, "0 to 1")

    def distance(axes: Axes) -> None:
        line(axes, moved, "mean", "first", "mean")
        line(axes, moved, "q95", "second", "95th percentile", dashed=True)
        from_zero(axes, [*moved["mean"], *moved["q95"]])
        over_steps(axes, last, "stance from the start")

    both = [("measures of polarization", measures, "polarization"), ("distance to the start", distance, "distance")]
    return [
        Panel(caption, panel(draw, f"{key}-{number_}", caption))
        for words, draw, key in both
        for caption in [f"{name}: {words}"]
    ]


def _three(value: float | None) -> str:
    return number(value, 3)


def _measures_table(course: pl.DataFrame) -> Table:
    columns: list[tuple[str, str, Format]] = [
        ("proposition", "name", lambda value: clean(value, 40)),
        ("step", "step", number),
        ("sd", "sd", _three),
        ("mean distance", "mean_distance", _three),
        ("polarization", "polarization", _three),
        ("bimodality", "bimodality", _three),
        ("extremity", "extremity", _three),
        ("gap of camps", "camp_gap", _three),
        ("balance", "camp_balance", _three),
        ("entropy", "entropy", _three),
    ]
    return table_of("Measures of polarization after each step", course.sort("proposition", "step"), columns)


def _crossing_table(crossed: pl.DataFrame) -> Table:
    names_ = ("crossed", "to_for", "to_against", "returned", "flips")
    cells = [[clean(row["name"], 40), *(number(row[name]) for name in names_)] for row in crossed.iter_rows(named=True)]
    return Table(
        "Crossings of the middle", ["proposition", "people", "to for", "to against", "returned", "flips"], cells
    )


def _persistence_table(left: pl.DataFrame) -> Table:
    cells = [
        [clean(row["name"], 40), str(row["steps_after"]), number(row["persons"]), significant(row["displacement"]),
         _three(row["kept"])]
        for row in left.iter_rows(named=True)
    ]  # fmt: skip
    note = "Kept: the share of a person's move that is left so many steps after the last post it saw on the matter."
    head = ["proposition", "steps after", "people", "moved by", "kept"]
    return Table("What stays when exposure ends", head, cells, note=note)


def _group_table(by: pl.DataFrame) -> Table:
    cells = [
        [clean(row["name"], 40), clean(row["grouping"], 40), clean(row["group"], 40), number(row["agents"]),
         significant(row["shift"], signed=True), significant(row["absolute_shift"]),
         "–" if math.isnan(row["accuracy_shift"]) else significant(row["accuracy_shift"], signed=True)]
        for row in by.iter_rows(named=True)
    ]  # fmt: skip
    head = ["proposition", "grouping", "group", "people", "shift", "size", "accuracy"]
    return Table("By where people started and what they were shown", head, cells, frozenset({0, 1, 2}))
