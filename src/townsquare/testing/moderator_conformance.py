"""Conformance check of moderators, for anyone's moderator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage
from townsquare.core.threads import threads_for
from townsquare.settings.config import MemberParams
from townsquare.simulation.change import Change
from townsquare.simulation.moderation.checks import FAMILY, ChosenModerator, Columns, rows_of
from townsquare.simulation.moderation.contract import Moderator
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer, NoteScorer
from townsquare.simulation.moderation.note_scorers.threshold import SCORER as THRESHOLD
from townsquare.testing.busy_world import BusyWorld, busy_world
from townsquare.testing.member_calls import MemberUnderTest, snapshot

_ROUNDS = 4


@threads_for(0)
def check_moderator(
    moderator: Moderator, params: MemberParams | None = None, seed: int = 0, scorer: NoteScorer = THRESHOLD
) -> None:
    """Raise if a moderator breaks its contract.

    Checked, on a world without posts and, review by review, on a busy one: ``review`` reads and writes nothing, and the
    same call gives the same rows; they are rows of ``verdicts``, ``notes``, ``moderation_log``, ``note_scores`` and
    ``texts`` that point at what is there; a post gets one verdict, the same in whatever step it is reviewed, and a row
    of the log for it; notes are shown that were not and withdrawn that were, and their scores say the same; roots that
    are up are taken down, each with a reason, and none where ``takedown`` is off.

    Parameters
    ----------
    moderator : Moderator
        Registered or not.
    params : MemberParams, optional
        Its settings; the defaults if not given.
    seed : int
        Of the worlds.
    scorer : NoteScorer
        Of notes, at its defaults; for a moderator that scores them.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    test = MemberUnderTest.of(FAMILY, moderator, params)
    if not moderator.adds <= set(ActionKind):
        raise test.broken(f"adds {sorted(moderator.adds)}", "kinds of action")
    chosen = ChosenModerator(test.member, test.params, ChosenNoteScorer(scorer, scorer.params()))
    for takedown in (True, False):
        _check_review(test, chosen, busy_world(seed, 0), takedown)
        made = busy_world(seed)
        for _ in range(_ROUNDS):
            rows = _check_review(test, chosen, made, takedown)
            made.world.append(Change(rows))
            made.world.finish(made.world.step + 1, 2000, made.draws(Stage.FEED))


def _check_review(
    test: MemberUnderTest, chosen: ChosenModerator, made: BusyWorld, takedown: bool
) -> Mapping[str, schema.Columns]:
    world, before = made.world, snapshot(made.world)

    def review(later: int = 0, may: bool = takedown) -> dict[str, Columns]:
        draws = made.draws(Stage.MODERATE, later)
        return rows_of(test.name, chosen.review(world, draws, may), world.step + 1)

    rows = review()
    test.check_same("review changed", before, snapshot(world), "a world that is only read")
    for name, again in review().items():
        test.check_same(f"the same review twice gives other {name}", rows[name], again, "a pure function")
    for other in (review(later=7), review(may=not takedown)):
        _check_lasting(test, rows["verdicts"], other["verdicts"])
    return {name: part for name, part in rows.items() if len(next(iter(part.values())))}


def _check_lasting(test: MemberUnderTest, first: Columns, second: Columns) -> None:
    """Check that posts in both reviews got the same result."""
    _, at, other = np.intersect1d(first["post"], second["post"], return_indices=True)
    for name in ("verdict", "confidence"):
        if not np.array_equal(first[name][at], second[name][other], equal_nan=True):
            allowed = "what a post gets whenever it is reviewed, takedowns or not"
            raise test.broken(f"another {name} in another step", allowed, "draw with lasting=True")
