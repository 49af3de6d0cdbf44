"""New, engaged with, close to the reader and fitting its stance first: how platforms rank for engagement.

Terms and weights are those of a prototype of a public (docs/policies.md, policy `propensity`): chosen, not measured.
"""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Float, Int32
from townsquare.core.threads import in_parts
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.feed.rankers.affinity_kernels import (
    Agents,
    Posts,
    Rows,
    add_closeness,
    add_fit,
    engagement,
)
from townsquare.simulation.feed.rankers.contract import ReaderCandidates, ReaderRanker
from townsquare.simulation.feed.ranking_view import RankingView


class Params(MemberParams):
    """Settings of the ranker `affinity`."""

    gravity: float = setting(1.8, "decrease of the score per unit of ln(1 + age/2 h) (assumed)", ge=0)
    match: float = setting(
        2.0, "score of a post at the reader's own stance minus that of one at the farthest stance (assumed)", ge=0
    )
    taste: float = setting(
        3.5, "decrease of the score per unit of taste below `taste_from`, for rows from other accounts whose root is "
        "by a source of credibility below 0.5 (tuned to published concentrations of exposure)", ge=0,
    )  # fmt: skip
    taste_from: float = setting(2.5, "taste at and above which such rows have no decrease (tuned)")


def score(view: RankingView, readers: Int32, candidates: ReaderCandidates, params: Params) -> Float:
    """Return age, engagement, ties and fit of each candidate; formulas in docs/adding-a-ranker.md."""
    rows, posts = rows_of(view, candidates), posts_of(view)
    engaged, out = np.empty(rows.post.size), np.empty(rows.post.size)
    in_parts(engagement, rows.root.shape[0], rows.root, posts, engaged)
    in_parts(add_closeness, rows.post.shape[0], rows, posts, (view.step, view.step_hours), params.gravity, engaged, out)
    agents = Agents(view.stance, view.agents["taste"], view.agents["credibility"])
    in_parts(add_fit, rows.post.shape[0], rows, posts, agents, params.match, params.taste, params.taste_from, out)
    return out


def rows_of(view: RankingView, candidates: ReaderCandidates) -> Rows:
    """Return the candidates as kernels take them, with the ties of each reader and author."""
    ties = view.ties(candidates.reader, candidates.author)
    return Rows(candidates.reader, candidates.post, candidates.root, candidates.followed, ties)


def posts_of(view: RankingView) -> Posts:
    """Return the columns of posts that kernels read."""
    columns = (view.posts[name] for name in ("step", "likes", "shares", "author", "stances", "n_stances"))
    return Posts(*columns, *(view.post_stances[name] for name in ("proposition", "stance")))


RANKER = ReaderRanker("affinity", Params, score)
