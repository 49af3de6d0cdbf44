"""``townsquare analyze``: every analysis of a recorded run as a table."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, console, show_json, table

if TYPE_CHECKING:
    import polars as pl

Only = Annotated[
    list[str] | None,
    Parameter(negative="", help="Analyses by their names, as cascades,homophily; by default all. See --list."),
]
Without = Annotated[
    Path | None,
    Parameter(help="The paired run without moderation: same scenario and seed, as the arms of a comparison are."),
]
OutFolder = Annotated[Path | None, Parameter(help="Folder to write into; by default RUN/analysis.")]
ListThem = Annotated[bool, Parameter(name="--list", negative="", help="Print what there is, and write nothing.")]


def analyze(
    folder: Annotated[Path | None, Parameter(name="RUN", help="The folder of a recorded run.")] = None,
    /,
    *,
    only: Only = None,
    without: Without = None,
    out: OutFolder = None,
    safe_cells: options.SafeCells = False,
    list_them: ListThem = False,
    as_json: options.AsJson = False,
) -> int:
    """Write the tables of every analysis of a run as CSV. With --json, print them instead."""
    from townsquare.analysis.catalogue import analyze as each
    from townsquare.analysis.catalogue import every_analysis
    from townsquare.core.errors import SettingError
    from townsquare.core.spreadsheets import as_cells
    from townsquare.record.run import Run

    if safe_cells and (as_json or list_them):
        raise SettingError("--safe-cells", got="without files", allowed="with CSV files", do="leave it out")
    if list_them:
        return _list(as_json=as_json)
    if folder is None:
        raise SettingError("RUN", got="nothing", allowed="the folder of a recorded run, or --list")
    named = None if only is None else [name for words in only for name in words.replace(",", " ").split()]
    run = Run.open(folder)
    found = each(run, named, None if without is None else Run.open(without), every_analysis(run))
    if as_json:
        shown = {name: _plain(frame) for name, frame in found}
        show_json({"run": str(folder), "analyses": shown})
        return 0
    out = out or folder / "analysis"
    rows, missing = [], []
    for name, frame in found:
        if isinstance(frame, Exception):
            missing.append((name, frame))
            continue
        out.mkdir(parents=True, exist_ok=True)
        as_cells(frame, safe=safe_cells).write_csv(out / f"{name}.csv")
        rows.append((name, f"{frame.height:,}"))
    console().print(table("", ("table", "rows"), rows, ("rows",)))
    for name, error in missing:
        complain(f"{name} was left out: {error}", kind="missing")
    print(f"analysis  {out}")
    return 0


def _plain(frame: pl.DataFrame | Exception) -> Any:
    """Rows as objects; NaN, which JSON has not, as null."""
    import polars as pl

    if isinstance(frame, Exception):
        return {"missing": str(frame)}
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None)).to_dicts()


def _list(*, as_json: bool) -> int:
    from townsquare.analysis.catalogue import ANALYSES, BELIEF_ANALYSES, PAIR_ANALYSES

    each = {**ANALYSES, **BELIEF_ANALYSES, **PAIR_ANALYSES}
    said = {name: _first_line(function) for name, function in each.items()}
    if as_json:
        show_json(said)
    else:
        console().print(table("", ("table", "what it is"), list(said.items())))
    return 0


def _first_line(function: Any) -> str:
    """What an analysis says of itself, without the marks of cross-references."""
    said = inspect.getdoc(getattr(function, "func", function)) or ""
    return re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"\1", said.splitlines()[0] if said else "")
