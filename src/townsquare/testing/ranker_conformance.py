"""The check that every ranker passes, and that anyone can run on a ranker of their own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.config import MemberParams
from townsquare.rankers.contract import Ranker
from townsquare.testing.busy_world import BusyWorld, busy_world
from townsquare.testing.member_calls import Suspect, snapshot
from townsquare.threads import threads_for


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
    suspect = Suspect("ranker", ranker.name)
    settings = suspect.check_params(ranker.params) if params is None else params
    for steps in (0, 1, 5):
        made = busy_world(seed, steps)
        before = snapshot(made.world)
        one, two = (_score(suspect, ranker, settings, made) for _ in range(2))
        suspect.check_same("score changed", before, snapshot(made.world), "a world that is only read")
        suspect.check_same("the same call twice gives other", {"scores": one}, {"scores": two}, "a pure function")


def _score(suspect: Suspect, ranker: Ranker, params: MemberParams, made: BusyWorld) -> npt.NDArray[np.float64]:
    posts = made.world.posts
    score: object = suspect.call("score", lambda: ranker.score(posts, made.world.step + 1, params))
    if not isinstance(score, np.ndarray) or score.dtype != np.float64 or score.shape != (posts.n,):
        got = f"{score.dtype} {score.shape}" if isinstance(score, np.ndarray) else type(score).__name__
        raise suspect.broken(f"score returned {got}", f"float64 ({posts.n},): one number a row of posts")
    if not np.isfinite(score).all():
        raise suspect.broken("a score that is not finite", "finite numbers, which can be put in order")
    return score
