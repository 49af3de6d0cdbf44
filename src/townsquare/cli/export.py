"""``townsquare export``: a run as files for other programs."""

from __future__ import annotations

from pathlib import Path

from townsquare.cli import options
from townsquare.cli.console import complain, number, show


def export(
    folder: options.Folder,
    /,
    *,
    to: str,
    tables: list[str] | None = None,
    out: Path | None = None,
    codes: bool = False,
    safe_cells: options.SafeCells = False,
    shown: options.Shown = options.SHOWN,
) -> int:
    """Write the tables of a run as CSV, Parquet or JSON lines, or as one SQLite database.

    To resume a stopped export, give the same command again.

    Parameters
    ----------
    to
        csv, parquet, jsonl (one file per table), or sqlite (one database).
    tables
        Table names from `townsquare inspect`, such as exposures,actions; default: all.
    out
        Output folder; default: RUN/export-<format>.
    codes
        Write codes as numbers: 1 instead of like.
    """
    from townsquare.record.export import Plan
    from townsquare.record.export import export as write
    from townsquare.record.run import Run

    plan = Plan.of(to, options.words_of(tables), codes=codes, safe_cells=safe_cells)
    run = Run.open(folder)
    out = out or folder / f"export-{to}"
    try:
        with shown.progress(len(plan.tables), f"exporting to {out}", "table") as progress:
            files = write(run, out, plan, progress.at)
    except KeyboardInterrupt:
        complain("finished tables are saved. To resume, give the same command again.", kind="stopped")
        return 130
    rows = {name: count for name, count in run.counts.items() if name in plan.tables}
    if not shown.is_told(out, {"export": str(out), "files": [file.name for file in files], "rows": rows}):
        show("", list(rows.items()), (str, "table"), (number, "rows"))
        print(f"export  {out}")
    return 0
