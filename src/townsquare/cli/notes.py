"""``townsquare notes``: community notes outside a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from townsquare.cli import options
from townsquare.cli.console import digits, show, show_json

if TYPE_CHECKING:
    from townsquare.experiments.note_ratings import ScoredNotes

FEW_ON_ONE_SIDE = 0.15
LISTED = 10


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
        Compare with the results recorded in notes.csv, for each folder in this folder.
    out
        Folder for notes.csv and raters.csv.
    """
    from townsquare.experiments.note_ratings import check as compared
    from townsquare.experiments.note_ratings import score_notes

    if check:
        folders = [path] if (path / "ratings.csv").exists() else sorted(p.parent for p in path.glob("*/ratings.csv"))
        return _show_checks([compared(folder) for folder in folders], as_json=as_json)
    scored = score_notes(path)
    if out is not None:
        with options.writing(out, replace=replace):
            out.mkdir(parents=True, exist_ok=True)
            scored.notes.write_csv(out / "notes.csv")
            scored.raters.write_csv(out / "raters.csv")
    if as_json:
        side = scored.results.smaller_side
        return show_json({"notes": scored.notes.to_dicts(), "smaller_side": side, "loss": scored.results.first.loss})
    _show_scores(scored)
    if out is not None:
        print(f"tables  {out}")
    return 0


def _show_scores(scored: ScoredNotes) -> None:
    counts = dict(scored.notes["status"].value_counts().rows())
    words = {"CRH": "helpful", "CRNH": "not helpful", "NMR": "need more ratings"}
    listed = ", ".join(f"{counts.get(status, 0):,} {word}" for status, word in words.items())
    ratings, raters = scored.notes["ratings"].sum(), scored.raters.height
    print(f"{scored.notes.height:,} notes: {listed} ({ratings:,} ratings by {raters:,} raters).")
    side = scored.results.smaller_side
    print(f"{side:.0%} of raters are on the smaller side of the factor.")
    if side < FEW_ON_ONE_SIDE:
        print("Caution: raters hardly disagree by camp, so that the statuses mean little.")
    top = scored.notes.sort("intercept", descending=True, nulls_last=True).head(LISTED)
    scores = (digits(3), "intercept", "factor")
    show("Notes with the highest intercepts", top.to_dicts(), (str, "note", "status"), scores, (str, "ratings"))


def _show_checks(rows: list[dict[str, Any]], *, as_json: bool) -> int:
    if as_json:
        return show_json(rows)
    show(
        "Scores compared with the recorded ones", rows, (str, "folder"), (digits(6), "correlation"),
        (digits(2), "largest difference=difference"), (digits(6), "first correlation=first_correlation"),
        (digits(2), "first difference=first_difference"), (digits(3), "first status=first_status"),
        (digits(3), "thresholds", "farther than 0.01=thresholds_clear", "status", "smaller side=smaller_side"),
    )  # fmt: skip
    print("Shares are those of equal statuses; status leaves out notes that rules decided which are not built.")
    return 0
