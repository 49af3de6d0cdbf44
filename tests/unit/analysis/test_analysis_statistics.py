"""Estimates against statsmodels and scipy on random data; imports that take seconds stand in the tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from townsquare.analysis import statistics

DRAWS = np.random.default_rng(3)


def test_mean_and_its_interval() -> None:
    from statsmodels.stats.weightstats import DescrStatsW

    x = DRAWS.normal(2.0, 3.0, 40)
    found = statistics.mean(x)
    assert found.value == pytest.approx(x.mean())
    assert (found.low, found.high) == pytest.approx(DescrStatsW(x).tconfint_mean())


def test_difference_of_means() -> None:
    from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

    a, b = DRAWS.normal(1.0, 1.0, 30), DRAWS.normal(0.0, 4.0, 12)
    ends = CompareMeans(DescrStatsW(a), DescrStatsW(b)).tconfint_diff(usevar="unequal")
    found = statistics.difference(a, b)
    assert (found.value, found.low, found.high) == pytest.approx((a.mean() - b.mean(), *ends))


@pytest.mark.filterwarnings("error")
def test_a_sample_that_does_not_vary_is_tested_without_a_warning_or_not_at_all() -> None:
    constant, spread = np.full(20, 1.0), DRAWS.normal(2.0, 1.0, 15)
    found = statistics.t_test(constant, spread)
    alone = scipy.stats.ttest_1samp(spread, 1.0)  # with no spread in one sample, Welch's test is that of the other
    assert (found.statistic, found.p) == pytest.approx((-alone.statistic, alone.pvalue))
    nearly = np.array([0.3, 0.1 + 0.2, 0.3])
    assert not statistics.varies(nearly)
    assert math.isnan(statistics.t_test(nearly, np.full(4, 2.0)).p)
    assert statistics.t_test(nearly, spread).p == pytest.approx(scipy.stats.ttest_1samp(spread, 0.3).pvalue)


@pytest.mark.parametrize(("part", "whole"), [(0, 9), (3, 10), (50, 50), (120, 4000)])
def test_share_and_its_interval(part: int, whole: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    assert statistics.share(part, whole)[1:] == pytest.approx(proportion_confint(part, whole, method="wilson"))


def test_correction_of_p_values_leaves_out_what_is_unknown() -> None:
    from statsmodels.stats.multitest import multipletests

    p = DRAWS.random(20)
    known = statistics.corrected(p)
    assert known == pytest.approx(multipletests(p, method="fdr_bh")[1])
    some = statistics.corrected(np.r_[p, math.nan])
    assert some[:-1] == pytest.approx(known)
    assert math.isnan(some[-1])


def test_gini_is_half_the_relative_mean_difference() -> None:
    x = DRAWS.exponential(size=200)
    apart = np.abs(x[:, None] - x[None, :]).mean()
    assert statistics.gini(x) == pytest.approx(apart / (2 * x.mean()))


def test_chi_square_and_cramers_v() -> None:
    from statsmodels.stats.contingency_tables import Table

    table = DRAWS.integers(1, 40, (5, 3))
    found = statistics.cramers_v(table)
    other = Table(table, shift_zeros=False).test_nominal_association()
    assert (found.chi2, found.p, found.dof) == pytest.approx((other.statistic, other.pvalue, other.df))
    assert found.v == pytest.approx(math.sqrt(found.chi2 / (table.sum() * 2)))
    for end, tail in ((found.low, 0.975), (found.high, 0.025)):
        if 0 < end < 1:
            assert scipy.stats.ncx2.cdf(found.chi2, found.dof, end**2 * table.sum() * 2) == pytest.approx(
                tail, abs=1e-6
            )


def test_interval_of_cramers_v_covers() -> None:
    """Of tables drawn from one with V 0.3, most intervals hold it."""
    chances = np.array([[0.325, 0.175], [0.175, 0.325]])
    inside = 0
    for _ in range(200):
        found = statistics.cramers_v(DRAWS.multinomial(300, chances.ravel()).reshape(2, 2))
        inside += found.low <= 0.3 <= found.high
    assert inside >= 180


def test_empty_rows_and_columns_are_no_groups() -> None:
    assert math.isnan(statistics.cramers_v([[0, 0], [3, 4]]).p)
    assert statistics.cramers_v([[1, 5, 0], [4, 2, 0], [0, 0, 0]]).dof == 1


def test_bootstrap_is_the_same_every_time() -> None:
    x = DRAWS.exponential(size=60)
    first = statistics.bootstrap(x, statistics.gini)
    assert first == statistics.bootstrap(x, statistics.gini)
    assert first.low < first.value < first.high


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_what_is_undefined_is_nan(values: list[float]) -> None:
    statistics.mean(values)
    assert math.isnan(statistics.bootstrap(values, statistics.gini).low)
    assert math.isnan(statistics.difference(values[:1], values[:1]).low)
