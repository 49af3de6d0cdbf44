"""A different random order for every reader, post and step."""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Float
from townsquare.settings.config import MemberParams
from townsquare.simulation.feed.rankers.contract import Ranker
from townsquare.simulation.feed.ranking_view import RankingView


def score(view: RankingView, params: MemberParams) -> Float:
    """Return the same for every row, so that the keyed draw alone decides."""
    return np.zeros(view.posts.n)


RANKER = Ranker("random", MemberParams, score)
