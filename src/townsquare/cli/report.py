"""``townsquare report``: pages of runs and comparisons that are recorded already, with figures and tables as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from townsquare.cli import options
from townsquare.cli.console import show_json

PAGE = "report.html"


def report(
    *folders: Annotated[Path, Parameter(name="RUN", help="Folders of runs, comparisons or debates.")],
    out: Annotated[
        Path | None,
        Parameter(help="Write the page there, with every figure as SVG and PNG and every table as CSV."),
    ] = None,
    safe_cells: options.SafeCells = False,
    as_json: options.AsJson = False,
) -> int:
    """Write report.html into each folder; with --out, all its figures and tables as files too."""
    from townsquare.core.errors import SettingError

    if not folders:
        raise SettingError("RUN", got="nothing", allowed="at least one folder of a run, a comparison or debates")
    if out is not None and len({folder.resolve().name for folder in folders}) < len(folders):
        raise SettingError("RUN", got="folders of one name", allowed="folders of different names, with --out")
    if safe_cells and out is None:
        raise SettingError("--safe-cells", got="without --out", allowed="with --out, which writes tables as CSV")
    pages, files = [], []
    for folder in folders:
        into = out if out is None or len(folders) == 1 else out / folder.resolve().name
        written = _pages(folder) if into is None else _files(folder, into, safe_cells=safe_cells)
        pages.append(str(folder / PAGE if into is None else into / PAGE))
        files += [str(path) for path in written]
        if not as_json:
            print(pages[-1])
    if as_json:
        show_json({"reports": pages, **({"files": files} if out is not None else {})})
    elif out is not None:
        print(f"{len(files)} files")
    return 0


def _pages(folder: Path) -> list[Path]:
    from townsquare.debate.results import FILE as DEBATES
    from townsquare.debate.results import DebateResults
    from townsquare.experiments.manifest import FILE, Experiment
    from townsquare.experiments.multiverse import FILE as MULTIVERSE
    from townsquare.experiments.multiverse import Multiverse
    from townsquare.pages.debates.page import write_pages
    from townsquare.pages.report import write_comparison, write_report
    from townsquare.pages.report.multiverse_page import write_multiverse
    from townsquare.record.run import Run

    page = folder / PAGE
    if (folder / MULTIVERSE).is_file():
        return [write_multiverse(Multiverse.load(folder), page)]
    if (folder / FILE).is_file():
        return [write_comparison(Experiment.load(folder), page)]
    if (folder / DEBATES).is_file():
        write_pages(DebateResults.open(folder))
        return [page]
    return [write_report(Run.open(folder), page)]


def _files(folder: Path, into: Path, *, safe_cells: bool) -> list[Path]:
    from townsquare.core.errors import SettingError
    from townsquare.debate.results import FILE as DEBATES
    from townsquare.experiments.manifest import FILE, Experiment
    from townsquare.experiments.multiverse import FILE as MULTIVERSE
    from townsquare.experiments.multiverse import Multiverse
    from townsquare.pages.report.comparison import Comparison
    from townsquare.pages.report.files import write_comparison_files, write_multiverse_files, write_run_files
    from townsquare.record.run import Run

    if (folder / MULTIVERSE).is_file():
        return write_multiverse_files(Multiverse.load(folder), into, safe_cells=safe_cells)
    if (folder / FILE).is_file():
        return write_comparison_files(Comparison.of(Experiment.load(folder)), into, safe_cells=safe_cells)
    if (folder / DEBATES).is_file():
        raise SettingError("--out", got=f"{folder}, debates", allowed="runs and comparisons", do="leave out --out")
    return write_run_files(Run.open(folder), into, safe_cells=safe_cells)
