"""Seed records: how near they come to a target, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.beliefs.equation import contributions, stances_of, start_log_odds, sum_of
from townsquare.beliefs.evidence.seeds import TOLERANCE, choose_for_many, choose_seeds
from townsquare.core.errors import DataError, SettingError

STRENGTH = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2] * 2
POLARITY = [1] * 8 + [-1] * 8


def test_ten_records_at_0_20_reach_0_72() -> None:
    most = sum_of(contributions([1] * 10, [1.0] * 10, 0.20))
    assert stances_of([most])[0] == pytest.approx(0.7219, abs=1e-4)
    found = choose_seeds([1] * 12 + [-1], [1.0] * 13, 0.99, 0.20)
    assert found.stance == pytest.approx(0.7219, abs=1e-4)
    assert (np.array([1] * 12 + [-1])[found.chosen] == 1).all()
    # A prior scale that is stated brings them there.
    assert choose_seeds([1] * 12 + [-1], [1.0] * 13, 0.99, 0.20, prior_scale=2.91).stance == pytest.approx(
        0.99, abs=0.01
    )


def test_a_target_that_can_be_met_is_met() -> None:
    for target in (-0.75, -0.3, 0.0, 0.41, 0.75):
        found = choose_seeds(POLARITY, STRENGTH, target, 0.7, number=8)
        assert found.stance == pytest.approx(target, abs=TOLERANCE)
        amounts = contributions(np.array(POLARITY)[found.chosen], np.array(STRENGTH)[found.chosen], 0.7)
        assert found.stance == stances_of([sum_of(amounts)])[0]
        assert len(set(found.chosen.tolist())) == 8


def test_an_order_that_fits_is_kept_and_orders_make_different_seeds() -> None:
    even = choose_seeds(POLARITY, STRENGTH, 0.0, 0.7, number=2, order=[0, *range(2, 9), 1, *range(9, 16)])
    assert even.chosen.tolist() == [0, 8]
    rng = np.random.default_rng(1)
    chosen = {
        tuple(choose_seeds(POLARITY, STRENGTH, 0.3, 0.7, number=6, order=rng.random(16)).chosen) for _ in range(8)
    }
    assert len(chosen) > 4


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=5), st.integers(1, 16), st.floats(0.1, 1.5), st.integers(0, 99))
def test_many_at_a_time_get_what_each_gets_alone(targets, number, anchoring, seed) -> None:
    keys = np.random.default_rng(seed).integers(0, 2**63, (len(targets), 16), dtype=np.uint64)
    many = choose_for_many(POLARITY, STRENGTH, targets, anchoring, keys, number=number)
    for i, target in enumerate(targets):
        alone = choose_seeds(POLARITY, STRENGTH, target, anchoring, number=number, order=keys[i])
        assert many[i].tolist() == alone.chosen.tolist()


def test_what_cannot_be_chosen_from_is_refused_in_words() -> None:
    with raises_error(DataError, where="the bank", got="no argument against"):
        choose_seeds([1, 1], [0.5, 0.5], 0.3, 0.7, number=1, where="the bank")
    with raises_error(DataError, where="the bank, record 1", got="polarity 0"):
        choose_seeds([1, 0, -1], [0.5, 0.5, 0.5], 0.3, 0.7, number=1, where="the bank")
    with raises_error(DataError, got="strength nan", allowed="0 to 1"):
        choose_seeds([1, -1], [0.5, np.nan], 0.3, 0.7, number=1)
    with raises_error(SettingError, where="number of seeds", got="3", allowed="1 to 2"):
        choose_seeds([1, -1], [0.5, 0.5], 0.3, 0.7, number=3)


def test_a_stated_start_is_kept_for_an_anchoring_of_one() -> None:
    assert stances_of(start_log_odds([0.5], 1.0))[0] == pytest.approx(0.5, abs=1e-15)
    assert stances_of(start_log_odds([0.5], 0.7))[0] < 0.4
