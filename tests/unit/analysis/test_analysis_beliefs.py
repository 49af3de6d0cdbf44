"""Measures of belief: distribution after each step, change of each person, polarization, accuracy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from handwritten_runs import FrameRun, injected, settings
from handwritten_runs import run_of_courses as run
from townsquare.analysis import belief_change, belief_course, stance_bins, stance_lines, true_sides
from townsquare.analysis.polarization import bimodality, distribution
from townsquare.core.enums import AgentKind, PostKind, Veracity

STANCE = st.floats(-1, 1, allow_nan=False)


def true_posts(*stances: float) -> dict[str, Any]:
    """Injected true posts with these stances, and a false one that says the opposite."""
    posts = [injected(i, Veracity.TRUE) for i in range(len(stances))]
    said = [{"post": i, "proposition": 0, "stance": s} for i, s in enumerate(stances)]
    posts.append(injected(len(stances), Veracity.FALSE))
    said.append({"post": len(stances), "proposition": 0, "stance": -1.0})
    return {"posts": posts, "post_stances": said}


def test_the_course_describes_every_step() -> None:
    frame = belief_course(run({1: [-0.5, 0.5], 2: [0.5, 0.5], 3: [1.0, -1.0]}))
    assert frame["step"].to_list() == [0, 1]
    assert frame["mean"].to_list() == pytest.approx([1 / 3, 0.0])
    assert frame["sd"].to_list() == pytest.approx([np.std([-0.5, 0.5, 1.0]), np.std([0.5, 0.5, -1.0])])
    assert frame["share_for"].to_list() == pytest.approx([2 / 3, 2 / 3])
    assert frame["share_against"].to_list() == pytest.approx([1 / 3, 1 / 3])
    assert frame["share_at_bounds"].to_list() == pytest.approx([1 / 3, 1 / 3])


def test_sources_have_no_beliefs() -> None:
    both = run({1: [0.2], 2: [0.8]})
    agents = [{"agent": 1, "kind": AgentKind.PERSON}, {"agent": 2, "kind": AgentKind.SOURCE}]
    frame = belief_course(FrameRun({**both.tables, "agents": agents}, settings(), last_step=0))
    assert (frame["agents"].item(), frame["mean"].item()) == (1, 0.2)


def test_change_compares_each_person_with_itself() -> None:
    row = belief_change(run({1: [-0.5, 0.0, 0.5], 2: [0.5, 0.25, 0.25]})).row(0, named=True)
    assert row["shift"] == pytest.approx((1.0 - 0.25) / 2)
    assert row["absolute_shift"] == pytest.approx((1.0 + 0.25) / 2)
    assert row["spread_kept"] == pytest.approx(0.125 / 0.5)
    assert row["changed_side"] == 0.5


def test_newcomers_are_no_change_of_mind() -> None:
    row = belief_change(run({1: [0.0, 0.0, 0.0], 2: [0.9, 0.9]}, born={2: 1})).row(0, named=True)
    assert row["agents"] == 2
    assert row["shift"] == row["absolute_shift"] == 0.0
    assert row["spread_kept"] == 1.0


def test_spread_kept_is_undefined_if_all_start_alike() -> None:
    assert math.isnan(belief_change(run({1: [0.3, 0.1], 2: [0.3, 0.5]}))["spread_kept"].item())


@pytest.mark.parametrize(
    ("stances", "side"),
    [((0.5, 0.1), 1.0), ((-0.9, 0.0), -1.0), ((-0.9, 0.1), math.nan), ((0.0,), math.nan), ((), math.nan)],
)
def test_the_side_of_the_truth_is_that_of_all_true_posts(stances: tuple[float, ...], side: float) -> None:
    frame = true_sides(run({1: [0.0]}, **true_posts(*stances)))
    assert frame["side"].item() == pytest.approx(side, nan_ok=True)
    assert frame["posts"].item() == len(stances)


@pytest.mark.parametrize(("veracity", "side"), [(Veracity.TRUE, 1.0), (Veracity.FALSE, -1.0)])
def test_a_scenario_that_states_the_truth_is_believed(veracity: Veracity, side: float) -> None:
    stated = [{"proposition": 0, "name": "p0", "text": "", "veracity": veracity}]
    assert true_sides(run({1: [0.0]}, propositions=stated, **true_posts(0.5, -0.5)))["side"].item() == side


def test_posts_of_agents_have_no_say_in_the_truth() -> None:
    posts = [{"post": 0, "kind": PostKind.ORIGINAL, "veracity": Veracity.UNKNOWN, "root": 0}]
    said = [{"post": 0, "proposition": 0, "stance": 1.0}]
    assert math.isnan(true_sides(run({1: [0.0]}, posts=posts, post_stances=said))["side"].item())


def test_accuracy_is_nearness_to_the_side_of_the_truth() -> None:
    told = run({1: [-1.0, 1.0], 2: [0.0, 0.5]}, **true_posts(0.7))
    assert belief_course(told)["accuracy"].to_list() == pytest.approx([0.25, 0.875])
    assert belief_change(told)["accuracy_shift"].item() == pytest.approx(0.625)


def test_accuracy_is_undefined_where_truth_takes_no_side() -> None:
    told = run({1: [-1.0, 1.0]})
    assert math.isnan(belief_course(told)["accuracy"][0])
    assert math.isnan(belief_change(told)["accuracy_shift"].item())


def test_bins_cover_both_ends() -> None:
    frame = stance_bins(run({1: [-1.0], 2: [1.0], 3: [0.0], 4: [-0.0]}))
    assert dict(frame.select("bin", "agents").rows()) == {0: 1, 10: 2, 19: 1}


def test_lines_are_spread_over_the_starting_stances() -> None:
    many = run({agent: [agent / 50 - 1, 0.0] for agent in range(101)})
    frame = stance_lines(many, 5)
    assert frame["agent"].unique().sort().to_list() == [0, 25, 50, 75, 100]
    assert frame.height == 10


def polarization(*stances: float) -> float:
    return distribution(np.sort(np.array(stances)))["polarization"]


def test_two_far_camps_are_the_most_polarized() -> None:
    assert polarization(-1, 1) == pytest.approx(1.0)
    assert polarization(-0.5, 0.5, -0.5, 0.5) == pytest.approx(0.25)
    assert polarization(0.3, 0.3, 0.3) == 0.0
    assert polarization(*np.linspace(-1, 1, 1001)) == pytest.approx(2 / 9, abs=0.01)


@given(st.lists(STANCE, min_size=1, max_size=30))
@limits(deadline=None, max_examples=60)
def test_polarization_is_the_variance_of_all_distances(stances: list[float]) -> None:
    x = np.array(stances)
    assert polarization(*stances) == pytest.approx(float(np.var(np.abs(x[:, None] - x[None, :]))), abs=1e-12)
    assert polarization(*-x) == pytest.approx(polarization(*stances), abs=1e-12)


def test_bimodality_tells_two_humps_from_one() -> None:
    def of(sample: np.ndarray[Any, np.dtype[np.float64]]) -> float:
        return bimodality(
            float(scipy.stats.skew(sample, bias=False)), float(scipy.stats.kurtosis(sample, bias=False)), len(sample)
        )

    normal = np.asarray(scipy.stats.norm.ppf(np.linspace(0.001, 0.999, 2000)))
    humps = np.concatenate([normal - 4, normal + 4])
    assert of(normal) < 5 / 9 < of(humps)


def test_polarization_in_the_course() -> None:
    frame = belief_course(run({a: [-1.0 if a % 2 else 1.0, 0.0] for a in range(20)}))
    assert frame["polarization"].to_list() == pytest.approx([1.0, 0.0])
    assert math.isnan(frame["bimodality"][1])
    assert frame["bimodality"][0] > 5 / 9


@given(st.lists(st.tuples(STANCE, STANCE), min_size=1, max_size=12), st.sampled_from([-0.4, 0.4]))
@limits(deadline=None, max_examples=40)
def test_accuracy_follows_from_the_mean_stance(moves: list[tuple[float, float]], told: float) -> None:
    """Accuracy is linear in the stance, so that it moves with the mean and only with it."""
    change = belief_change(run({i: list(pair) for i, pair in enumerate(moves)}, **true_posts(told)))
    row = change.row(0, named=True)
    assert row["accuracy_shift"] == pytest.approx(row["side"] * row["shift"] / 2, abs=1e-12)
    assert row["absolute_shift"] >= abs(row["shift"]) - 1e-12


def test_without_propositions_frames_are_empty() -> None:
    bare = FrameRun({"agents": [{"agent": 1, "kind": AgentKind.PERSON}]}, settings(), last_step=3)
    for frame in (belief_course(bare), belief_change(bare), stance_lines(bare), true_sides(bare)):
        assert isinstance(frame, pl.DataFrame)
        assert frame.height == 0
