"""What entered first stands first: for fixed panels, whose posts are shown in the order of their file."""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Float
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.rankers.contract import Ranker
from townsquare.simulation.feed.ranking_view import RankingView


def score(view: RankingView, params: MemberParams) -> Float:
    """Less for later rows."""
    return -np.arange(view.posts.n, dtype=np.float64)


RANKER = Ranker("oldest", MemberParams, score)
