"""Friction: an action that would be accepted happens only if a second draw passes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from townsquare.config import Config
from townsquare.draws import U64, StageDraws
from townsquare.events import treatments
from townsquare.schema import ActionKind
from townsquare.views import Chosen
from townsquare.world import World

Array = npt.NDArray[Any]
_ON_AGENTS = (ActionKind.FOLLOW, ActionKind.UNFOLLOW)


class Friction(NamedTuple):
    """``chance`` (k, kinds) float64 that an action is given up, by place in the feed's agents; and the draws."""

    chance: npt.NDArray[np.float64]
    draw: StageDraws


def friction_of(agents: Array, config: Config, draw: StageDraws) -> Friction | None:
    """The friction that ``agents`` meet in the step of ``draw``; None where nobody meets any."""
    chance = treatments.friction(agents, config, draw.step)
    return None if chance is None else Friction(chance, draw)


def given_up(
    world: World, chosen: Chosen, place: Array, target: Array, accepted: Array, friction: Friction
) -> npt.NDArray[np.bool_]:
    """Which of the ``accepted`` actions are given up, (n,).

    The draw is by kind, agent and what is acted on, so that it is another one for each post, and no other action, row
    or agent shifts it. ``place`` (n,) is where each action's agent stands in the feed.
    """
    out = np.zeros(chosen.n, np.bool_)
    for kind in np.unique(chosen.kind[accepted]):
        chance = friction.chance[:, kind]
        if not chance.any():
            continue
        at = np.flatnonzero(accepted & (chosen.kind == kind))
        u = friction.draw.uniform(f"friction:{kind}", chosen.agent[at], _keys(world, kind, target[at]))
        out[at] = u < chance[place[at]]
    return out


def _keys(world: World, kind: int, target: Array) -> npt.NDArray[U64]:
    """Keys of posts, of the posts that notes are on, or numbers of agents; 0 for what is done to nothing."""
    if kind in _ON_AGENTS:
        return target.astype(U64)
    if kind == ActionKind.RATE_NOTE:
        target = np.asarray(world.notes["post"])[target]
    if not target.size or target[0] < 0:
        return np.zeros(target.size, U64)
    return np.asarray(world.posts["key"][target], U64)
