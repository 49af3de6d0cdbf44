"""Who is shown what: against plain Python, and sentence by sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feed_oracle import PERSONS, busy_town, expected_feed, options_of
from small_worlds import (
    draws_of,
    end_step,
    equal_columns,
    feed_of,
    follow,
    give_verdict,
    log,
    note,
    post,
    react,
    row_of,
    settings_of,
    show,
    shown_to,
    steps_of,
    town,
)
from townsquare.core import registry, schema
from townsquare.core.actions import ActionKind
from townsquare.core.coded_rows import CodedRows
from townsquare.core.draws import Stage
from townsquare.core.enums import LogKind, PostKind, Slot, Verdict
from townsquare.core.schema import NONE
from townsquare.core.threads import limited
from townsquare.settings.config import Beliefs, LabelWeight
from townsquare.settings.config import Feed as FeedSettings
from townsquare.simulation.change import Change
from townsquare.simulation.feed.build import Feed, build
from townsquare.simulation.feed.candidates import shared_pool
from townsquare.simulation.feed.rankers.contract import ChosenRanker, Ranker, ReaderCandidates, ReaderRanker, Retrieved
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.world import World

FEED_SETTINGS = st.fixed_dictionaries(
    {
        "followed": st.integers(0, 6),
        "others": st.integers(0, 6),
        "pool": st.integers(1, 12),
        "injected_window": st.integers(1, 3),
        "comments": st.integers(0, 3),
        "ranker": st.sampled_from(["recent", "engagement", "random"]),
    }
)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), ring=st.integers(1, 4), given_settings=FEED_SETTINGS)
def test_a_feed_is_what_plain_python_says(seed: int, ring: int, given_settings: dict[str, Any]) -> None:
    world = busy_town(seed, ring)
    feed = feed_of(world, **given_settings)
    ranker = registry.get("ranker", given_settings["ranker"])
    score = ranker.score(RankingView(world), ranker.params()).tolist()
    for agent in range(PERSONS):
        wanted = expected_feed(world, agent, FeedSettings(**given_settings), score)
        columns = [shown_to(feed, agent, name, comments=True) for name in ("rank", "post", "under", "slot")]
        assert list(zip(*columns, strict=True)) == wanted


def with_blocks(world: World) -> World:
    """The same, where some hide others."""
    for agent, author in ((0, 3), (0, PERSONS), (5, 1)):
        react(world, ActionKind.BLOCK, agent, author)
    return world


def feed_by(world: World, member: Ranker | ReaderRanker, **given_settings: Any) -> Feed:
    """Everybody's feed by a ranker that is not registered."""
    options = options_of(**given_settings)
    return build(world, ChosenRanker(member, member.params()), options, draws_of(world, Stage.FEED))


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), ring=st.integers(1, 4), given_settings=FEED_SETTINGS)
def test_scores_of_posts_give_the_same_feeds_reader_by_reader(
    seed: int, ring: int, given_settings: dict[str, Any]
) -> None:
    world = with_blocks(busy_town(seed, ring))
    ranker: Ranker = registry.get("ranker", given_settings["ranker"])

    def score(view: RankingView, readers: Any, candidates: ReaderCandidates, params: Any) -> Any:
        np.testing.assert_array_equal(np.repeat(readers, np.diff(candidates.indptr)), candidates.reader)
        return ranker.score(view, params)[candidates.post]

    one, two = (feed_by(world, one, **given_settings) for one in (ranker, ReaderRanker("same", ranker.params, score)))
    np.testing.assert_array_equal(one.indptr, two.indptr)
    assert equal_columns(one.exposures, two.exposures)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), ring=st.integers(1, 4), given_settings=FEED_SETTINGS)
def test_what_a_ranker_retrieves_stands_in_the_place_of_the_pool(
    seed: int, ring: int, given_settings: dict[str, Any]
) -> None:
    def retrieve(view: RankingView, readers: Any, params: Any) -> Retrieved:
        n = view.live_roots.size
        return Retrieved(n * np.arange(readers.size + 1), np.tile(view.live_roots[::-1], readers.size))

    world, oldest = with_blocks(busy_town(seed, ring)), registry.get("ranker", "oldest")
    feed = feed_by(world, Ranker("all", oldest.params, oldest.score, retrieve), **given_settings)
    for agent in range(PERSONS):
        followed = {other for other in range(world.n_agents) if world.follows.get(agent, other, NONE) != NONE}
        rows = list(zip(*(shown_to(feed, agent, name) for name in ("post", "root", "slot")), strict=True))
        above = {root for _, root, slot in rows if slot == Slot.FOLLOWED}
        away = followed | {agent} | {other for other in range(world.n_agents) if world.hidden.get(agent, other, 0)}
        free = [p for p in RankingView(world).live_roots if world.posts["author"][p] not in away]
        wanted = [p for p in free if p not in above][: given_settings["others"]]
        assert [post for post, _, slot in rows if slot == Slot.OTHER] == wanted
        assert [post for post, *_ in rows] == sorted(post for post, *_ in rows)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), given_settings=FEED_SETTINGS)
def test_what_no_feed_ever_holds(seed: int, given_settings: dict[str, Any]) -> None:
    world = busy_town(seed)
    feed = feed_of(world, **given_settings)
    exposures = {name: np.asarray(column) for name, column in feed.exposures.items()}
    root, agent, slot = exposures["root"], exposures["agent"], exposures["slot"]
    assert len(set(zip(agent.tolist(), root.tolist(), strict=True))) == root.size  # a root once
    assert (world.posts["author"][root] != agent).all()  # never one's own, nor a share of it
    assert (world.posts["status"][root] == 0).all()  # nothing that was taken down, nor a share of it
    for one in range(PERSONS):
        mine = agent == one
        assert np.count_nonzero(mine & (slot == Slot.FOLLOWED)) <= given_settings["followed"]
        assert np.count_nonzero(mine & (slot == Slot.OTHER)) <= given_settings["others"]
    followed = [world.follows.get(a, b, NONE) != NONE for a, b in zip(agent, exposures["author"], strict=True)]
    np.testing.assert_array_equal(np.array(followed)[slot == Slot.FOLLOWED], True)
    np.testing.assert_array_equal(np.array(followed)[slot == Slot.OTHER], False)
    rows = feed.exposures
    assert isinstance(rows, CodedRows)
    assert np.unique(rows.index).tolist() == list(range(len(rows.per_root["root"])))  # no root that nobody is shown


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), given_settings=FEED_SETTINGS, data=st.data())
def test_nobodys_feed_depends_on_who_else_is_asked(
    seed: int, given_settings: dict[str, Any], data: st.DataObject
) -> None:
    world = busy_town(seed)
    if world.posts.n:
        note(world, 0, int(world.posts["root"][0]))
    some = sorted(data.draw(st.sets(st.integers(0, PERSONS - 1))))
    whole, part = feed_of(world, **given_settings), feed_of(world, some, **given_settings)
    assert part.agents.tolist() == some
    assert part.indptr[-1] == len(part.exposures["agent"])
    kept = np.isin(whole.exposures["agent"], some)
    assert equal_columns({name: np.asarray(c)[kept] for name, c in whole.exposures.items()}, part.exposures)


def test_one_or_two_threads_give_the_same_rows() -> None:
    worlds = list(steps_of(settings_of(agents=150, steps=3, moderation={"strategy": "community"})))
    world = worlds[-1][0]
    feeds = []
    for threads in (1, 2):
        with limited(threads, least=1):
            feeds.append(feed_of(world))
    assert equal_columns(feeds[0].exposures, feeds[1].exposures)
    assert len(feeds[0].exposures["agent"]) > 1000


# --- shares, comments, first sight -------------------------------------------------------------------------


def test_a_share_is_shown_as_its_author_and_counts_as_its_root() -> None:
    world = town(4, 1)
    follow(world, (0, 1))
    root = post(world, 4, kind=PostKind.INJECTED)
    for liker in (2, 3):
        react(world, ActionKind.LIKE, liker, root)
    end_step(world)
    share = post(world, 1, share_of=root)
    feed = feed_of(world, [0])
    columns = ("post", "root", "author", "likes", "slot", "first_seen")
    assert [shown_to(feed, 0, name) for name in columns] == [[share], [root], [1], [2], [Slot.FOLLOWED], [True]]


def test_the_newest_row_of_a_root_is_the_one_shown() -> None:
    world = town(4, 1)
    follow(world, (0, 1), (0, 2), (0, 3))
    root = post(world, 3)
    post(world, 1, share_of=root)
    end_step(world)
    newer = post(world, 2, share_of=root)
    assert shown_to(feed_of(world, [0]), 0) == [newer]


def test_ones_own_post_does_not_come_back_as_a_share() -> None:
    world = town(3, 0)
    follow(world, (0, 1), (2, 1))
    own = post(world, 0)
    share = post(world, 1, share_of=own)
    feed = feed_of(world)
    assert [shown_to(feed, agent) for agent in range(3)] == [[], [own], [share]]


def test_the_newest_few_rows_of_an_author_are_looked_at() -> None:
    world = town(2, 0, ring=4)
    follow(world, (0, 1))
    rows = [post(world, 1) for _ in range(10)]
    assert sorted(shown_to(feed_of(world, [0], others=0), 0)) == rows[-4:]


def test_comments_stand_under_their_post_and_share_its_rank() -> None:
    world = town(6, 0)
    root, other = post(world, 1), post(world, 1)
    comments = [post(world, author, under=root) for author in (0, 2, 3, 4, 5)]
    below = post(world, 2, under=other)
    react(world, ActionKind.LIKE_COMMENT, 1, comments[3])
    feed = feed_of(world, [0])
    first = shown_to(feed, 0, comments=True)
    assert sorted(shown_to(feed, 0, "rank", comments=True)) == [0, 0, 0, 0, 1, 1]
    under = dict(zip(first, shown_to(feed, 0, "under", comments=True), strict=True))
    mine = [p for p, above in under.items() if above == root]
    assert len(mine) == 3
    assert mine[0] == comments[3]  # the most liked first
    assert comments[0] not in under  # never one's own
    assert under[below] == other
    assert {under[root], under[other]} == {NONE}
    assert shown_to(feed, 0, "root", comments=True) == first  # a comment is its own root


def test_comments_of_a_share_are_those_of_its_root() -> None:
    world = town(4, 0)
    follow(world, (0, 1))
    root = post(world, 2)
    comment = post(world, 3, under=root)
    share = post(world, 1, share_of=root)
    assert shown_to(feed_of(world, [0]), 0, comments=True) == [share, comment]


def test_comments_default_to_three_and_to_none_in_very_large_runs() -> None:
    assert [FeedSettings().comments_per_post(persons) for persons in (100_000, 100_001)] == [3, 0]
    assert FeedSettings(comments=2).comments_per_post(100_001) == 2


def test_first_seen_is_by_agent_and_root_whatever_the_row() -> None:
    world = town(3, 1)
    follow(world, (0, 1), (2, 1))
    root = post(world, 3, kind=PostKind.INJECTED)
    comment = post(world, 1, under=root)
    show(world, feed_of(world, [0]))
    end_step(world)
    post(world, 1, share_of=root)
    feed = feed_of(world)
    assert shown_to(feed, 0, "first_seen", comments=True) == [False, False]
    assert shown_to(feed, 2, "first_seen", comments=True) == [True, True]
    assert comment in shown_to(feed, 2, comments=True)


def test_counts_are_those_of_the_moment_the_feed_was_built() -> None:
    world = town(3, 1)
    root = post(world, 3)
    react(world, ActionKind.LIKE, 1, root)
    feed = feed_of(world)
    for kind in (ActionKind.LIKE, ActionKind.DISLIKE, ActionKind.SHARE, ActionKind.COMMENT, ActionKind.FLAG):
        react(world, kind, 2, root)
    counts = [shown_to(feed, 0, name) for name in ("likes", "dislikes", "shares", "comments", "flags")]
    assert counts == [[1], [0], [0], [0], [0]]


@pytest.mark.parametrize("given_settings", [{"followed": 0, "others": 0}, {"followed": 0}, {"others": 0}])
def test_a_quota_of_nothing(given_settings: dict[str, int]) -> None:
    world = busy_town(3)
    slots = set(np.asarray(feed_of(world, comments=0, **given_settings).exposures["slot"]).tolist())
    wanted = {Slot.FOLLOWED: "followed", Slot.OTHER: "others"}
    assert slots == {slot for slot, name in wanted.items() if name not in given_settings}


@pytest.mark.parametrize("agents", [[], [0, 3]])
def test_no_posts_and_nobody_to_show_them_to(agents: list[int]) -> None:
    feed = feed_of(town(), agents)
    assert feed.indptr.tolist() == [0] * (len(agents) + 1)
    assert len(feed.exposures["agent"]) == 0
    assert len(feed_of(busy_town(1), []).exposures["agent"]) == 0


# --- labels and notes --------------------------------------------------------------------------------------


def labeled_town() -> tuple[World, list[int]]:
    """Roots without a label, false, noted, both, true, and with a pending note."""
    world = town(8, 1)
    roots = [post(world, 8, kind=PostKind.INJECTED) for _ in range(6)]
    for root, verdict in ((1, Verdict.FALSE), (3, Verdict.FALSE), (4, Verdict.TRUE)):
        give_verdict(world, roots[root], verdict)
    for root in (2, 3, 5):
        number = note(world, 7, roots[root])
        if root != 5:
            log(world, LogKind.NOTE_SHOWN, roots[root], number)
    return world, roots


def test_the_least_of_several_label_weights_counts() -> None:
    world, roots = labeled_town()
    for weights, wanted in (((0.25, 0.5), [1, 0.25, 0.5, 0.25, 1, 1]), ((0.75, 0.0), [1, 0.75, 0, 0, 1, 1])):
        beliefs = Beliefs(label_weight=LabelWeight(false=weights[0], noted=weights[1]))
        feed = feed_of(world, [0], weights=beliefs)
        weight = dict(zip(shown_to(feed, 0), shown_to(feed, 0, "weight"), strict=True))
        assert [weight[root] for root in roots] == wanted


def test_hidden_labels_leave_no_trace() -> None:
    world, _ = labeled_town()
    shown, hidden = feed_of(world), feed_of(world, show_labels=False)
    labels = {"verdict": 0, "note": NONE, "offered": NONE, "weight": 1.0}
    for name, value in labels.items():
        assert set(np.asarray(hidden.exposures[name]).tolist()) == {value}
        assert set(np.asarray(shown.exposures[name]).tolist()) > {value}
    assert equal_columns(shown.exposures, hidden.exposures, sorted(set(shown.exposures) - set(labels)))


def test_a_pending_note_is_offered_and_is_no_label() -> None:
    world, roots = labeled_town()
    at = row_of(feed_of(world, [0]), 0, roots[5])
    exposures = feed_of(world, [0]).exposures
    assert [np.asarray(exposures[name])[at] for name in ("note", "offered", "weight")] == [NONE, 2, 1.0]


def test_no_own_note_and_no_rated_one_is_offered() -> None:
    world = town(30, 1)
    root = post(world, 30)
    numbers = [note(world, author, root) for author in (0, 1, 2)]
    shown = note(world, 3, root)
    log(world, LogKind.NOTE_SHOWN, root, shown)
    seen: dict[int, set[int]] = {agent: set() for agent in range(30)}
    for seed in range(40):
        feed = feed_of(world, seed=seed)
        for agent in seen:
            seen[agent] |= set(shown_to(feed, agent, "offered"))
    assert seen[9] == set(numbers)  # pending ones before the shown one
    assert seen[0] == {NONE, *numbers[1:]}
    rated_by = np.arange(10)
    rows = schema.rows("note_ratings", 10, note=numbers[1], agent=rated_by, step=1, helpful=True)
    world.append(Change({"note_ratings": rows}))
    for seed in range(10):
        feed = feed_of(world, seed=seed)
        assert not any(numbers[1] in shown_to(feed, agent, "offered") for agent in rated_by)


# --- the pool ----------------------------------------------------------------------------------------------


def test_injected_posts_of_the_last_steps_take_up_to_half_of_the_pool() -> None:
    world = town(40, 1)
    old = [post(world, 40, kind=PostKind.INJECTED) for _ in range(20)]
    end_step(world)
    for _ in range(2):
        fresh = [post(world, 40, kind=PostKind.INJECTED) for _ in range(10)]
        own = [post(world, author) for author in range(40)]
        end_step(world)
    draw = draws_of(world, Stage.FEED)

    def pool(**given_settings: int) -> tuple[set[int], set[int]]:
        roots, n_injected = shared_pool(world, options_of(**given_settings), draw)
        return set(roots[:n_injected].tolist()), set(roots[n_injected:].tolist())

    injected, rest = pool(pool=16, injected_window=2)
    assert (len(injected), len(rest)) == (8, 8)
    assert injected <= set(fresh)
    assert rest <= set(own)
    assert pool(pool=50, injected_window=2) == (set(fresh), set(own))  # ten in the window; the newest others fill up
    injected, rest = pool(pool=1000, injected_window=2)  # everything there is, older injected ones too
    assert set(old) < injected
    assert len(injected) + len(rest) == world.posts.n


def test_a_pool_is_no_larger_than_its_injected_half_by_another_door() -> None:
    """More posts injected in a few steps than the pool holds must not come in as 'others'."""
    world = town(40, 1)
    for _ in range(60):
        post(world, 40, kind=PostKind.INJECTED)
    for author in range(40):
        post(world, author)
    roots, n_injected = shared_pool(world, options_of(pool=20), draws_of(world, Stage.FEED))
    assert (roots.size, n_injected) == (20, 10)
