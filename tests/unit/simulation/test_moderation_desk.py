"""The desk: which posts it rules on and when, what follows, and that notes from outside have no author."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from raised_errors import raises_error
from small_worlds import (
    NO_BANK,
    draws_of,
    end_step,
    feed_of,
    follow,
    log,
    moderator_of,
    note,
    post,
    rate,
    shown_to,
    town,
)
from townsquare.core import registry, schema
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import LogKind, NoteStatus, PostKind, PostStatus, Veracity, Verdict
from townsquare.core.errors import ContractError
from townsquare.core.schema import NONE
from townsquare.simulation.change import Change
from townsquare.simulation.moderation.checks import ChosenModerator
from townsquare.simulation.moderation.contract import Moderator, ReviewContext
from townsquare.simulation.moderation.desk import MODERATOR, NOTE
from townsquare.simulation.moderation.note_scorers.contract import ChosenNoteScorer
from townsquare.simulation.world import World
from townsquare.testing.moderator_conformance import check_moderator

RESPONSES = ("label", "note", "takedown", "downrank")
KIND = {
    "label": LogKind.VERDICT, "note": LogKind.NOTE_SHOWN, "takedown": LogKind.TAKEDOWN, "downrank": LogKind.DOWNRANKED,
}  # fmt: skip


def desk(hours: float = 1.0, **params: Any) -> ChosenModerator:
    chosen = moderator_of("desk", **params)
    return ChosenModerator(chosen.member, chosen.params, chosen.scorer, ReviewContext(hours))


def ruled(world: World, moderator: ChosenModerator, steps: int) -> dict[int, int]:
    """Post to the step in which it was ruled on, over some steps; everything is applied."""
    out: dict[int, int] = {}
    for _ in range(steps):
        rows = moderator.review(world, draws_of(world, Stage.MODERATE), True).rows
        world.append(Change(rows))
        kind = KIND[moderator.params.response]
        for row in range(len(rows.get("moderation_log", {"post": []})["post"])):
            if rows["moderation_log"]["kind"][row] == kind:
                assert int(rows["moderation_log"]["post"][row]) not in out
                out[int(rows["moderation_log"]["post"][row])] = world.step + 1
        end_step(world)
    return out


def due(world: World, root: int, chance: float, median: float, sd: float, hours: float) -> int | None:
    """Oracle: the step in which a post is ruled on, in plain Python; None for never."""
    draws = Draws(1, 1)(Stage.MODERATE)
    key = world.posts["key"][[root]]
    if not float(draws.uniform("ruled on", [0], key, lasting=True)[0]) < chance:
        return None
    z = NormalDist().inv_cdf(float(draws.uniform("delay", [0], key, lasting=True)[0]))
    delay = median * math.exp(sd * z)
    return int(world.posts["step"][root]) + int(delay // hours)


TRUTHS = (Veracity.FALSE, Veracity.FALSE, Veracity.TRUE, Veracity.UNKNOWN, Veracity.FALSE)


def busy() -> World:
    """200 posts of all kinds of truth, over five steps, with shares, comments and originals."""
    world = town(6, 1)
    for step in range(5):
        for k in range(40):
            kind = PostKind.INJECTED if k % 2 else PostKind.ORIGINAL
            root = post(world, 6, kind=kind, veracity=TRUTHS[k % 5])
            if step == 0 and k < 8:
                post(world, 1, share_of=root, veracity=world.posts["veracity"][root])
                post(world, 2, under=root, veracity=Veracity.FALSE)
        if step < 4:
            end_step(world)
    return world


@pytest.mark.parametrize("response", RESPONSES)
@pytest.mark.parametrize(("hours", "alarms", "caught"), [(1.0, 0.0, 0.6), (0.25, 0.3, 0.5), (6.0, 0.1, 1.0)])
def test_false_posts_are_ruled_on_when_plain_python_says(
    response: str, hours: float, alarms: float, caught: float
) -> None:
    world, steps = busy(), 60
    median = 15.0 if response == "note" else 8.0
    moderator = desk(hours, response=response, caught=caught, false_alarms=alarms)
    got = ruled(world, moderator, steps)
    chance = {Veracity.FALSE: caught, Veracity.TRUE: alarms}
    wanted = {}
    for root in range(world.posts.n):
        if world.posts["kind"][root] in (PostKind.INJECTED, PostKind.ORIGINAL):
            step = due(world, root, chance.get(Veracity(world.posts["veracity"][root]), 0.0), median, 0.8, hours)
            if step is not None and max(step, 5) <= world.step:
                wanted[root] = max(step, 5)  # the first review is in step 5
    assert got == wanted
    assert wanted


def test_labels_takedowns_and_downranking_hit_the_same_posts_in_the_same_steps() -> None:
    label, takedown, downrank = (ruled(busy(), desk(response=word), 40) for word in ("label", "takedown", "downrank"))
    assert label == takedown == downrank
    notes = ruled(busy(), desk(response="note", delay_median=8.0), 40)
    assert notes == label
    assert set(ruled(busy(), desk(response="note"), 400)) == set(ruled(busy(), desk(), 400))


def test_a_step_of_a_quarter_of_an_hour_has_four_times_as_many_steps_of_delay() -> None:
    world = town(2, 1)
    root = post(world, 2, kind=PostKind.INJECTED, veracity=Veracity.FALSE)
    params = {"caught": 1.0, "delay_sd": 0.0, "delay_median": 2.0}
    assert ruled(world, desk(0.25, **params), 20) == {root: 9}
    world = town(2, 1)
    post(world, 2, kind=PostKind.INJECTED, veracity=Veracity.FALSE)
    assert ruled(world, desk(1.0, **params), 20) == {root: 3}


SURE = {"caught": 1.0, "delay_sd": 0.0, "delay_median": 0.5}


def test_without_a_response_rulings_leave_no_trace() -> None:
    world = busy()
    for _ in range(40):
        rows = desk(response="none").review(world, draws_of(world, Stage.MODERATE), True).rows
        assert rows == {}
        world.append(Change(rows))


def one_ruling(response: str, takedown: bool = True, context: ReviewContext | None = None) -> tuple[World, int]:
    world = town(6, 1)
    follow(world, (0, 1))
    root = post(world, 1, veracity=Veracity.FALSE)
    post(world, 2, share_of=root, veracity=Veracity.FALSE)
    chosen = moderator_of("desk", response=response, **SURE)
    moderator = ChosenModerator(chosen.member, chosen.params, chosen.scorer, context or ReviewContext())
    world.append(moderator.review(world, draws_of(world, Stage.MODERATE), takedown))
    end_step(world)
    return world, root


def test_a_label_is_a_verdict_with_the_stated_confidence() -> None:
    world, root = one_ruling("label")
    assert (world.posts["verdict"][root], world.posts["confidence"][root]) == (Verdict.FALSE, 0.9)
    assert world.posts["status"][root] == PostStatus.ACTIVE
    assert shown_to(feed_of(world, [0]), 0, "verdict") == [Verdict.FALSE]


@pytest.mark.parametrize("takedown", [True, False])
def test_a_takedown_takes_the_shares_too_and_without_takedowns_leaves_a_label(takedown: bool) -> None:
    world, root = one_ruling("takedown", takedown)
    assert world.posts["verdict"][root] == Verdict.FALSE
    assert (world.posts["status"][:2] == PostStatus.TAKEN_DOWN).tolist() == [takedown] * 2


def test_a_note_has_no_author_is_shown_at_once_and_is_not_for_rating() -> None:
    world, root = one_ruling("note")
    assert world.notes["author"].tolist() == [NONE]
    assert world.notes["status"].tolist() == [NoteStatus.SHOWN]
    assert world.notes["post"].tolist() == [root]
    assert world.posts["note"][root] == 0
    assert world.posts["notes"][root] == 1
    assert world.posts["verdict"][root] == Verdict.NONE
    assert world.texts[world.notes["text"][0]] == NOTE
    assert [shown_to(feed_of(world, [0]), 0, name) for name in ("note", "offered", "weight")] == [[0], [NONE], [0.5]]


def test_texts_of_notes_are_those_of_the_scenario() -> None:
    world, _ = one_ruling("note", context=ReviewContext(1.0, replace(NO_BANK, notes=np.array([0], np.int32))))
    assert world.texts[world.notes["text"][0]] == "post 0"


def test_downranking_lowers_scores_and_shows_nothing() -> None:
    world, root = one_ruling("downrank")
    assert world.posts["downrank"].tolist() == [3.0, 0.0]
    assert world.posts["verdict"][root] == Verdict.NONE
    shown = [shown_to(feed_of(world, [0]), 0, name) for name in ("verdict", "note", "weight")]
    assert shown == [[Verdict.NONE], [NONE], [1.0]]


@pytest.mark.parametrize("extra", [{}, {"error": 1e-9}])
def test_a_downranked_post_stands_below_a_newer_and_an_older_one(extra: dict[str, float]) -> None:
    world = town(6, 1)
    follow(world, (0, 1))
    roots = []
    for _ in range(3):
        roots.append(post(world, 1, veracity=Veracity.FALSE))
        end_step(world)
    log(world, LogKind.DOWNRANKED, roots[2], 50.0)
    end_step(world)
    assert shown_to(feed_of(world, [0], ranker="recent", others=0, **extra), 0, "root") == [
        roots[1],
        roots[0],
        roots[2],
    ]


@pytest.mark.parametrize("scorer", ["threshold", "bridging"])
def test_notes_of_agents_are_scored_and_notes_from_outside_stay_shown(scorer: str) -> None:
    world, root = one_ruling("note")
    rate(world, note(world, 3, root), 3)
    chosen, member = moderator_of("community"), registry.get("note_scorer", scorer)
    moderator = ChosenModerator(chosen.member, chosen.params, ChosenNoteScorer(member, member.params()))
    rows = moderator.review(world, draws_of(world, Stage.MODERATE), True).rows
    assert 0 not in np.asarray(rows.get("moderation_log", {"value": []})["value"]).tolist()
    assert 0 not in np.asarray(rows.get("note_scores", {"note": []})["note"]).tolist()
    assert world.notes["status"][0] == NoteStatus.SHOWN


@pytest.mark.parametrize("response", RESPONSES)
def test_it_keeps_the_contract(response: str) -> None:
    check_moderator(MODERATOR, MODERATOR.params.model_validate({"response": response, "delay_median": 2.0}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"author": 1}, "a note with an author: 1"),
        ({"note": 4}, "a note of another number: 4"),
        ({"post": 1}, "a note on a share: 1"),
        ({"post": 9}, "a note on a post that is not there: 9"),
        ({"text": NONE}, "a note of no text: -1"),
    ],
)
def test_notes_of_moderators_are_checked(change: dict[str, int], message: str) -> None:
    world = town(6, 1)
    root = post(world, 1, veracity=Veracity.FALSE)
    post(world, 2, share_of=root, veracity=Veracity.FALSE)
    columns = {"note": 0, "post": 0, "author": NONE, "step": 1, "text": 0} | change

    def review(*_: Any) -> Change:
        return Change({"notes": schema.rows("notes", 1, **columns)})

    chosen = moderator_of("none")
    member = Moderator("odd", chosen.member.params, frozenset(), review)
    with raises_error(ContractError, got=message):
        ChosenModerator(member, chosen.params, chosen.scorer).review(world, draws_of(world, Stage.MODERATE), True)
