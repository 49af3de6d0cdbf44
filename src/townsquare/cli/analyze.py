"""``townsquare analyze``: every analysis of a recorded run as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import complain, number, picked, show, show_json
from townsquare.core.text_table import as_markdown, table

if TYPE_CHECKING:
    import polars as pl


def analyze(
    folder: Annotated[Path | None, Parameter(name="RUN")] = None,
    /,
    *,
    only: list[str] | None = None,
    without: Path | None = None,
    out: Path | None = None,
    safe_cells: options.SafeCells = False,
    list_them: Annotated[bool, Parameter(name="--list")] = False,
    markdown: bool = False,
    as_json: options.AsJson = False,
) -> int:
    """Write the tables of all analyses of a run as CSV, or print them with --json.

    Parameters
    ----------
    folder
        The folder of a recorded run.
    only
        Analyses by name, such as cascades,homophily; default: all. See --list.
    without
        The paired run without moderation (same scenario and seed): adds effects of moderation.
    out
        Output folder; default: RUN/analysis.
    list_them
        List the measures with units, directions and definitions; write nothing.
    markdown
        With --list: print the page docs/measure-list.md.
    """
    from townsquare.analysis.catalog import analyze as each
    from townsquare.core.errors import SettingError
    from townsquare.core.spreadsheets import as_cells
    from townsquare.record.run import Run

    if safe_cells and (as_json or list_them):
        raise SettingError("--safe-cells", got="without files", allowed="with CSV files", do="leave it out")
    if list_them:
        return _list(as_json=as_json, markdown=markdown)
    folder = options.required("RUN", folder, "the folder of a recorded run, or --list")
    named = None if only is None else options.words_of(only)
    run = Run.open(folder)
    results = each(run, named, None if without is None else Run.open(without))
    if as_json:
        return show_json({"run": str(folder), "analyses": {name: _plain(result) for name, result in results}})
    out = out or folder / "analysis"
    rows, missing = [], []
    for name, frame in results:
        if isinstance(frame, Exception):
            missing.append((name, frame))
            continue
        out.mkdir(parents=True, exist_ok=True)
        as_cells(frame, safe=safe_cells).write_csv(out / f"{name}.csv")
        rows.append((name, frame.height))
    show("", rows, (str, "table"), (number, "rows"))
    for name, error in missing:
        complain(f"{name} omitted: {error}", kind="missing")
    print(f"analysis  {out}")
    return 0


def _plain(result: pl.DataFrame | Exception) -> Any:
    return {"missing": str(result)} if isinstance(result, Exception) else result


def _list(*, as_json: bool, markdown: bool) -> int:
    from townsquare.analysis.catalog import measures

    listed = measures()
    if as_json:
        return show_json({measure.name: picked(measure, "unit", "direction", "definition") for measure in listed})
    columns = (str, "measure=name"), (str, "unit", "direction", "definition")
    if markdown:
        print(f"{_HEAD}\n{as_markdown(table('', listed, *columns))}")
    else:
        show("", listed, *columns)
    return 0


_HEAD = """# All measures

[Measures](measures.md) and [Analyses](analysis.md) have formulas and sources. You can [add
your own](adding-a-measure.md). Measures with the unit *by column* are tables, the others outcomes.
Outcomes leave out the posts and steps of a warm-up (`time.warm_up_hours`), and a change of stance starts at its end.
A *label* here is the verdict `false` or a shown note.
"""
