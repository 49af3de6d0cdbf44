"""The check that every ranker passes, and that anyone can run on a ranker of their own."""

from __future__ import annotations

from townsquare.core.threads import threads_for
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.rankers.contract import FAMILY, ChosenRanker, Ranker
from townsquare.testing.busy_world import busy_world
from townsquare.testing.member_calls import MemberUnderTest, snapshot


@threads_for(0)
def check_ranker(ranker: Ranker, params: MemberParams | None = None, seed: int = 0) -> None:
    """Raise if a ranker breaks its contract.

    Checked, on a world without posts and on a busy one: one finite float64 a row of posts; the same call gives the
    same scores; nothing is written to.

    Parameters
    ----------
    ranker : Ranker
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
    for steps in (0, 1, 5):
        made = busy_world(seed, steps)
        before = snapshot(made.world)
        chosen = ChosenRanker(test.member, test.params)
        one, two = (chosen.scores(made.world.posts, made.world.step + 1) for _ in range(2))
        test.check_same("score changed", before, snapshot(made.world), "a world that is only read")
        test.check_same("the same call twice gives other", {"scores": one}, {"scores": two}, "a pure function")
