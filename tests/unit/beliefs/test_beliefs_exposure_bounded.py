"""The rule ``exposure-bounded``: the page's weights, but no overshoot."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belief_blocks import new, shown, step, total, trust, wrote
from simswarm_oracle import Believer, rows_of, update_bounded
from townsquare.beliefs.exposure import RULE as EXACT
from townsquare.beliefs.exposure_bounded import RULE
from townsquare.core.enums import TrailKind

STANCE = st.floats(-1, 1, allow_nan=False)
POST = st.tuples(st.integers(0, 5), st.integers(0, 8), STANCE, st.integers(0, 200))


@settings(deadline=None, max_examples=40)
@given(STANCE, st.floats(0, 1, allow_nan=False), st.lists(st.lists(POST, max_size=20), min_size=1, max_size=2))
def test_agrees_with_the_formula_in_plain_python(stance: float, confidence: float, feeds: list) -> None:
    agent = Believer(stance, confidence)
    state = new(RULE, [[stance]], confidence)
    for posts in feeds:
        exposures = shown(rows_of(agent, posts))
        before = state.stance.copy()
        hull = [before.item(), *(post[2] for post in posts)]
        state, trail = step(RULE, state, exposures)
        update_bounded(agent, posts)
        assert state.stance.item() == pytest.approx(agent.stance, abs=1e-12)
        assert min(hull) <= state.stance.item() <= max(hull)
        assert trust(state, 0) == pytest.approx(agent.trust, abs=1e-12)
        assert total(trail, (1, 1)).item() == pytest.approx((state.stance - before).item(), abs=1e-12)


def test_a_feed_of_25_closes_58_percent_of_the_gap_with_the_page_s_pull() -> None:
    rows = [{"author": n, "stance": 1.0} for n in range(25)]
    state, _ = step(RULE, new(RULE, [[0.0]]), shown(rows))
    weight = 25 * 0.5 * 0.3 * 1.5 / (0.3 + 0.5 * 0.7) * 0.1
    assert state.stance.item() == pytest.approx(1 - math.exp(-weight), abs=1e-12)
    assert round(state.stance.item(), 2) == 0.58


def test_no_feed_is_too_long() -> None:
    rows = [{"author": n % 90, "stance": 0.3, "likes": 1000, "post": n} for n in range(2000)]
    state = new(RULE, [[-0.9]])
    for _ in range(5):
        state, _ = step(RULE, state, shown(rows))
        assert -0.9 <= state.stance.item() <= 0.3
    assert state.stance.item() == pytest.approx(0.3)


def test_small_weights_are_those_of_the_exact_rule() -> None:
    rows = [{"author": n, "stance": 0.1 * n} for n in range(5)]
    small = {"pull": 1e-9}
    bounded, _ = step(RULE, new(RULE, [[-0.5]]), shown(rows), **small)
    exact, _ = step(EXACT, new(EXACT, [[-0.5]]), shown(rows), **small)
    assert bounded.stance.item() == pytest.approx(exact.stance.item(), abs=1e-16)


def test_rows_without_weight_move_nothing_and_do_not_widen_the_hull() -> None:
    nothing, trail = step(RULE, new(RULE, [[0.25]]), shown([{"author": 1, "stance": 1.0, "weight": 0.0}]))
    assert nothing.stance.item() == 0.25
    assert trail.amount.tolist() == [0.0]
    unheard, _ = step(RULE, new(RULE, [[0.25]]), shown([{"author": 1, "stance": 1.0}]), trust_start=0.0)
    assert unheard.stance.item() == 0.25


def test_an_anchor_stays_in_the_hull_of_the_start() -> None:
    far, _ = step(RULE, new(RULE, [[0.5]]), shown([{"author": 1, "stance": -1.0, "likes": 100}]))
    rows = [{"author": n, "stance": 0.4, "likes": 100} for n in range(20)]
    back, trail = step(RULE, far, shown(rows), anchor=1.0)
    assert far.stance.item() < back.stance.item() <= 0.5
    assert TrailKind.CLIP in trail.kind.tolist()
    assert total(trail, (1, 1)).item() == pytest.approx((back.stance - far.stance).item(), abs=1e-12)


def test_own_posts_are_weights_among_the_others() -> None:
    own = wrote(1, [{"stance": 1.0, "post": 5}])
    state, trail = step(RULE, new(RULE, [[0.0]]), shown([]), own, own_pull=0.5)
    assert state.stance.item() == pytest.approx(1 - math.exp(-0.5), abs=1e-12)
    assert trail.kind.tolist() == [TrailKind.OWN]


def test_the_order_of_rows_moves_no_stance() -> None:
    rng = np.random.default_rng(5)
    rows = [
        {"author": int(a), "stance": float(s)}
        for a, s in zip(rng.integers(0, 3, 30), rng.uniform(-1, 1, 30), strict=True)
    ]
    for rule in (RULE, EXACT):
        one, _ = step(rule, new(rule, [[0.1]]), shown(rows))
        two, _ = step(rule, new(rule, [[0.1]]), shown(rows[::-1]))
        assert one.stance.item() == pytest.approx(two.stance.item(), abs=1e-12)
