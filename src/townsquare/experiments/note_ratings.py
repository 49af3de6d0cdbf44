"""Score the notes of a table of ratings, and compare scores with those of another scorer.

A folder holds ``ratings.csv`` (``rater``, ``note``, ``helpfulness`` 0, 0.5 or 1; optional ``time`` in milliseconds and
``tags``, reasons why the note is not helpful, joined by a bar) and may hold ``notes.csv`` (``note``; optional
``author``, ``created``, ``classification``, ``previous_status``, ``previous_status_time``). Columns may have the names
of the data that X publishes. Recorded results in ``notes.csv`` are what ``check`` compares with.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from townsquare.analysis.statistics import correlation
from townsquare.core.array_types import Bool, Float, Int32
from townsquare.core.enums import NoteStatus
from townsquare.core.errors import DataError
from townsquare.simulation.moderation.note_scorers.bridging import NoteResults, Params, RatedNotes, note_results

WINDOW = 48 * 3_600_000  # milliseconds in which ratings count for the agreement of their rater
NEAR = 0.01  # of a threshold: there the statuses of the original differ between its own seeds
_PUBLISHED = {
    "noteId": "note", "raterParticipantId": "rater", "helpfulnessLevel": "helpfulness", "createdAtMillis": "time",
    "noteAuthorParticipantId": "author",
}  # fmt: skip
_LEVELS = {"HELPFUL": "1", "SOMEWHAT_HELPFUL": "0.5", "NOT_HELPFUL": "0"}
_STATUSES = {"NMR": NoteStatus.PENDING, "CRH": NoteStatus.SHOWN, "CRNH": NoteStatus.NOT_HELPFUL}
_NOT_A_REASON = ("hard",)  # "hard to understand" takes no part in the rule of reasons
_NOT_BUILT = ["FilterLowDiligence", "FilterIncorrect", "NoCorrelatedIntercept", "PopulationSampledIntercept"]


@dataclass(frozen=True, slots=True)
class ScoredNotes:
    """What the scorer gives for one table: ``notes`` (``note``, ``ratings``, ``intercept``, ``factor``, ``bound``,
    ``status``), ``raters`` (``rater``, ``intercept``, ``factor``, ``passed``), and the results they come from.

    ``recorded`` is ``notes.csv`` in the order of ``notes``, as text; None without such a file.
    """

    notes: pl.DataFrame
    raters: pl.DataFrame
    results: NoteResults
    rows: RatedNotes
    recorded: pl.DataFrame | None


def score_notes(path: Path, params: Params | None = None) -> ScoredNotes:
    """Score the notes of a folder, or of one file of ratings.

    Raises
    ------
    DataError
        A file or column is missing, a cell is no number, a rater rates a note twice, a note is described twice, or
        there are too few ratings.
    """
    file = path / "ratings.csv" if path.is_dir() else path
    table = _table(file, ("rater", "note", "helpfulness"))
    notes_file = file.with_name("notes.csv")
    described = _table(notes_file, ("note",)) if path.is_dir() and notes_file.exists() else None
    names = table["note"].unique() if described is None else described["note"]
    _check_unique(file, table.select("rater", "note"), "a second rating", "one rating of a rater a note")
    _check_unique(notes_file, names.to_frame(), "a note for the second time", "one row per note")
    raters = table["rater"].unique().sort()
    rated = names.unique().sort()
    note, rater = _places(file, "note", table["note"], rated), _places(file, "rater", table["rater"], raters)
    recorded = None if described is None else pl.DataFrame({"note": rated}).join(described, on="note", how="left")
    rows = _rows(file, table, note, rater, recorded, len(rated), raters)
    results = note_results(rows, params or Params())
    if results is None:
        raise DataError(str(file), got=f"{table.height:,} ratings", allowed="5 of a note and 10 by a rater at least")
    words = {int(status): word for word, status in _STATUSES.items()}
    notes = pl.DataFrame({
        "note": rated, "ratings": np.bincount(note, minlength=len(rated)), "intercept": results.notes.intercept,
        "factor": results.notes.factor, "bound": results.bound, "status": [words[int(s)] for s in results.status],
    })  # fmt: skip
    people = results.people.second.raters
    of_raters = {"intercept": people.intercept, "factor": people.factor, "passed": results.people.passed}
    frame = pl.DataFrame({name: values[: len(raters)] for name, values in of_raters.items()})
    return ScoredNotes(notes, frame.insert_column(0, raters.alias("rater")), results, rows, recorded)


def check(path: Path) -> dict[str, float | str | None]:
    """Compare the scores of a folder with those recorded in its ``notes.csv``.

    Returns
    -------
    dict
        ``folder``, ``notes``; of round 1 ``first_correlation``, ``first_difference`` (largest, with the exact optimum
        where that is recorded) and ``loss``; of the end ``correlation``, ``difference``; shares of equal statuses:
        ``first_status``, ``thresholds``, ``thresholds_clear`` (farther than 0.01 from a threshold), ``status``
        (without notes that were decided by rules that are not built); ``smaller_side``.

    Raises
    ------
    DataError
        As :func:`score_notes`; or there are no recorded results.
    """
    scored = score_notes(path)
    wanted = ("intercept_r1", "status_r1", "intercept", "factor", "status_thresholds", "status", "rules")
    recorded, results = scored.recorded, scored.results
    missing = [name for name in wanted if recorded is None or name not in recorded.columns]
    if recorded is None or missing:
        raise DataError(str(path / "notes.csv"), got=f"no column {', '.join(missing)}", allowed="recorded results")
    optimum = "exact_intercept_r1" if "exact_intercept_r1" in recorded.columns else "intercept_r1"
    intercept, factor = (_numbers(path, recorded, name) for name in ("intercept", "factor"))
    limits = Params()
    ends = [np.full(intercept.size, limits.shown_intercept), limits.not_helpful_intercept - 0.8 * np.abs(factor)]
    ends += [np.full(intercept.size, end) for end in (limits.not_misleading_intercept, 0.39)]
    clear = np.min(np.abs(intercept - np.array(ends)), axis=0, initial=np.inf, where=~np.isnan(intercept)) > NEAR
    ours = recorded["rules"].fill_null("").str.contains_any(_NOT_BUILT).not_().to_numpy()
    statuses = {
        "first_status": (results.people.provisional, "status_r1"), "status": (results.status, "status"),
        "thresholds": (results.by_thresholds, "status_thresholds"),
    }  # fmt: skip
    same = {name: given == _statuses(recorded[column]) for name, (given, column) in statuses.items()}
    first, last = results.people.first.notes.intercept, results.notes.intercept
    return {
        "folder": path.name, "notes": float(intercept.size),
        "first_correlation": _correlation(first, _numbers(path, recorded, "intercept_r1")),
        "first_difference": _difference(first, _numbers(path, recorded, optimum)), "loss": results.people.first.loss,
        "correlation": _correlation(last, intercept), "difference": _difference(last, intercept),
        "first_status": float(same["first_status"].mean()), "thresholds": float(same["thresholds"].mean()),
        "thresholds_clear": float(same["thresholds"][clear].mean()), "status": float(same["status"][ours].mean()),
        "smaller_side": results.smaller_side,
    }  # fmt: skip


def _table(file: Path, needed: tuple[str, ...]) -> pl.DataFrame:
    """Return a file with columns of text, under our names."""
    try:
        tab = "\t" if file.suffix.lower() == ".tsv" else ","
        table = pl.read_csv(file, separator=tab, infer_schema_length=0)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise DataError(str(file), got=str(error).split("\n", 1)[0], allowed="a table as CSV or TSV") from None
    table = table.rename({old: new for old, new in _PUBLISHED.items() if old in table.columns})
    for name in needed:
        if name not in table.columns:
            raise DataError(str(file), got=f"no column {name!r}", allowed=f"columns {', '.join(needed)}")
    return table


def _check_unique(file: Path, rows: pl.DataFrame, got: str, allowed: str) -> None:
    again = rows.select(~pl.struct(pl.all()).is_first_distinct()).to_series()
    if again.any():
        raise DataError(f"{file}, row {(again.arg_max() or 0) + 1}", got=got, allowed=allowed)


def _numbers(file: Path, table: pl.DataFrame, name: str) -> Float:
    """Return a column as numbers, NaN for empty cells."""
    text = table[name]
    numbers = text.replace(_LEVELS).cast(pl.Float64, strict=False)
    wrong = numbers.is_null() & text.is_not_null()
    if wrong.any():
        row = wrong.arg_max() or 0
        raise DataError(f"{file}, row {row + 1}, column {name!r}", got=repr(text[row])[:60], allowed="a number")
    return numbers.fill_null(np.nan).to_numpy()


def _rows_in(known: pl.Series, given: pl.Series) -> pl.Series:
    """Return the row of each name among the known ones, null for others."""
    rows = pl.DataFrame({"key": known}).with_row_index("at")
    return pl.DataFrame({"key": given}).join(rows, on="key", how="left", maintain_order="left")["at"]


def _places(file: Path, name: str, given: pl.Series, known: pl.Series) -> Int32:
    at = _rows_in(known, given)
    if at.null_count():
        row = at.is_null().arg_max() or 0
        raise DataError(f"{file}, row {row + 1}, column {name!r}", got=repr(given[row])[:60], allowed=f"a known {name}")
    return at.to_numpy().astype(np.int32)


def _statuses(words: pl.Series) -> Float:
    return words.replace_strict(_STATUSES, default=0, return_dtype=pl.Float64).to_numpy()


def _rows(
    file: Path, table: pl.DataFrame, note: Int32, rater: Int32, recorded: pl.DataFrame | None, n: int, raters: pl.Series
) -> RatedNotes:
    """Return ratings as the rules take them; what the tables do not say is neutral."""
    value = _numbers(file, table, "helpfulness")
    wrong = ~np.isin(value, (0.0, 0.5, 1.0))
    if wrong.any():
        at = int(np.argmax(wrong))
        where = f"{file}, row {at + 1}, column 'helpfulness'"
        raise DataError(where, got=repr(table["helpfulness"][at])[:60], allowed="0, 0.5 or 1")

    def column(name: str, absent: float) -> Float:
        if recorded is None or name not in recorded.columns:
            return np.full(n, absent)
        return np.nan_to_num(_numbers(file.with_name("notes.csv"), recorded, name), nan=absent)

    status, timely = np.zeros(n), np.ones(note.size, np.bool_)
    if recorded is not None and "previous_status" in recorded.columns:
        status = _statuses(recorded["previous_status"])
    if "time" in table.columns:
        time = _numbers(file, table, "time")
        timely = (time - column("created", -np.inf)[note] <= WINDOW) | np.isinf(column("created", -np.inf)[note])
        timely &= time < column("previous_status_time", np.inf)[note]
    author = np.full(n, len(raters), np.int32)
    if recorded is not None and "author" in recorded.columns:
        author = _rows_in(raters, recorded["author"]).fill_null(len(raters)).to_numpy().astype(np.int32)
    misleading = np.ones(n, np.bool_)
    if recorded is not None and "classification" in recorded.columns:
        misleading = (recorded["classification"].str.to_lowercase() != "not_misleading").fill_null(True).to_numpy()
    of_notes = author, misleading, status.astype(np.uint8)
    return RatedNotes(note, rater, value, timely, *of_notes, _reasons(table), len(raters))


def _reasons(table: pl.DataFrame) -> Bool:
    """Return which reasons each rating gives, a column for each that occurs."""
    if "tags" not in table.columns:
        return np.zeros((table.height, 0), np.bool_)
    given = table["tags"].fill_null("").str.split("|")
    names = [name for name in given.explode().unique().sort() if name and not name.startswith(_NOT_A_REASON)]
    columns = [given.list.contains(name).to_numpy() for name in names] or [np.zeros((table.height, 0))]
    return np.column_stack(columns) > 0


def _correlation(ours: Float, theirs: Float) -> float:
    known = ~np.isnan(ours) & ~np.isnan(theirs)
    return correlation(ours[known], theirs[known])


def _difference(ours: Float, theirs: Float) -> float:
    return float(np.nanmax(np.abs(ours - theirs)))
