"""The rule ``log_odds``: Equation 1 on hand-worked cases and as properties; starts, uptake, asymmetry, trail."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argument_records import Row, held, new, params
from belief_blocks import total
from townsquare.beliefs.contract import (
    BeliefInputs,
    BeliefState,
    Holdings,
    Trail,
    no_exposures,
    no_own,
)
from townsquare.beliefs.equation import stances_of, start_log_odds
from townsquare.beliefs.log_odds import RULE
from townsquare.core.draws import Stage, StageDraws
from townsquare.core.enums import HoldingChange, Origin, TrailKind


def step(state: BeliefState, holdings: Holdings, rule: Any = RULE, **given_: Any) -> tuple[BeliefState, Trail]:
    n, p = state.stance.shape
    inputs = BeliefInputs(0, no_exposures(n), no_own(n, p), holdings)
    return rule.step(state, inputs, params(n, rule, **given_), StageDraws(1, Stage.BELIEF, 1))


# --- hand-worked -------------------------------------------------------------------------------------------


def test_equation_1_by_hand() -> None:
    state = new([[0.0]], start="records")
    rows = [
        {"polarity": 1, "strength": 0.5, "origin": Origin.SEED},
        {"polarity": 1, "strength": 1.0, "origin": Origin.SEED},
        {"polarity": -1, "strength": 0.8, "origin": Origin.SELF},
        {"polarity": -1, "strength": 0.6, "origin": Origin.PEER},
        {"polarity": -1, "strength": 1.0, "active": False},
    ]
    after, _ = step(state, held(rows), start="records")
    # a = 0.70 for the seeds, u = 0.40 for the rest: ln 1.35 + ln 1.7 - ln 1.32 - ln 1.24
    by_hand = math.log(1.35) + math.log(1.7) - math.log(1.32) - math.log(1.24)
    assert after.arrays["log_odds"][0, 0] == pytest.approx(by_hand, abs=1e-15)
    assert after.arrays["log_odds"][0, 0] == pytest.approx(0.337990, abs=1e-6)
    assert after.stance[0, 0] == pytest.approx(2 / (1 + math.exp(-by_hand)) - 1, abs=1e-15)


def test_a_stated_start_is_a_times_the_log_odds_of_the_stance() -> None:
    state = new([[0.5], [-0.5], [1.0]], anchoring=[1.0, 0.7, 1.0])
    assert state.arrays["log_odds"][:2, 0] == pytest.approx([math.log(3), -0.7 * math.log(3)], abs=1e-15)
    assert state.stance[0, 0] == pytest.approx(0.5, abs=1e-15)
    assert state.stance[1, 0] == pytest.approx(math.tanh(-0.35 * math.log(3)), abs=1e-15)
    assert state.stance[2, 0] == pytest.approx(0.999, abs=1e-12)  # clipped to 1 - 0.001
    assert (state.start == state.stance).all()


def test_settings_differ_by_agent_and_anchoring_may_exceed_one() -> None:
    row = {"polarity": 1, "strength": 1.0}
    seed = row | {"origin": Origin.SEED}
    state = new([[0.0], [0.0], [0.0]], start="records")
    after, _ = step(
        state, held([row], [row], [seed]), start="records", uptake=[0.2, 1.0, 9.0], anchoring=[9.0, 9.0, 1.5]
    )
    assert after.arrays["log_odds"][:, 0] == pytest.approx(np.log([1.2, 2.0, 2.5]), abs=1e-15)


def test_the_prior_scale_multiplies_seeds_alone() -> None:
    rows = [{"polarity": 1, "strength": 0.5, "origin": Origin.SEED}, {"polarity": 1, "strength": 0.5}]
    after, _ = step(new([[0.0]], start="records"), held(rows), start="records", prior_scale=3.0)
    assert after.arrays["log_odds"][0, 0] == pytest.approx(3 * math.log(1.35) + math.log(1.2), abs=1e-15)


def test_confirmation_asymmetry_by_hand() -> None:
    rows = [{"polarity": 1, "strength": 0.5, "agreed": True}, {"polarity": -1, "strength": 0.5, "agreed": False}]
    after, _ = step(new([[0.0]]), held(rows), confirmation=0.5)
    assert after.arrays["log_odds"][0, 0] == pytest.approx(math.log(1.3) - math.log(1.1), abs=1e-15)
    even, _ = step(new([[0.0]]), held(rows))
    assert even.arrays["log_odds"][0, 0] == pytest.approx(0.0, abs=1e-15)


def test_the_trail_names_what_happened() -> None:
    rows = [
        {"polarity": 1, "strength": 0.5, "change": HoldingChange.ACCEPTED},
        {"polarity": 1, "strength": 0.6, "change": HoldingChange.ACCEPTED, "rank": -1, "origin": Origin.SELF},
        {"polarity": -1, "strength": 0.7, "change": HoldingChange.RESTORED},
        {"polarity": -1, "strength": 0.9, "change": HoldingChange.REFUSED, "active": False},
        {"polarity": 1, "strength": 0.2},
    ]
    before, _ = step(new([[0.3]]), held([rows[4]]))
    after, trail = step(before, held(rows))
    kinds = [TrailKind(int(kind)) for kind in trail.kind]
    assert kinds == [TrailKind.EXPOSURE, TrailKind.OWN, TrailKind.RESTORED]
    assert trail.amount == pytest.approx([math.log(1.2), math.log(1.24), -math.log(1.28)], abs=1e-14)
    gone = [{**row, "active": False, "change": HoldingChange.ARCHIVED} for row in rows[:1]] + [
        {key: value for key, value in row.items() if key != "change"} for row in rows[1:]
    ]
    later, trail = step(after, held(gone))
    assert [TrailKind(int(kind)) for kind in trail.kind] == [TrailKind.ARCHIVED]
    assert trail.amount == pytest.approx([-math.log(1.2)], abs=1e-14)
    moved = later.arrays["log_odds"] - after.arrays["log_odds"]
    assert total(trail, (1, 1)) == pytest.approx(moved, abs=1e-15)


def test_a_setting_that_changes_while_records_stay_is_a_row_too() -> None:
    before, _ = step(new([[0.0]]), held([{"polarity": 1, "strength": 0.5, "change": HoldingChange.ACCEPTED}]))
    after, trail = step(before, held([{"polarity": 1, "strength": 0.5}]), uptake=0.8)
    assert [TrailKind(int(kind)) for kind in trail.kind] == [TrailKind.CLIP]
    assert trail.amount[0] == after.arrays["log_odds"][0, 0] - before.arrays["log_odds"][0, 0]


def test_a_setting_that_changes_is_not_put_down_to_a_record_of_the_same_step() -> None:
    first = {"polarity": 1, "strength": 0.5}
    before, _ = step(new([[0.0]]), held([first | {"change": HoldingChange.ACCEPTED}]), uptake=0.4)
    second = {"polarity": -1, "strength": 1.0, "change": HoldingChange.ACCEPTED}
    after, trail = step(before, held([first, second]), uptake=0.8)
    assert [TrailKind(int(kind)) for kind in trail.kind] == [TrailKind.EXPOSURE, TrailKind.CLIP]
    assert trail.amount == pytest.approx([-math.log(1.8), math.log(1.4) - math.log(1.2)], abs=1e-14)
    assert total(trail, (1, 1)) == pytest.approx(after.arrays["log_odds"] - before.arrays["log_odds"], abs=1e-15)


# --- properties --------------------------------------------------------------------------------------------

record = st.fixed_dictionaries(
    {
        "polarity": st.sampled_from([-1, 1]),
        "strength": st.floats(0, 1),
        "origin": st.sampled_from(list(Origin)),
        "active": st.booleans(),
        "agreed": st.booleans(),
        "proposition": st.integers(0, 1),
    }
)
records = st.lists(record, max_size=12)


def log_odds(rows: list[Row], **given_: Any) -> np.ndarray:
    return step(new([[0.1, -0.2]]), held(rows), **given_)[0].arrays["log_odds"][0]


@settings(max_examples=60, deadline=None)
@given(records, st.randoms(use_true_random=False), st.floats(0, 1))
def test_the_order_of_records_does_not_matter(rows: list[Row], random: Any, asymmetry: float) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, two = log_odds(rows, confirmation=asymmetry), log_odds(shuffled, confirmation=asymmetry)
    assert one == pytest.approx(two, abs=1e-12)
    in_order = log_odds(rows, confirmation=asymmetry)
    assert (one == in_order).all()


@settings(max_examples=60, deadline=None)
@given(records)
def test_archived_records_have_no_effect(rows: list[Row]) -> None:
    assert (log_odds(rows) == log_odds([row for row in rows if row["active"]])).all()


@settings(max_examples=40, deadline=None)
@given(records)
def test_without_uptake_peers_move_nobody(rows: list[Row]) -> None:
    peers = [row | {"origin": Origin.PEER, "change": HoldingChange.ACCEPTED, "active": True} for row in rows]
    before = new([[0.1, -0.2]])
    after, trail = step(before, held(peers), uptake=0.0)
    assert (after.stance == before.stance).all()
    assert not trail.amount.any()


@settings(max_examples=60, deadline=None)
@given(records, st.floats(0, 50), st.floats(0, 50))
def test_the_stance_is_bounded(rows: list[Row], uptake: float, anchoring: float) -> None:
    after, _ = step(new([[1.0, -1.0]], anchoring=anchoring), held(rows * 20), uptake=uptake, anchoring=anchoring)
    assert (np.abs(after.stance) <= 1).all()


@settings(max_examples=60, deadline=None)
@given(records, record, st.floats(0, 1))
def test_the_stance_is_monotone_in_every_strength(rows: list[Row], one: Row, more: float) -> None:
    weaker = one | {"active": True, "strength": min(one["strength"], more)}
    stronger = weaker | {"strength": max(one["strength"], more)}
    low, high = (log_odds([*rows, row])[one["proposition"]] for row in (weaker, stronger))
    assert one["polarity"] * (high - low) >= 0


@settings(max_examples=60, deadline=None)
@given(st.lists(record | st.just({}), max_size=12), st.lists(st.integers(0, 11), max_size=6))
def test_the_trail_sums_to_the_move(rows: list[Row], flips: list[int]) -> None:
    rows = [row for row in rows if row]
    before, _ = step(new([[0.1, -0.2]]), held(rows))
    flipped = [dict(row) for row in rows]
    for at in {flip for flip in flips if flip < len(rows)}:
        was = rows[at]["active"]
        flipped[at] |= {"active": not was, "change": HoldingChange.ARCHIVED if was else HoldingChange.RESTORED}
    after, trail = step(before, held(flipped))
    move = after.arrays["log_odds"] - before.arrays["log_odds"]
    assert total(trail, (1, 2)) == pytest.approx(move, abs=1e-12)
    assert after.stance == pytest.approx(stances_of(after.arrays["log_odds"]), abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.floats(-1, 1), st.floats(0.1, 3), st.floats(1e-6, 0.5))
def test_a_start_is_clipped_and_finite(stance: float, anchoring: float, margin: float) -> None:
    start = float(start_log_odds([stance], anchoring, margin)[0])
    most = anchoring * math.log((2 - margin) / margin)
    assert abs(start) <= most * (1 + 1e-12)
    inside = max(-(1 - margin), min(1 - margin, stance))
    assert start == pytest.approx(2 * anchoring * math.atanh(inside), rel=1e-9, abs=1e-12)


def test_beliefs_of_who_holds_nothing_stay_as_they_are() -> None:
    before = new([[0.3, -0.4], [0.0, 0.9]])
    after, trail = step(before, held([], []))
    assert (after.stance == before.stance).all()
    assert after.confidence is before.confidence or (after.confidence == before.confidence).all()
    assert not len(trail.amount)


def test_the_state_given_is_not_touched() -> None:
    before = new([[0.3]])
    copy = replace(before, stance=before.stance.copy())
    step(before, held([{"polarity": 1, "strength": 0.5, "change": HoldingChange.ACCEPTED}]))
    assert (before.stance == copy.stance).all()
