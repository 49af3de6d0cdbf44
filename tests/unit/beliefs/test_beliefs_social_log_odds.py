"""The rule ``social_log_odds``: each factor by hand, labels that come and go, ``log_odds`` with all switched off."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argument_records import held, new, params
from belief_blocks import shown as exposed
from belief_blocks import step as plain_step
from belief_blocks import total, trust
from townsquare.beliefs.contract import BeliefInputs, BeliefState, ClaimExposures, Holdings, Trail, no_own
from townsquare.beliefs.exposure import RULE as EXPOSURE
from townsquare.beliefs.log_odds import RULE as LOG_ODDS
from townsquare.beliefs.social_log_odds import RULE
from townsquare.core.draws import Stage, StageDraws
from townsquare.core.enums import HoldingChange, Origin, TrailKind
from townsquare.testing.belief_cases import random_inputs

SWITCHES = ("weigh_trust", "weigh_social_proof", "weigh_novelty", "weigh_labels")
ACCEPTED = {"polarity": 1, "strength": 0.5, "change": HoldingChange.ACCEPTED}


def claim_exposures(*agents: list[dict[str, Any]]) -> ClaimExposures:
    """Exposures to claims of some agents: each a row with ``record``, and what it leaves out has a default."""
    default = {"author": 9, "credibility": np.nan, "likes": 0, "first_seen": True, "weight": 1.0}
    rows = [{**default, "post": 100 + row["record"], "rank": row["record"], **row} for agent in agents for row in agent]
    dtypes = {
        "record": "i4", "post": "i4", "rank": "i2", "author": "i4", "credibility": "f8", "likes": "i4",
        "first_seen": "?", "weight": "f8",
    }  # fmt: skip
    columns = {name: np.array([row[name] for row in rows], dtype) for name, dtype in dtypes.items()}
    return ClaimExposures(indptr=np.cumsum([0, *(len(agent) for agent in agents)], dtype=np.int64), **columns)


def step(
    state: BeliefState, holdings: Holdings, *seen: list[dict[str, Any]], stances: Any = None, **given_: Any
) -> tuple[BeliefState, Trail]:
    n, p = state.stance.shape
    holdings = replace(holdings, claim_exposures=claim_exposures(*(seen or [[]] * n)))
    inputs = BeliefInputs(0, stances if stances is not None else exposed(*[()] * n), no_own(n, p), holdings)
    return RULE.step(state, inputs, params(n, RULE, **given_), StageDraws(1, Stage.BELIEF, 1))


def only(*names: str) -> dict[str, bool]:
    return {name: name in names for name in SWITCHES}


def effective(state: BeliefState, uptake: float = 0.4) -> float:
    """The strength with which the only record counts."""
    return (math.exp(abs(state.arrays["log_odds"][0, 0])) - 1) / uptake


@pytest.mark.parametrize(
    ("on", "factor"),
    [
        ((), 1.0),
        (("weigh_trust",), 0.8),
        (("weigh_social_proof",), 0.3 + 5 * 0.07),
        (("weigh_novelty",), 1.5),
        (("weigh_labels",), 0.25),
        (SWITCHES, 0.8 * (0.3 + 5 * 0.07) * 1.5 * 0.25),
    ],
)
def test_each_factor_by_hand(on: tuple[str, ...], factor: float) -> None:
    row = {"record": 0, "credibility": 0.8, "likes": 5, "weight": 0.25}
    after, trail = step(new([[0.0]], RULE), held([ACCEPTED]), [row], **only(*on))
    assert effective(after) == pytest.approx(0.5 * factor, rel=1e-12)
    assert math.isnan(trail.trust[0]) == ("weigh_trust" not in on)
    assert trail.trust[0] == 0.8 or "weigh_trust" not in on


def test_a_root_seen_before_is_worth_less() -> None:
    after, _ = step(new([[0.0]], RULE), held([ACCEPTED]), [{"record": 0, "first_seen": False}], **only("weigh_novelty"))
    assert effective(after) == pytest.approx(0.25, rel=1e-12)


def test_likes_can_be_limited() -> None:
    row = {"record": 0, "likes": 500}
    after, _ = step(new([[0.0]], RULE), held([ACCEPTED]), [row], likes_at_most=20, **only("weigh_social_proof"))
    assert effective(after) == pytest.approx(0.5 * (0.3 + 20 * 0.07), rel=1e-12)


def test_how_it_came_is_read_once() -> None:
    on = only("weigh_trust", "weigh_social_proof", "weigh_novelty")
    first, _ = step(new([[0.0]], RULE), held([ACCEPTED]), [{"record": 0, "credibility": 0.2}], **on)
    kept = {key: value for key, value in ACCEPTED.items() if key != "change"}
    later, trail = step(first, held([kept]), [{"record": 0, "author": 3, "likes": 50, "first_seen": False}], **on)
    assert (later.stance == first.stance).all()
    assert not len(trail.amount)


def test_a_label_acts_on_what_is_held_and_ceases_to() -> None:
    on = only("weigh_labels")
    state, _ = step(new([[0.0]], RULE), held([ACCEPTED]), [{"record": 0}], **on)
    kept = {key: value for key, value in ACCEPTED.items() if key != "change"}
    for weight in (0.25, 1.0):
        before = state
        state, trail = step(before, held([kept]), [{"record": 0, "post": 7, "rank": 3, "weight": weight}], **on)
        assert effective(state) == pytest.approx(0.5 * weight, rel=1e-12)
        assert [TrailKind(int(kind)) for kind in trail.kind] == [TrailKind.EXPOSURE]
        assert (trail.post.tolist(), trail.rank.tolist()) == ([7], [3])
        assert trail.amount[0] == pytest.approx(
            state.arrays["log_odds"][0, 0] - before.arrays["log_odds"][0, 0], abs=1e-15
        )
    same, trail = step(state, held([kept]), **on)
    assert (same.stance == state.stance).all()
    assert not len(trail.amount)


def test_seeds_and_own_words_are_not_weighed() -> None:
    rows = [
        {"polarity": 1, "strength": 0.5, "origin": Origin.SEED},
        {"polarity": 1, "strength": 0.5, "origin": Origin.SELF, "change": HoldingChange.ACCEPTED, "rank": -1},
    ]
    seen = [{"record": 0, "weight": 0.1, "credibility": 0.1}, {"record": 1, "weight": 0.1, "credibility": 0.1}]
    after, _ = step(new([[0.0]], RULE, start="records"), held(rows), seen, start="records")
    assert after.arrays["log_odds"][0, 0] == pytest.approx(math.log(1.35) + math.log(1.2), abs=1e-15)


def test_trust_learns_as_in_exposure() -> None:
    rows = exposed(
        [{"author": 1, "stance": 0.9}, {"author": 2, "stance": -0.9}, {"author": 1, "stance": 0.4}],
        [{"author": 1, "stance": -0.2, "credibility": 0.9}],
    )
    social, _ = step(new([[0.5], [-0.5]], RULE, anchoring=1.0), held([], []), stances=rows)
    other, _ = plain_step(EXPOSURE, new([[0.5], [-0.5]], EXPOSURE), rows, pull=0.0)
    assert social.stance == pytest.approx(other.stance, abs=1e-15)
    for agent in (0, 1):
        found = trust(social, agent)
        assert found.keys() == trust(other, agent).keys()
        assert [found[author] for author in found] == pytest.approx(list(trust(other, agent).values()), abs=1e-15)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 1))
def test_with_all_switches_off_it_is_log_odds_bit_for_bit(seed: int, asymmetry: float) -> None:
    rng = np.random.default_rng(seed)
    n, p = 6, 2
    stance = rng.uniform(-1, 1, (n, p))
    off = only()
    states = [new(stance, rule) for rule in (RULE, LOG_ODDS)]
    inputs = None
    for _ in range(3):
        inputs = random_inputs(RULE, n, p, rng, inputs)
        results = [
            rule.step(state, inputs, params(n, rule, **given_), StageDraws(1, Stage.BELIEF, 1))
            for rule, state, given_ in (
                (RULE, states[0], {"confirmation": asymmetry, **off}),
                (LOG_ODDS, states[1], {"confirmation": asymmetry}),
            )
        ]
        (one, trail), (two, other) = results
        assert (one.stance == two.stance).all()
        assert (one.arrays["log_odds"] == two.arrays["log_odds"]).all()
        for column, beside in zip(trail, other, strict=True):
            assert np.array_equal(column, beside, equal_nan=np.asarray(column).dtype.kind == "f")
        states = [one, two]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_trail_sums_to_the_move(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = 5, 2
    state, inputs = new(rng.uniform(-1, 1, (n, p)), RULE), None
    for _ in range(4):
        inputs = random_inputs(RULE, n, p, rng, inputs)
        after, trail = RULE.step(state, inputs, params(n, RULE), StageDraws(1, Stage.BELIEF, 1))
        move = after.arrays["log_odds"] - state.arrays["log_odds"]
        assert total(trail, (n, p)) == pytest.approx(move, abs=1e-12)
        assert TrailKind.CLIP not in trail.kind
        state = after
