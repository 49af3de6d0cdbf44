"""What makes agents act: rates, what they depend on and what they may not, scripts, and lives in a mix."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy

from small_worlds import (
    feed_of,
    give_verdict,
    log,
    note,
    post,
    react,
    settings_of,
    steps_of,
    town,
    views_of,
)
from townsquare.beliefs.contract import BeliefState
from townsquare.core import registry, schema
from townsquare.core.actions import ROW_KINDS, ActionKind
from townsquare.core.draws import Draws, Stage
from townsquare.core.enums import AgentKind, LogKind, PostKind, Slot, Veracity, Verdict
from townsquare.core.schema import NONE
from townsquare.settings.config import Population
from townsquare.simulation.change import Change
from townsquare.simulation.feed.build import Feed
from townsquare.simulation.policies.statistical_kernels import COEFFICIENTS
from townsquare.simulation.policies.statistical_params import Appeal, KindParams, Params
from townsquare.simulation.views import Bank, ProposedActions, Views
from townsquare.simulation.world import World
from townsquare.testing.busy_world import busy_world

K = ActionKind
FITTED = {"like": 0.067, "comment": 0.045, "share": 0.0243, "add_note": 0.038}
SHAPE, SILENT = Population().activity_shape, Population().silent_share
ASSUMED = {
    "dislike": 0.02, "like_comment": 0.03, "flag": 0.01, "follow": 0.01, "unfollow": 0.001, "rate_note": 0.1,
    "block": 0.001,
}  # fmt: skip


def decide(name: str, views: Views, seed: int = 1, **params: Any) -> ProposedActions:
    policy = registry.get("policy", name)
    return policy.decide(views, Draws(seed, views.step)(Stage.POLICY), policy.params(**params))


def kinds_of(chosen: ProposedActions) -> dict[str, int]:
    return {K(kind).name.lower(): int((chosen.kind == kind).sum()) for kind in np.unique(chosen.kind)}


def activities(n: int) -> npt.NDArray[np.float64]:
    """Activity of n persons who stand for the default population."""
    u = np.maximum((np.arange(n) + 0.5) / n - SILENT, 0) / (1 - SILENT)
    return np.asarray(scipy.special.gammaincinv(SHAPE, u) / (SHAPE * (1 - SILENT)))


def crowd(n: int, *, stance: float = 0.0, activity: float | None = 1.0) -> World:
    """``n`` persons who follow nobody; activity as in a population if None."""
    world = town(1, 1, propositions=1)
    if activity is None:
        activity_of = activities(n)
    else:
        activity_of = np.full(n, activity)
    rows = schema.rows(
        "agents", n, agent=2 + np.arange(n), kind=AgentKind.PERSON, born=0, activity=activity_of, policy=0,
        credibility=np.nan, name=NONE,
    )  # fmt: skip
    held = np.full((n, 1), stance)
    world.append(Change({"agents": rows}, newborn=BeliefState(held, held * 0 + 0.5, held)))
    return world


def with_column(feed: Feed, name: str, value: int) -> Feed:
    """The same feed with one value in a column."""
    column = np.full_like(np.asarray(feed.exposures[name]), value)
    return Feed(feed.agents, feed.indptr, {**feed.exposures, name: column})


def rate_of(views: Views, kind: ActionKind, **params: Any) -> float:
    """Share of the shown rows (posts or comments, as the kind has it) on which the kind is chosen."""
    of_comments = np.asarray(views.rows["slot"]) == Slot.COMMENT
    possible = of_comments if kind == K.LIKE_COMMENT else ~of_comments
    return float((decide("statistical", views, **params).kind == kind).sum() / possible.sum())


# --- rates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "rate"), list((FITTED | ASSUMED).items()))
def test_the_bases_give_the_stated_rates_over_the_distribution_of_activity(kind: str, rate: float) -> None:
    n = 20_000
    params = getattr(Params(), kind)
    u = (np.arange(51) + 0.5) / 51
    taste = params.taste * np.log(u / (1 - u))
    with np.errstate(divide="ignore"):
        chance = 1 / (1 + np.exp(-(params.base + np.log(activities(n))[:, None] + taste)))
    assert abs(activities(n).mean() - 1) < 2e-3
    assert chance.mean() == pytest.approx(rate, rel=2e-2)


def test_a_population_acts_at_these_rates_on_a_plain_row() -> None:
    """One post in the feed instead of the 15 that rates refer to: attention is switched off."""
    world = crowd(30_000, activity=None)
    root = post(world, 1, kind=PostKind.INJECTED)
    post(world, 1, under=root)
    views = views_of(world, feed_of(world))
    for kind, rate in (FITTED | {"like_comment": 0.03}).items():
        assert rate_of(views, K[kind.upper()], attention=0.0, appeal=Appeal()) == pytest.approx(rate, abs=0.005)


def test_most_people_are_silent_most_of_the_time() -> None:
    spoke: set[int] = set()
    for world, out in steps_of(settings_of(agents=400, steps=5)):
        spoke |= set(np.asarray(out.get("actions")["agent"]).tolist())
        persons = int(world.persons().sum())
    assert 0.15 < 1 - len(spoke) / persons < 0.5
    assert world.step == 5


def test_who_has_no_activity_never_acts() -> None:
    world = crowd(500, activity=0.0)
    root = post(world, 1)
    note(world, 1, root)
    chosen = decide("statistical", views_of(world, feed_of(world)), posts_per_step=50.0, like=KindParams(base=50.0))
    assert set(chosen.agent.tolist()) <= {0}  # agent 0 of the town is as active as the mean


def test_posts_come_at_the_rate_that_is_set() -> None:
    world = crowd(20_000)
    bank = bank_for(world, [0.5])
    chosen = decide("statistical", views_of(world, feed_of(world), bank), posts_per_step=0.3)
    assert kinds_of(chosen)["post"] / 20_000 == pytest.approx(1 - np.exp(-0.3), abs=0.01)


# --- what chances depend on --------------------------------------------------------------------------------


def rated(kind: ActionKind, **shown: Any) -> float:
    """The rate of a kind on one row among 20,000 readers of stance 0.5, activity 1."""
    world = crowd(20_000, stance=0.5)
    stances = {0: shown["stance"]} if "stance" in shown else {}
    root = post(world, 1, kind=PostKind.INJECTED, plausibility=shown.get("plausibility", 0.5), stances=stances)
    for _ in range(shown.get("likes", 0)):
        react(world, K.LIKE, 1, root)
    if "verdict" in shown:
        give_verdict(world, root, shown["verdict"])
    if shown.get("noted"):
        log(world, LogKind.NOTE_SHOWN, root, note(world, 1, root))
    return rate_of(views_of(world, feed_of(world, comments=0)), kind)


@pytest.mark.parametrize(
    ("kind", "less", "more"),
    [
        (K.LIKE, {"stance": -1.0}, {"stance": 0.6}),
        (K.SHARE, {"stance": -1.0}, {"stance": 0.6}),
        (K.DISLIKE, {"stance": 0.6}, {"stance": -1.0}),
        (K.FLAG, {"plausibility": 0.9}, {"plausibility": 0.0}),
        (K.ADD_NOTE, {"plausibility": 0.9}, {"plausibility": 0.1}),
        (K.SHARE, {"verdict": Verdict.FALSE}, {"verdict": Verdict.TRUE}),
        (K.SHARE, {"verdict": Verdict.FALSE}, {"verdict": Verdict.UNVERIFIED}),
        (K.LIKE, {"noted": True}, {}),
        (K.SHARE, {}, {"likes": 30}),
    ],
)
def test_chances_lean_as_they_should(kind: ActionKind, less: dict[str, Any], more: dict[str, Any]) -> None:
    assert rated(kind, **less) < rated(kind, **more)


def test_a_post_without_a_stance_is_not_a_post_of_stance_nought() -> None:
    """The term in distance is 0, as at a distance of 0.5; never as at the distance to 0."""
    assert rated(K.LIKE) == rated(K.LIKE, stance=0.0) == rated(K.LIKE, stance=1.0)
    assert rated(K.LIKE) != rated(K.LIKE, stance=0.5)


def test_what_was_seen_before_is_liked_less() -> None:
    world = crowd(20_000)
    post(world, 1)
    fresh = feed_of(world)
    again = with_column(fresh, "first_seen", False)
    assert rate_of(views_of(world, again), K.LIKE) < 0.5 * rate_of(views_of(world, fresh), K.LIKE)


def test_the_ground_truth_changes_nothing() -> None:
    assert_same(*(everything_chosen(veracity) for veracity in Veracity))


def everything_chosen(veracity: Veracity) -> ProposedActions:
    world = crowd(500)
    root = post(world, 1, kind=PostKind.INJECTED, veracity=veracity, stances={0: 0.3})
    note(world, 1, root)
    return decide("statistical", views_of(world, feed_of(world), bank_for(world, [0.5, -0.5])))


def assert_same(*several: ProposedActions) -> None:
    for other in several[1:]:
        for name in ("agent", "kind", "row", "target", "text", "helpful"):
            np.testing.assert_array_equal(getattr(several[0], name), getattr(other, name))
    assert several[0].n > 50


# --- kinds are independent ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["statistical", "blind"])
def test_a_kind_that_is_switched_off_changes_no_other(name: str) -> None:
    made = busy_world(3)
    whole = made.views()
    everything = decide(name, whole, posts_per_step=1.0)
    assert len(kinds_of(everything)) >= 9
    for off in K:
        views = made.views()
        views.allowed = views.allowed - {off}
        chosen, kept = decide(name, views, posts_per_step=1.0), everything.kind != off
        for column in ("agent", "kind", "row", "target", "text", "helpful"):
            np.testing.assert_array_equal(getattr(chosen, column), getattr(everything, column)[kept], str(off))
        says = np.isin(everything.declared[0], np.flatnonzero(kept))
        np.testing.assert_array_equal(chosen.declared[2], everything.declared[2][says])


def test_kinds_are_drawn_independently() -> None:
    """Over 20,000 readers of one row, what each does is unrelated to what else it does."""
    world = crowd(20_000)
    post(world, 1)
    even = {kind.name.lower(): KindParams(base=0.0) for kind in ROW_KINDS}
    chosen = decide("statistical", views_of(world, feed_of(world)), **even)
    did = np.zeros((len(K), world.n_agents))
    did[chosen.kind, chosen.agent] = 1
    done = did[[K.LIKE, K.DISLIKE, K.SHARE, K.FLAG, K.FOLLOW, K.ADD_NOTE]]
    apart = np.corrcoef(done[:, 2:]) - np.eye(6)
    assert np.abs(apart).max() < 0.03


# --- what is written ---------------------------------------------------------------------------------------


def bank_for(world: World, stances: list[float], comments: int = 2) -> Bank:
    """Arguments of these stances toward proposition 0, as new texts of the world."""
    first = len(world.texts)
    content = [f"argument {k}" for k in range(len(stances))] + [f"line {k}" for k in range(comments + 1)]
    ids = first + np.arange(len(content))
    world.append(Change({"texts": schema.rows("texts", ids.size, text=ids, content=content)}))
    n = len(stances)
    return Bank(
        ids[:n].astype(np.int32), np.zeros(n, np.int16), np.array(stances), np.full(n, 0.7),
        ids[n : n + comments].astype(np.int32), ids[n + comments :].astype(np.int32),
    )  # fmt: skip


def test_what_is_written_declares_the_stance_of_the_entry() -> None:
    made = busy_world(1)
    views = made.views()
    chosen = decide("statistical", views, posts_per_step=2.0, comment=KindParams(base=0.0))
    bank = views.bank
    action, proposition, stance, strength = chosen.declared
    entry = {int(text): k for k, text in enumerate(bank.text)}
    assert action.size > 50
    for k in range(action.size):
        at = entry[int(chosen.text[action[k]])]
        assert (proposition[k], stance[k], strength[k]) == (bank.proposition[at], bank.stance[at], bank.strength[at])
    assert set(chosen.kind[action].tolist()) == {K.POST, K.COMMENT}
    for at in np.flatnonzero((chosen.kind == K.COMMENT) & ~np.isin(np.arange(chosen.n), action)):
        root = np.asarray(views.rows["root"])[chosen.row[at]]
        assert views.post("n_stances")[root] == 0  # only where the post speaks to nothing
        assert chosen.text[at] in bank.comments
    for at in np.flatnonzero(chosen.kind == K.ADD_NOTE):
        assert chosen.text[at] in bank.notes


@pytest.mark.parametrize(("stance", "share_for"), [(1.0, 1.0), (-1.0, 0.0), (0.0, 0.5), (0.5, 0.75)])
def test_people_write_in_line_with_their_stance(stance: float, share_for: float) -> None:
    world = crowd(8_000, stance=stance)
    bank = bank_for(world, [0.9, 0.2, -0.2, -0.9])
    chosen = decide("statistical", views_of(world, feed_of(world), bank), posts_per_step=1e3)
    said = chosen.declared[2]
    assert (said > 0).mean() == pytest.approx(share_for, abs=0.02)
    if abs(stance) == 1:
        near = np.abs(said - stance) < 0.2
        assert near.mean() > 0.85  # within a side the nearest entry is likeliest


def test_without_a_bank_nobody_writes_and_comments_are_plain_lines() -> None:
    world = crowd(2_000)
    post(world, 1, stances={0: 0.4})
    bank = bank_for(world, [])
    chosen = decide("statistical", views_of(world, feed_of(world), bank), posts_per_step=9.0)
    assert "post" not in kinds_of(chosen)
    comments = chosen.kind == K.COMMENT
    assert comments.any()
    assert set(chosen.text[comments].tolist()) <= set(bank.comments.tolist())
    assert chosen.declared[0].size == 0


def test_nobody_comments_with_an_argument_that_is_too_long_for_a_comment() -> None:
    world = crowd(3_000, stance=0.6)
    post(world, 1, stances={0: 0.4})
    bank = bank_for(world, [0.5, -0.5])
    world.texts[bank.text[0]] = "long " * 60
    views = views_of(world, feed_of(world), bank)
    chosen = decide("statistical", views, posts_per_step=9.0, comment=KindParams(base=0.0))
    text = chosen.text
    assert set(text[chosen.kind == K.POST].tolist()) == set(bank.text.tolist())
    assert set(text[chosen.kind == K.COMMENT].tolist()) == {int(bank.text[1])}


def test_ratings_of_a_note_do_not_depend_on_what_other_notes_there_are() -> None:
    def helpful(extra_notes: int) -> list[int]:
        world = crowd(3_000)
        other = post(world, 1)
        for author in range(extra_notes):
            note(world, author, other)
        root = post(world, 1, key=123, plausibility=0.5)
        note(world, 1, root)
        views = views_of(world, feed_of(world))
        chosen = decide("statistical", views, rate_note=KindParams(base=50.0))
        on = (chosen.kind == K.RATE_NOTE) & (np.asarray(views.rows["root"])[chosen.row] == root)
        return chosen.helpful[on].tolist()

    assert helpful(0)[3:] == helpful(3)[3:]
    assert 200 < sum(helpful(0)) < 2_800


# --- the blind, the silent ---------------------------------------------------------------------------------


def test_the_blind_do_not_read() -> None:
    """Neither stance, plausibility, labels, counts, ties nor novelty change what they do."""

    def chosen(plain: bool) -> ProposedActions:
        world = crowd(2_000, stance=0.0 if plain else -0.9)
        given = {} if plain else {"plausibility": 0.01, "stances": {0: 0.9}}
        root = post(world, 1, kind=PostKind.INJECTED, key=99, **given)
        if not plain:
            give_verdict(world, root, Verdict.FALSE)
            log(world, LogKind.NOTE_SHOWN, root, note(world, 1, root))
            for agent in range(2, 60):
                react(world, K.LIKE, agent, root)
        return decide("blind", views_of(world, with_column(feed_of(world), "offered", NONE)))

    one, two = chosen(True), chosen(False)
    for name in ("agent", "kind", "row", "target"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.n > 300


def test_the_silent_do_nothing() -> None:
    assert decide("silent", busy_world(2).views()).n == 0


def test_every_coefficient_that_can_be_set_is_used() -> None:
    assert set(KindParams.model_fields) == set(COEFFICIENTS)
