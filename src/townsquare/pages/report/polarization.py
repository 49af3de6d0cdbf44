"""Figure: polarization by several measures, distance to the start, what stays, and who moved."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.belief_groups import belief_change_by, exposure_groups
from townsquare.analysis.belief_paths import crossing_counts, distance_to_start, persistence
from townsquare.analysis.belief_spread import polarization_course
from townsquare.analysis.beliefs import names
from townsquare.analysis.contract import Reads
from townsquare.analysis.groups import stance_groups
from townsquare.core.text_table import Table, table
from townsquare.pages.report.axes import course
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.words import count, number, printable, short, signed, significant, three

TITLE = "Polarization: apart or together, and who moved"
MOST_DRAWN = 2
_MEASURES = {
    "sd": ("first", "spread (sd)"),
    "mean_distance": ("second", "mean distance"),
    "polarization": ("third", "polarization"),
    "extremity": ("fourth", "extremity"),
}
_DISTANCES = {"mean": ("first", "mean"), "q95": ("second", "95th percentile")}
_NOTE = (
    "Spread and mean distance rise when people stand further apart; polarization is the variance of those distances, "
    "high only for two camps; extremity is the mean distance from the middle. Say beforehand which one you mean."
)


def polarization_section(run: Reads) -> Section:
    """The figure, from a run."""
    courses = polarization_course(run)
    if not courses.height:
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
        figures=[
            figure for row in shown.iter_rows(named=True) for figure in _figures(row, courses, away, run.last_step)
        ],
        tables=_tables(courses, crossed, left, by),
    )


def _sentence(row: dict[str, object], away: pl.DataFrame) -> str:
    of_proposition = away.filter(pl.col("proposition") == row["proposition"])
    name = printable(str(row["name"]), 60)
    if not of_proposition.height:
        return f"{name}: no beliefs were recorded."
    last = of_proposition.row(-1, named=True)
    sentence = f"{name}: at the end people stood {significant(last['mean'], 2)} from where they started on average"
    many = int(str(row["crossed"]))
    ends = f"{row['to_for']} to for, {row['to_against']} to against, {row['returned']} there and back"
    return f"{sentence}; {count(many, 'person', 'people')} crossed the middle" + (f" ({ends})." if many else ".")


def _figures(row: dict[str, object], courses: pl.DataFrame, away: pl.DataFrame, last: int) -> list[Figure]:
    name, at = printable(str(row["name"]), 40), row["proposition"]
    of_proposition, moved = (frame.filter(pl.col("proposition") == at) for frame in (courses, away))
    measures, distance = f"{name}: measures of polarization", f"{name}: distance to the start"
    return [
        course(f"polarization-{at}", measures, of_proposition, _MEASURES, last, "0 to 1"),
        course(f"distance-{at}", distance, moved, _DISTANCES, last, "stance from the start"),
    ]


def _tables(courses: pl.DataFrame, crossed: pl.DataFrame, left: pl.DataFrame, by: pl.DataFrame) -> list[Table]:
    return [
        table(
            "Measures of polarization after each step", courses.sort("proposition", "step"),
            (short, "proposition=name"), (number, "step"),
            (three, "sd", "mean distance=mean_distance", "polarization", "bimodality", "extremity",
             "gap of camps=camp_gap", "balance=camp_balance", "entropy"),
        ),
        table(
            "Crossings of the middle", crossed, (short, "proposition=name"),
            (number, "people=crossed", "to for=to_for", "to against=to_against", "returned", "flips"),
        ),
        table(
            "What stays when exposure ends", left, (short, "proposition=name"), (str, "steps after=steps_after"),
            (number, "people=persons"), (significant, "moved by=displacement"), (three, "kept"),
            note="Kept: the share of a person's move that is left so many steps after the last post it saw on the "
            "matter.",
        ),
        table(
            "By where people started and what they were shown", by, (short, "proposition=name", "grouping", "group"),
            (number, "people=agents"), (signed, "shift"), (significant, "size=absolute_shift"),
            (signed, "accuracy=accuracy_shift"),
        ),
    ]  # fmt: skip
