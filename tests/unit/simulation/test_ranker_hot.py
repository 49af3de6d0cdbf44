"""The hot rank against the published formula, in seconds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from small_worlds import post, react, town
from townsquare.core import registry
from townsquare.core.actions import ActionKind
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.world import World

HOT = registry.get("ranker", "hot")


def published(ups: int, downs: int, seconds: float) -> float:
    """Reddit's ``_hot``, without its rounding: the sign and size of the votes, and the time since its epoch."""
    votes = ups - downs
    order = math.log10(max(abs(votes), 1))
    sign = (votes > 0) - (votes < 0)
    return sign * order + seconds / 45_000


def scores(world: World, **params: float) -> np.ndarray:
    return np.asarray(HOT.score(RankingView(world), HOT.params(**params)))


def test_it_is_the_published_formula_at_a_day_a_step() -> None:
    world = town(120, 1)
    votes = [(0, 0), (1, 0), (0, 1), (10, 0), (100, 1), (3, 50), (7, 7), (20, 9)]
    for step, (likes, dislikes) in enumerate(votes):
        root = post(world, 120, step=step + 1)
        for agent in range(likes):
            react(world, ActionKind.LIKE, agent, root)
        for agent in range(dislikes):
            react(world, ActionKind.DISLIKE, agent, root)
    wanted = [published(*of, 86_400 * (step + 1)) for step, of in enumerate(votes)]
    np.testing.assert_allclose(scores(world), wanted, rtol=1e-12)


def test_a_share_has_the_votes_of_its_root_and_its_own_age() -> None:
    world = town(20, 1)
    root = post(world, 20)
    for agent in range(10):
        react(world, ActionKind.LIKE, agent, root)
    post(world, 3, share_of=root, step=3)
    assert scores(world, tenfold=2.0).tolist() == [1 + 1 / 2, 1 + 3 / 2]


def test_ten_times_the_votes_make_up_for_being_older_by_tenfold() -> None:
    world = town(120, 1)
    old, new = post(world, 120, step=1), post(world, 120, step=5)
    for root, likes in ((old, 100), (new, 10)):
        for agent in range(likes):
            react(world, ActionKind.LIKE, agent, root)
    assert scores(world, tenfold=4.0).tolist() == [pytest.approx(2.25), pytest.approx(2.25)]
