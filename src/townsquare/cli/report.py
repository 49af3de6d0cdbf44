"""``townsquare report``: pages of runs and comparisons that are recorded already, with figures and tables as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json

PAGE = "report.html"


def report(
    *folders: Annotated[Path, Parameter(name="RUN")],
    out: Path | None = None,
    safe_cells: options.SafeCells = False,
    as_json: options.AsJson = False,
) -> int:
    """Write report.html into each folder; with --out, also all figures and tables as files.

    Parameters
    ----------
    out
        Output folder for the page, figures (SVG and PNG) and tables (CSV).
    folders
        Folders of runs, comparisons or debates.
    """
    from townsquare.core.errors import SettingError

    if not folders:
        raise SettingError("RUN", got="nothing", allowed="at least one folder of a run, comparison or debates")
    if out is not None and len({folder.resolve().name for folder in folders}) < len(folders):
        raise SettingError("RUN", got="folders with the same name", allowed="folders with different names, with --out")
    if safe_cells and out is None:
        raise SettingError("--safe-cells", got="without --out", allowed="together with --out, which writes CSV tables")
    pages, files = [], []
    for folder in folders:
        into = out if out is None or len(folders) == 1 else out / folder.resolve().name
        files += [str(path) for path in _write(folder, into, safe_cells=safe_cells)]
        pages.append(str((into or folder) / PAGE))
        if not as_json:
            print(pages[-1])
    if as_json:
        return show_json({"reports": pages, **({"files": files} if out is not None else {})})
    if out is not None:
        print(f"{len(files)} files")
    return 0


def _write(folder: Path, into: Path | None, *, safe_cells: bool) -> list[Path]:
    """Write the page of what a folder holds, or the page with all files; return what is written."""
    from townsquare.core.errors import SettingError
    from townsquare.debate import results
    from townsquare.experiments import manifest, multiverse
    from townsquare.pages.debates.page import write_pages
    from townsquare.pages.report import files, write_comparison, write_report
    from townsquare.pages.report.multiverse_page import write_multiverse
    from townsquare.record.run import Run

    if (folder / results.FILE).is_file():
        if into is not None:
            raise SettingError("--out", got=f"{folder}, debates", allowed="runs and comparisons", do="leave out --out")
        return [write_pages(results.DebateResults.open(folder))]
    recorded: Any
    page: Callable[[Any, Path], Path]
    whole: Callable[..., list[Path]]
    if (folder / multiverse.FILE).is_file():
        recorded, page, whole = multiverse.Multiverse.load(folder), write_multiverse, files.write_multiverse_files
    elif (folder / manifest.FILE).is_file():
        recorded, page, whole = manifest.Experiment.load(folder), write_comparison, files.write_comparison_files
    else:
        recorded, page, whole = Run.open(folder), write_report, files.write_run_files
    return [page(recorded, folder / PAGE)] if into is None else whole(recorded, into, safe_cells=safe_cells)
