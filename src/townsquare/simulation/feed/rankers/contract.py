"""What a ranker takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from townsquare.core.member_errors import breach, call_member
from townsquare.core.table import GrowingTable
from townsquare.settings.config import MemberParams

FAMILY = "ranker"


@dataclass(frozen=True, slots=True)
class Ranker:
    """A member of the family ``ranker``.

    Attributes
    ----------
    name : str
        As in the registry.
    params : type of MemberParams
        Its settings.
    score : callable
        ``score(posts, step, params) -> (n_posts,) float64``: one number a row of posts, higher stands further up. It
        is the same for every reader; equal scores are put in order by a draw keyed by reader and post, so a ranker
        that gives every post the same score shows them in a different random order to everybody.
    """

    name: str
    params: type[MemberParams]
    score: Callable[[GrowingTable, int, MemberParams], npt.NDArray[np.float64]]


def scores(ranker: Ranker, posts: GrowingTable, step: int, params: MemberParams) -> npt.NDArray[np.float64]:
    """What the ranker scores ``posts`` in ``step``, (n_posts,) float64, all finite.

    Raises
    ------
    ContractError
        It gives something else; names the first post at fault and its score.
    """
    score: object = call_member(FAMILY, ranker.name, "score", lambda: ranker.score(posts, step, params))
    if not isinstance(score, np.ndarray) or score.dtype != np.float64 or score.shape != (posts.n,):
        got = f"{score.dtype} {score.shape}" if isinstance(score, np.ndarray) else type(score).__name__
        raise breach(FAMILY, ranker.name, f"score returned {got}", f"float64 ({posts.n},): one number a row of posts")
    finite = np.isfinite(score)
    if not finite.all():
        post = int(np.argmin(finite))
        got = f"a score that is not finite: {score[post]} of post {post}"
        raise breach(FAMILY, ranker.name, got, "finite numbers, which can be put in order")
    return score
