"""The contract of a note scorer: its inputs and its output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from townsquare.core.array_types import Byte, Float, Int32
from townsquare.core.enums import NoteStatus
from townsquare.core.member_errors import call_member, check_array, check_type, check_values
from townsquare.settings.base import FamilyMember

FAMILY = "note_scorer"
_DTYPES = {"status": np.uint8, "intercept": np.float64, "factor": np.float64}


@dataclass(frozen=True, slots=True)
class NoteRatings:
    """All notes so far and all their ratings: r ratings of n notes; all arrays are read-only.

    Attributes
    ----------
    note : (r,) int32
        The rated note, 0 to n - 1.
    rater : (r,) int32
        Row of agents: the rater, who rates a note at most once.
    value : (r,) float64
        1 helpful, 0.5 somewhat helpful, 0 not helpful.
    step : (r,) int32
        The step of the rating.
    author : (n,) int32
        Row of agents: the writer of the note.
    written : (n,) int32
        The step in which the note was written.
    decided : (n,) int32
        The step in which the note got its current status; -1 for a note that was always pending.
    settled : (n,) int32
        The step in which the note first had a status other than pending; -1 for a note that was always pending.
    helpful, not_helpful : (n,) int32
        Number of ratings of 1, and of 0, of each note.
    now : int
        The current step; its ratings are included.
    """

    note: Int32
    rater: Int32
    value: Float
    step: Int32
    author: Int32
    written: Int32
    decided: Int32
    settled: Int32
    helpful: Int32
    not_helpful: Int32
    now: int

    @property
    def n_notes(self) -> int:
        """How many notes there are, rated or not."""
        return int(self.written.shape[0])


@dataclass(frozen=True, slots=True)
class NoteScores:
    """The scores of notes, (n,) each.

    Attributes
    ----------
    status : uint8
        :class:`townsquare.core.enums.NoteStatus`: only a shown note is a label.
    intercept, factor : float64
        The scorer's estimates for each note, in the unit of the scorer; NaN for none.
    """

    status: Byte
    intercept: Float
    factor: Float


@dataclass(frozen=True, slots=True)
class NoteScorer(FamilyMember):
    """A member of the family ``note_scorer``.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings, in the section `moderation`.
    score : callable
        ``score(ratings, previous, params) -> NoteScores``: a pure function of all ratings so far and of the scores of
        the previous step (a new note: pending, with NaN). The order in which ratings and notes are listed has no
        effect.
    """

    score: Callable[[NoteRatings, NoteScores, Any], NoteScores]


@dataclass(frozen=True, slots=True)
class ChosenNoteScorer:
    """A note scorer with its parameters."""

    member: NoteScorer
    params: Any

    def scores(self, ratings: NoteRatings, previous: NoteScores) -> NoteScores:
        """Score every note, checked.

        Raises
        ------
        ContractError
            The scorer gives something else than one known status, and one finite number or NaN, a note; names the first
            note at fault.
        """
        name, score, n = self.member.name, self.member.score, ratings.n_notes
        returned: object = call_member(FAMILY, name, "score", lambda: score(ratings, previous, self.params))
        scores = check_type(FAMILY, name, "score", returned, NoteScores)
        for column, dtype in _DTYPES.items():
            check_array(FAMILY, name, column, getattr(scores, column), dtype, (n,), entry="one a note")
        checks: list[Any] = [("status", scores.status, scores.status < len(NoteStatus), "of NoteStatus")]
        for column, values in (("intercept", scores.intercept), ("factor", scores.factor)):
            checks.append((column, values, ~np.isinf(values), "a finite number, or NaN for none"))
        check_values(FAMILY, name, checks, item="note")
        return scores
