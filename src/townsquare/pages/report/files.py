"""A report as files: every figure as SVG and PNG, every table as CSV, beside the page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from townsquare.analysis.catalog import analyze
from townsquare.analysis.contract import Reads
from townsquare.core.errors import RecordError
from townsquare.core.private_files import make_folder
from townsquare.core.spreadsheets import as_cells
from townsquare.experiments.manifest import Experiment
from townsquare.experiments.multiverse import Multiverse, specifications, variance_shares
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.comparison_page import comparison_page
from townsquare.pages.report.multiverse_page import multiverse_page, outcomes_shown
from townsquare.pages.report.page import Page
from townsquare.pages.report.run_page import run_page
from townsquare.pages.report.svg import Figure

FIGURES, TABLES, PAGE = "figures", "tables", "report.html"


def write_files(
    page: Page, frames: Iterable[tuple[str, pl.DataFrame]], folder: Path, *, safe_cells: bool = False
) -> list[Path]:
    """Write a page, its figures as SVG and PNG with their data as CSV, and frames as CSV; return the files.

    Raises
    ------
    RecordError
        The run cannot be read, or the folder not be written.
    """

    def save(frame: pl.DataFrame, path: Path) -> Path:
        as_cells(frame, safe=safe_cells).write_csv(path)
        return path

    try:
        for part in (FIGURES, TABLES):
            make_folder(folder / part)
        written = [page.write(folder / PAGE)]
        for figure in page.figures:
            path = folder / FIGURES / f"{_safe(figure.key)}.svg"
            written += write_figure(figure, path)
            if isinstance(figure.data, pl.DataFrame):
                written.append(save(figure.data, path.with_suffix(".csv")))
        return [*written, *(save(frame, folder / TABLES / f"{_safe(name)}.csv") for name, frame in frames)]
    except OSError as error:
        raise RecordError(str(folder), got=str(error.strerror), do="name a folder that can be written") from error


def write_figure(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as SVG, and as PNG beside it; return both files."""
    path.write_text(figure.svg, encoding="utf-8")
    path.with_suffix(".png").write_bytes(figure.png())
    return [path, path.with_suffix(".png")]


def write_run_files(run: Reads, folder: Path, *, safe_cells: bool = False) -> list[Path]:
    """Write the page of a run and every analysis of it; as :func:`write_files`."""
    every = analyze(run)
    frames = ((name, frame) for name, frame in every if isinstance(frame, pl.DataFrame))  # else a library is missing
    return write_files(run_page(run), frames, folder, safe_cells=safe_cells)


def write_comparison_files(experiment: Experiment, folder: Path, *, safe_cells: bool = False) -> list[Path]:
    """Write the page of a comparison and its numbers; as :func:`write_files`."""
    comparison = Comparison.of(experiment)
    frames = (("outcomes", comparison.outcomes), ("paired", comparison.paired), ("differences", comparison.differences))
    return write_files(comparison_page(comparison), frames, folder, safe_cells=safe_cells)


def write_multiverse_files(multiverse: Multiverse, folder: Path, *, safe_cells: bool = False) -> list[Path]:
    """Write the page of a multiverse and its numbers; as :func:`write_files`."""
    parts: dict[str, list[pl.DataFrame]] = {"specifications": [], "variance_shares": [], "effects": []}
    for name in outcomes_shown(multiverse):
        effects = multiverse.effects(name)
        made = (specifications(effects, multiverse.across), variance_shares(effects, multiverse.across), effects)
        for kind, frame in zip(parts, made, strict=True):
            parts[kind].append(frame.select(pl.lit(name).alias("outcome"), pl.all()))
    frames = ((kind, pl.concat(each)) for kind, each in parts.items() if each)
    return write_files(multiverse_page(multiverse), frames, folder, safe_cells=safe_cells)


def _safe(name: str) -> str:
    """Return a name of a file.

    >>> _safe("attribution-by/../post")
    'attribution-by-..-post'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "unnamed"
