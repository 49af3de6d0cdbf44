"""A small busy world for conformance checks: posts, shares, comments, notes, ratings, verdicts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from townsquare.core.actions import ActionKind
from townsquare.core.array_types import Int32
from townsquare.core.draws import Draws, Stage, StageDraws
from townsquare.scenario.load import synthetic_scenario
from townsquare.settings.resolve import resolve
from townsquare.simulation.feed import build
from townsquare.simulation.feed.options import FeedOptions, uniform_options
from townsquare.simulation.step import Setup, begin, step
from townsquare.simulation.views import Views
from townsquare.simulation.world import World

_SETTINGS = {
    "agents": 40,
    "graph": {"m": 6},
    "growth": {"max_per_step": 1},
    "policy": {"name": "blind", "like": 0.3, "flag": 0.1, "add_note": 0.1, "rate_note": 0.8, "share": 0.1},
    "moderation": {"strategy": "community", "helpful_ratio": 1.0},
}


class BusyWorld(NamedTuple):
    """A world after some steps; ``setup`` holds the settings and texts it was made with."""

    world: World
    setup: Setup

    def draws(self, stage: Stage, later: int = 0) -> StageDraws:
        """Return the draws of a stage in the step that is being taken, or some steps ``later``."""
        return Draws(self.setup.settings.config.seed, self.world.step + 1 + later)(stage)

    @property
    def persons(self) -> Int32:
        """Rows of all persons, ascending."""
        return np.flatnonzero(self.world.persons()).astype(np.int32)

    @property
    def options(self) -> FeedOptions:
        """The options of everybody's feed, as the settings have them."""
        config = self.setup.settings.config
        return uniform_options(self.persons, config.feed, config.beliefs.label_weight)

    def views(self) -> Views:
        """Return everybody's views of their next feed, with every kind of action allowed."""
        config = self.setup.settings.config
        shown = build.build(self.world, self.setup.ranker, self.options, self.draws(Stage.FEED))
        return Views(self.world, shown, frozenset(ActionKind), self.setup.bank, config.actions, self.setup.context)


def busy_world(seed: int, steps: int = 5) -> BusyWorld:
    """Return a world in which ``steps`` steps were taken; 0 gives the start, without a post.

    Settings are fixed but for ``seed``: 40 agents that act at random, 60 injected posts toward two propositions, every
    fifth of them false, and community notes, some of which are shown.
    """
    setup, world, _ = begin(resolve(_SETTINGS, {"seed": seed}), synthetic_scenario(60, false_share=0.2, propositions=2))
    for _ in range(steps):
        step(setup, world)
    return BusyWorld(world, setup)
