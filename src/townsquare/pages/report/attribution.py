"""Figure: contributions to belief change, by veracity, label and author of what was shown."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from townsquare.analysis.beliefs import names
from townsquare.analysis.causes.attribution import CAUSES, attributions
from townsquare.analysis.clock import clock_of, over_whole_run
from townsquare.analysis.contract import Reads, setting
from townsquare.core.frames import collected
from townsquare.core.text_table import Table, table
from townsquare.core.words import count, number, printable, short, signed, significant
from townsquare.pages.report.axes import amounts_across, bars
from townsquare.pages.report.chart import Chart
from townsquare.pages.report.section import Section, with_statements
from townsquare.pages.report.svg import Figure
from townsquare.pages.report.theme import color

TITLE = "Attribution: contributions to belief change"
MOST = 8
"""Authors and posts that are drawn and listed."""
KINDS = ("veracity", "label", "author", "post")
MOST_JOINED, MOST_ROWS = 2_000_000, 20_000_000
"""Rows of the trail up to which labels and authors are looked up, and up to which they are summed at all."""
MOST_DRAWN = 2
"""Propositions with panels."""
_DRAWN = {"veracity": "veracity of the post shown", "label": "label shown", "author": "account that posted or shared"}
_NOTE = (
    "Contributions come from the trail of the belief rule and sum to the recorded change. Contributions are not causal "
    "effects: to estimate what would have happened otherwise, use “townsquare counterfactual”."
)


def attribution_section(run: Reads) -> Section:
    """Return the section on attribution."""
    if not setting(run, "record", "trail", default=True):
        return Section("attribution", TITLE, ["This run was recorded without a trail: no attribution is possible."])
    rows = int(run.lazy("trail").select(pl.len()).pipe(collected).item())
    if rows > MOST_ROWS:
        why = f"The trail has {number(rows)} rows, too many for this page: use “townsquare attribute”."
        return Section("attribution", TITLE, [why])
    kinds = KINDS if rows <= MOST_JOINED else ("veracity", "post")
    by = {kind: with_statements(run, groups) for kind, groups in attributions(run, kinds).items()}
    if not by["veracity"].height:
        return Section("attribution", TITLE, ["No belief changed, so there is nothing to attribute."])
    propositions = with_statements(run, names(run))
    notes = [_NOTE]
    if rows > MOST_JOINED:
        notes.append("For a run of this size, use “townsquare attribute” for contributions by label and author.")
    if propositions.height > MOST_DRAWN:
        notes.append(f"Panels show the first {MOST_DRAWN} propositions; the tables include all.")
    begins = over_whole_run(clock_of(run)).lower()
    says = [_sentence(row, by["veracity"], begins) for row in propositions.iter_rows(named=True)]
    figures = [figure for row in propositions.head(MOST_DRAWN).iter_rows(named=True) for figure in _figures(row, by)]
    tables = [_table(kind, groups) for kind, groups in by.items()]
    return Section("attribution", TITLE, says=says, notes=notes, figures=figures, tables=tables)


def _sentence(row: dict[str, object], groups: pl.DataFrame, begins: str) -> str:
    of_proposition = groups.filter(pl.col("proposition") == row["proposition"])
    if not of_proposition.height:
        return f"“{printable(str(row['name']), 200)}”: no contributions."
    sums = dict(of_proposition.select("what", "per_person").rows())
    whole = sum(sums.values())
    parts = [f"{_word(what)} {significant(value, 2, signed=True)}" for what, value in sums.items()]
    changed = f"{begins}the mean stance changed by {significant(whole, 2, signed=True)}"
    return f"“{printable(str(row['name']), 200)}”: {changed}. Contributions: {'; '.join(parts)}."


def _word(what: str) -> str:
    words = {"true": "true posts", "false": "false posts", "unknown": "posts of unknown veracity", "none": "no label"}
    return (words | CAUSES).get(what, short(what))


def _figures(row: dict[str, object], by: Mapping[str, pl.DataFrame]) -> list[Figure]:
    name, at = printable(str(row["name"]), 90), row["proposition"]
    parts = {kind: by[kind].filter(pl.col("proposition") == at).head(MOST) for kind in _DRAWN if kind in by}
    drawn = [(kind, f"“{name}”: change by {_DRAWN[kind]}", part) for kind, part in parts.items() if part.height]
    return [Figure(f"attribution-{kind}-{at}", caption, part, _draw) for kind, caption, part in drawn]


def _draw(axes: Chart, groups: pl.DataFrame) -> None:
    roles = [what if what in ("true", "false") else "unknown" for what in groups["what"]]
    bars(axes, [_word(what) for what in groups["what"]], groups["per_person"], roles)
    axes.axvline(0.0, color=color("ink"), linewidth=0.9)
    amounts_across(axes, "contribution to mean stance", ticks=4)


def _table(kind: str, groups: pl.DataFrame) -> Table:
    shown = groups.group_by("proposition", maintain_order=True).head(MOST if kind in ("author", "post") else 50)
    left = groups.height - shown.height
    note = f"Largest groups of each proposition; the CSV has {count(left, 'more group')}." if left > 0 else ""
    return table(
        f"By {kind}", shown, (short, "proposition=name"), (_word, f"{kind}=what"),
        (number, "contributions=rows", "people=agents"), (signed, "mean change=per_person"),
        (significant, "sum of |contributions|=gross"),
        note=note,
    )  # fmt: skip
