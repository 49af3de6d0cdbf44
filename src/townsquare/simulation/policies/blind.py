"""Agents that ignore content: the control for what the platform alone does.

Each kind of action has one chance for every row that an agent of mean activity is shown, whatever it says, whoever
wrote it, however it is labeled. MOSAIC's arms gave such agents 3.3-fold different engagement, because its feeds
differed by arm; here they give four arms the same rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from townsquare.core.actions import ROW_KINDS, SPECS, WORDS, ActionKind, On
from townsquare.core.draws import StageDraws
from townsquare.settings.config import MemberParams, setting
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.policies.statistical import decide as decide_statistically
from townsquare.simulation.policies.statistical_params import KindParams, by_kind
from townsquare.simulation.policies.statistical_params import Params as StatisticalParams
from townsquare.simulation.views import ProposedActions, Views


def _chance(kind: ActionKind) -> tuple[type[Any], Any]:
    spec = SPECS[kind]
    rated = ", as helpful with probability 0.5" if spec.on == On.NOTE else ""
    return float, setting(spec.chance, f"probability, per shown row at activity 1, of {spec.called}{rated}", ge=0, lt=1)


if TYPE_CHECKING:

    class ByKind(MemberParams):
        """A setting for each kind of action."""

else:
    ByKind = by_kind({kind: _chance(kind) for kind in ROW_KINDS})


class Params(ByKind):
    """Chances a shown row at activity 1; they scale with activity as in `statistical`."""

    posts_per_step: float = setting(
        0.05, "rate of own posts per step online, at activity 1; at most one post in a step, with probability "
        "1 - exp(-rate)",
        ge=0,
    )  # fmt: skip


def decide(views: Views, draws: StageDraws, params: Params) -> ProposedActions:
    """Decide as `statistical` does, with every coefficient but the base at 0, and arguments of either side."""
    chances = {WORDS[kind]: getattr(params, WORDS[kind]) for kind in ROW_KINDS}
    kinds: dict[str, Any] = {name: KindParams(base=math.log(p / (1 - p)) if p else -1e6) for name, p in chances.items()}
    flat = StatisticalParams(
        **kinds, attention=0.0, posts_per_step=params.posts_per_step, side=0.0, text_width=1e6, helpful_distance=0.0,
        helpful_doubt=0.0,
    )  # fmt: skip
    return decide_statistically(views, draws, flat)


POLICY = Policy("blind", Params, decide)
