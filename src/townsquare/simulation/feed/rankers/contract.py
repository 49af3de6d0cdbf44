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


@dataclass(frozen=True, slots=True)
class ChosenRanker:
    """A ranker with its parameters."""

    member: Ranker
    params: MemberParams

    def scores(self, posts: GrowingTable, step: int) -> npt.NDArray[np.float64]:
        """Score ``posts`` in ``step``, (n_posts,) float64, all finite.

        Raises
        ------
        ContractError
            The ranker gives something else; names the first post at fault and its score.
        """
        name = self.member.name
        score: object = call_member(FAMILY, name, "score", lambda: self.member.score(posts, step, self.params))
        if not isinstance(score, np.ndarray) or score.dtype != np.float64 or score.shape != (posts.n,):
            got = f"{score.dtype} {score.shape}" if isinstance(score, np.ndarray) else type(score).__name__
            raise breach(FAMILY, name, f"score returned {got}", f"float64 ({posts.n},): one number a row of posts")
        finite = np.isfinite(score)
        if not finite.all():
            post = int(np.argmin(finite))
            got = f"a score that is not finite: {score[post]} of post {post}"
            raise breach(FAMILY, name, got, "finite numbers, which can be put in order")
        return score
