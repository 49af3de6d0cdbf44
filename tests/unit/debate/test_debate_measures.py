"""Gaps, shifts, crossings and convergence on courses worked by hand, and what holds for any."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from raised_errors import raises_error
from townsquare.core.errors import SettingError
from townsquare.debate.expression import expression, fit
from townsquare.debate.measures import Estimate, judged_course, pair_measures, single_measures, steps_between

stances = st.floats(-1, 1)


def test_three_debates_by_hand():
    pro = np.array([[0.75, 0.9, 0.25], [0.75, 0.0, -0.25], [0.75, 0.5, 0.5]])
    con = np.array([[-0.75, 0.0, -0.25], [-0.75, 0.0, 0.25], [-0.75, 0.0, 0.25]])
    found = pair_measures(pro, con)
    assert found["initial_gap"].values == (1.5, 1.5, 1.5)
    assert found["final_gap"].values == (0.5, 0.5, 0.25)
    assert found["gap_reduction"].values == (1.0, 1.0, 1.25)
    assert found["absolute_shift"].values == (0.5, 1.0, 0.625)
    assert found["center_shift"].values == (0.5, 1.0, 0.625)
    assert found["crossing"].mean == pytest.approx(1 / 3)
    assert found["final_pro"].mean == pytest.approx(0.5 / 3)


def test_the_interval_is_students_t():
    found = Estimate.of([0.0, 1.0, 2.0])
    half = 4.302652729749464 / math.sqrt(3)
    assert (found.low, found.high) == pytest.approx((1 - half, 1 + half))


def test_one_trial_has_no_interval():
    found = Estimate.of([0.5])
    assert found.mean == 0.5
    assert math.isnan(found.low)


@settings(deadline=None, max_examples=60)
@given(pro=arrays(float, (4, 3), elements=stances), con=arrays(float, (4, 3), elements=stances))
def test_what_holds_for_any_debates(pro, con):
    found = pair_measures(pro, con)
    gaps = [np.array(found[name].values) for name in ("initial_gap", "final_gap", "gap_reduction")]
    assert np.allclose(gaps[0] - gaps[1], gaps[2])
    assert (np.array(found["absolute_shift"].values) >= np.abs(found["center_shift"].values) - 1e-12).all()
    swapped = pair_measures(-con, -pro)
    for name in ("final_gap", "gap_reduction", "absolute_shift", "center_shift", "crossing"):
        assert found[name].values == pytest.approx(swapped[name].values)
    assert found["crossing"].mean == pytest.approx((pro[:, -1] < con[:, -1]).mean())


def test_one_agent():
    found = single_measures(np.array([[0.9, 0.1, -0.1], [0.8, 0.0, -0.4]]))
    assert found["shift"].mean == pytest.approx(-1.1)
    assert found["initial"].mean == pytest.approx(0.85)


def test_a_judged_end_is_the_mean_of_the_last_readings():
    judged = np.array([[0.9, 0.3, math.nan, 0.5], [0.1, math.nan, math.nan, math.nan]])
    course = judged_course(np.array([0.75, 0.5]), judged)
    assert course[:, 0].tolist() == [0.75, 0.5]
    assert course[0, 1] == pytest.approx(0.4)
    assert math.isnan(course[1, 1])


def test_steps_between_levels_are_paired():
    finals = np.array([[0.0, 1.0], [0.5, 1.5], [-1.0, 0.0]])
    (first, second) = steps_between(np.array([0.4, 0.6, 0.2]), finals)
    assert first[:2] == (0.2, 0.4)
    assert first[2].values == (1.0, 1.0)
    assert second[2].mean == pytest.approx(0.5)


@settings(deadline=None, max_examples=40)
@given(x=arrays(float, 12, elements=st.floats(-1, 1), unique=True), slope=st.floats(-2, 2), intercept=st.floats(-1, 1))
def test_a_line_is_found_again(x, slope, intercept):
    line = fit(x, slope * x + intercept)
    assert line.slope == pytest.approx(slope, abs=1e-6)
    assert line.intercept == pytest.approx(intercept, abs=1e-6)


def test_a_line_through_too_few_points_is_undefined():
    assert math.isnan(fit([0.0, 1.0], [0.0, 1.0]).r)
    assert math.isnan(fit([1.0, 1.0, 1.0], [0.0, 1.0, 2.0]).slope)


def test_the_embedded_speaker_shows_its_stance_to_a_judge_that_knows_the_arguments():
    found = expression([], ["austerity", "adopt-atheism"], levels=11, trials=2)
    assert found.line.n == 44
    assert found.unscored == 0
    assert found.line.r > 0.9
    assert 0.7 < found.line.slope < 1.2
    unseen = expression([{"judge": "embedded"}], ["austerity", "adopt-atheism"], levels=11, trials=2)
    assert unseen.line.r < found.line.r


def test_an_expression_needs_levels():
    with raises_error(SettingError, allowed="at least 2 levels"):
        expression([], ["austerity"], levels=1)
