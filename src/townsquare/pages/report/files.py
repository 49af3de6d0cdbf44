"""A report as files: every figure as SVG, PNG and PDF, every table as CSV or Parquet, methods.md, beside the page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from townsquare.analysis.catalog import analyze
from townsquare.analysis.contract import Reads
from townsquare.core.errors import RecordError
from townsquare.core.files import write_whole
from townsquare.core.private_files import make_folder
from townsquare.core.spreadsheets import as_cells
from townsquare.experiments.manifest import Experiment
from townsquare.experiments.methods import methods
from townsquare.experiments.multiverse import Multiverse
from townsquare.pages.report.comparison import Comparison
from townsquare.pages.report.comparison_page import comparison_page
from townsquare.pages.report.multiverse_page import frames_of, multiverse_page
from townsquare.pages.report.page import Page
from townsquare.pages.report.run_page import run_page
from townsquare.pages.report.svg import Figure
from townsquare.record.run import Run

DRAWN = ("png", "pdf")
FIGURES, TABLES, PAGE, METHODS = "figures", "tables", "report.html", "methods.md"


def write_files(
    page: Page,
    frames: Iterable[tuple[str, pl.DataFrame]],
    folder: Path,
    *,
    safe_cells: bool = False,
    parquet: bool = False,
) -> list[Path]:
    """Write a page, its figures with their data, and frames as tables; return the files.

    Raises
    ------
    RecordError
        The run cannot be read, or the folder not be written.
    """

    def save(frame: pl.DataFrame, path: Path) -> Path:
        file = path.with_suffix(".parquet" if parquet else ".csv")
        frame.write_parquet(file) if parquet else as_cells(frame, safe=safe_cells).write_csv(file)
        return file

    try:
        for part in (FIGURES, TABLES):
            make_folder(folder / part)
        written = [page.write(folder / PAGE)]
        for figure in page.figures:
            path = folder / FIGURES / f"{_safe(figure.key)}.svg"
            written += write_figure(figure, path)
            if isinstance(figure.data, pl.DataFrame):
                written.append(save(figure.data, path))
        return [*written, *(save(frame, folder / TABLES / f"{_safe(name)}.csv") for name, frame in frames)]
    except OSError as error:
        raise RecordError(str(folder), got=str(error.strerror), do="name a folder that can be written") from error


def write_figure(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as SVG, and as PNG and PDF beside it; return the files."""
    path.write_text(figure.svg, encoding="utf-8")
    others = [path.with_suffix(f".{kind}") for kind in DRAWN]
    for file, drawn in zip(others, figure.drawn(*DRAWN), strict=True):
        file.write_bytes(drawn)
    return [path, *others]


def write_run_files(run: Reads, folder: Path, **options: bool) -> list[Path]:
    """Write the page of a run and every analysis of it; as :func:`write_files`."""
    every = analyze(run)
    frames = ((name, frame) for name, frame in every if isinstance(frame, pl.DataFrame))  # else a library is missing
    written = write_files(run_page(run), frames, folder, **options)
    return [*written, *(_with_methods(run, folder) if isinstance(run, Run) else [])]


def write_comparison_files(experiment: Experiment, folder: Path, **options: bool) -> list[Path]:
    """Write the page of a comparison and its numbers; as :func:`write_files`."""
    comparison = Comparison.of(experiment)
    frames = {"outcomes": comparison.outcomes, "effects": comparison.answer.effects} | {
        "differences": comparison.differences, "courses": comparison.courses, "paired": experiment.paired(),
        "effects_by_group": comparison.by_group,
    }  # fmt: skip
    page = comparison_page(comparison)
    return [*write_files(page, frames.items(), folder, **options), *_with_methods(experiment, folder)]


def _with_methods(recorded: Run | Experiment, folder: Path) -> list[Path]:
    write_whole(folder / METHODS, methods(recorded))
    return [folder / METHODS]


def write_multiverse_files(multiverse: Multiverse, folder: Path, **options: bool) -> list[Path]:
    """Write the page of a multiverse and its numbers; as :func:`write_files`."""
    frames = [(kind, frame) for kind, frame in frames_of(multiverse).items() if frame.width]
    return write_files(multiverse_page(multiverse), frames, folder, **options)


def _safe(name: str) -> str:
    """Return a name of a file.

    >>> _safe("attribution-by/../post")
    'attribution-by-..-post'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "unnamed"
