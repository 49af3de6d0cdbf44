"""Each registered ranker, policy and moderator keeps its contract, and the checks catch those that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from raised_errors import raises_error
from townsquare.core import registry, schema
from townsquare.core.actions import ActionKind
from townsquare.core.draws import StageDraws
from townsquare.core.enums import LogKind, NoteStatus, PostKind
from townsquare.core.errors import ContractError
from townsquare.core.schema import NONE
from townsquare.settings.config import MemberParams
from townsquare.simulation.change import Change
from townsquare.simulation.feed.rankers.contract import Ranker, ReaderCandidates, ReaderRanker, Retrieved
from townsquare.simulation.feed.ranking_view import RankingView
from townsquare.simulation.moderation.contract import Moderator
from townsquare.simulation.policies.contract import Policy
from townsquare.simulation.views import ProposedActions, Views, no_actions, no_declarations
from townsquare.simulation.world import World
from townsquare.testing.moderator_conformance import check_moderator
from townsquare.testing.note_scorer_conformance import check_note_scorer
from townsquare.testing.policy_conformance import check_policy
from townsquare.testing.ranker_conformance import check_ranker


class NoSettings(MemberParams):
    """No settings."""


MEMBERS = {
    "ranker": check_ranker,
    "policy": check_policy,
    "moderation": check_moderator,
    "note_scorer": check_note_scorer,
}


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in MEMBERS for name in registry.names(family)])
def test_every_registered_member_keeps_the_contract(family: str, name: str) -> None:
    MEMBERS[family](registry.get(family, name))


@pytest.mark.parametrize("strategy", ["third_party", "hybrid"])
def test_moderators_that_ask_a_language_model_keep_it_too(strategy: str) -> None:
    moderator = registry.get("moderation", strategy)
    check_moderator(moderator, moderator.params.model_validate({"checker": "model"}))


def test_policies_that_need_settings_keep_it_too() -> None:
    script = [
        {"step": 6, "agent": 3, "action": "comment", "rank": 1, "text": "Not so fast.", "stance": {0: -0.4}},
        {"step": 6, "agent": 3, "action": "like", "rank": 40},
        {"step": 6, "agent": 9, "action": "post", "text": "Hear, hear.", "stance": {1: 1, 0: 0.5}},
    ]
    scripted = registry.get("policy", "scripted")
    check_policy(scripted, scripted.params.model_validate({"script": script}))
    mix = registry.get("policy", "mix")
    members = [
        {"name": "blind", "share": 2.0, "params": {"like": 0.4}},
        {"name": "silent", "share": 1.0},
        {"name": "scripted", "share": 3.0, "params": {"script": script}},
    ]
    check_policy(mix, mix.params.model_validate({"members": members}))
    crowd = [{"name": "llm", "share": 1.0, "params": {"reasoning": True}}, {"name": "blind", "share": 2.0}]
    check_policy(mix, mix.params.model_validate({"members": crowd}))


# --- rankers -----------------------------------------------------------------------------------------------


def calls() -> Callable[[], int]:
    """A hidden state: how often it was called."""
    seen = [0]

    def count() -> int:
        seen[0] += 1
        return seen[0]

    return count


count = calls()


def writes(view: RankingView, params: MemberParams) -> Any:
    view.posts["likes"][:] = 0
    return np.zeros(view.posts.n)


def writes_through_a_back_door(view: RankingView, params: MemberParams) -> Any:
    view.posts.write("likes")[:] = 7
    return np.zeros(view.posts.n)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda view, params: np.zeros(view.posts.n, np.float32), {"got": "float32"}),
        (lambda view, params: np.zeros(view.posts.n + 1), {"allowed": "one number a row"}),
        (lambda view, params: [0.0] * view.posts.n, {"got": "scores is list"}),
        (lambda view, params: np.full(view.posts.n, np.nan), {"got": "not finite"}),
        (lambda view, params: np.full(view.posts.n, float(count())), {"got": "the same call twice"}),
        (lambda view, params: view.posts["no such column"], {"got": "raised KeyError"}),
        (writes, {"got": "writes into an array"}),
        (writes_through_a_back_door, {"got": "score changed posts.likes"}),
    ],
)
def test_rankers_that_break_the_contract(score: Callable[..., Any], message: dict[str, str]) -> None:
    with raises_error(ContractError, **message) as caught:
        check_ranker(Ranker("mine", NoSettings, score))
    assert "ranker 'mine'" in str(caught.value)


def of_candidates(score: Callable[[RankingView, Any, ReaderCandidates], Any], **retrieval: Any) -> ReaderRanker:
    return ReaderRanker(
        "mine", NoSettings, lambda view, readers, candidates, params: score(view, readers, candidates), **retrieval
    )


def to_each(roots: Callable[[RankingView, Any], Any]) -> Callable[..., Retrieved]:
    """Retrieve one root for each reader."""
    return lambda view, readers, params: (
        Retrieved(np.arange(readers.size + 1), np.broadcast_to(roots(view, readers)[:1], readers.size).astype(np.int32))
        if view.live_roots.size
        else Retrieved(np.zeros(readers.size + 1, np.int64), np.empty(0, np.int32))
    )


def zeros(view: RankingView, readers: Any, candidates: ReaderCandidates) -> Any:
    return np.zeros(candidates.post.size)


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (
            of_candidates(lambda v, r, c: np.zeros(v.posts.n + c.post.size + 1)),
            {"allowed": "one number a row of candidates"},
        ),
        (of_candidates(lambda v, r, c: np.full(c.post.size, -np.inf)), {"got": "-inf of post"}),
        (of_candidates(lambda v, r, c: np.full(c.post.size, float(count()))), {"got": "the same call twice"}),
        (of_candidates(lambda v, r, c: np.full(c.post.size, float(r.size))), {"got": "asked about some readers alone"}),
        (of_candidates(lambda v, r, c: c.reader - float(r[:1].sum())), {"got": "in another order of readers"}),
        (of_candidates(lambda v, r, c: c.post.sort() or np.zeros(c.post.size)), {"got": "writes into an array"}),
        (of_candidates(zeros, retrieve=to_each(lambda v, r: v.live_roots * 0 + v.posts.n)), {"got": "of no live root"}),
        (
            of_candidates(zeros, retrieve=to_each(lambda v, r: v.live_roots[count() % 3 :])),
            {"got": "the same call twice"},
        ),
        (
            of_candidates(zeros, retrieve=to_each(lambda v, r: v.live_roots[r.size % 2 :])),
            {"got": "asked about some readers alone"},
        ),
        (of_candidates(zeros, retrieve=lambda v, r, p: (r, r)), {"got": "retrieve returned tuple"}),
    ],
)
def test_rankers_for_each_reader_that_break_the_contract(ranker: ReaderRanker, message: dict[str, str]) -> None:
    with raises_error(ContractError, **message):
        check_ranker(ranker)


def test_rankers_of_both_shapes_keep_the_contract() -> None:
    every = to_each(lambda view, readers: view.live_roots)
    for retrieve in (None, every):
        check_ranker(of_candidates(zeros, retrieve=retrieve))
        check_ranker(of_candidates(lambda v, r, c: v.ties(c.reader, c.author) + 1.0 * c.followed, retrieve=retrieve))
        check_ranker(Ranker("mine", NoSettings, lambda view, params: np.zeros(view.posts.n), retrieve))


# --- policies ----------------------------------------------------------------------------------------------


def one_each(views: Views, **columns: Any) -> ProposedActions:
    """Every agent likes its first row; ``columns`` say what is otherwise."""
    first = views.indptr[:-1][np.diff(views.indptr) > 0]
    agents = views.agents[np.diff(views.indptr) > 0]
    n = agents.size
    chosen = ProposedActions(
        agent=agents,
        kind=np.full(n, ActionKind.LIKE, np.uint8),
        row=first.astype(np.int64),
        target=np.asarray(views.rows["root"])[first].astype(np.int32),
        text=np.full(n, NONE, np.int32),
        helpful=np.full(n, NONE, np.int8),
        reasoning=np.full(n, NONE, np.int32),
        declared=no_declarations(),
    )
    return replace(chosen, **columns)


def declares(views: Views, proposition: int, stance: float) -> tuple[Any, ...]:
    at = np.arange(min(1, one_each(views).n))
    return at, np.full(at.size, proposition), np.full(at.size, stance), np.full(at.size, 0.5)


def by_truth(views: Views, draws: StageDraws, params: MemberParams) -> ProposedActions:
    truth = views._world.posts["veracity"][np.asarray(views.rows["root"])]
    chosen = one_each(views)
    return replace(chosen, kind=np.where(truth[chosen.row] == 2, ActionKind.FLAG, ActionKind.LIKE).astype(np.uint8))


def by_place(views: Views, draws: StageDraws, params: MemberParams) -> ProposedActions:
    helpful = (np.arange(one_each(views).n) % 2).astype(np.int8)
    return one_each(views, helpful=helpful)


def writes_views(views: Views, draws: StageDraws, params: MemberParams) -> ProposedActions:
    np.asarray(views.rows["likes"])[:] = 0
    return no_actions()


def moves_beliefs(views: Views, draws: StageDraws, params: MemberParams) -> ProposedActions:
    views._world.posts.write("likes")[:] = 3
    return no_actions()


def always_one(views: Views, draws: StageDraws, params: MemberParams) -> ProposedActions:
    none = np.full(1, NONE, np.int32)
    zero = np.zeros(1, np.int32)
    return ProposedActions(
        zero, np.full(1, 11, np.uint8), none.astype(np.int64), none, none, none.astype(np.int8), none,
        no_declarations(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("decide", "message"),
    [
        (lambda views, draws, params: None, {"got": "returned NoneType"}),
        (
            lambda views, draws, params: one_each(views, row=one_each(views).row.astype(np.int32)),
            {"got": "row is int32"},
        ),
        (lambda views, draws, params: one_each(views, kind=one_each(views).kind[1:]), {"got": "kind is uint8"}),
        (
            lambda views, draws, params: one_each(views, agent=one_each(views).agent[::-1].copy()),
            {"allowed": "ascending"},
        ),
        (
            lambda views, draws, params: one_each(views, agent=one_each(views).agent + np.int32(900)),
            {"allowed": "of the views"},
        ),
        (lambda views, draws, params: one_each(views, row=one_each(views).row + 100), {"allowed": "own feed"}),
        (lambda views, draws, params: one_each(views, kind=one_each(views).kind + np.uint8(40)), {"got": "kind 41"}),
        (
            lambda views, draws, params: one_each(views, kind=one_each(views).kind * np.uint8(11)),
            {"allowed": "`ignore`"},
        ),
        (
            lambda views, draws, params: one_each(views, text=one_each(views).text + np.int32(10**6)),
            {"got": "text 999999"},
        ),
        (
            lambda views, draws, params: one_each(views, helpful=one_each(views).helpful + np.int8(4)),
            {"got": "helpful 3"},
        ),
        (
            lambda views, draws, params: one_each(views, declared=declares(views, 2, 0.5)),
            {"got": "declared proposition"},
        ),
        (lambda views, draws, params: one_each(views, declared=declares(views, 0, -2.0)), {"got": "declared stance"}),
        (
            lambda views, draws, params: one_each(views, target=one_each(views).target * np.int32(count())),
            {"got": "twice"},
        ),
        (
            lambda views, draws, params: one_each(views) if views.post("veracity").size else None,
            {"got": "do not see veracity"},
        ),
        (
            lambda views, draws, params: one_each(views) if views.post("verdict").size else None,
            {"got": "do not see verdict"},
        ),
        (by_truth, {"got": "the ground truth changes kind"}),
        (by_place, {"got": "asked alone"}),
        (writes_views, {"got": "writes into an array"}),
        (moves_beliefs, {"got": "changed posts.likes"}),
        (always_one, {"allowed": "agents of the views"}),
    ],
)
def test_policies_that_break_the_contract(decide: Callable[..., Any], message: dict[str, str]) -> None:
    with raises_error(ContractError, **message) as caught:
        check_policy(Policy("mine", NoSettings, decide))
    assert "policy 'mine'" in str(caught.value)


# --- moderators --------------------------------------------------------------------------------------------


def first_post(world: World, **columns: Any) -> Change:
    """A verdict on the first post that has none, and its log row; ``columns`` say what is otherwise."""
    injected = (world.posts["kind"] == PostKind.INJECTED) & (world.posts["status"] == 0)
    waiting = np.flatnonzero(injected & (world.posts["verdict"] == 0))[:1]
    n = waiting.size
    verdict = {
        "post": waiting, "step": world.step + 1, "verdict": 3, "confidence": 0.5, "explanation": NONE,
        "sources": NONE, "veracity": world.posts["veracity"][waiting],
    }  # fmt: skip
    log = {"post": waiting, "step": world.step + 1, "kind": LogKind.VERDICT, "reason": "looked", "value": 0.5}
    for name, value in columns.items():
        part, _, column = name.partition("_")
        {"verdict": verdict, "log": log}[part][column] = value
    return Change(
        {
            "verdicts": schema.rows("verdicts", n, **verdict),
            "moderation_log": schema.rows("moderation_log", n, **log),
        }
    )


def by_step(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    return first_post(world, verdict_confidence=draws.uniform("confidence", 0)[0])


def forgets(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    change = first_post(world)
    return Change({"verdicts": change.rows["verdicts"]})


def reviews_again(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    truth = world.posts["veracity"][:1]
    return first_post(world, verdict_post=0, log_post=0, verdict_veracity=truth)


def shows_twice(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    shown = np.flatnonzero(world.notes["status"] == 1)[:1]
    rows = schema.rows(
        "moderation_log", shown.size, step=world.step + 1, post=world.notes["post"][shown], kind=LogKind.NOTE_SHOWN,
        reason="again", value=shown,
    )  # fmt: skip
    return Change({"moderation_log": rows})


def deletes(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    world.posts.write("status")[:] = 1
    return Change()


def likes(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    return Change({"follows": schema.empty("follows")})


def takes_down(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    return first_post(world, log_kind=LogKind.TAKEDOWN)


def without_permission(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    change = takes_down(world, draws, params, takedown)
    return Change({"moderation_log": change.rows["moderation_log"]})


def scores_without_notes(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    return Change({"note_scores": note_scores(world, world.notes.n)})


def scores_otherwise(world: World, draws: StageDraws, params: MemberParams, takedown: bool) -> Change:
    return Change({"note_scores": note_scores(world, 0)} if world.notes.n else {})


def note_scores(world: World, note: int) -> schema.Columns:
    """The row of a note that is shown, where no row of the log shows it."""
    return schema.rows(
        "note_scores", 1, step=world.step + 1, note=note, status=NoteStatus.SHOWN, intercept=0.5, factor=0.0
    )


def moderator(**columns: Any) -> Callable[..., Change]:
    return lambda world, draws, params, takedown: first_post(world, **columns)


@pytest.mark.parametrize(
    ("review", "message"),
    [
        (lambda world, draws, params, takedown: None, "returned NoneType"),
        (lambda world, draws, params, takedown: world.posts["likes"].sort(), "writes into an array"),
        (moderator(verdict_step=1), "another step"),
        (moderator(verdict_verdict=0), "no known verdict"),
        (moderator(verdict_confidence=1.5), "a confidence"),
        (moderator(verdict_post=10**6), "not there"),
        (moderator(verdict_veracity=0), "another truth"),
        (moderator(verdict_explanation=10**6), "explanation of no text"),
        (moderator(log_reason=" "), "without a reason"),
        (moderator(log_kind=9), "no known kind"),
        (by_step, "another confidence in another step"),
        (forgets, "differ"),
        (reviews_again, "on a post that has one"),
        (shows_twice, "does not change"),
        (deletes, "review changed posts.status"),
        (likes, "rows of"),
        (scores_without_notes, "a score of no note"),
        (scores_otherwise, "another status than the log"),
        (takes_down, "differ"),
        (without_permission, "is off"),
    ],
)
def test_moderators_that_break_the_contract(review: Callable[..., Any], message: str) -> None:
    with raises_error(ContractError, got=message) as caught:
        check_moderator(Moderator("mine", NoSettings, frozenset(), review))
    assert "moderator 'mine'" in str(caught.value)
