"""``townsquare notes``: community notes outside a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from townsquare.cli import options
from townsquare.cli.console import digits, show, show_json
from townsquare.core.errors import DataError

if TYPE_CHECKING:
    from townsquare.experiments.note_ratings import ScoredNotes

LISTED = 10
LEGEND = """\
Correlation, difference: of intercepts computed here with those recorded, after the last fit; first: after the first.
First status, thresholds, status: shares of notes with the recorded status: after the first fit, by thresholds of
intercept and factor alone (farther than 0.01: of notes that far from any), and at the end, without notes that were
decided by rules that Townsquare does not have. Smaller side: share of raters on the side of the factor with fewer."""


def score(
    path: Path,
    /,
    *,
    check: bool = False,
    out: Path | None = None,
    replace: options.Replace = False,
    as_json: options.AsJson = False,
) -> int:
    """Score notes from a table of ratings, as Community Notes does.

    Parameters
    ----------
    path
        A file of ratings (rater, note, helpfulness), or a folder with ratings.csv and, optionally, notes.csv.
    check
        Compare with the results recorded in notes.csv: in this folder, or in each folder below it.
    out
        Folder for notes.csv and raters.csv.
    """
    from townsquare.experiments.note_ratings import check as compared
    from townsquare.experiments.note_ratings import score_notes

    if check:
        folders = [path] if (path / "ratings.csv").exists() else sorted(p.parent for p in path.glob("*/ratings.csv"))
        if not folders:
            raise DataError(str(path), got="no ratings.csv", allowed="a folder with ratings.csv, or with such folders")
        return _show_checks([compared(folder) for folder in folders], as_json=as_json)
    scored = score_notes(path)
    if out is not None:
        with options.writing(out, replace=replace):
            out.mkdir(parents=True, exist_ok=True)
            scored.notes.write_csv(out / "notes.csv")
            scored.raters.write_csv(out / "raters.csv")
    if as_json:
        loss = scored.results.people.first.loss
        return show_json({"notes": scored.notes, "smaller_side": scored.results.smaller_side, "loss": loss})
    _show_scores(scored)
    if out is not None:
        print(f"tables  {out}")
    return 0


def attack(*runs: Path, out: Path | None = None, figure: Path | None = None, as_json: options.AsJson = False) -> int:
    """Compute the share of shown notes that coordinated raters flip (no longer shown), by number of raters.

    Both scorers are used, with their default settings.

    Parameters
    ----------
    runs
        Folders of runs with rated notes, one for each seed.
    out
        CSV file with a row for every note and number of coordinated raters.
    figure
        SVG file with the share of shown notes that are no longer shown.
    """
    import polars as pl

    from townsquare.experiments.note_attack import attack as attacked
    from townsquare.pages.report.moderation import attack_figure
    from townsquare.record.run import Run

    table = attacked(Run.open(run) for run in runs)
    if out is not None:
        table.write_csv(out)
    if figure is not None:
        figure.write_text(attack_figure(table).svg, encoding="utf-8")
    means = pl.col("ring").mean().round().cast(pl.Int32), pl.col("flipped").mean(), pl.len().alias("notes")
    rows = table.group_by("scorer", "share", maintain_order=True).agg(*means).to_dicts()
    if as_json:
        return show_json(rows)
    columns = ((str, "scorer", "notes"), (digits(3), "ratio to other raters=share"), (str, "coordinated raters=ring"))
    if not rows:
        print("No note to attack: neither scorer shows a note from the ratings of these runs.")
        return 0
    title = "Shown notes that coordinated raters, who rate them not helpful, flip: they are no longer shown"
    show(title, rows, *columns, (digits(2), "share of notes flipped=flipped"))
    print("Simulated attacks on simulated raters: for the defense of such systems, not evidence about real notes.")
    return 0


def _show_scores(scored: ScoredNotes) -> None:
    import polars as pl

    from townsquare.experiments.note_attack import FEW_ON_ONE_SIDE

    counts = dict(scored.notes["status"].value_counts().rows())
    words = {"CRH": "helpful", "CRNH": "not helpful", "NMR": "need more ratings"}
    listed = ", ".join(f"{counts.get(status, 0):,} {word}" for status, word in words.items())
    ratings, raters = scored.notes["ratings"].sum(), scored.raters.height
    print(f"{scored.notes.height:,} notes: {listed} ({ratings:,} ratings by {raters:,} raters).")
    side = scored.results.smaller_side
    print(f"{side:.0%} of raters are on the smaller side of the factor.")
    if side < FEW_ON_ONE_SIDE:
        print("Caution: raters hardly disagree by side, so that the statuses mean little.")
    of_note = {**words, "NMR": "needs more ratings"}
    top = scored.notes.sort("intercept", descending=True, nulls_last=True).head(LISTED)
    top = top.with_columns(pl.col("status").replace(of_note))
    scores = (digits(3), "intercept", "factor")
    show("Notes with the highest intercepts", top.to_dicts(), (str, "note", "status"), scores, (str, "ratings"))


def _show_checks(rows: list[dict[str, Any]], *, as_json: bool) -> int:
    if as_json:
        return show_json(rows)
    show(
        "Scores compared with the recorded ones", rows, (str, "folder"), (digits(6), "correlation"),
        (digits(2), "largest difference=difference"), (digits(6), "first correlation=first_correlation"),
        (digits(2), "first difference=first_difference"), (digits(3), "first status=first_status"),
        (digits(3), "thresholds", "farther than 0.01=thresholds_clear", "status"),
        (digits(3), "smaller side=smaller_side"),
    )  # fmt: skip
    print(LEGEND)
    return 0
