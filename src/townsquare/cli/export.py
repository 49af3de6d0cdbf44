"""``townsquare export``: a run as files for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, console, show_json, table
from townsquare.cli.progress import ProgressDisplay, mode

To = Annotated[str, Parameter(help="csv, parquet, jsonl (one file a table), or sqlite (one database).")]
Tables = Annotated[
    list[str] | None,
    Parameter(negative="", help="Tables by their names in `townsquare inspect`, as exposures,actions; by default all."),
]
OutFolder = Annotated[Path | None, Parameter(help="Folder to make; by default RUN/export-<format>.")]
Codes = Annotated[bool, Parameter(negative="", help="Keep code words as numbers: 1 instead of like.")]


def export(
    folder: options.Folder,
    /,
    *,
    to: To,
    tables: Tables = None,
    out: OutFolder = None,
    codes: Codes = False,
    safe_cells: options.SafeCells = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> int:
    """Write the tables of a run as CSV, Parquet or JSON lines, or all of it as one SQLite database.

    An export that was stopped goes on when the same command is given again.
    """
    from townsquare.record.export import Plan
    from townsquare.record.export import export as write
    from townsquare.record.run import Run

    named = [name for words in tables or () for name in words.replace(",", " ").split()]
    plan = Plan.of(to, named, codes=codes, safe_cells=safe_cells)
    run = Run.open(folder)
    out = out or folder / f"export-{to}"
    try:
        with ProgressDisplay(
            len(plan.tables), mode(quiet=quiet, as_json=as_json), f"exporting to {out}", "table"
        ) as progress:
            files = write(run, out, plan, progress.at)
    except KeyboardInterrupt:
        complain("what is done is kept. Go on by giving the same command again.", kind="stopped")
        return 130
    rows = {name: count for name, count in run.counts.items() if name in plan.tables}
    if as_json:
        show_json({"event": "result", "export": str(out), "files": [file.name for file in files], "rows": rows})
    elif quiet:
        print(out)
    else:
        console().print(table("", ("table", "rows"), [(name, f"{count:,}") for name, count in rows.items()], ("rows",)))
        print(f"export  {out}")
    return 0
