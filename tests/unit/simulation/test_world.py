"""What rows do to a world: counts, statuses, the graph, what was seen; and that nobody else can write to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from small_worlds import (
    end_step,
    feed_of,
    follow,
    give_verdict,
    log,
    note,
    post,
    rate,
    react,
    settings_of,
    show,
    steps_of,
    town,
)
from townsquare.beliefs.contract import BeliefState
from townsquare.core import schema
from townsquare.core.actions import ActionKind
from townsquare.core.enums import ActionStatus, AgentKind, LogKind, NoteStatus, PostStatus, Reason, Verdict
from townsquare.core.pairs import BLOCK
from townsquare.core.schema import NONE
from townsquare.simulation.change import NOTHING, Change
from townsquare.simulation.world import World


def ints(values: object) -> list[int]:
    return np.asarray(values).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("table", ["agents", "posts", "post_stances", "notes"])
def test_columns_are_read_only_from_outside(table: str) -> None:
    world = town()
    note(world, 1, post(world, 0, stances={0: 0.5}))
    for column in schema.TABLES[table].columns:
        with pytest.raises(ValueError, match="read-only"):
            getattr(world, table)[column.name][0] = 1


def test_current_columns_are_read_only_from_outside() -> None:
    world = town()
    post(world, 0, under=post(world, 1))
    for column in (world.in_degree, world.newest, world.n_rows, world.comment_rows):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_beliefs_are_read_only_from_outside() -> None:
    for world, _ in steps_of(settings_of(steps=2, growth={"max_per_step": 3})):
        for block in world.belief:
            for array in (block.stance, block.confidence, block.start, *block.arrays.values()):
                with pytest.raises(ValueError, match="read-only"):
                    array[0] = 0.5


def test_what_was_handed_out_does_not_change_when_the_table_grows() -> None:
    world = town()
    for _ in range(3):
        post(world, 0)
    before = world.posts["author"]
    for _ in range(200):
        post(world, 1)
    assert ints(before) == [0, 0, 0]


def test_no_rows_change_nothing() -> None:
    world = town()
    assert world.append(NOTHING) == {}
    assert (world.posts.n, world.n_agents, world.step) == (0, 7, 0)


def test_counts_go_to_the_root() -> None:
    world = town()
    root = post(world, 0)
    share = post(world, 1, share_of=root)
    comment = post(world, 2, under=root)
    for kind in (ActionKind.LIKE, ActionKind.DISLIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.FLAG):
        react(world, kind, 3, root)
    react(world, ActionKind.LIKE, 4, root)
    react(world, ActionKind.LIKE_COMMENT, 4, comment)
    names = ("likes", "dislikes", "shares", "comments", "flags", "notes")
    assert [ints(world.posts[name])[root] for name in names] == [2, 1, 1, 1, 1, 0]
    assert [ints(world.posts[name])[share] for name in names] == [0] * 6
    assert [ints(world.posts[name])[comment] for name in names] == [1, 0, 0, 0, 0, 0]


def test_refused_actions_count_for_nothing() -> None:
    world = town()
    root = post(world, 0)
    rows = schema.rows(
        "actions", 1, step=1, agent=1, ordinal=0, kind=ActionKind.LIKE, rank=0, target=root, text=NONE, helpful=NONE,
        reasoning=NONE, status=ActionStatus.REFUSED, reason=Reason.REPEATED, result=NONE,
    )  # fmt: skip
    world.append(Change({"actions": rows}))
    assert ints(world.posts["likes"]) == [0]
    assert len(world.reactions) == 0


def test_the_ring_holds_the_newest_rows_of_each_author() -> None:
    world = town(ring=3)
    mine = [post(world, 0) for _ in range(2)]
    assert sorted(ints(world.newest[0])[:2]) == mine
    assert ints(world.n_rows)[:2] == [2, 0]
    ids = world.posts.n + np.arange(5)
    rows = schema.rows(
        "posts", 5, post=ids, key=ids, kind=[0, 0, 2, 0, 0], author=[0, 1, 0, 0, 0], root=ids, parent=NONE, step=1,
        text=0, type=0, topic=NONE, veracity=0, plausibility=0.5,
    )  # fmt: skip
    world.append(Change({"posts": rows}))
    # Five rows at once: agent 0 gets three posts (a comment is none), of which with the older ones three are newest.
    assert sorted(ints(world.newest[0])) == [ids[0], ids[3], ids[4]]
    assert ints(world.newest[1])[0] == ids[1]
    assert ints(world.n_rows)[:2] == [5, 1]


def test_follows_are_events_and_the_graph_follows() -> None:
    world = town(5, 0)
    follow(world, (3, 1), (0, 1), (0, 4))
    assert [world.follows.get(0, other, NONE) for other in range(5)] == [-1, 0, -1, -1, 0]
    assert ints(world.in_degree) == [0, 2, 0, 0, 1]
    follow(world, (0, 1), change=-1)
    follow(world, (1, 0), (0, 2))
    assert [world.follows.get(0, other, NONE) for other in range(5)] == [-1, -1, 0, -1, 0]
    assert ints(world.in_degree) == [1, 1, 1, 0, 1]


def test_what_was_seen_keeps_its_first_step() -> None:
    world = town(3, 1)
    roots = [post(world, 3) for _ in range(3)]
    show(world, feed_of(world))
    end_step(world)
    roots.append(post(world, 3))
    show(world, feed_of(world, [0]))
    assert [world.seen.get(0, root, NONE) for root in roots] == [1, 1, 1, 2]
    assert [world.seen.get(1, root, NONE) for root in roots] == [1, 1, 1, -1]


def test_the_oldest_seen_roots_are_forgotten_after_the_step() -> None:
    world = town(2, 1)
    old = [post(world, 2) for _ in range(3)]
    show(world, feed_of(world))
    end_step(world, seen_cap=4)
    new = [post(world, 2) for _ in range(3)]
    feed = feed_of(world)
    assert ints(feed.exposures["first_seen"]).count(True) == 6
    show(world, feed)
    assert sum(world.seen.get(0, root, NONE) != NONE for root in old + new) == 6  # not before the step is over
    end_step(world, seen_cap=4)
    assert [world.seen.get(0, root, NONE) for root in new] == [2, 2, 2]
    assert sum(world.seen.get(0, root, NONE) != NONE for root in old) == 1


def test_steps_beyond_the_range_of_small_integers() -> None:
    """A run may take a million steps; what was seen in step 40,000 is newer than what was seen in step 3."""
    world = town(1, 1)
    old = post(world, 1)
    show(world, feed_of(world, [0]))
    world.step = 39_999
    new = post(world, 1)
    show(world, feed_of(world, [0]))
    assert [world.seen.get(0, root, NONE) for root in (old, new)] == [1, 40_000]
    end_step(world, seen_cap=1)
    assert [world.seen.get(0, root, NONE) for root in (old, new)] == [-1, 40_000]


def test_a_takedown_covers_all_shares_and_nothing_else() -> None:
    world = town()
    root, other = post(world, 0), post(world, 1)
    shares = [post(world, 2, share_of=root), post(world, 3, share_of=root), post(world, 3, share_of=other)]
    log(world, LogKind.TAKEDOWN, root)
    down = [row for row in range(world.posts.n) if world.posts["status"][row] == PostStatus.TAKEN_DOWN]
    assert down == [root, *shares[:2]]


def test_a_verdict_stands_at_the_post() -> None:
    world = town()
    roots = [post(world, 0), post(world, 0)]
    give_verdict(world, roots[1], Verdict.FALSE)
    assert ints(world.posts["verdict"]) == [Verdict.NONE, Verdict.FALSE]


def test_the_label_is_the_first_shown_note_and_leaves_with_it() -> None:
    world = town()
    root = post(world, 0)
    first, second = note(world, 1, root), note(world, 2, root)
    assert ints(world.posts["note"]) == [NONE]
    assert ints(world.posts["notes"]) == [2]
    log(world, LogKind.NOTE_SHOWN, root, second)
    assert ints(world.posts["note"]) == [second]
    log(world, LogKind.NOTE_SHOWN, root, first)
    assert ints(world.posts["note"]) == [first]
    log(world, LogKind.NOTE_WITHDRAWN, root, first)
    assert ints(world.posts["note"]) == [second]
    assert ints(world.notes["status"]) == [NoteStatus.PENDING, NoteStatus.SHOWN]
    log(world, LogKind.NOTE_WITHDRAWN, root, second)
    assert ints(world.posts["note"]) == [NONE]


def test_ratings_are_counted() -> None:
    world = town()
    number = note(world, 5, post(world, 0))
    rate(world, number, helpful=3, not_helpful=1)
    assert (ints(world.notes["helpful"]), ints(world.notes["not_helpful"])) == ([3], [1])
    agents = np.arange(6, dtype=np.int32)
    assert ints(world.has(world.ratings, agents, np.full(6, number))) == [True] * 4 + [False] * 2


def test_pairs_are_found_over_several_blocks() -> None:
    n = BLOCK + 4
    world = World(0, 2)
    rows = schema.rows(
        "agents", n, agent=np.arange(n), kind=AgentKind.PERSON, born=0, activity=1.0, policy=0, credibility=np.nan,
        name=NONE,
    )  # fmt: skip
    none = np.zeros((n, 0))
    world.append(Change({"agents": rows}, newborn=BeliefState(none, none, none)))
    assert [block.stance.shape[0] for block in world.belief] == [BLOCK, 4]
    follow(world, (BLOCK + 1, 0), (2, BLOCK + 3), (2, 5))
    agents = np.array([2, 2, BLOCK + 1, BLOCK + 1], np.int32)
    keys = np.array([BLOCK + 3, 0, 0, 5], np.int32)
    assert ints(world.has(world.follows, agents, keys)) == [True, False, True, False]


def test_newborn_beliefs_fill_the_last_block_first() -> None:
    world = town(3, 0, propositions=2)
    one = np.full((2, 2), 0.25)
    rows = schema.rows(
        "agents", 2, agent=[3, 4], kind=AgentKind.PERSON, born=1, activity=1.0, policy=0, credibility=np.nan, name=NONE
    )
    world.append(Change({"agents": rows}, newborn=BeliefState(one, one, one)))
    assert world.stance().shape == (5, 2)
    assert world.stance()[3:].tolist() == [[0.25, 0.25]] * 2
    assert len(world.belief) == 1


DESK = {"strategy": "desk", "delay_median": 1.0, "caught": 1.0}


@pytest.mark.parametrize(
    "moderation", [{"strategy": "hybrid"}, DESK | {"response": "note"}, DESK | {"response": "downrank"}]
)
def test_every_current_value_follows_from_the_recorded_rows(moderation: dict[str, Any]) -> None:
    """A world fed with the recorded rows of a run, and nothing else, has the same columns and stores."""
    settings = settings_of(growth={"max_per_step": 2}, moderation=moderation, feed={"comments": 3})
    first = next(steps_of(settings))[0]
    rebuilt = World(first.n_propositions, first.newest.shape[1])
    for world, out in steps_of(settings):
        rebuilt.append(Change({name: out.get(name) for name in out.tables()}))
        rebuilt.step = world.step
    for table in ("agents", "posts", "post_stances", "notes"):
        for column in schema.TABLES[table].columns:
            np.testing.assert_array_equal(getattr(rebuilt, table)[column.name], getattr(world, table)[column.name])
    for store in ("follows", "seen", "reactions", "ratings"):
        for one, two in zip(getattr(rebuilt, store).blocks, getattr(world, store).blocks, strict=True):
            assert ints(one.indptr) == ints(two.indptr)
            assert ints(one.key) == ints(two.key)
            assert ints(one.value) == ints(two.value)
    assert rebuilt.texts == world.texts
    assert ints(rebuilt.in_degree) == ints(world.in_degree)
    assert ints(rebuilt.newest) == ints(world.newest)
