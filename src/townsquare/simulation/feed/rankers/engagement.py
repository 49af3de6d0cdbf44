"""Most engaged with first, fading with age."""

from __future__ import annotations

import numpy as np

from townsquare.core.array_types import Float
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.feed.rankers.contract import Ranker
from townsquare.simulation.feed.ranking_view import RankingView


class Params(MemberParams):
    """Settings of the ranker `engagement`."""

    fading: float = setting(0.1, "decrease of the score for each step of age", ge=0, unit="1/step")


def score(view: RankingView, params: Params) -> Float:
    """Return ``ln(1 + likes + shares + comments of the root) - fading * age of the row``.

    The logarithm and the counts are those of SimSwarm's popularity term (its ranker also knows who is followed, which
    here the quotas of the feed do); linear fading in place of its share of the run keeps scores free of the run's end.
    """
    posts, roots = view.posts, view.posts["root"]
    likes, shares, comments = (posts[name] for name in ("likes", "shares", "comments"))
    engaged = (likes + shares + comments)[roots]
    age = view.step - posts["step"].astype(np.float64)
    # Few distinct counts: logarithms are taken once each, so that they are the same wherever the count stands.
    logarithms = np.log1p(np.arange(int(engaged.max(initial=0)) + 1, dtype=np.float64))
    return np.asarray(logarithms[engaged] - params.fading * age)


RANKER = Ranker("engagement", Params, score)
