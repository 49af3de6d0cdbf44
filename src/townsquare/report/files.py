"""A report as files: every figure as SVG and PNG, every table as CSV, beside the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from townsquare.analysis.all import analyze, every_analysis
from townsquare.analysis.contract import Reads
from townsquare.errors import RecordError
from townsquare.experiments.multiverse import Multiverse, specifications, variance_shares
from townsquare.report.comparison import Comparison
from townsquare.report.comparison_page import write_comparison
from townsquare.report.multiverse_page import outcomes_shown, write_multiverse
from townsquare.report.run_page import write_report
from townsquare.report.svg import Drawn, kept_figures

FIGURES, TABLES, PAGE = "figures", "tables", "report.html"
_NESTED = (pl.List, pl.Struct, pl.Array)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        for part in (FIGURES, TABLES):
            (folder / part).mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise RecordError(str(folder), got=str(error.strerror), do="name a folder that can be written") from error


def write_run_files(run: Reads, folder: Path) -> list[Path]:
    """The page of a run, its figures, and every analysis of it as CSV; the files.

    Raises
    ------
    RecordError
        The run cannot be read, or the folder not be written.
    """
    return _write_all(folder, partial(write_report, run), _run_frames(run))


def _run_frames(run: Reads) -> Iterator[tuple[str, pl.DataFrame]]:
    for name, found in analyze(run, among=every_analysis(run)):
        if isinstance(found, pl.DataFrame):  # else it needs a library that is not installed
            yield name, found


def write_comparison_files(comparison: Comparison, folder: Path) -> list[Path]:
    """The page of a comparison, its figures and its numbers as CSV; the files.

    Raises
    ------
    RecordError
        The folder cannot be written.
    """
    frames = {"outcomes": comparison.outcomes, "paired": comparison.paired, "differences": comparison.differences}
    return _write_all(folder, partial(write_comparison, comparison), iter(frames.items()))


def write_multiverse_files(multiverse: Multiverse, folder: Path) -> list[Path]:
    """The page of a multiverse, its figures and its numbers as CSV; the files.

    Raises
    ------
    RecordError
        The folder cannot be written.
    """
    return _write_all(folder, partial(write_multiverse, multiverse), _multiverse_frames(multiverse))


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


def _write_all(folder: Path, page: Callable[[Path], Path], frames: Iterator[tuple[str, pl.DataFrame]]) -> list[Path]:
    """The page, the figures that are drawn for it, and the frames."""
    with _writing(folder):
        with kept_figures() as figures:
            written = [page(folder / PAGE)]
        return [*written, *_save_figures(figures, folder), *_save_tables(frames, folder)]


def _save_figures(figures: Mapping[str, Drawn], folder: Path) -> list[Path]:
    written = []
    for key, drawn in figures.items():
        path = folder / FIGURES / f"{_safe(key)}.svg"
        path.write_text(drawn.svg, encoding="utf-8")
        path.with_suffix(".png").write_bytes(drawn.png)
        written += [path, path.with_suffix(".png")]
    return written


def _save_tables(frames: Iterator[tuple[str, pl.DataFrame]], folder: Path) -> list[Path]:
    written = []
    for name, frame in frames:
        flat = [
            pl.col(column).cast(pl.String) if isinstance(dtype, _NESTED) else pl.col(column)
            for column, dtype in frame.schema.items()
        ]
        path = folder / TABLES / f"{_safe(name)}.csv"
        frame.select(flat).with_columns(pl.selectors.float().fill_nan(None)).write_csv(path)
        written.append(path)
    return written


def _safe(name: str) -> str:
    """A name of a file.

    >>> _safe("attribution-by/../post")
    'attribution-by-..-post'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "unnamed"
