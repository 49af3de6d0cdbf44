"""The folder of a fit: ``fit.json``, tables as text and CSV, figures as SVG and PNG, people, profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from townsquare.beliefs.grids import Grid
from townsquare.core.files import writing
from townsquare.core.private_files import make_folder
from townsquare.core.text_table import as_csv, as_text, csv_text
from townsquare.humans.fit.fit_file import as_json, saved
from townsquare.humans.fit.kinds import Kinds
from townsquare.humans.fit.profiles import profiles_csv
from townsquare.humans.fit.scores import Scored
from townsquare.humans.fit.study import Study
from townsquare.pages.people.figures import figures_of
from townsquare.pages.people.sentences import sentences
from townsquare.pages.people.tables import tables_of
from townsquare.pages.report.files import write_figure


def write_study(study: Study, folder: Path, *, figures: bool = True) -> list[Path]:
    """Write everything of a fit into a folder; the files, in order of writing.

    Raises
    ------
    SettingError
        If something is there that is no folder, or it cannot be written.
    """
    tables = tables_of(study)
    texts = {
        "fit.json": as_json(saved(study)),
        "summary.txt": "\n".join([*sentences(study), "", *(as_text(table) for table in tables.values())]),
        "people.csv": people_csv(study),
        "profiles.csv": profiles_csv(study, "people"),
        **{f"{stem}.csv": as_csv(table) for stem, table in tables.items()},
    }
    written = [folder / name for name in texts]
    with writing(folder):
        make_folder(folder)
        for path, text in zip(written, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
        for stem, figure in figures_of(study).items() if figures else ():
            written += write_figure(figure, folder / f"{stem}.svg")
    return written


def people_csv(study: Study) -> str:
    """Return a CSV of individual parameters: means, 95% posterior intervals, and whether they are identified."""
    grid = study.setup.grid
    names = (grid.x_short, grid.y_short)
    head = [part for name in names for part in (name, f"{name}_low", f"{name}_high", f"{name}_identified")]
    rows = (
        [person.name, person.rows, *(f"{value:.6g}" for value in person.x), person.x_identified,
         *(f"{value:.6g}" for value in person.y), person.y_identified, person.separable]
        for person in study.people.people
    )  # fmt: skip
    return csv_text([["participant", "rows", *head, "separable"], *rows])


def plain(study: Study) -> dict[str, Any]:
    """Return a fit for ``--json``, as :func:`townsquare.core.documents.finite` takes it."""
    grid = study.setup.grid
    known, kinds = study.people.known, study.people.kinds
    return {
        "fit": saved(study).model_dump(),
        "evidence": study.ready.stream.counts,
        "left_out": len(study.ready.people.left_out),
        "noise_floor": study.ready.floor._asdict(),
        "held_out": plain_scores(study.scored),
        "calibration": study.calibration._asdict(),
        "chosen": [{grid.x_name: x, grid.y_name: y} for x, y in study.held_out.chosen],
        "betas": [baseline.beta for baseline in study.held_out.baselines],
        "groups": study.groups,
        "robustness": study.robust,
        "people": {
            "n": len(study.people.people),
            "x_identified": study.people.share_identified("x"),
            "y_identified": study.people.share_identified("y"),
            "separable": study.people.share_identified("both"),
            "kinds": None if kinds is None else _plain_kinds(kinds, grid),
            "known": None if known is None else plain_scores(known),
        },
        "sentences": sentences(study),
    }


def plain_scores(scored: Scored) -> dict[str, Any]:
    """Return scores as :func:`plain` returns a fit."""
    return {"rows": scored.n, "conversations": scored.groups, "scores": scored.scores, "paired": scored.paired}


def _plain_kinds(kinds: Kinds, grid: Grid) -> list[dict[str, float]]:
    columns = (kinds.share.tolist(), kinds.cell.tolist(), kinds.error.tolist())
    rows = ((share, grid.cell(cell), error) for share, cell, error in zip(*columns, strict=True))
    return [{"share": share, grid.x_name: x, grid.y_name: y, "error": error} for share, (x, y), error in rows]
