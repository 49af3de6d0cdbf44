"""The report of whatever was recorded: a run, a comparison, a multiverse or debates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from townsquare.core.arguments import checked
from townsquare.core.errors import RecordError, SettingError
from townsquare.debate.results import DebateResults
from townsquare.experiments import multiverse
from townsquare.experiments.manifest import Experiment
from townsquare.pages.debates.page import write_pages
from townsquare.pages.protocol import MARKDOWN, protocol, write_protocol
from townsquare.pages.recorded import opened
from townsquare.pages.report import files, write_comparison, write_report
from townsquare.pages.report.multiverse_page import write_multiverse
from townsquare.record.run import Run

_WRITERS: Mapping[type, tuple[Callable[[Any, Path], Path], Callable[..., list[Path]]]] = {
    Experiment: (write_comparison, files.write_comparison_files),
    multiverse.Multiverse: (write_multiverse, files.write_multiverse_files),
}
"""What writes the page alone, and the page with all files, by what was recorded, if that is no run."""


@checked
def report(recorded: Run | Experiment | DebateResults | Path | str, *, out: Path | str | None = None) -> Path:
    """Write the report of a run, a comparison or debates: one HTML file without scripts or outside requests.

    Parameters
    ----------
    recorded : Run, Experiment, DebateResults, Path or str
        A run, a comparison or debates, or the folder of one.
    out : Path or str, optional
        Folder for the page, figures (SVG, PDF, PNG), tables (CSV), methods.md and protocol.md. Default: only the page,
        in the folder of the record.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    RecordError
        The folder holds no record, or cannot be written; or ``out`` is missing for a run in memory.
    SettingError
        ``out`` is given for debates.
    """
    return write_files_of(recorded, None if out is None else Path(out))[0]


def write_files_of(
    recorded: Run | Experiment | DebateResults | Path | str, into: Path | None, **asked: bool
) -> list[Path]:
    """Write the page of what was recorded, or the page with all files; return what is written, the page first."""
    folder = Path(recorded) if isinstance(recorded, Path | str) else recorded.folder
    read: Any = opened(Path(recorded)) if isinstance(recorded, Path | str) else recorded
    if isinstance(read, DebateResults):
        if into is not None:
            raise SettingError("--out", got=f"{folder}, debates", allowed="runs and comparisons", do="leave out --out")
        return [write_pages(read)]
    page, whole = _WRITERS.get(type(read), (write_report, files.write_run_files))
    if into is not None:
        written = whole(read, into, **asked)
        described = [] if isinstance(read, multiverse.Multiverse) else write_protocol(protocol(read), into / MARKDOWN)
        return [*written, *described]
    if folder is None:
        raise RecordError("report(recorded)", got="a run in memory", do="name a folder: report(run, out='figures')")
    return [page(read, folder / files.PAGE)]
