"""The policy `propensity`: its chances against plain Python, what they depend on, and what its agents write."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from small_worlds import (
    NO_BANK,
    feed_of,
    give_verdict,
    log,
    note,
    post,
    run_of,
    settings_of,
    town,
    views_of,
)
from townsquare.beliefs.contract import BeliefState
from townsquare.core import registry, schema
from townsquare.core.actions import ActionKind
from townsquare.core.coded_rows import column_at
from townsquare.core.draws import U64, Draws, Stage
from townsquare.core.enums import AgentKind, LogKind, PostKind, Verdict
from townsquare.core.threads import Part
from townsquare.scenario.grammar import bundled_grammar
from townsquare.simulation.change import Change
from townsquare.simulation.policies import propensity_kernels as kernels
from townsquare.simulation.policies.propensity import rate_of_posts
from townsquare.simulation.policies.propensity_params import Params
from townsquare.simulation.policies.reading_kernels import READ
from townsquare.simulation.views import ProposedActions, Views
from townsquare.simulation.world import World
from townsquare.testing.busy_world import busy_world
from townsquare.testing.policy_conformance import check_policy

K = ActionKind
MANY = {"rate": 0.05, "person_sd": 0.0, "appeal_sd": 0.0, "posts_per_session": 0.0}


def decide(views: Views, seed: int = 1, **params: Any) -> ProposedActions:
    policy = registry.get("policy", "propensity")
    return policy.decide(views, Draws(seed, views.step)(Stage.POLICY), policy.params(**params))


def crowd(n: int, *, stance: float = 0.0, taste: float = math.nan, credibility: float = math.nan) -> World:
    """``n`` readers, all alike; agent 1 is a source of this credibility."""
    world = town(0, 0)
    kind = np.full(n + 2, AgentKind.PERSON)
    kind[1] = AgentKind.SOURCE
    rows = schema.rows(
        "agents", n + 2, agent=np.arange(n + 2), kind=kind, born=0, activity=1.0, policy=0,
        credibility=np.where(np.arange(n + 2) == 1, credibility, np.nan), name=-1, taste=taste,
    )  # fmt: skip
    held = np.full((n + 2, 1), stance)
    world.append(Change({"agents": rows}, newborn=BeliefState(held, held * 0 + 0.5, held)))
    return world


def rate_of(world: World, kind: ActionKind = K.SHARE, **params: Any) -> float:
    views = views_of(world, feed_of(world, comments=0))
    return float((decide(views, **(MANY | params)).kind == kind).sum() / views.indptr[-1])


def plain_chances(settings: dict[str, float], **row: float) -> dict[str, float]:
    """Chances by the formula of docs/policies.md, in plain Python."""
    s = settings
    q = s["rate"] * row["person"] * row["appeal"] * (1 + row["age"] / s["age_hours"]) ** -s["age_power"]
    route, belief = s["route"], row["p"]
    if route == kernels.BELIEF and "V" in row:
        belief = 1 / (1 + math.exp(-row["V"]))
    factor = (
        math.exp(s["plausibility"] * (row["p"] - 0.55)) if route == kernels.DIRECT else (belief / 0.55) ** s["belief"]
    )
    power = 0.0
    if "distance" in row:
        power += s["concordance"] * (0.5 - row["distance"] / 2)
    if "z" in row:
        power += s["taste"] * row["z"] - s["taste"] ** 2 / 2
    q *= math.exp(power)
    if route == kernels.BELIEF and "V" in row:
        factor *= s["note_rest"] if row["noted"] else 1
    elif route != kernels.NO_LABELS:
        factor *= (s["label_share"] if row["false"] else 1) * (s["note_share"] if row["noted"] else 1)
    share = min(1.0, factor * q / (1 + (factor if s["asked"] else 1) * q / s["ceiling"]))
    doubt = max(0.0, 1 - belief / s["doubted"])
    return {
        "like": min(0.5, s["likes_per_share"] * share / max(0.05, row["person"])), "share": share,
        "comment": min(1.0, s["comments_per_share"] * share), "flag": s["flags"] * doubt,
        "add_note": s["notes"] * doubt, "rate_note": s["ratings"],
    }  # fmt: skip


@pytest.mark.parametrize("case", range(60))
def test_chances_are_those_of_the_formula(case: int) -> None:
    draw = np.random.default_rng(case)
    route = case % 3
    asked = case % 7 == 0
    settings = kernels.Sharing(route, asked, *(float(getattr(Params(), name)) for name in kernels.Sharing._fields[2:]))
    if asked or case % 4 == 1:
        settings = settings._replace(ceiling=1.0, rate=1.0)  # of people who are asked; and where a feed has no ceiling
    row: dict[str, float] = {
        "person": float(draw.lognormal(-2, 2)), "age": float(draw.exponential(20)), "p": float(draw.random()),
        "false": bool(draw.random() < 0.5), "noted": bool(draw.random() < 0.5),
    }  # fmt: skip
    low, z, key = bool(draw.random() < 0.5), float(draw.normal()), U64(draw.integers(2**62))
    if low and z > -1:
        row["z"] = z
    if case % 2:
        row["V"] = float(draw.normal(-1, 2))
    if case % 5:
        row["distance"] = float(2 * draw.random())
    base = Draws(case, 3)(Stage.POLICY).base("appeal", lasting=True)
    row["appeal"] = math.exp(1.8 * kernels.gauss(base, 0, key) - 1.8**2 / 2)
    seen = np.zeros(1, READ)
    seen["key"], seen["doubt"] = key, row["p"] - 0.5
    seen["label"] = 2 * (Verdict.FALSE if row["false"] else Verdict.NONE) + row["noted"]
    weight = kernels.weigh(seen, np.array([row["age"]]), base, settings)[0]
    taste = z if z > -1 else math.nan
    factor, doubt = kernels.belief_factor(seen[0], row.get("V", math.nan), settings)
    chances = kernels.chances(weight, factor, doubt, low, row.get("distance", 1.0), row["person"], taste, settings)
    expected = plain_chances(settings._asdict(), **row)
    assert chances == pytest.approx(tuple(expected.values()), rel=1e-9)


def test_lasting_propensities_have_mean_1_and_the_stated_tails() -> None:
    agents = np.arange(400_000, dtype=np.int32)
    bases = U64(5), U64(6)
    posting, sharing = kernels.propensities(agents, bases, 0.8, 0.6, 0.6)
    assert (posting.mean(), sharing.mean()) == pytest.approx((1, 1), abs=0.01)
    logs = np.log(posting), np.log(sharing)
    assert (logs[0].std(), logs[1].std()) == pytest.approx((0.8, 0.6), abs=0.01)
    assert np.corrcoef(*logs)[0, 1] == pytest.approx(0.6, abs=0.01)


def test_people_write_so_many_posts_on_average_whatever_the_tail() -> None:
    agents, ones = np.arange(400_000, dtype=np.int32), np.ones(400_000)
    for sd in (0.0, 1.0, 2.3):
        posting, _ = kernels.propensities(agents, (U64(5), U64(6)), sd, 0.0, 0.0)
        out = np.zeros(agents.size, np.int64)
        kernels.count_posts(Part(0, agents.size), agents, ones, posting, rate_of_posts(0.3, sd, 5), 5, U64(9), out)
        assert out.mean() == pytest.approx(0.3, abs=0.01)
        assert out.max() <= 5


# --- what sharing depends on -------------------------------------------------------------------------------


def test_labels_and_notes_lower_sharing_by_the_stated_factor() -> None:
    def rate(label: str) -> float:
        world = crowd(100_000)
        root = post(world, 1, kind=PostKind.INJECTED, key=77)
        if label == "verdict":
            give_verdict(world, root, Verdict.FALSE)
        if label == "note":
            log(world, LogKind.NOTE_SHOWN, root, note(world, 0, root))
        return rate_of(world, rate=1.0)  # at the ceiling, which must not weaken the factors

    plain = rate("")
    assert rate("verdict") / plain == pytest.approx(0.753, abs=0.03)
    assert rate("note") / plain == pytest.approx(0.54, abs=0.03)


def test_old_posts_are_shared_less() -> None:
    world = crowd(30_000)
    post(world, 1, kind=PostKind.INJECTED, step=-20)
    old = rate_of(world)
    world = crowd(30_000)
    post(world, 1, kind=PostKind.INJECTED)
    assert old / rate_of(world) == pytest.approx((1 + 21 / 3) ** -1.1, rel=0.2)


def test_whoever_has_a_taste_for_it_shares_low_credibility_sources() -> None:
    def rate(taste: float, credibility: float) -> float:
        world = crowd(30_000, taste=taste, credibility=credibility)
        post(world, 1, kind=PostKind.INJECTED)
        return rate_of(world, rate=0.01, ceiling=1.0)

    assert rate(1.5, 0.2) > 2 * rate(1.5, 0.8)
    assert rate(-1.5, 0.2) < 0.5 * rate(-1.5, 0.8)
    assert rate(math.nan, 0.2) == rate(math.nan, 0.8) == rate(1.5, math.nan)


def test_people_share_what_they_agree_with_and_likes_outnumber_shares() -> None:
    def world(stance: float) -> World:
        made = crowd(30_000, stance=stance)
        post(made, 1, kind=PostKind.INJECTED, stances={0: 0.9})
        return made

    assert rate_of(world(0.9)) > 1.5 * rate_of(world(-0.9))
    assert rate_of(world(0.9), K.LIKE) > 4 * rate_of(world(0.9))


def test_few_people_make_most_of_the_shares() -> None:
    world = crowd(5_000)
    for _ in range(10):
        post(world, 1, kind=PostKind.INJECTED)
    views = views_of(world, feed_of(world, comments=0))
    chosen = decide(views, rate=0.03, posts_per_session=0.0)
    by = np.sort(np.bincount(chosen.agent[chosen.kind == K.SHARE], minlength=5_002))[::-1]
    assert by[:500].sum() > 0.6 * by.sum() > 100


def test_only_what_is_found_implausible_is_flagged() -> None:
    def flags(plausibility: float) -> float:
        world = crowd(30_000)
        post(world, 1, kind=PostKind.INJECTED, plausibility=plausibility)
        return rate_of(world, K.FLAG, flags=0.2)

    assert flags(0.6) == 0
    assert flags(0.1) == pytest.approx(0.16, abs=0.01)


# --- draws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_it_keeps_the_contract_where_everybody_acts(seed: int) -> None:
    policy = registry.get("policy", "propensity")
    busy = policy.params(
        rate=1.0, ceiling=1.0, comments_per_share=0.9, flags=0.8, notes=0.8, ratings=0.9, posts_per_session=2.0,
        posts_topical=0.5,
    )  # fmt: skip
    check_policy(policy, busy, seed)


def test_a_kind_that_is_switched_off_changes_no_other() -> None:
    params = {"rate": 1.0, "ceiling": 1.0, "comments_per_share": 0.9, "flags": 0.8, "notes": 0.8, "ratings": 0.9}
    params["doubted"] = 1.0
    made = busy_world(3)
    everything = decide(made.views(), **params)
    assert np.unique(everything.kind).size == 7
    for off in np.unique(everything.kind).tolist():
        views = made.views()
        views.allowed = views.allowed - {K(off)}
        chosen, kept = decide(views, **params), everything.kind != off
        for column in ("agent", "kind", "row", "target", "helpful"):
            np.testing.assert_array_equal(getattr(chosen, column), getattr(everything, column)[kept])


def test_the_choice_on_a_post_is_the_same_in_every_step() -> None:
    """A step of another number, with the same age of the post: the same people share."""
    world = crowd(3_000)
    post(world, 1, kind=PostKind.INJECTED)
    views = views_of(world, feed_of(world, comments=0))
    policy = registry.get("policy", "propensity")
    one, two = (policy.decide(views, Draws(1, step)(Stage.POLICY), Params(**MANY)) for step in (1, 9))
    np.testing.assert_array_equal(one.agent, two.agent)
    assert one.n > 50


# --- what is written ---------------------------------------------------------------------------------------


def said(views: Views, chosen: ProposedActions, at: int) -> str:
    number = int(chosen.text[at])
    return views.text(number) if number < views.n_texts else chosen.new_texts[number - views.n_texts]


def test_without_hedges_and_tails_arguments_are_those_of_the_bank() -> None:
    views = busy_world(1).views()
    chosen = decide(views, posts_per_session=3.0, posts_topical=0.5, hedges=0.0, tails=0.0)
    assert set(chosen.text[chosen.declared[0]].tolist()) <= set(views.bank.text.tolist())
    assert chosen.declared[0].size > 5


def test_a_worded_argument_is_the_claim_of_the_bank() -> None:
    policy = {"name": "propensity", "posts_per_session": 1.0, "posts_topical": 0.6, "posts_sd": 0.5}
    run = run_of(settings_of(policy=policy, beliefs="log_odds", steps=4))
    texts = dict(run.table("texts").select("text", "content").iter_rows())
    claims = [
        (texts[text], texts[snippet])
        for text, snippet in run.table("claims")
        .filter(pl.col("snippet") >= 0)
        .filter(pl.col("post") >= 60)
        .select("text", "snippet")
        .iter_rows()
    ]
    assert any(text != snippet for text, snippet in claims)
    for text, snippet in claims:
        assert text in snippet
    starts = tuple(bundled_grammar().hedges)
    assert not any(text.startswith(starts) or text.endswith(tuple(bundled_grammar().tails)) for text, _ in claims)


def test_no_hedge_or_tail_hides_another() -> None:
    grammar = bundled_grammar()
    for parts, inside in ((grammar.hedges, str.startswith), (grammar.tails, str.endswith)):
        assert not any(inside(one, other) for one in parts for other in parts if one != other)
        assert len(parts) == len({*parts}) >= 12


def test_most_own_posts_are_everyday_lines_and_some_argue() -> None:
    made = busy_world(1)
    views = made.views()
    chosen = decide(views, posts_per_session=3.0, posts_topical=0.3)
    posts = np.flatnonzero(chosen.kind == K.POST)
    argues = np.isin(posts, chosen.declared[0])
    assert argues.mean() == pytest.approx(0.3, abs=0.15)
    texts = [said(views, chosen, at) for at in chosen.declared[0].tolist()]
    bank = [views.text(row) for row in views.bank.text.tolist()]
    found = [bundled_grammar().argument(text, bank) for text in texts]
    assert None not in found
    assert len({*texts}) > len({*found})  # the same argument in other words
    stances = dict(zip(bank, views.bank.stance.tolist(), strict=True))
    assert chosen.declared[2].tolist() == [stances[argument] for argument in found if argument]
    plain = chosen.text[posts[~argues]] - views.n_texts
    assert {chosen.new_texts[k] for k in plain.tolist()} <= set(views.bank.everyday)
    assert np.bincount(chosen.agent[posts]).max() > 1


def test_without_a_bank_and_lines_nobody_posts() -> None:
    world = crowd(200)
    views = views_of(world, feed_of(world), NO_BANK)
    assert decide(views, posts_per_session=3.0).n == 0
    lines = views_of(world, feed_of(world), replace(NO_BANK, everyday=("Rain all day.",)))
    assert decide(lines, posts_per_session=3.0).new_texts == ("Rain all day.",)


def test_it_lives_in_a_mix_and_after_an_event() -> None:
    members = [{"name": "propensity", "share": 1.0}, {"name": "statistical", "share": 1.0}]
    mixed = run_of(settings_of(policy={"name": "mix", "members": members}))
    later = run_of(settings_of(events=[{"step": 3, "set": {"policy": "propensity"}}]))
    for run in (mixed, later):
        kinds = run.table("posts")["kind"].to_numpy()
        assert (kinds == PostKind.ORIGINAL).any()


def test_people_who_are_asked_share_more_and_judge_posts_of_nearly_equal_appeal() -> None:
    world = crowd(400)
    for number in range(20):
        post(world, 1, kind=PostKind.INJECTED, key=100 + number)
    views = views_of(world, feed_of(world, comments=0))
    views_of_asked = copy.copy(views)
    views_of_asked.context = replace(views.context, asked=True)

    def rates(of: Views) -> np.ndarray:
        done = decide(of, **MANY | {"rate": 0.01, "appeal_sd": 1.8, "asked": 30.0})
        shared = column_at(of.rows, "root", done.row[done.kind == K.SHARE])
        return np.bincount(shared, minlength=20) / 401

    in_feeds, asked = rates(views), rates(views_of_asked)
    assert 0 < in_feeds.mean() < 0.05 < 0.08 < asked.mean() < 0.3
    assert asked.std() / asked.mean() < 0.5 < in_feeds.std() / in_feeds.mean()
