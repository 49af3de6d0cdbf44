"""Polarization, convergence, distance, crossings, persistence and groups, against brute force and by hand."""

from __future__ import annotations

import itertools
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
from raised_errors import raises_error
from small_worlds import run_of, settings_of
from townsquare.analysis import belief_change
from townsquare.analysis.belief_groups import belief_change_by, exposure_groups
from townsquare.analysis.belief_paths import crossing_counts, crossings, distance_to_start, persistence
from townsquare.analysis.belief_spread import accuracy_course, convergence, polarization_course
from townsquare.analysis.polarization import BINS
from townsquare.core.enums import Veracity, Verdict
from townsquare.core.errors import UnknownName

STANCE = st.floats(-1, 1, allow_nan=False).map(lambda x: round(x, 6))


@given(st.lists(STANCE, min_size=1, max_size=12))
@limits(deadline=None, max_examples=25)
def test_polarization_is_what_pairs_and_bins_say(stances: list[float]) -> None:
    row = polarization_course(run({k: [s] for k, s in enumerate(stances)})).row(0, named=True)
    pairs = [abs(a - b) for a, b in itertools.product(stances, stances)]
    assert row["mean_distance"] == pytest.approx(np.mean(pairs), abs=1e-12)
    assert row["polarization"] == pytest.approx(np.var(pairs), abs=1e-12)
    assert row["extremity"] == pytest.approx(np.mean(np.abs(stances)), abs=1e-12)
    counts = np.bincount([min(BINS - 1, math.floor((s + 1) * BINS / 2)) for s in stances], minlength=BINS)
    assert row["entropy"] == pytest.approx(scipy.stats.entropy(counts) / math.log(BINS), abs=1e-12)
    plus, minus = [s for s in stances if s > 0], [s for s in stances if s < 0]
    if plus and minus:
        assert row["camp_gap"] == pytest.approx(np.mean(plus) - np.mean(minus))
        assert row["camp_balance"] == pytest.approx(min(len(plus), len(minus)) / max(len(plus), len(minus)))
    else:
        assert math.isnan(row["camp_gap"])


def test_convergence_is_of_the_same_persons() -> None:
    frame = convergence(run({1: [-1.0, -0.6, -0.4], 2: [1.0, 0.6, 0.4], 3: [0.9]}, born={3: 2}))
    assert frame["kept"].to_list() == pytest.approx([1.0, 0.6, 0.4])
    assert frame["distance_kept"].to_list() == pytest.approx([1.0, 0.6, 0.4])
    assert frame["persons"].to_list() == [2, 2, 2]
    assert frame["steps_to_half"].to_list() == [2, 2, 2]
    assert math.isnan(convergence(run({1: [0.5, 0.1]}))["kept"][0])


def test_distance_to_start_is_of_each_person_from_its_birth() -> None:
    frame = distance_to_start(run({1: [0.0, 0.2, -0.3], 2: [0.5, 0.6]}, born={2: 1}))
    assert frame["persons"].to_list() == [1, 2, 2]
    assert frame["mean"].to_list() == pytest.approx([0.0, 0.1, 0.2])
    assert frame["moved"].to_list() == pytest.approx([0.0, 0.5, 0.5])


def test_crossings() -> None:
    paths = {1: [-0.5, 0.1, -0.1, 0.2], 2: [0.4, 0.0, -0.1, -0.2], 3: [0.1, -0.1, 0.1, 0.1], 4: [0.0, 0.0, 0.3, 0.4]}
    frame = crossings(run(paths))
    assert frame.select("agent", "first", "crossings", "started", "ended", "stayed").rows() == [
        (1, 1, 3, -1, 1, True),
        (2, 2, 1, 1, -1, True),
        (3, 1, 2, 1, 1, False),
    ]
    assert crossing_counts(run(paths)).select("crossed", "to_for", "to_against", "returned", "flips").row(0) == (
        3, 1, 1, 1, 3,
    )  # fmt: skip
    assert crossing_counts(run({1: [0.1, 0.2]}))["crossed"].to_list() == [0]


def test_accuracy_is_against_the_side_of_the_true_posts() -> None:
    posts: dict[str, Any] = {"posts": [injected(0, Veracity.TRUE)], "post_stances": [{"post": 0, "stance": -0.7}]}
    frame = accuracy_course(run({1: [-1.0], 2: [0.8], 3: [0.0]}, **posts))
    row = frame.row(0, named=True)
    assert row["side"] == -1
    assert row["accuracy"] == pytest.approx((1.0 + 0.1 + 0.5) / 3)
    assert row["right_side"] == pytest.approx(1 / 3)
    assert row["confident_wrong"] == pytest.approx(1 / 3)
    assert accuracy_course(run({1: [0.3]})).is_empty()


def test_persistence_starts_when_the_last_exposure_is_over() -> None:
    posts = [injected(0, Veracity.TRUE), injected(1, Veracity.FALSE), injected(2, Veracity.FALSE)]
    shown = [(1, 1, 1), (2, 1, 0), (1, 2, 1), (3, 1, 2)]  # post 2 speaks to nothing
    tables: dict[str, Any] = {
        "posts": posts,
        "post_stances": [{"post": 0, "stance": 1.0}, {"post": 1, "stance": -1.0}],
        "exposures": [{"step": s, "agent": a, "post": p, "root": p} for s, a, p in shown],
    }
    made = run({1: [0.0, -0.2, 0.1, 0.05], 2: [0.5, 0.3, 0.4, 0.6]}, **tables)
    every = persistence(made)
    # Person 1 ends at step 2 (+0.1, then 0.05 left); person 2 at step 1 (-0.2, then -0.1, then +0.1).
    assert every["steps_after"].to_list() == [0, 1, 2]
    assert every["persons"].to_list() == [2, 2, 1]
    assert every["kept"].to_list() == pytest.approx([1.0, (0.05 + 0.1) / 0.3, -0.1 / 0.2])
    false = persistence(made, "false")
    assert false["kept"].to_list() == pytest.approx([1.0, (-0.1 + 0.1) / 0.4, (-0.05 - 0.1) / 0.4])
    with raises_error(UnknownName, where="veracity"):
        persistence(made, "fals")


def test_groups_split_the_population() -> None:
    real = run_of(settings_of(agents=40, moderation={"strategy": "hybrid", "posts_per_step": 20}))
    groups = exposure_groups(real)
    assert set(groups["grouping"]) >= {"shown:true", "shown:false", "shown:unknown"}
    by = belief_change_by(real, groups)
    whole = belief_change(real).row(0, named=True)
    for _, part in by.filter(pl.col("proposition") == 0).group_by("grouping"):
        assert part["agents"].sum() == whole["agents"]
        assert (part["shift"] * part["agents"]).sum() / whole["agents"] == pytest.approx(whole["shift"], abs=1e-12)


def test_labeled_exposures_are_counted() -> None:
    shown = [{"step": 1, "agent": 1, "root": 0, "post": 0, "verdict": Verdict.FALSE, "note": -1}] * 3
    made = run({1: [0.0, 0.1], 2: [0.0, 0.2]}, posts=[injected(0, Veracity.FALSE)], exposures=shown)
    found = {(row["grouping"], row["agent"]): row["group"] for row in exposure_groups(made).iter_rows(named=True)}
    assert found["shown:labeled", 1] == "3"
    assert found["shown:labeled", 2].startswith("0")
    assert ("shown:true", 1) not in found


def test_without_anything_frames_are_empty() -> None:
    nothing = FrameRun({}, settings(), last_step=0)
    for measure in (polarization_course, convergence, distance_to_start, crossings, crossing_counts, accuracy_course):
        assert measure(nothing).is_empty(), measure
    assert persistence(nothing).is_empty()
    assert exposure_groups(nothing).is_empty()
    assert belief_change_by(nothing, exposure_groups(nothing)).is_empty()


def test_a_course_is_the_same_whenever_it_is_asked_for() -> None:
    one = run({agent: [agent / 7 - 1, 1 - agent / 11, 0.01 * agent] for agent in range(15)})
    assert len({polarization_course(one).write_csv() for _ in range(10)}) == 1
