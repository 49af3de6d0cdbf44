"""Notes, the fact-checker and both together: thresholds, order, rates, takedowns, and when they are seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from small_worlds import (
    draws_of,
    end_step,
    feed_of,
    give_verdict,
    log,
    moderator_of,
    note,
    post,
    rate,
    react,
    settings_of,
    shown_to,
    steps_of,
    town,
)
from townsquare.core import registry, schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import LogKind, NoteStatus, PostKind, PostStatus, PostType, Slot, Veracity, Verdict
from townsquare.core.schema import NONE
from townsquare.scenario.load import synthetic_scenario
from townsquare.simulation.change import Change
from townsquare.simulation.moderation.checker import CheckerParams, find, queue
from townsquare.simulation.step import allowed_kinds
from townsquare.simulation.world import World

SURE = {"unverified": 0.0, "sensitivity": 1.0, "specificity": 1.0}
AT_80 = {"confidence_right": (8000.0, 2000.0)}  # confidence within 0.02 of 0.8
AT_95 = {"confidence_right": (9500.0, 500.0)}


def review(world: World, strategy: str, *, takedown: bool = True, seed: int = 1, **params: Any) -> schema.Columns:
    """One review, applied; the rows of the log."""
    change = moderator_of(strategy, **params).review(world, draws_of(world, Stage.MODERATE, seed), takedown)
    world.append(change)
    return change.rows.get("moderation_log", schema.empty("moderation_log"))


def injected(world: World, veracity: Veracity = Veracity.FALSE, **given: Any) -> int:
    return post(world, world.n_agents - 1, kind=PostKind.INJECTED, veracity=veracity, **given)


# --- notes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("helpful", "not_helpful", "shown"),
    [
        (0, 0, False), (2, 0, False), (3, 0, True), (3, 1, True), (4, 2, False), (5, 2, True), (6, 3, False),
        (7, 3, True), (9, 4, True), (8, 4, False), (0, 9, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("strategy", ["community", "hybrid"])
def test_a_note_is_shown_at_three_helpful_and_more_than_twice_as_many(
    strategy: str, helpful: int, not_helpful: int, shown: bool
) -> None:
    world = town(20, 1)
    number = note(world, 5, injected(world))
    rate(world, number, helpful, not_helpful)
    rows = review(world, strategy, posts_per_step=0) if strategy == "hybrid" else review(world, strategy)
    assert (world.notes["status"][number] == NoteStatus.SHOWN) == shown
    assert np.asarray(rows["kind"]).tolist() == [LogKind.NOTE_SHOWN] * shown
    if shown:
        said = [np.asarray(rows[name])[0] for name in ("step", "post", "value")]
        assert said == [1, 0, number]
        assert rows["reason"][0] == f"{helpful} helpful, {not_helpful} not helpful"


def test_a_shown_note_is_withdrawn_when_ratings_take_it_below() -> None:
    world = town(30, 1)
    number = note(world, 5, injected(world))
    rate(world, number, 3)
    review(world, "community")
    assert len(review(world, "community")["step"]) == 0  # nothing new, no row
    end_step(world)
    rows = schema.rows("note_ratings", 2, note=number, agent=[10, 11], step=2, helpful=False)
    world.append(Change({"note_ratings": rows}))
    rows = review(world, "community")
    assert np.asarray(rows["kind"]).tolist() == [LogKind.NOTE_WITHDRAWN]
    assert world.notes["status"][number] == NoteStatus.PENDING
    assert world.posts["note"][0] == NONE


def test_nobody_can_write_notes_where_the_strategy_has_none() -> None:
    notes = {ActionKind.ADD_NOTE, ActionKind.RATE_NOTE}
    for strategy in registry.names("moderation"):
        allowed = allowed_kinds(settings_of(moderation=strategy), 1)
        assert notes & allowed == registry.get("moderation", strategy).adds
        assert allowed == set(ActionKind) - (notes - allowed) - {ActionKind.BLOCK}


# --- the queue ---------------------------------------------------------------------------------------------


def test_the_queue_is_news_then_flags_then_engagement() -> None:
    world = town(20, 1)
    plain, liked, flagged = (injected(world) for _ in range(3))
    news = [injected(world, type=PostType.NEWS) for _ in range(3)]
    share, comment = post(world, 3, share_of=plain), post(world, 3, under=plain)
    for agent in range(4):
        react(world, ActionKind.LIKE, agent, liked)
    react(world, ActionKind.SHARE, 5, news[2])
    react(world, ActionKind.FLAG, 5, flagged)
    react(world, ActionKind.FLAG, 5, news[1])
    react(world, ActionKind.DISLIKE, 5, news[0])  # no engagement for this queue
    noted = [plain, news[0]]
    for root, number in ((plain, 2), (news[0], 1)):
        for _ in range(number):
            note(world, 6, root)
    draws = draws_of(world, Stage.MODERATE)
    order = queue(world, draws, 10, noted_first=False).tolist()
    assert order == [news[1], news[2], news[0], flagged, liked, plain]
    assert not {share, comment} & set(order)
    order = queue(world, draws, 10, noted_first=True).tolist()
    assert order == [*noted, news[1], news[2], flagged, liked]
    for limit in range(7):
        assert queue(world, draws, limit, noted_first=True).tolist() == order[:limit]
        assert (
            queue(world, draws, limit, noted_first=False).tolist()[:limit]
            == (queue(world, draws, 10, noted_first=False).tolist()[:limit])
        )


def test_equal_posts_are_put_in_order_by_a_draw_that_lasts() -> None:
    world = town(5, 1)
    for _ in range(40):
        injected(world)
    orders = [
        queue(world, Draws(seed, step)(Stage.MODERATE), 40, noted_first=False).tolist()
        for seed, step in ((1, 1), (1, 7), (2, 1))
    ]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != sorted(orders[0])


def test_agents_own_posts_are_reviewed_too_and_each_post_once() -> None:
    world = town(5, 1)
    rows = [post(world, 0), injected(world), injected(world, Veracity.TRUE)]
    seen: list[int] = []
    for _ in range(3):
        seen += np.asarray(review(world, "third_party", posts_per_step=2, takedown=False)["post"]).tolist()
        end_step(world)
    assert sorted(seen) == rows


def test_what_is_down_is_not_reviewed() -> None:
    world = town(5, 1)
    log(world, LogKind.TAKEDOWN, injected(world))
    assert len(review(world, "third_party")["post"]) == 0


# --- findings ----------------------------------------------------------------------------------------------


def test_a_post_gets_the_same_verdict_at_whatever_step_and_in_whatever_company() -> None:
    world = town(5, 1)
    rows = [injected(world, Veracity(1 + k % 2)) for k in range(60)]
    params = CheckerParams()
    whole = find(world, np.array(rows, np.int32), Draws(4, 1)(Stage.MODERATE), params)
    for _ in range(3):
        end_step(world)
    late = Draws(4, 9)(Stage.MODERATE)
    for k in (3, 17, 40):
        alone = find(world, np.array([rows[k]], np.int32), late, params)
        assert (alone.verdict[0], alone.confidence[0]) == (whole.verdict[k], whole.confidence[k])
    other = find(world, np.array(rows, np.int32), Draws(5, 1)(Stage.MODERATE), params)
    assert (other.verdict != whole.verdict).any()


def test_the_checker_errs_at_the_rates_it_is_given() -> None:
    world = town(2, 1)
    ids = np.arange(30_000, dtype=np.int32)
    veracity = 1 + ids % 2
    rows = schema.rows(
        "posts", ids.size, post=ids, key=ids.astype(np.uint64) * np.uint64(7919), kind=PostKind.INJECTED, author=2,
        root=ids, parent=NONE, step=1, text=0, type=0, topic=NONE, veracity=veracity, plausibility=0.5,
    )  # fmt: skip
    world.append(Change({"posts": rows}))
    params = CheckerParams(sensitivity=0.7, specificity=0.9, unverified=0.2)
    found = find(world, ids, draws_of(world, Stage.MODERATE), params)
    decided = found.verdict != Verdict.UNVERIFIED
    false, true = veracity == Veracity.FALSE, veracity == Veracity.TRUE
    assert abs(1 - decided.mean() - 0.2) < 0.01
    assert abs((found.verdict[decided & false] == Verdict.FALSE).mean() - 0.7) < 0.015
    assert abs((found.verdict[decided & true] == Verdict.TRUE).mean() - 0.9) < 0.01
    right = decided & ((found.verdict == Verdict.FALSE) == false)
    assert abs(found.confidence[right].mean() - 0.9) < 0.01  # Beta(18, 2)
    assert abs(found.confidence[decided & ~right].mean() - 0.6) < 0.02  # Beta(6, 4)


@pytest.mark.parametrize("strategy", ["third_party", "hybrid"])
def test_posts_of_unknown_veracity_are_always_unverified(strategy: str) -> None:
    world = town(5, 1)
    for _ in range(50):
        injected(world, Veracity.UNKNOWN)
        post(world, 0)
    review(world, strategy, posts_per_step=200, **SURE, **AT_95)
    assert set(world.posts["verdict"].tolist()) == {Verdict.UNVERIFIED}
    assert (world.posts["status"] == PostStatus.ACTIVE).all()


# --- takedowns ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "confidence", "with_note", "down"),
    [
        ("third_party", AT_80, False, False), ("third_party", AT_80, True, False),
        ("third_party", AT_95, False, True), ("hybrid", AT_80, False, False), ("hybrid", AT_80, True, True),
        ("hybrid", AT_95, False, True), ("community", {}, True, False), ("none", {}, True, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("takedown", [True, False])
def test_what_is_found_false_comes_down_when_sure_enough(
    strategy: str, confidence: dict[str, Any], with_note: bool, down: bool, takedown: bool
) -> None:
    """At 0.9, and in the hybrid at 0.7 where a note is shown, be it since this very step."""
    world = town(20, 1)
    root = injected(world)
    share = post(world, 3, share_of=root)
    true = injected(world, Veracity.TRUE)
    if with_note:
        rate(world, note(world, 5, root), 3)
    params = SURE | confidence if confidence else {}
    rows = review(world, strategy, takedown=takedown, **params)
    down = down and takedown
    assert (world.posts["status"] == PostStatus.TAKEN_DOWN).tolist() == [down, down, False]
    kinds = np.asarray(rows["kind"])
    assert np.asarray(rows["post"])[kinds == LogKind.TAKEDOWN].tolist() == [root] * down
    if confidence:
        assert world.posts["verdict"].tolist() == [Verdict.FALSE, 0, Verdict.TRUE]
    if down:
        reason = rows["reason"][int(np.flatnonzero(kinds == LogKind.TAKEDOWN)[0])]
        assert "false" in reason
        assert ("note" in reason) == (strategy == "hybrid" and with_note)
        assert set(np.asarray(rows["step"]).tolist()) == {1}
    assert true == 2
    assert share not in np.asarray(rows["post"])


def test_a_pending_note_lowers_no_bar() -> None:
    world = town(20, 1)
    rate(world, note(world, 5, injected(world)), 2)
    review(world, "hybrid", **SURE, **AT_80)
    assert (world.posts["status"] == PostStatus.ACTIVE).all()


def test_a_verdict_is_seen_from_the_next_step_on() -> None:
    """Neither the feed of its own step shows it, nor is anything of the step before it undone."""
    settings = settings_of(
        moderation={"strategy": "hybrid", "posts_per_step": 3, "takedown": True}, steps=16, agents=80
    )
    decided: dict[int, int] = {}
    down: dict[int, int] = {}
    shown_after = 0
    for world, out in steps_of(settings, synthetic_scenario(60, false_share=0.4)):
        exposures = {name: np.asarray(column) for name, column in out.get("exposures").items()}
        labeled = exposures["verdict"] != Verdict.NONE
        assert all(decided[root] < world.step for root in exposures["root"][labeled])
        assert all(exposures["verdict"][exposures["root"] == root].all() for root in decided)
        assert not set(down) & set(exposures["root"].tolist())
        shown_after += int(labeled.sum())
        decided |= dict.fromkeys(np.asarray(out.get("verdicts")["post"]).tolist(), world.step)
        rows = out.get("moderation_log")
        taken = np.asarray(rows["post"])[np.asarray(rows["kind"]) == LogKind.TAKEDOWN]
        down |= dict.fromkeys(taken.tolist(), world.step)
    assert shown_after > 100
    assert len(down) >= 3


def test_a_takedown_empties_every_feed_of_it() -> None:
    world = town(8, 1)
    root = injected(world)
    post(world, 3, share_of=root)
    comment = post(world, 4, under=root)
    assert root in shown_to(feed_of(world), 0)
    review(world, "third_party", **SURE, **AT_95)
    end_step(world)
    feed = feed_of(world)
    assert not {root, comment} & set(np.asarray(feed.exposures["root"]).tolist())
    assert Slot.COMMENT not in np.asarray(feed.exposures["slot"])


def test_a_verdict_given_by_hand_is_final() -> None:
    world = town(5, 1)
    root = injected(world)
    give_verdict(world, root, Verdict.UNVERIFIED)
    assert len(review(world, "third_party", **SURE, **AT_95)["post"]) == 0
