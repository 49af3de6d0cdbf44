"""Numbers in words for prompts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from townsquare.models.prompts import bands


def test_edges_of_the_stance_bands() -> None:
    just = 1e-7
    cases = {
        -1.0: 0, -0.6 - just: 0, -0.6: 0, -0.6 + just: 1, -0.2 - just: 1, -0.2: 1, -0.2 + just: 2, 0.0: 2,
        0.2 - just: 2, 0.2: 3, 0.2 + just: 3, 0.6 - just: 3, 0.6: 4, 1.0: 4, 3.0: 4, -3.0: 0,
    }  # fmt: skip
    assert dict(zip(cases, bands.stance_band(list(cases)).tolist(), strict=True)) == cases


def test_edges_of_the_confidence_bands() -> None:
    just = 1e-7
    cases = {0.0: 0, 0.2 - just: 0, 0.2: 1, 0.45 - just: 1, 0.45: 2, 0.75 - just: 2, 0.75: 3, 1.0: 3}
    assert dict(zip(cases, bands.confidence_band(list(cases)).tolist(), strict=True)) == cases


def test_nothing_held_is_the_default() -> None:
    assert bands.confidence_band([None, np.nan]).tolist() == [2, 2]
    assert bands.confidence_band(None) == 2
    assert bands.stance_band(np.nan) == 2


@given(st.lists(st.floats(-1, 1, allow_nan=False), min_size=1))
def test_ten_bins_are_of_equal_width_and_cover_the_range(stances: list[float]) -> None:
    for stance, index in zip(stances, bands.ten_bins(stances), strict=True):
        assert 0 <= index <= 9
        assert -1.0 + 0.2 * index - 1e-9 <= stance <= -1.0 + 0.2 * (index + 1) + 1e-9


def test_edges_of_the_ten_bins_belong_to_the_bin_above() -> None:
    edges = [-0.8, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8]
    assert bands.ten_bins([-1.0, *edges, 1.0]).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]


@given(st.floats(-1, 1, allow_nan=False), st.floats(-1, 1, allow_nan=False))
def test_bands_rise_with_the_number(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    for band in (bands.stance_band, bands.ten_bins, bands.confidence_band):
        assert band(low) <= band(high)


def test_shapes_and_words() -> None:
    table = np.zeros((3, 2))
    for band in (bands.stance_band, bands.confidence_band, bands.ten_bins):
        assert band(table).shape == (3, 2)
        assert band(table).dtype == np.int64
    assert (len(bands.STANCE_BANDS), len(bands.CONFIDENCE_BANDS), len(bands.TEN_BINS)) == (5, 4, 10)
    for words in (bands.STANCE_BANDS, bands.CONFIDENCE_BANDS, bands.TEN_BINS):
        assert len(set(words)) == len(words)
