"""Agents that ignore content: the control for what the platform alone does.

Each kind of action has one chance for every row that an agent of mean activity is shown, whatever it says, whoever
wrote it, however it is labelled. MOSAIC's arms gave such agents 3.3-fold different engagement, because its feeds
differed by arm; here they give four arms the same rows.
"""

from __future__ import annotations

import math

from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.policies.statistical import decide as decide_statistically
from townsquare.simulation.policies.statistical_params import ROW_KINDS, KindParams
from townsquare.simulation.policies.statistical_params import Params as StatisticalParams
from townsquare.simulation.views import Chosen, Views


class Params(MemberParams):
    """Chances a shown row at activity 1; they scale with activity as in `statistical`."""

    like: float = setting(0.1, "chance of a like", ge=0, lt=1)
    dislike: float = setting(0.02, "chance of a dislike", ge=0, lt=1)
    share: float = setting(0.04, "chance of a share", ge=0, lt=1)
    comment: float = setting(0.04, "chance of a comment", ge=0, lt=1)
    like_comment: float = setting(0.05, "chance of liking a comment", ge=0, lt=1)
    flag: float = setting(0.01, "chance of a flag", ge=0, lt=1)
    follow: float = setting(0.01, "chance of following the author", ge=0, lt=1)
    unfollow: float = setting(0.001, "chance of unfollowing the author", ge=0, lt=1)
    add_note: float = setting(0.02, "chance of a community note", ge=0, lt=1)
    rate_note: float = setting(0.3, "chance of rating an offered note; helpful or not is a coin", ge=0, lt=1)
    posts_per_step: float = setting(0.05, "posts a step at activity 1", ge=0)


def decide(views: Views, draws: StageDraws, params: Params) -> Chosen:
    """As `statistical`, with every coefficient but the base at 0, and arguments of either side."""
    chances = {kind.name.lower(): getattr(params, kind.name.lower()) for kind in ROW_KINDS}
    kinds = {name: KindParams(base=math.log(p / (1 - p)) if p else -1e6) for name, p in chances.items()}
    flat = StatisticalParams(
        **kinds, attention=0.0, posts_per_step=params.posts_per_step, side=0.0, text_width=1e6, helpful_distance=0.0,
        helpful_doubt=0.0,
    )  # fmt: skip
    return decide_statistically(views, draws, flat)


POLICY = Policy("blind", Params, decide)
