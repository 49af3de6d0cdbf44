"""Agents that ignore content: the control for what the platform alone does.

Each kind of action has one chance for every row that an agent of mean activity is shown, whatever it says, whoever
wrote it, however it is labelled. MOSAIC's arms gave such agents 3.3-fold different engagement, because its feeds
differed by arm; here they give four arms the same rows.
"""

from __future__ import annotations

import math

from pydantic import Field

from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.policies.statistical import decide as decide_statistically
from townsquare.simulation.policies.statistical_params import ROW_KINDS, KindParams
from townsquare.simulation.policies.statistical_params import Params as StatisticalParams
from townsquare.simulation.views import Chosen, Views


class Params(MemberParams):
    """Chances a shown row at activity 1; they scale with activity as in `statistical`."""

    like: float = Field(0.1, ge=0, lt=1, description="chance of a like")
    dislike: float = Field(0.02, ge=0, lt=1, description="chance of a dislike")
    share: float = Field(0.04, ge=0, lt=1, description="chance of a share")
    comment: float = Field(0.04, ge=0, lt=1, description="chance of a comment")
    like_comment: float = Field(0.05, ge=0, lt=1, description="chance of liking a comment")
    flag: float = Field(0.01, ge=0, lt=1, description="chance of a flag")
    follow: float = Field(0.01, ge=0, lt=1, description="chance of following the author")
    unfollow: float = Field(0.001, ge=0, lt=1, description="chance of unfollowing the author")
    add_note: float = Field(0.02, ge=0, lt=1, description="chance of a community note")
    rate_note: float = Field(0.3, ge=0, lt=1, description="chance of rating an offered note; helpful or not is a coin")
    posts_per_step: float = Field(0.05, ge=0, description="posts a step at activity 1")


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
