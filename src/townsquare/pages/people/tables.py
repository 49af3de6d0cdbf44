"""What a fit found, as tables: Table 1 and A6, A7, the scores beside all baselines, and people of their own numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from townsquare.humans.fit.alignment import WARNING
from townsquare.humans.fit.by_group import ALL, GroupRow, Robustness
from townsquare.humans.fit.fit import RULE
from townsquare.humans.fit.pooling import NEXT, PooledFit
from townsquare.humans.fit.scores import Scored
from townsquare.humans.fit.study import Study
from townsquare.pages.people.words import method, with_interval
from townsquare.pages.report.section import Table
from townsquare.pages.report.words import number, percent

DIGITS = 3
BEST_FIRST = "Intervals are 95%: t over folds, and a bootstrap over conversations. Below 0, the rule is better."
GROUP_NAMES = {
    ALL: "all participants",
    "evidence-aligned": "evidence-aligned movers",
    "evidence-opposed": "evidence-opposed movers",
    "stable": "stable participants",
    "weak-signal": "weak-signal movers",
}
SPLITS = {"group": "group-held-out", "topic": "topic-held-out"}


def scores_table(scored: Scored, rule: str, caption: str = "Held-out error, beside the baselines") -> Table:
    """Rule and baselines in rows: errors, intervals, and the rule's paired difference to each."""
    own = NEXT if NEXT in scored.scores else RULE
    rows = []
    for name, score in scored.scores.items():
        pair = scored.paired.get(name)
        rows.append(
            [
                method(name, rule),
                with_interval(score.people, DIGITS),
                with_interval(score.folds, DIGITS),
                number(score.mae, DIGITS),
                percent(score.sign),
                with_interval(pair.people, DIGITS, signed=True) if pair else "",
                with_interval(pair.folds, DIGITS, signed=True) if pair else "",
            ]
        )
    less = f"{method(own, rule)} less this"
    head = ["method", "RMSE", "mean of folds", "MAE", "sign", less, "the same, over folds"]
    return Table(caption, head, rows, note=f"{scored.n:,} rows in {scored.groups:,} conversations. {BEST_FIRST}")


def table_1(rows: Sequence[GroupRow], rule: str, names: tuple[str, str]) -> Table:
    """Tables 1 and A6 of the paper, with the baselines that are fitted to the group as the rule is."""
    cells = [
        [
            GROUP_NAMES[row.group], f"{row.n:,}", number(row.mean_change, DIGITS), number(row.no_change, DIGITS),
            number(row.linear, DIGITS), number(row.rule, DIGITS), number(row.gain, DIGITS, signed=True),
            number(row.prior_own, DIGITS), number(row.linear_own, DIGITS), f"{row.x:.4g}", f"{row.y:.4g}",
        ]
        for row in rows
    ]  # fmt: skip
    head = [
        "group", "N", "|Δ|", "no change", "linear", rule, "gain", "prior only, own fit", "linear, own fit", *names,
    ]  # fmt: skip
    note = f"Held-out RMSE. Gain is linear less rule. {WARNING}"
    return Table("Groups by evidence (Tables 1 and A6)", head, cells, note=note)


def table_a7(rows: Sequence[Robustness]) -> Table:
    """Table A7: profiles by group over folds, against prior-only and against one profile for all."""
    cells = [
        [
            SPLITS[row.split], with_interval(row.rmse), with_interval(row.less_prior, signed=True),
            with_interval(row.less_global, signed=True),
            f"{row.folds_better[0]} and {row.folds_better[1]} of {row.folds}",
        ]
        for row in rows
    ]  # fmt: skip
    head = ["split", "fold mean RMSE", "less prior only", "less one profile for all", "folds in which lower"]
    note = f"t intervals over folds; each group by its own profile, weak-signal by that of all. {WARNING}"
    return Table("Robustness over folds (Table A7)", head, cells, note=note)


def people_table(found: PooledFit, names: tuple[str, str]) -> Table:
    """How many people the data tell anything of."""
    n = len(found.people)
    rows = [
        ["people", f"{n:,}"],
        *(
            [f"{name} told from the population's", percent(found.share_told(which))]
            for name, which in zip(names, ("x", "y"), strict=True)
        ),
        [f"{names[0]} and {names[1]} told apart", percent(found.share_told("both"))],
        ["spread around predictions (sd)", number(found.population.error, DIGITS)],
    ]
    note = "Told: the posterior is at least a tenth narrower than the population. Apart: both, and not tied together."
    return Table("Own numbers for each person, by partial pooling", ["of people", ""], rows, note=note)


def tables_of(found: Study) -> dict[str, Table]:
    """Every table of a fit, by the stem of its file."""
    grid = found.setup.grid
    names = (grid.x_short, grid.y_short)
    out = {
        "scores": scores_table(found.scored, grid.rule),
        "table-1": table_1(found.groups, grid.rule, names),
        "table-a7": table_a7(found.robust),
        "told": people_table(found.people, names),
    }
    if found.people.known is not None:
        caption = "The same for answers of people who had answered before"
        out["met-before"] = scores_table(found.people.known, grid.rule, caption)
    return out


def as_csv(table: Table) -> str:
    """A table as CSV, with cells as they are shown."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.head)
    writer.writerows(table.rows)
    return text.getvalue()


def as_text(table: Table) -> str:
    """A table in columns of plain text, words to the left and numbers to the right."""
    lines = [list(table.head), *(list(row) for row in table.rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(table.head))]
    shown = [
        "  ".join(
            cell.ljust(width) if at in table.words else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    shown.insert(1, "-" * max(len(line) for line in shown))
    return "\n".join([table.caption, "", *shown, "", *([table.note, ""] if table.note else [])])


def as_markdown(table: Table) -> str:
    """A table in Markdown, numbers to the right."""
    rule = ["---" if at in table.words else "---:" for at in range(len(table.head))]
    lines = [table.head, rule, *table.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
