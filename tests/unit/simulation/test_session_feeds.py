"""Feeds of sessions against plain Python: walks, freshness, the error of ranking, the mix and the depth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_oracle import PERSONS, busy_town, expected_session, expected_walks, options_of
from small_worlds import draws_of, end_step, feed_of, give_verdict, post, show, shown_to
from townsquare.core import registry
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import Verdict
from townsquare.settings.config import Feed as FeedSettings
from townsquare.simulation.feed.rank import depths
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.feed.walks import by_walks

WINDOWS = st.sampled_from([None, 1.0, 2.0])
SESSIONS = st.fixed_dictionaries(
    {
        "followed": st.integers(0, 6),
        "others": st.integers(0, 6),
        "walks": st.integers(1, 12),
        "depth_mean": st.sampled_from([1.5, 4.0, 30.0]),
        "outside_share": st.sampled_from([0.0, 0.4, 1.0]),
        "window_hours": WINDOWS,
        "error": st.sampled_from([0.0, 1.0]),
        "downrank": st.sampled_from([0.0, 3.0]),
        "repeat": st.booleans(),
    }
)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), ring=st.integers(2, 4), hours=WINDOWS)
def test_walks_find_what_plain_python_finds(seed: int, ring: int, hours: float | None) -> None:
    world, given_settings = busy_town(seed, ring), {"outside": "walks", "walks": 7, "window_hours": hours}
    found = by_walks(world, options_of(**given_settings), draws_of(world, Stage.FEED))
    for agent in range(PERSONS):
        roots = found.root[found.indptr[agent] : found.indptr[agent + 1]].tolist()
        assert roots == sorted(expected_walks(world, agent, FeedSettings(**given_settings)))


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10_000), ring=st.integers(2, 4), ranker=st.sampled_from(["recent", "engagement"]),
    given_settings=SESSIONS,
)  # fmt: skip
def test_a_session_is_what_plain_python_says(seed: int, ring: int, ranker: str, given_settings: dict[str, Any]) -> None:
    world, of = busy_town(seed, ring), {**given_settings, "ranker": ranker, "comments": 0, "outside": "walks"}
    for root in range(0, world.posts.n, 3):
        if world.posts["root"][root] == root:
            give_verdict(world, root, Verdict.FALSE)
    show(world, feed_of(world, comments=0))
    end_step(world)
    for author in range(PERSONS):
        post(world, author)
    member, feed = registry.get("ranker", ranker), feed_of(world, **of)
    score = member.score(RankingView(world), member.params()).tolist()
    for agent in range(PERSONS):
        got = list(zip(shown_to(feed, agent), shown_to(feed, agent, "slot"), strict=True))
        assert got == expected_session(world, agent, FeedSettings(**of), score)


def test_the_mean_depth_is_that_of_the_settings() -> None:
    draw = Draws(1, 4)(Stage.FEED)
    drawn = depths(np.arange(200_000, dtype=np.int32), 15.0, draw)
    assert drawn.min() == 1
    assert drawn.mean() == pytest.approx(15.0, abs=0.15)
    assert (depths(np.arange(5, dtype=np.int32), 1.0, draw) == 1).all()
