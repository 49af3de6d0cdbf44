"""What entered first stands first: for fixed panels, whose posts are shown in the order of their file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from townsquare.core.table import GrowingTable
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.rankers.contract import Ranker


class Params(MemberParams):
    """No settings."""


def score(posts: GrowingTable, step: int, params: MemberParams) -> npt.NDArray[np.float64]:
    """Less for later rows."""
    return -np.arange(posts.n, dtype=np.float64)


RANKER = Ranker("oldest", Params, score)
