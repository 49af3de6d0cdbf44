"""Conformance check of rankers, for anyone's ranker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from townsquare.beliefs.arrays import gather as csr_rows
from townsquare.core.array_types import Array, Int64, read_only
from townsquare.core.draws import Stage
from townsquare.core.threads import threads_for
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.build import readers_of
from townsquare.simulation.feed.candidates import feed_inputs
from townsquare.simulation.feed.rank import gather
from townsquare.simulation.feed.rankers.contract import FAMILY, ChosenRanker, Ranker, ReaderCandidates, ReaderRanker
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.testing.busy_world import BusyWorld, busy_world
from townsquare.testing.member_calls import MemberUnderTest, snapshot

_AGAIN = "the same call twice gives other"


@threads_for(0)
def check_ranker(ranker: Ranker | ReaderRanker, params: MemberParams | None = None, seed: int = 0) -> None:
    """Raise if a ranker breaks its contract.

    Checked, on a world without posts and on busy ones: one finite float64 a row of posts, or a row of candidates; the
    same call gives the same scores; nothing is written to. Neither what a reader's candidates are given nor what is
    retrieved depends on how many readers are asked about at a time, or on their order. Retrieved are live roots, each
    once.

    Parameters
    ----------
    ranker : Ranker or ReaderRanker
        Registered or not.
    params : MemberParams, optional
        Its settings; the defaults if not given.
    seed : int
        Of the worlds.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    test = MemberUnderTest.of(FAMILY, ranker, params)
    chosen = ChosenRanker(test.member, test.params)
    for steps in (0, 1, 5):
        made = busy_world(seed, steps)
        before = snapshot(made.world)
        if isinstance(test.member, Ranker):
            first, second = (chosen.scores(RankingView(made.world)) for _ in range(2))
            test.check_same(_AGAIN, {"scores": first}, {"scores": second}, "a pure function")
        else:
            _check_scores(test, chosen, made)
        if test.member.retrieve is not None:
            _check_retrieval(test, chosen, made)
        test.check_same("score changed", before, snapshot(made.world), "a world that is only read")


def _check_scores(test: MemberUnderTest, chosen: ChosenRanker, made: BusyWorld) -> None:
    """Score all readers, all of them again, some of them, and all in reverse."""
    persons = made.persons
    inputs = feed_inputs(made.world, RankingView(made.world), chosen, made.options, made.draws(Stage.FEED))
    readers = readers_of(made.world, 0, 0, made.options)
    _, candidates = gather(RankingView(made.world), inputs, readers, made.options, 0)

    def score(places: Int64) -> tuple[Int64, Array]:
        indptr, rows = csr_rows(candidates.indptr, places)
        columns: list[Any] = [read_only(column[rows]) for column in candidates[1:]]
        some = ReaderCandidates(read_only(indptr), *columns)
        return rows, chosen.scores_of(RankingView(made.world), read_only(persons[places]), some, inputs.score)

    _check_each(test, "scores", persons.size, score)


def _check_retrieval(test: MemberUnderTest, chosen: ChosenRanker, made: BusyWorld) -> None:
    """Retrieve for all readers, for all of them again, for some of them, and for all in reverse."""
    persons = made.persons
    whole = chosen.retrieved(RankingView(made.world), persons)

    def retrieve(places: Int64) -> tuple[Int64, Array]:
        part = chosen.retrieved(RankingView(made.world), read_only(persons[places]))
        return csr_rows(whole.indptr, places)[1], part.root  # type: ignore[union-attr]

    _check_each(test, "roots", persons.size, retrieve)


def _check_each(test: MemberUnderTest, what: str, n: int, ask: Callable[[Int64], tuple[Int64, Array]]) -> None:
    """Compare what all readers get with what some of them get; ``ask`` says where that stands among all of it."""
    everybody = np.arange(n)
    (_, whole), (_, again) = ask(everybody), ask(everybody)
    test.check_same(_AGAIN, {what: whole}, {what: again}, "a pure function")
    for asked, places in (
        ("asked about some readers alone", everybody[::3]),
        ("in another order of readers", everybody[::-1]),
    ):
        rows, part = ask(places)
        allowed = "the same for a reader, whoever else is asked about"
        test.check_same(f"{asked}, it gives other", {what: whole[rows]}, {what: part}, allowed)
