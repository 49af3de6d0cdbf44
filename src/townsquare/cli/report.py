"""``townsquare report``: pages of runs and comparisons that are recorded already, with figures and tables as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json


def report(
    *folders: Annotated[Path, Parameter(name="RUN")],
    out: Path | None = None,
    safe_cells: options.SafeCells = False,
    parquet: bool = False,
    as_json: options.AsJson = False,
) -> int:
    """Write report.html into each folder; with --out, there instead, with figures and tables as files.

    Parameters
    ----------
    out
        Output folder: page, figures (SVG, PDF, PNG), tables (CSV), methods.md, protocol.md (not of a multiverse).
    parquet
        With --out: write tables as Parquet instead of CSV.
    folders
        Folders of runs, comparisons or debates; at least one.
    """
    from townsquare.core.errors import SettingError
    from townsquare.pages.reports import write_files_of

    options.required("RUN", folders, "at least one folder of a run, comparison or debates")
    if out is not None and len({folder.resolve().name for folder in folders}) < len(folders):
        raise SettingError("RUN", got="folders with the same name", allowed="folders with different names, with --out")
    if safe_cells and out is None:
        raise SettingError("--safe-cells", got="without --out", allowed="together with --out, which writes CSV tables")
    if parquet and out is None:
        raise SettingError("--parquet", got="without --out", allowed="together with --out, which writes tables")
    pages, files = [], []
    for folder in folders:
        into = out if out is None or len(folders) == 1 else out / folder.resolve().name
        written = [str(path) for path in write_files_of(folder, into, safe_cells=safe_cells, parquet=parquet)]
        files += written
        pages.append(written[0])
        if not as_json:
            print(pages[-1])
    if as_json:
        return show_json({"reports": pages, **({"files": files} if out is not None else {})})
    if out is not None:
        print(f"{len(files)} files")
    return 0
