"""Figure: measures of polarization, distance to initial stances, persistence, and changes by group."""

from __future__ import annotations

import polars as pl

from townsquare.analysis.belief_groups import belief_change_by, exposure_groups
from townsquare.analysis.belief_paths import crossing_counts, distance_to_start, persistence
from townsquare.analysis.belief_spread import polarization_course
from townsquare.analysis.beliefs import names, statements
from townsquare.analysis.clock import Clock, clock_of, over_whole_run
from townsquare.analysis.contract import Reads
from townsquare.analysis.groups import NEUTRAL, stance_groups
from townsquare.core.text_table import Table, table
from townsquare.core.words import count, number, printable, short, signed, significant, three
from townsquare.pages.report.axes import course
from townsquare.pages.report.section import Section, with_statements
from townsquare.pages.report.svg import Figure

TITLE = "Polarization and convergence"
MOST_DRAWN = 2
_MEASURES = {
    "sd": ("first", "standard deviation"), "mean_distance": ("second", "mean pairwise distance"),
    "polarization": ("third", "polarization"), "extremity": ("fourth", "extremity"),
}  # fmt: skip
_DISTANCES = {"mean": ("first", "mean"), "q95": ("second", "95th percentile")}
_EXPOSURES = {
    "shown:true": "exposures to true posts", "shown:false": "exposures to false posts",
    "shown:unknown": "exposures to other posts", "shown:labeled": "labeled exposures",
}  # fmt: skip
_NOTE = (
    "Standard deviation and mean pairwise distance rise when stances are further apart. Polarization is the variance "
    "of these distances and is high only for two camps. Extremity is the mean absolute stance. Pre-specify the measure "
    "you use."
)


def polarization_section(run: Reads) -> Section:
    """Return the section on polarization."""
    courses = with_statements(run, polarization_course(run))
    if not courses.height:
        return Section("polarization", TITLE, ["No beliefs were recorded, so polarization is undefined."])
    away, crossed, left = (with_statements(run, of(run)) for of in (distance_to_start, crossing_counts, persistence))
    groups = pl.concat([stance_groups(run), exposure_groups(run)])
    words = _EXPOSURES | {f"stance:{name}": f"initial stance: {text}" for name, text in statements(run).items()}
    by = with_statements(run, belief_change_by(run, groups)).with_columns(pl.col("grouping").replace(words))
    shown = with_statements(run, names(run)).head(MOST_DRAWN)
    clock, tables = clock_of(run), _tables(courses, crossed, left, by)
    says = [_sentence(row, away, clock) for row in crossed.iter_rows(named=True)]
    figures = [figure for row in shown.iter_rows(named=True) for figure in _figures(row, courses, away, clock)]
    return Section("polarization", TITLE, says=says, notes=[_NOTE], figures=figures, tables=tables)


def _sentence(row: dict[str, object], away: pl.DataFrame, clock: Clock) -> str:
    of_proposition = away.filter(pl.col("proposition") == row["proposition"])
    statement = f"“{printable(str(row['name']), 200)}”"
    if not of_proposition.height:
        return f"{statement}: no beliefs were recorded."
    distance = significant(of_proposition["mean"][-1], 2)
    many = int(str(row["crossed"]))
    ends = f"{row['to_for']} from against to for, {row['to_against']} from for to against, {row['returned']} back again"
    changed = f"{count(many, 'person', 'people')} changed sides" + (f" ({ends})." if many else ".")
    whole = over_whole_run(clock).lower()
    return f"{statement}: {whole}on average, final stances differed from initial stances by {distance}; {changed}"


def _figures(row: dict[str, object], courses: pl.DataFrame, away: pl.DataFrame, clock: Clock) -> list[Figure]:
    statement, at = printable(str(row["name"]), 90), row["proposition"]
    of_proposition, distances = (frame.filter(pl.col("proposition") == at) for frame in (courses, away))
    measures, distance = f"“{statement}”: measures of polarization", f"“{statement}”: distance to the initial stance"
    return [
        course(f"polarization-{at}", measures, of_proposition, _MEASURES, clock, "value (0 to 1)"),
        course(f"distance-{at}", distance, distances, _DISTANCES, clock, "absolute change of stance"),
    ]


def _tables(courses: pl.DataFrame, crossed: pl.DataFrame, left: pl.DataFrame, by: pl.DataFrame) -> list[Table]:
    return [
        table(
            "Measures of polarization by step", courses.sort("proposition", "step"),
            (short, "proposition=name"), (number, "step"),
            (three, "sd", "mean pairwise distance=mean_distance", "polarization", "bimodality", "extremity",
             "distance between camps=camp_gap", "balance of camps=camp_balance", "entropy"),
        ),
        table(
            "Changes of side", crossed, (short, "proposition=name"),
            (number, "changed sides=crossed", "against to for=to_for", "for to against=to_against",
             "back again=returned", "further changes=flips"),
        ),
        table(
            "Persistence after exposure ends", left, (short, "proposition=name"), (str, "steps after=steps_after"),
            (number, "people=persons"), (significant, "mean displacement=displacement"), (three, "remaining=kept"),
            note="Mean displacement: distance from the initial stance at the last exposure to a post on the "
            "proposition, over people observed for so many steps after it. Remaining: share of this displacement that "
            "is then left.",
        ),
        table(
            "Belief change by initial stance and by exposure", by, (short, "proposition=name", "grouping", "group"),
            (number, "people=agents"), (signed, "mean shift=shift"),
            (significant, "mean absolute shift=absolute_shift"), (signed, "change in accuracy=accuracy_shift"),
            note="Shifts and changes compare the first stance of each person after a warm-up, if there is one, with "
            f"the final stance. Undecided: initial stance within {NEUTRAL:g} of 0. Groups count the exposures of the "
            "whole run.",
        ),
    ]  # fmt: skip
