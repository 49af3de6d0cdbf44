"""Seeds that a comparison needs, and p values corrected for their number."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.cli import main
from townsquare.core.errors import SettingError, UnknownName
from townsquare.experiments.arms import Arm
from townsquare.experiments.manifest import FINISHED, ArmRun, Experiment
from townsquare.experiments.paired import corrected, paired
from townsquare.experiments.power import seeds_needed


def pilot(differences: list[float]) -> pl.DataFrame:
    """Two arms whose outcomes differ so."""
    base = np.linspace(-1, 1, len(differences))
    rows = [{"arm": "a", "seed": k, "shift.tax": x} for k, x in enumerate(base)]
    rows += [
        {"arm": "b", "seed": k, "shift.tax": x + d} for k, (x, d) in enumerate(zip(base, differences, strict=True))
    ]
    return pl.DataFrame(rows)


def exact_power(n: int, size: float, level: float = 0.05) -> float:
    """Power of the paired t test by the noncentral t distribution."""
    bound, shift = scipy.stats.t.isf(level / 2, n - 1), size * math.sqrt(n)
    return float(scipy.stats.nct.sf(bound, n - 1, shift) + scipy.stats.nct.cdf(-bound, n - 1, shift))


@given(st.floats(0.15, 4.0), st.floats(0.5, 0.95))
@profile(deadline=None, max_examples=10)
def test_the_least_number_that_has_the_power(size: float, power: float) -> None:
    row = seeds_needed(pilot([-1.0, 1.0, 0.0]), "a", effect=size, power=power).row(0, named=True)
    assert row["sd"] == pytest.approx(1.0)
    assert exact_power(row["seeds"], size) >= power - 1e-9
    assert row["seeds"] == 2 or exact_power(row["seeds"] - 1, size) < power
    assert row["seeds_cautious"] >= row["seeds"]


def test_up_to_a_million_seeds_are_told() -> None:
    row = seeds_needed(pilot([-1.0, 1.0, 0.0]), "a", effect=0.0031).row(0, named=True)
    normal = (scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8)) ** 2 / 0.0031**2
    assert row["seeds"] == pytest.approx(normal, rel=1e-4)
    assert (row["seeds_cautious"], row["note"]) == (None, "more than 1,000,000 seeds")


def test_the_cautious_spread_is_the_upper_bound() -> None:
    differences = [0.1, 0.4, 0.2, 0.9, 0.5]
    upper = float(np.std(differences, ddof=1) * math.sqrt(4 / scipy.stats.chi2.ppf(0.2, 4)))
    row = seeds_needed(pilot(differences), "a", effect=0.2).row(0, named=True)
    wide = seeds_needed(pilot([-upper, upper, 0.0]), "a", effect=0.2).row(0, named=True)
    assert row["seeds_cautious"] == wide["seeds"]


def test_it_does_find_the_effect_so_often() -> None:
    seeds = seeds_needed(pilot([-1.0, 1.0, 0.0]), "a", effect=0.7).row(0, named=True)["seeds"]
    rng = np.random.default_rng(1)
    found = np.asarray(scipy.stats.ttest_1samp(rng.normal(0.7, 1.0, (4000, seeds)), 0.0, axis=1).pvalue) < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


def test_what_cannot_be_told_is_said() -> None:
    one = seeds_needed(pilot([0.3]), "a", effect=0.2).row(0, named=True)
    assert one["seeds"] is None
    assert "fewer than two" in one["note"]
    assert "no difference" in seeds_needed(pilot([0.5, -0.5]), "a").row(0, named=True)["note"]
    assert seeds_needed(pilot([0.5, 0.5]), "a", effect=0.5).row(0, named=True)["seeds"] == 2
    assert seeds_needed(pilot([-1.0, 1.0, 0.0]), "a", effect=1e-6).row(0, named=True)["seeds"] is None
    with raises_error(UnknownName, got="shift"):
        seeds_needed(pilot([0.1, 0.2]), "a", ["shift.tac"])
    with raises_error(UnknownName, where="baseline"):
        seeds_needed(pilot([0.1, 0.2]), "c")
    for wrong in ({"effect": 0.0}, {"power": 1.0}, {"level": 0.0}):
        with pytest.raises(SettingError):
            seeds_needed(pilot([0.1, 0.2]), "a", **wrong)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pilot([0.1, 0.3, 0.2, 0.6])
    arms = (Arm("a", "a", {}), Arm("b", "b", {}))
    runs = tuple(
        ArmRun(row["arm"], row["seed"], "x", "d", FINISHED, outcomes={"shift.tax": row["shift.tax"]})
        for row in frame.iter_rows(named=True)
    )
    Experiment(tmp_path, {}, arms, (0, 1, 2, 3), runs).save()
    assert main(["power", str(tmp_path), "--effect", "0.1"]) == 0
    assert "cautious" in capsys.readouterr().out
    assert main(["power", str(tmp_path), "--effect", "0.0001"]) == 0
    assert "b: more than 1,000,000 seeds (shift.tax)\n" in capsys.readouterr().out
    assert main(["power", str(tmp_path), "--outcome", "shift.tax", "--tests", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["level"] == pytest.approx(0.01)
    assert found["needed"][0]["pairs"] == 4
    assert main(["power", str(tmp_path), "--outcome", "shft"]) == 2


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@profile(deadline=None, max_examples=25)
def test_corrections(values: list[float]) -> None:
    found = corrected(pl.DataFrame({"p": [math.nan, *values]}))
    assert math.isnan(found["p_holm"][0])
    assert found["p_fdr"][1:].to_list() == pytest.approx(scipy.stats.false_discovery_control(values).tolist())
    order, worst = np.argsort(values, kind="stable"), 0.0
    for rank, at in enumerate(order):  # Holm's own words: each against those that are left
        worst = min(1.0, max(worst, (len(values) - rank) * values[at]))
        assert found["p_holm"][int(at) + 1] == pytest.approx(worst)


def test_a_comparison_is_corrected_over_its_outcomes() -> None:
    rng = np.random.default_rng(0)
    rows = [{"arm": arm, "seed": k, **{f"x{i}": rng.normal() for i in range(6)}} for arm in "ab" for k in range(8)]
    found = paired(pl.DataFrame(rows), "a").filter(pl.col("arm") == "b")
    assert (found["p_holm"] >= found["p_fdr"]).all()
    assert (found["p_fdr"] >= found["p"]).all()
    alone = paired(pl.DataFrame(rows), "a", ["x0"]).filter(pl.col("arm") == "b").row(0, named=True)
    assert alone["p_holm"] == pytest.approx(alone["p"])
