"""Axes of figures on pages show what values they can, whatever the data."""

from __future__ import annotations

import math

import pytest

from townsquare.pages.report.chart import Axis


@pytest.mark.parametrize("values", [[0.0, 5.0], [0.0, 0.0], [-1.0, 1e-300, 3.0], [math.nan], [4.0, 4.0], []])
@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("ends", [(None, None), (5.0, 5.0), (1.0, 2.0)])
def test_axes_have_finite_ends_that_differ(
    values: list[float], scale: str, ends: tuple[float | None, float | None]
) -> None:
    axis = Axis(has_grid=True, scale=scale, ends=ends)
    axis.see(values)
    low, high = axis.limits()
    assert math.isfinite(low)
    assert low < high
    assert all(0 - 1e-6 <= at <= 1 + 1e-6 and words for at, words in axis.marks())


def test_a_logarithmic_axis_leaves_out_what_is_not_above_zero() -> None:
    axis = Axis(has_grid=True, scale="log")
    axis.see([0.0, 1.0, 100.0])
    parts = axis.part([0.0, 1.0, 100.0]).tolist()
    assert math.isnan(parts[0])
    assert 0 < parts[1] < parts[2] < 1
