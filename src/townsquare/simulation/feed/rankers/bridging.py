"""What both sides of a proposition approve of first, next to age and ties.

Ranking by diverse approval: Ovadya and Thorburn (2023), "Bridging Systems: Open Problems for Countering Destructive
Divisiveness across Ranking, Recommenders, and Governance", arXiv 2301.09976. They describe the class of rankers;
the formula below is ours. A platform would infer sides from behavior; this ranker reads the stances themselves.
"""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Float, Int32
from townsquare.core.threads import in_parts
from townsquare.settings.config import MemberParams, Share, setting
from townsquare.simulation.feed.rankers.affinity import posts_of, rows_of
from townsquare.simulation.feed.rankers.affinity_kernels import add_closeness, bridged
from townsquare.simulation.feed.rankers.contract import ReaderCandidates, ReaderRanker
from townsquare.simulation.feed.ranking_view import RankingView


class Params(MemberParams):
    """Settings of the ranker `bridging`."""

    gravity: float = setting(1.8, "decrease of the score per unit of ln(1 + age/2 h) (assumed)", ge=0)
    one_sided: Share = setting(
        0.1, "weight of a reaction without a matching reaction from the other side; 1: all count equally (assumed)"
    )


def score(view: RankingView, readers: Int32, candidates: ReaderCandidates, params: Params) -> Float:
    """Return age, ties and what both sides approve of; formulas in docs/adding-a-ranker.md."""
    rows, posts = rows_of(view, candidates), posts_of(view)
    engaged, out = np.empty(rows.post.size), np.empty(rows.post.size)
    in_parts(bridged, rows.root.shape[0], rows.root, posts, view.reactions_by_side, params.one_sided, engaged)
    in_parts(add_closeness, rows.post.shape[0], rows, posts, (view.step, view.step_hours), params.gravity, engaged, out)
    return out


RANKER = ReaderRanker("bridging", Params, score)
