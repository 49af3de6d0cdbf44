"""Places in the picture of a follow graph."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from townsquare.pages.view.layout import positions


def blocks(sizes: list[int], inside: float, across: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(len(sizes)), sizes)
    p = np.where(block[:, None] == block[None, :], inside, across)
    follower, followed = np.nonzero(rng.random(p.shape) < p)
    return follower, followed, block


def test_groups_that_follow_each_other_stand_together() -> None:
    follower, followed, block = blocks([60, 60], 0.2, 0.005)
    place = positions(follower, followed, 120)
    centers = np.array([place[block == one].mean(axis=0) for one in (0, 1)])
    spread = np.array([place[block == one].std() for one in (0, 1)])
    assert np.linalg.norm(centers[0] - centers[1]) > 1.5 * spread.max()


def test_no_two_agents_stand_on_one_place() -> None:
    follower, followed, _ = blocks([200], 0.05, 0.0)
    place = positions(follower, followed, 200)
    apart = np.linalg.norm(place[:, None] - place[None, :], axis=2) + np.eye(200)
    assert np.median(apart.min(axis=1)) > 0.01


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 30), st.integers(0, 60), st.integers(0, 5))
def test_any_graph_has_finite_places_and_always_the_same(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, max(n, 1), size=(2, m if n else 0))
    place = positions(ends[0], ends[1], n)
    assert place.shape == (n, 2)
    assert np.isfinite(place).all()
    assert (np.abs(place) <= 1.1).all()
    assert np.array_equal(place, positions(ends[0], ends[1], n))
