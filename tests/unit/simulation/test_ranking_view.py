"""What a ranker reads, against plain loops over the world."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import follow, log, post, react, settings_of, steps_of, town
from townsquare.core.actions import ActionKind
from townsquare.core.enums import ActionStatus, LogKind, PostKind, PostStatus
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.world import World


def test_who_reacted_how_and_who_is_close_to_whom() -> None:
    done: set[tuple[int, int, int]] = set()
    for last, out in steps_of(
        settings_of(steps=4, policy={"name": "blind", "like": 0.3, "dislike": 0.2, "share": 0.1})
    ):
        world, actions = last, out.get("actions")
        rows = zip(*(np.asarray(actions[name]).tolist() for name in ("agent", "kind", "target", "status")), strict=True)
        done |= {(agent, kind, root) for agent, kind, root, status in rows if status == ActionStatus.ACCEPTED}
    view = RankingView(world)
    for kinds in ((ActionKind.LIKE,), (ActionKind.DISLIKE, ActionKind.FLAG), (ActionKind.SHARE, ActionKind.LIKE)):
        agent, root = view.reacted(*kinds)
        pairs = list(zip(agent.tolist(), root.tolist(), strict=True))
        assert pairs == sorted({(agent, root) for agent, kind, root in done if kind in kinds})
        assert pairs

    close = {(a, r) for a, kind, r in done if kind in (ActionKind.LIKE, ActionKind.SHARE, ActionKind.LIKE_COMMENT)}
    authors = [(agent, int(world.posts["author"][root])) for agent, root in close]
    n = world.n_agents
    reader, author = (grid.ravel()[::-1] for grid in np.meshgrid(np.arange(n), np.arange(n)))
    asked = list(zip(reader.tolist(), author.tolist(), strict=True))
    assert view.ties(reader, author).tolist() == [authors.count(pair) for pair in asked]
    follows = [world.follows.get(*pair, -1) >= 0 for pair in asked]
    assert view.is_following(reader, author).tolist() == follows
    assert 0 < sum(follows) == view.follows.followed.size
    some = view.follows.followed[view.follows.indptr[3] : view.follows.indptr[4]].tolist()
    assert some == [b for b in range(n) if world.follows.get(3, b, -1) >= 0]
    np.testing.assert_array_equal(view.stance, world.stance())


def small() -> World:
    world = town(4, 1)
    follow(world, (0, 1))
    root = post(world, 4, kind=PostKind.INJECTED)
    post(world, 1, share_of=root)
    post(world, 2, under=root)
    log(world, LogKind.TAKEDOWN, post(world, 3))
    react(world, ActionKind.LIKE, 0, root)
    return world


def test_live_roots_are_neither_shares_nor_comments_nor_taken_down() -> None:
    world = small()
    assert RankingView(world).live_roots.tolist() == [0]
    assert world.posts["status"][3] == PostStatus.TAKEN_DOWN
    assert RankingView(town()).live_roots.tolist() == []


def test_nobody_is_close_to_anybody_in_a_world_without_reactions() -> None:
    view = RankingView(town(3, 0))
    assert view.ties([0, 1], [1, 2]).tolist() == [0, 0]
    assert view.is_following([0, 1], [1, 2]).tolist() == [False, False]
    assert [column.tolist() for column in view.reacted(ActionKind.LIKE)] == [[], []]


@pytest.mark.parametrize("name", ["stance", "confidence", "live_roots"])
def test_nothing_can_be_written_to(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(RankingView(small()), name)[:] = 0
