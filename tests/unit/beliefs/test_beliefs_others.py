"""The rules ``averaging``, ``bounded_confidence`` and ``no_change`` against their formulae in plain Python."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belief_blocks import new, shown, step, total
from townsquare.beliefs.averaging import RULE as AVERAGING
from townsquare.beliefs.bounded_confidence import RULE as BOUNDED_CONFIDENCE
from townsquare.beliefs.no_change import RULE as NO_CHANGE
from townsquare.core.enums import TrailKind

SHARE = st.floats(0, 1, allow_nan=False)
STANCE = st.floats(-1, 1, allow_nan=False)
ROWS = st.lists(
    st.fixed_dictionaries({"stance": STANCE, "weight": st.sampled_from([0.0, 0.25, 0.5, 1.0])}), max_size=12
)


@settings(deadline=None, max_examples=40)
@given(STANCE, ROWS, SHARE, SHARE)
def test_averaging(start: float, rows: list, others: float, stubborn: float) -> None:
    chosen = {"weight_on_others": others, "stubbornness": stubborn}
    state, trail = new(AVERAGING, [[start]]), None
    for _ in range(2):
        before = state.stance.item()
        pull = sum(row["weight"] * (row["stance"] - before) for row in rows) / len(rows) if rows else 0.0
        expected = stubborn * start + (1 - stubborn) * (before + others * pull)
        state, trail = step(AVERAGING, state, shown(rows), **chosen)
        assert state.stance.item() == pytest.approx(expected, abs=1e-12)
        assert total(trail, (1, 1)).item() == pytest.approx(state.stance.item() - before, abs=1e-12)
        assert set(trail.kind.tolist()) <= {TrailKind.EXPOSURE, TrailKind.ANCHOR, TrailKind.CLIP}


def test_averaging_without_stubbornness_ends_in_the_mean() -> None:
    state = new(AVERAGING, [[-0.4], [0.9]])
    for _ in range(200):
        one, other = state.stance[:, 0]
        state, _ = step(AVERAGING, state, shown([{"stance": other}], [{"stance": one}]))
    assert state.stance[:, 0].tolist() == pytest.approx([0.25, 0.25])


def test_the_stubborn_keep_their_distance() -> None:
    state = new(AVERAGING, [[-0.4], [0.9]])
    for _ in range(200):
        one, other = state.stance[:, 0]
        state, _ = step(AVERAGING, state, shown([{"stance": other}], [{"stance": one}]), stubbornness=0.1)
    # The fixed point of two agents: the gap shrinks by (1 - g)(1 - 2l) a step and grows by g of the first gap.
    gap = 0.1 * 1.3 / (1 - 0.9 * 0.8)
    assert state.stance[1, 0] - state.stance[0, 0] == pytest.approx(gap)


@settings(deadline=None, max_examples=40)
@given(STANCE, ROWS, st.floats(0, 2, allow_nan=False), SHARE)
def test_bounded_confidence(before: float, rows: list, tolerance: float, convergence: float) -> None:
    near = [row for row in rows if abs(row["stance"] - before) <= tolerance]
    pull = sum(row["weight"] * (row["stance"] - before) for row in near) / len(near) if near else 0.0
    chosen = {"tolerance": tolerance, "convergence": convergence}
    state, trail = step(BOUNDED_CONFIDENCE, new(BOUNDED_CONFIDENCE, [[before]]), shown(rows), **chosen)
    assert state.stance.item() == pytest.approx(before + convergence * pull, abs=1e-12)
    assert total(trail, (1, 1)).item() == pytest.approx(state.stance.item() - before, abs=1e-12)


def test_bounded_confidence_does_not_hear_what_is_far() -> None:
    state, trail = step(BOUNDED_CONFIDENCE, new(BOUNDED_CONFIDENCE, [[0.0]]), shown([{"stance": 0.41}]))
    assert state.stance.item() == 0.0
    assert trail.amount.tolist() == [0.0]
    state, _ = step(BOUNDED_CONFIDENCE, new(BOUNDED_CONFIDENCE, [[0.0]]), shown([{"stance": 0.4}]))
    assert state.stance.item() == 0.2


def test_no_change() -> None:
    start = new(NO_CHANGE, [[0.3, -0.2]])
    state, trail = step(NO_CHANGE, start, shown([{"stance": 1.0}]))
    assert state.stance.tolist() == [[0.3, -0.2]]
    assert len(trail.amount) == 0
