"""Takedown at so many flags or notes: off by default, once, with its reason, in both strategies that have notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from small_worlds import draws_of, end_step, moderator_of, note, post, react, town
from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Stage
from townsquare.core.enums import LogKind, PostKind, PostStatus, Veracity
from townsquare.simulation.world import World

STRATEGIES = ("community", "hybrid")


def review(world: World, strategy: str, *, takedown: bool = True, **params: Any) -> schema.Columns:
    """One review, applied; the rows of the log."""
    moderator = moderator_of(strategy, **({"posts_per_step": 0, **params} if strategy == "hybrid" else params))
    change = moderator.review(world, draws_of(world, Stage.MODERATE), takedown)
    world.append(change)
    return change.rows.get("moderation_log", schema.empty("moderation_log"))


def taken(rows: schema.Columns) -> list[tuple[int, str, float]]:
    down = np.asarray(rows["kind"]) == LogKind.TAKEDOWN
    columns = (np.asarray(rows[name])[down].tolist() for name in ("post", "reason", "value"))
    return list(zip(*columns, strict=True))


def flag(world: World, root: int, times: int, first: int = 0) -> None:
    for agent in range(first, first + times):
        react(world, ActionKind.FLAG, agent, root)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_it_is_off_unless_a_threshold_is_set(strategy: str) -> None:
    world = town(20, 1)
    flag(world, post(world, 20), 20)
    assert taken(review(world, strategy)) == []


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_flags_or_notes_at_the_threshold_take_a_post_and_its_shares_down_once(strategy: str) -> None:
    world = town(20, 1)
    few, flagged, noted, both = (post(world, 20, kind=PostKind.INJECTED) for _ in range(4))
    share = post(world, 3, share_of=flagged)
    flag(world, few, 2)
    flag(world, flagged, 3)
    flag(world, both, 5)
    for root in (noted, both):
        for author in (1, 2):
            note(world, author, root)
    settings = {"takedown_flags": 3, "takedown_notes": 2}
    assert taken(review(world, strategy, takedown=False, **settings)) == []
    assert taken(review(world, strategy, **settings)) == [
        (flagged, "3 flags, at least 3", 3.0), (both, "5 flags, at least 3", 5.0), (noted, "2 notes, at least 2", 2.0),
    ]  # fmt: skip
    status = world.posts["status"][[few, flagged, noted, both, share]]
    assert status.tolist() == [PostStatus.ACTIVE, *[PostStatus.TAKEN_DOWN] * 4]
    end_step(world)
    flag(world, flagged, 3, first=10)
    assert taken(review(world, strategy, **settings)) == []
    flag(world, few, 1, first=10)
    assert taken(review(world, strategy, **settings)) == [(few, "3 flags, at least 3", 3.0)]


def test_a_post_that_the_checker_takes_down_is_logged_once() -> None:
    world = town(20, 1)
    root = post(world, 20, kind=PostKind.INJECTED, veracity=Veracity.FALSE)
    flag(world, root, 3)
    sure = {"unverified": 0.0, "sensitivity": 1.0, "takedown_at": 0.0, "posts_per_step": 5}
    rows = review(world, "hybrid", takedown_flags=1, **sure)
    assert [reason.split()[0] for _, reason, _ in taken(rows)] == ["verdict"]
