"""From what agents choose to what happens: each refusal, what counts once, and that nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from action_town import K, Square, column
from small_worlds import (
    EVERY_KIND,
    act,
    choices,
    end_step,
    feed_of,
    follow,
    log,
    post,
    rate,
    reasons,
    row_of,
    shown_to,
    town,
    views_of,
)
from townsquare.core.enums import ActionStatus, LogKind, PostKind, PostType, Scorer, Slot, Veracity
from townsquare.core.errors import ContractError
from townsquare.core.schema import NONE
from townsquare.settings.config import Actions
from townsquare.simulation.actions import resolve
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.policies.contract import check_chosen

ONCE = (K.LIKE, K.DISLIKE, K.SHARE, K.FLAG, K.ADD_NOTE)


@pytest.fixture
def square() -> Square:
    return Square()


# --- what is accepted --------------------------------------------------------------------------------------


def test_everything_an_agent_can_do(square: Square) -> None:
    new = square.new_text
    did = [
        {"agent": 0, "kind": K.POST, "text": new},
        square.on(0, K.LIKE, square.share),
        square.on(0, K.DISLIKE, square.share),
        square.on(0, K.SHARE, square.share),
        square.on(0, K.COMMENT, square.share, text=new + 1),
        square.on(0, K.COMMENT, square.share, text=new + 1),
        square.on(0, K.LIKE_COMMENT, square.comment),
        square.on(0, K.FLAG, square.share),
        square.on(0, K.FLAG, square.comment),
        square.on(0, K.FOLLOW, square.other),
        square.on(0, K.UNFOLLOW, square.share),
        square.on(0, K.ADD_NOTE, square.share, text=new + 2),
        square.on(0, K.RATE_NOTE, square.share, helpful=1),
        {"agent": 0, "kind": K.IGNORE},
    ]
    rows = square.act(*did, texts=("mine", "hm", "no source"))
    assert set(reasons(rows)) == {"none"}
    assert column(rows, "ordinal") == list(range(len(did)))
    world = square.world
    counts = [int(world.posts[name][square.root]) for name in ("likes", "dislikes", "shares", "comments", "flags")]
    assert counts == [1, 1, 1, 2, 1]
    assert [int(world.posts[name][square.share]) for name in ("likes", "shares", "flags")] == [0, 0, 0]
    assert [int(world.posts[name][square.comment]) for name in ("likes", "flags")] == [1, 1]
    made = [row for row in column(rows, "result") if row != NONE]
    assert made[:-1] == list(range(square.comment + 1, world.posts.n))
    assert made[-1] == square.note + 1 == world.notes.n - 1
    assert (world.follows.get(0, 2, NONE), world.follows.get(0, 1, NONE)) == (1, NONE)
    assert column(rows, "target")[1:4] == [square.root] * 3  # a share stands for its root
    assert column(rows, "rank")[0] == NONE


def test_a_share_hides_neither_author_nor_truth(square: Square) -> None:
    rows = square.act(square.on(0, K.SHARE, square.share))
    made = int(column(rows, "result")[0])
    posts = square.world.posts
    row = {name: posts[name][made].item() for name in ("kind", "author", "root", "parent", "veracity", "type", "topic")}
    assert row == {
        "kind": PostKind.SHARE, "author": 0, "root": square.root, "parent": square.share, "veracity": Veracity.FALSE,
        "type": PostType.NEWS, "topic": 0,
    }  # fmt: skip
    assert posts["text"][made] == posts["text"][square.root]
    assert posts["plausibility"][made] == 0.3
    assert posts["author"][posts["root"][made]] == 8


def test_a_share_of_a_share_is_a_share_of_the_root(square: Square) -> None:
    end_step(square.world)
    follow(square.world, (5, 0))
    square.see()
    second = int(column(square.act(square.on(0, K.SHARE, square.share)), "result")[0])
    end_step(square.world)
    square.see()
    third = int(column(square.act(square.on(5, K.SHARE, second)), "result")[0])
    assert square.world.posts["root"][third] == square.root
    assert square.world.posts["parent"][third] == second
    assert square.world.posts["shares"][square.root] == 2


def test_comments_are_posts_under_the_root_with_the_stance_they_declare(square: Square) -> None:
    new = square.new_text
    chosen = choices(
        square.on(0, K.COMMENT, square.share, text=new), {"agent": 0, "kind": K.POST, "text": new},
        square.on(5, K.LIKE, square.root), texts=("so what",),
    )  # fmt: skip
    declared = (np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.3, -1.0, 1.0]), np.array([np.nan, 0.5, 0.0]))
    chosen = replace(chosen, declared=declared)
    rows = act(square.world, square.feed, chosen)
    comment, own, _ = column(rows, "result")
    posts, stances = square.world.posts, square.world.post_stances
    assert [posts["kind"][comment], posts["parent"][comment], posts["root"][comment]] == [2, square.root, comment]
    assert posts["veracity"][comment] == Veracity.UNKNOWN
    first = posts["stances"][comment]
    assert stances["stance"][first : first + 2].tolist() == [0.3, -1.0]
    assert stances["scorer"][first] == Scorer.DECLARED
    assert [posts["n_stances"][own], stances["stance"][posts["stances"][own]]] == [1, 1.0]


def test_the_stance_of_what_was_refused_is_nobodys(square: Square) -> None:
    chosen = choices({"agent": 0, "kind": K.POST, "text": square.new_text}, texts=("",))
    declared = (np.array([0]), np.array([0]), np.array([0.3]), np.array([np.nan]))
    before = square.world.post_stances.n
    rows = act(
        square.world, square.feed,
        replace(chosen, declared=declared),
    )  # fmt: skip
    assert reasons(rows) == ["empty"]
    assert square.world.post_stances.n == before


def test_following_and_unfollowing_change_the_next_feed(square: Square) -> None:
    rows = square.act(square.on(0, K.FOLLOW, square.other), square.on(0, K.UNFOLLOW, square.share))
    assert reasons(rows) == ["none", "none"]
    end_step(square.world)
    feed = square.see()
    slots = dict(zip(shown_to(feed, 0), shown_to(feed, 0, "slot"), strict=True))
    assert slots == {square.other: Slot.FOLLOWED, square.root: Slot.OTHER}


def test_the_author_of_a_comment_can_be_followed(square: Square) -> None:
    assert reasons(square.act(square.on(0, K.FOLLOW, square.comment))) == ["none"]
    assert square.world.in_degree[3] == 1


def test_a_text_is_stored_once(square: Square) -> None:
    new, known = square.new_text, square.world.texts[0]
    rows = square.act(
        {"agent": 0, "kind": K.POST, "text": new}, {"agent": 1, "kind": K.POST, "text": new + 1},
        {"agent": 2, "kind": K.POST, "text": new + 2}, {"agent": 3, "kind": K.POST, "text": new + 3, "reasoning": new},
        texts=("same", "other", "same", known),
    )  # fmt: skip
    assert column(rows, "text") == [new, new + 1, new, 0]
    assert column(rows, "reasoning") == [NONE, NONE, NONE, new]
    assert square.world.texts[new:] == ["same", "other"]


# --- what is refused ---------------------------------------------------------------------------------------


def refusals(square: Square) -> dict[str, list[dict[str, Any]]]:
    """Actions by the reason for which they are refused; each alone, on the square as it is."""
    new, on, here = square.new_text, square.on, square.share
    like = on(0, K.LIKE, here)
    return {
        "not_shown": [
            like | {"row": NONE},
            like | {"row": like["row"] + 10_000},
            like | {"row": row_of(square.feed, 1, square.root)},  # another agent's row
            like | {"target": square.other},
            like | {"target": NONE},
            like | {"target": 2**31 - 1},
            {"agent": 700, "kind": K.POST, "text": 0},  # nobody's feed
            on(0, K.LIKE, square.comment),
            on(0, K.SHARE, square.comment),
            on(0, K.LIKE_COMMENT, here),
            on(0, K.FOLLOW, here) | {"target": 8},  # the root's author is not who passed it on
            on(0, K.RATE_NOTE, here, helpful=1) | {"target": square.note + 1},
            on(0, K.RATE_NOTE, square.other, helpful=1),  # no note is offered: its target is -1
        ],
        "empty": [
            {"agent": 0, "kind": K.POST},
            {"agent": 0, "kind": K.POST, "text": new + 1},
            {"agent": 0, "kind": K.POST, "text": new + 99},
            on(0, K.COMMENT, here),
            on(0, K.ADD_NOTE, here, text=new + 1),
            on(0, K.RATE_NOTE, here),
            on(0, K.RATE_NOTE, here, helpful=7),
        ],
        "too_long": [
            on(0, K.COMMENT, here, text=new + 2),
            {"agent": 0, "kind": K.POST, "text": new + 3},
            on(0, K.ADD_NOTE, here, text=new + 3),
        ],
        "disabled": [like | {"kind": 60}, like | {"kind": 255}],
        "not_following": [on(0, K.UNFOLLOW, square.other)],
        "repeated": [on(0, K.FOLLOW, here)],
    }


@pytest.mark.parametrize("reason", ["not_shown", "empty", "too_long", "disabled", "not_following", "repeated"])
def test_each_refusal_is_a_row_with_its_reason(reason: str) -> None:
    for number in range(len(refusals(Square())[reason])):
        square = Square()
        before = square.world.posts.n
        action = refusals(square)[reason][number]
        rows = square.act(action, texts=("fine", "  \n", "x" * 251, "x" * 2001))
        assert reasons(rows) == [reason], action
        assert column(rows, "status") == [ActionStatus.REFUSED]
        assert column(rows, "result") == [NONE]
        assert square.world.posts.n == before
        assert square.world.posts["likes"].sum() == 0


def test_lengths_at_the_limit_are_accepted(square: Square) -> None:
    new = square.new_text
    actions = [square.on(0, K.COMMENT, square.share, text=new), {"agent": 0, "kind": K.POST, "text": new + 1}]
    assert reasons(square.act(*actions, texts=("é" * 250, "x" * 2000))) == ["none", "none"]
    assert reasons(square.act(*actions, texts=("ab", "abc"), comment_length=1, post_length=2)) == ["too_long"] * 2


def test_own_posts_and_notes() -> None:
    """A feed shows neither; were it otherwise, they would be refused."""
    square = Square()
    feed = square.feed
    exposures = {name: np.array(column) for name, column in feed.exposures.items()}
    at = row_of(feed, 4, square.root)
    exposures["offered"][at] = square.note
    exposures["post"][at + 2], exposures["root"][at + 2] = square.root, square.root
    exposures["author"][at + 2] = 4
    square.feed = Feed(feed.agents, feed.indptr, exposures)
    square.world.posts.write("author")[square.root] = 4
    rows = square.act(
        {"agent": 4, "kind": K.LIKE, "row": at, "target": square.root},
        {"agent": 4, "kind": K.RATE_NOTE, "row": at, "target": square.note, "helpful": 1},
        {"agent": 4, "kind": K.FOLLOW, "row": at + 2, "target": 4},
    )
    assert reasons(rows) == ["own", "own", "self"]


def test_what_was_taken_down_meanwhile_is_gone(square: Square) -> None:
    log(square.world, LogKind.TAKEDOWN, square.root)
    rows = square.act(
        *(square.on(0, kind, square.share, text=0) for kind in (K.LIKE, K.SHARE, K.COMMENT, K.FLAG, K.ADD_NOTE)),
        square.on(5, K.LIKE, square.other),
    )
    assert reasons(rows) == ["gone"] * 5 + ["none"]


def test_kinds_that_are_not_enabled(square: Square) -> None:
    actions = [square.on(0, K.LIKE, square.share), square.on(0, K.FLAG, square.share)]
    rows = square.act(*actions, allowed=EVERY_KIND - {K.FLAG})
    assert reasons(rows) == ["none", "disabled"]


# --- once --------------------------------------------------------------------------------------------------


def test_one_like_in_three_steps_counts_one(square: Square) -> None:
    said = []
    for shown in (square.share, square.share, square.share):
        rows = square.act(*(square.on(0, kind, shown, text=0) for kind in ONCE))
        said.append(reasons(rows))
        end_step(square.world)
        square.see()
    assert said == [["none"] * 5, ["repeated"] * 5, ["repeated"] * 5]
    counts = [int(square.world.posts[name][square.root]) for name in ("likes", "dislikes", "shares", "flags", "notes")]
    assert counts == [1, 1, 1, 1, 2]


def test_the_root_counts_whatever_row_it_was_seen_in(square: Square) -> None:
    assert reasons(square.act(square.on(0, K.LIKE, square.share))) == ["none"]
    follow(square.world, (0, 1), change=-1)
    end_step(square.world)
    square.see()
    assert reasons(square.act(square.on(0, K.LIKE, square.root))) == ["repeated"]


def test_two_equal_actions_in_one_batch(square: Square) -> None:
    for kind in (*ONCE, K.FOLLOW, K.UNFOLLOW, K.RATE_NOTE):
        fresh = Square()
        shown = fresh.other if kind == K.FOLLOW else fresh.share
        one = fresh.on(0, kind, shown, text=0, helpful=1)
        assert reasons(fresh.act(one, one, one)) == ["none", "repeated", "repeated"], kind
    rows = square.act(
        *[square.on(0, K.COMMENT, square.share, text=0)] * 2, *[{"agent": 0, "kind": K.POST, "text": 0}] * 2
    )
    assert reasons(rows) == ["none"] * 4
    assert np.unique(square.world.posts["key"]).size == square.world.posts.n


def test_one_author_in_several_rows_is_followed_once(square: Square) -> None:
    second = post(square.world, 2)
    square.see()
    rows = square.act(square.on(0, K.FOLLOW, square.other), square.on(0, K.FOLLOW, second))
    assert reasons(rows) == ["none", "repeated"]


def test_a_refused_action_does_not_stand_in_the_way_of_a_good_one(square: Square) -> None:
    rows = square.act(
        square.on(0, K.FOLLOW, square.share), square.on(0, K.UNFOLLOW, square.share),
        square.on(0, K.ADD_NOTE, square.share), square.on(0, K.ADD_NOTE, square.share, text=0),
    )  # fmt: skip
    assert reasons(rows) == ["repeated", "none", "empty", "none"]


def test_a_note_is_rated_once(square: Square) -> None:
    assert reasons(square.act(square.on(0, K.RATE_NOTE, square.share, helpful=0))) == ["none"]
    rating = square.on(5, K.RATE_NOTE, square.root, helpful=1)
    rate(square.world, square.note, helpful=6)  # by agents 0 to 5
    assert reasons(square.act(rating)) == ["repeated"]


# --- keys --------------------------------------------------------------------------------------------------


def test_the_key_of_a_post_does_not_depend_on_what_else_its_author_does(square: Square) -> None:
    """Or arms in which agents also write notes would draw differently from there on."""
    plain, busy = Square(), Square()
    comment = plain.on(0, K.COMMENT, plain.share, text=0)
    plain.act(comment, {"agent": 0, "kind": K.POST, "text": 0})
    busy.act(
        busy.on(0, K.ADD_NOTE, busy.share, text=0), busy.on(0, K.LIKE, busy.share), busy.on(0, K.LIKE, busy.share),
        comment, busy.on(0, K.ADD_NOTE, busy.share, text=0), {"agent": 0, "kind": K.POST, "text": 0},
    )  # fmt: skip
    assert plain.world.posts["key"].tolist() == busy.world.posts["key"].tolist()


def test_nor_on_what_others_do(square: Square) -> None:
    alone, crowd = Square(), Square()
    mine = {"agent": 6, "kind": K.POST, "text": 0}
    alone.act(mine)
    crowd.act(*({"agent": agent, "kind": K.POST, "text": 0} for agent in range(6)), mine)
    assert crowd.world.posts["key"][-1] == alone.world.posts["key"][-1]
    shares = [Square(), Square()]
    shares[0].act(shares[0].on(5, K.SHARE, shares[0].root))
    shares[1].act(shares[1].on(2, K.SHARE, shares[1].root), shares[1].on(5, K.SHARE, shares[1].root))
    assert shares[0].world.posts["key"][-1] == shares[1].world.posts["key"][-1]


# --- breaches of contract ----------------------------------------------------------------------------------


def test_a_feed_of_nobody_and_a_choice_all_the_same() -> None:
    world = town()
    feed = feed_of(world, [])
    chosen = choices({"agent": 0, "kind": K.LIKE, "row": 0, "target": 0}, {"agent": 1, "kind": K.POST, "text": 0})
    assert reasons(act(world, feed, chosen)) == ["not_shown", "not_shown"]


@pytest.mark.parametrize(
    "declared",
    [
        ([1], [0], [0.5], [0.5]),
        ([-1], [0], [0.5], [0.5]),
        ([0], [2], [0.5], [0.5]),
        ([0], [-1], [0.5], [0.5]),
        ([0], [0], [1.5], [0.5]),
        ([0], [0], [np.nan], [0.5]),
        ([0], [0], [0.5], [-0.5]),
        ([0, 0], [1, 1], [0.5, 0.5], [0.5, 0.5]),
        ([0], [0, 1], [0.5], [0.5]),
    ],
)
def test_a_declared_stance_that_cannot_be_is_a_breach_of_contract(declared: tuple[list[float], ...]) -> None:
    square = Square()
    chosen = choices({"agent": 0, "kind": K.POST, "text": 0})
    action, proposition, stance, strength = declared
    given_stances = (np.array(action, int), np.array(proposition, int), np.array(stance), np.array(strength))
    broken = replace(chosen, declared=given_stances, new_texts=())
    with pytest.raises(ContractError) as caught:
        check_chosen("mine", broken, views_of(square.world, square.feed))
    assert caught.value.where.startswith("policy 'mine'")
    assert caught.value.got.startswith("declared")


def test_agents_that_do_not_ascend_are_a_breach_of_contract(square: Square) -> None:
    chosen = choices(*({"agent": agent, "kind": K.POST, "text": 0} for agent in (3, 1)))
    with pytest.raises(ContractError) as caught:
        check_chosen("mine", chosen, views_of(square.world, square.feed))
    assert caught.value.allowed == "ascending agents"


def test_resolving_changes_nothing_by_itself(square: Square) -> None:
    before = (square.world.posts.n, len(square.world.texts), len(square.world.reactions))
    chosen = choices(square.on(0, K.LIKE, square.share), square.on(0, K.SHARE, square.share))
    one = resolve(square.world, square.feed, chosen, EVERY_KIND, Actions())
    two = resolve(square.world, square.feed, chosen, EVERY_KIND, Actions())
    assert (square.world.posts.n, len(square.world.texts), len(square.world.reactions)) == before
    assert column(one.rows["actions"], "result") == column(two.rows["actions"], "result")
