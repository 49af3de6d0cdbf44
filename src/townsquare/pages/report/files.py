"""A report as files: every figure as SVG and PNG, every table as CSV, beside the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from townsquare.analysis.catalogue import analyze, every_analysis
from townsquare.analysis.contract import Reads
from townsquare.core.errors import RecordError
from townsquare.core.private_files import make_folder
from townsquare.core.spreadsheets import as_cells
from townsquare.experiments.multiverse import Multiverse, specifications, variance_shares
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.comparison_page import write_comparison
from townsquare.pages.report.multiverse_page import outcomes_shown, write_multiverse
from townsquare.pages.report.run_page import write_report
from townsquare.pages.report.svg import Drawn, kept_figures

FIGURES, TABLES, PAGE = "figures", "tables", "report.html"


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        for part in (FIGURES, TABLES):
            make_folder(folder / part)
        yield
    except OSError as error:
        raise RecordError(str(folder), got=str(error.strerror), do="name a folder that can be written") from error


def write_run_files(run: Reads, folder: Path, *, safe_cells: bool = False) -> list[Path]:
    """The page of a run, its figures, and every analysis of it as CSV; the files.

    Raises
    ------
    RecordError
        The run cannot be read, or the folder not be written.
    """
    return _write_all(folder, partial(write_report, run), _run_frames(run), safe_cells)


def _run_frames(run: Reads) -> Iterator[tuple[str, pl.DataFrame]]:
    for name, found in analyze(run, among=every_analysis(run)):
        if isinstance(found, pl.DataFrame):  # else it needs a library that is not installed
            yield name, found


def write_comparison_files(comparison: Comparison, folder: Path, *, safe_cells: bool = False) -> list[Path]:
    """The page of a comparison, its figures and its numbers as CSV; the files.

    Raises
    ------
    RecordError
        The folder cannot be written.
    """
    frames = {"outcomes": comparison.outcomes, "paired": comparison.paired, "differences": comparison.differences}
    return _write_all(folder, partial(write_comparison, comparison), iter(frames.items()), safe_cells)


def write_multiverse_files(multiverse: Multiverse, folder: Path, *, safe_cells: bool = False) -> list[Path]:
    """The page of a multiverse, its figures and its numbers as CSV; the files.

    Raises
    ------
    RecordError
        The folder cannot be written.
    """
    return _write_all(folder, partial(write_multiverse, multiverse), _multiverse_frames(multiverse), safe_cells)


def _multiverse_frames(multiverse: Multiverse) -> Iterator[tuple[str, pl.DataFrame]]:
    parts: dict[str, list[pl.DataFrame]] = {"specifications": [], "variance_shares": [], "effects": []}
    for name in outcomes_shown(multiverse):
        effects = multiverse.effects(name)
        made = (specifications(effects, multiverse.across), variance_shares(effects, multiverse.across), effects)
        for kind, frame in zip(parts, made, strict=True):
            parts[kind].append(frame.select(pl.lit(name).alias("outcome"), pl.all()))
    for kind, each in parts.items():
        if each:
            yield kind, pl.concat(each)


def _write_all(
    folder: Path, page: Callable[[Path], Path], frames: Iterator[tuple[str, pl.DataFrame]], safe_cells: bool
) -> list[Path]:
    """The page, the figures that are drawn for it, and the frames."""
    with _writing(folder):
        with kept_figures() as figures:
            written = [page(folder / PAGE)]
        return [*written, *_save_figures(figures, folder), *_save_tables(frames, folder, safe_cells)]


def _save_figures(figures: Mapping[str, Drawn], folder: Path) -> list[Path]:
    written = []
    for key, drawn in figures.items():
        path = folder / FIGURES / f"{_safe(key)}.svg"
        path.write_text(drawn.svg, encoding="utf-8")
        path.with_suffix(".png").write_bytes(drawn.png)
        written += [path, path.with_suffix(".png")]
    return written


def _save_tables(frames: Iterator[tuple[str, pl.DataFrame]], folder: Path, safe_cells: bool) -> list[Path]:
    written = []
    for name, frame in frames:
        path = folder / TABLES / f"{_safe(name)}.csv"
        as_cells(frame, safe=safe_cells).write_csv(path)
        written.append(path)
    return written


def _safe(name: str) -> str:
    """A name of a file.

    >>> _safe("attribution-by/../post")
    'attribution-by-..-post'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "unnamed"
