"""What a ranker takes and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from townsquare.config import MemberParams
from townsquare.table import GrowingTable


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
