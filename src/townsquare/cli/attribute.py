"""``townsquare attribute``: who and what changed minds, by the sums of the trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import console, safe, show_json, table

if TYPE_CHECKING:
    import polars as pl

LARGEST = 12
LONGEST_TEXT = 60


def attribute(
    folder: options.Folder,
    /,
    *,
    by: Annotated[str, Parameter(help="post, author, writer, veracity, label, cause or step.")] = "author",
    agent: Annotated[
        int | None, Parameter(converter=options.whole, help="One person; without it, the mean over everybody.")
    ] = None,
    proposition: Annotated[str | None, Parameter(help="One proposition, by its name.")] = None,
    every: Annotated[bool, Parameter(name="--all", negative="", help="Print every group, not the largest.")] = False,
    as_json: options.AsJson = False,
) -> int:
    """Show what each post, author, class of veracity or label contributed to the change of beliefs."""
    from townsquare.analysis.beliefs import of_proposition
    from townsquare.analysis.causes.attribution import attribution, attribution_error
    from townsquare.analysis.causes.contributions import changes
    from townsquare.record.run import Run

    run = Run.open(folder)
    found = of_proposition(run, attribution(run, by, agent), proposition)
    moved = of_proposition(run, changes(run), proposition)
    moved = moved if agent is None else moved.filter(moved["agent"] == agent)
    apart = attribution_error(run)
    if as_json:
        show_json({"by": by, "agent": agent, "largest_difference": apart, "groups": found.to_dicts()})
        return 0
    for name, part in found.group_by("name", maintain_order=True):
        here = moved.filter(moved["proposition"] == part["proposition"][0])
        _show(str(name[0]), by, part, here, every=every)
    if not found.height:
        print("Nothing was contributed: there is no trail row, so beliefs did not move.")
    print(f"Contributions of each person sum to its recorded change; the largest difference is {apart:.1e}.")
    print("They say what the rule counted, not what would have happened without: see `townsquare counterfactual`.")
    return 0


def _show(name: str, by: str, part: pl.DataFrame, moved: pl.DataFrame, *, every: bool) -> None:
    shown = part if every else part.head(LARGEST)
    rows = [_row(row) for row in shown.iter_rows(named=True)]
    rest = part.tail(part.height - shown.height)
    if rest.height:
        rows.append(("", f"{rest.height} more", "", f"{rest['per_person'].sum():+.6f}", f"{rest['gross'].sum():.4f}"))
    rows.append(("", "sum", "", f"{part['per_person'].sum():+.6f}", f"{part['gross'].sum():.4f}"))
    rows.append(("", "recorded change", "", f"{_mean(moved):+.6f}", ""))
    many = f"mean of {moved.height} persons" if moved.height != 1 else "one person"
    columns = (by, "", "trail rows", "moved by", "pulled in all")
    title = f"{name}: what changed it, in stance, {many}"
    console().print(table(title, columns, rows, right=("trail rows", "moved by", "pulled in all")))


def _mean(moved: pl.DataFrame) -> float:
    return float(sum(moved["change"].to_list()) / max(1, moved.height))


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    what = row["what"] if row["cause"] in ("shown", row["what"]) else f"{row['what']} ({row['cause']})"
    key = "" if row["key"] < 0 else str(row["key"])
    return key, safe(what, LONGEST_TEXT), f"{row['rows']:,}", f"{row['per_person']:+.6f}", f"{row['gross']:.4f}"
