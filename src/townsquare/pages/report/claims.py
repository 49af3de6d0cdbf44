"""Figure: who believes which claim, day by day, of those who met it."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import polars as pl

from townsquare.analysis.causes.claims import (
    claim_attribution,
    claim_beliefs,
    claim_courses,
    claims_of,
    holds_claims,
)
from townsquare.analysis.clock import Clock, clock_of, in_words, over_whole_run
from townsquare.analysis.contract import Reads
from townsquare.core.text_table import table
from townsquare.core.words import capital, count, number, percent, printable
from townsquare.pages.report.axes import DASHES, from_zero, over_steps, reference
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.section import Section
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import SERIES, color

TITLE = "Who believes this claim"
MOST_DRAWN, MOST_LISTED = 4, 8
"""Claims with a figure, half of them false, and in the table."""
_MARKS = {"label_step": ("label “false”", DASHES[2]), "note_step": ("community note", DASHES[1])}
"""Columns of first steps, with their names and dashes."""
_HOW_TO_READ = (
    "Solid line: mean probability of being true that people give the claim, with any label or note shown, at their "
    "last exposure in the period; people without an exposure in the period are left out. Dotted line: the first label "
    "“false” on the claim. Dashed line: the first community note on it."
)


def claim_section(run: Reads) -> Section | None:
    """Return the section on belief in claims; None under a rule that does not hold it, or where nobody met a claim."""
    courses = claim_courses(run) if holds_claims(run) else pl.DataFrame()
    if not courses.height:
        return None
    first = pl.col("text", "truth", *_MARKS, "people_in_all").first()
    claims = courses.group_by("claim", maintain_order=True).agg(first)
    claims = claims.join(claim_beliefs(run), on="claim", how="left", maintain_order="left")
    figures = [
        Figure(
            f"claim-{row['claim']}", f"“{printable(row['text'], 90)}” ({row['truth']})",
            courses.filter(claim=row["claim"]), partial(_draw, clock=clock_of(run), shade=SERIES[at]), height=190,
        )
        for at, row in enumerate(_drawn(claims).iter_rows(named=True))
    ]  # fmt: skip
    time = partial(_time, clock_of(run).hours)
    columns = (
        (partial(printable, longest=110), "claim=text"), (str, "truth"), (number, "people=people_in_all"),
        (percent, "mean belief at first exposure=believe_first", "at last exposure=believe_last"),
        (time, "first label “false”=label_step", "first note=note_step"),
    )  # fmt: skip
    by_period = (
        (partial(printable, longest=60), "claim=text"), (number, "step", "people"), (percent, "mean belief=believe"),
        (percent, "remember a label=labeled", "remember a note=noted"),
    )  # fmt: skip
    shown, drawn = claims.head(MOST_LISTED), _drawn(claims)["claim"].implode()
    caption = f"Claims met by most people ({shown.height} of {claims.height})"
    listed = courses.filter(pl.col("claim").is_in(drawn))
    return Section(
        "claims", TITLE, says=[*_says(claims, clock_of(run)), *_example(run, claims)], notes=[_HOW_TO_READ],
        figures=figures,
        open_tables=[table(caption, shown, *columns, words=("claim", "truth"))],
        tables=[table("Belief in claims by period", listed, *by_period, words=("claim",))],
    )  # fmt: skip


def _drawn(claims: pl.DataFrame) -> pl.DataFrame:
    """Return the claims with a figure: of each truth, those that most people met, false ones first."""
    return pl.concat([claims.filter(truth=truth).head(MOST_DRAWN // 2) for truth in ("false", "true")])


def _says(claims: pl.DataFrame, clock: Clock) -> list[str]:
    """Return the mean belief in false and true claims of those who saw them, and how many claims were marked."""
    out = []
    for truth in ("false", "true"):
        rows = claims.filter(truth=truth)
        if rows.height:
            share = float(np.average(rows["believe_last"].to_numpy(), weights=rows["people_in_all"].to_numpy()))
            many = {words: rows[name].count() for name, (words, _) in _MARKS.items()}
            got = [f"{number(n)} got a {words}" for words, n in many.items() if n]
            marked = f"; of these claims, {' and '.join(got)}" if got else ""
            of = count(rows.height, f"{truth} claim")
            gave = f"gave it a mean probability of being true of {percent(share)} at their last exposure to it{marked}."
            out.append(capital(f"{over_whole_run(clock)}people who saw one of {of} {gave}"))
    return out


def _example(run: Reads, claims: pl.DataFrame) -> list[str]:
    """Return how somebody stopped believing one of the false claims that most people met; nothing if nobody did."""
    for claim in claims.filter(truth="false").head(MOST_LISTED)["claim"]:
        if stopped := claim_attribution(run, claim).stopped:
            return [" ".join(belief.sentences) for belief in claims_of(run, stopped[0]) if belief.claim == claim]
    return []


def _time(hours: float | None, step: float | None) -> str:
    """Return a step as a time where steps have a length of so many hours."""
    if step is None or math.isnan(step):
        return ""
    return number(step) if hours is None else in_words(step * hours)


def _draw(axes: Chart, course: pl.DataFrame, clock: Clock, shade: str) -> None:
    shares = 100.0 * course["believe"]
    axes.plot(course["step"].to_numpy(), shares.to_numpy(), color=color(shade), linewidth=2.2)
    for name, (_, dashes) in _MARKS.items():
        if (first := course[name][0]) is not None:
            axes.axvline(float(first), color=color("muted"), linewidth=1.2, linestyle=dashes)
    over_steps(axes, clock, "% probability, mean")
    reference(axes, 50.0)
    from_zero(axes, [*shares.to_list(), 100.0])
