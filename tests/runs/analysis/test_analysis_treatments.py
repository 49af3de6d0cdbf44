"""Effects of a treatment within a run: known direct effects and known spillovers come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy

from raised_errors import raises_error
from small_worlds import run_of, settings_of
from townsquare.analysis.catalog import treatment_effects, treatment_effects_by_group
from townsquare.analysis.treatments import (
    Assignment,
    assignment,
    effects_of,
    exposure_cells,
    person_outcomes,
    shares,
    treatment_effect,
)
from townsquare.core.errors import SettingError, UnknownName

DIRECT, SPILLOVER = 0.3, -0.5


def town(seed: int, n: int = 600, m: int = 8, share: float = 0.4) -> Assignment:
    """Everybody follows ``m`` others, but the last ten, who follow nobody."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n - 10), m)
    columns = np.concatenate([rng.choice(n, m, replace=False) for _ in range(n - 10)])
    follows = scipy.sparse.csr_array((np.ones(rows.size), (rows, columns)), shape=(n, n))
    return Assignment("warned", np.arange(n, dtype=np.int32), rng.random(n) < share, follows, share)


def outcomes(given: Assignment, seed: int, direct: float = DIRECT, spillover: float = SPILLOVER) -> pl.DataFrame:
    rng = np.random.default_rng(1000 + seed)
    e = np.nan_to_num(given.exposure)
    y = 0.1 + direct * given.treated + spillover * e + rng.normal(0, 0.3, given.agents.size)
    return pl.DataFrame({"agent": given.agents, "y": y})


def estimates(given: Assignment, frame: pl.DataFrame, draws: int = 0) -> dict[str, dict[str, Any]]:
    return {row["estimate"]: row for row in effects_of(given, frame, draws).iter_rows(named=True)}


def test_known_effects_are_covered_as_often_as_intervals_promise() -> None:
    truth = {"direct": DIRECT, "spillover": SPILLOVER, "total": DIRECT + SPILLOVER}
    covered = dict.fromkeys(truth, 0)
    values: dict[str, list[float]] = {name: [] for name in truth}
    for seed in range(60):
        given = town(seed)
        found = estimates(given, outcomes(given, seed))
        for name, value in truth.items():
            covered[name] += found[name]["low"] <= value <= found[name]["high"]
            values[name].append(found[name]["value"])
    for name, value in truth.items():
        assert covered[name] >= 51, name  # 95 % of 60 is 57; under 51 has a chance of 1 in 2,000
        assert np.mean(values[name]) == pytest.approx(value, abs=0.03), name


def test_a_plain_difference_misses_what_treating_all_would_do() -> None:
    given = town(1)
    found = estimates(given, outcomes(given, 1))
    assert found["difference"]["value"] == pytest.approx(DIRECT, abs=0.1)
    assert found["total"]["high"] < 0 < found["difference"]["low"]


def test_estimates_are_those_of_statsmodels_and_scipy() -> None:
    from statsmodels.api import OLS

    given = town(3)
    frame = outcomes(given, 3)
    found = estimates(given, frame)
    y, e, z = frame["y"].to_numpy(), given.exposure, given.treated
    use = ~np.isnan(e)
    design = np.column_stack([np.ones(use.sum()), z[use], e[use]])
    fit = OLS(y[use], design).fit(cov_type="HC1", use_t=True)
    assert found["direct"]["value"] == pytest.approx(fit.params[1])
    assert found["spillover"]["low"] == pytest.approx(fit.conf_int()[2][0])
    plain = scipy.stats.ttest_ind(y[z], y[~z], equal_var=False).confidence_interval()
    assert (found["difference"]["low"], found["difference"]["high"]) == pytest.approx((plain.low, plain.high))
    assert found["total"]["persons"] == 590
    assert found["difference"]["persons"] == 600


def test_chance_by_drawing_anew() -> None:
    given = town(5, n=200)
    strong = estimates(given, outcomes(given, 5), draws=199)
    assert strong["direct"]["p"] == pytest.approx(1 / 200)
    nothing = [
        estimates(one, outcomes(one, seed, 0.0, 0.0), draws=99)["total"]["p"]
        for seed in range(20)
        for one in [town(seed, n=200)]
    ]
    assert scipy.stats.kstest(nothing, "uniform").pvalue > 0.001


def test_cells_stand_for_everybody() -> None:
    given = town(7, n=4000)
    frame = exposure_cells(given, outcomes(given, 7), "y")
    assert frame["persons"].sum() == 3990
    means = {(row["treated"], row["followed"]): row["mean"] for row in frame.iter_rows(named=True)}
    gaps = [means[True, word] - means[False, word] for word in ("half or more", "under half treated")]
    assert gaps == pytest.approx([DIRECT, DIRECT], abs=0.05)
    assert means[False, "half or more"] < means[False, "under half treated"]


def test_too_few_or_unconnected_people_are_not_estimated() -> None:
    given = town(1, n=30)
    assert effects_of(given, outcomes(given, 1)).filter(pl.col("estimate") == "difference").height == 1
    few = Assignment("x", given.agents[:12], given.treated[:12], given.follows[:12, :12], 0.4)
    assert effects_of(few, outcomes(few, 1)).is_empty()
    alone = Assignment("x", given.agents, given.treated, scipy.sparse.csr_array((30, 30)), 0.4)
    assert np.isnan(shares(alone.follows, alone.treated)).all()
    assert effects_of(alone, outcomes(given, 1), 9)["estimate"].to_list() == ["difference"]


@pytest.fixture(scope="module")
def treated_run() -> Any:
    treatments = [{"name": "calm", "share": 0.5, "start": 2, "effects": {"others": 0, "friction": {"share": 0.9}}}]
    return run_of(settings_of(agents=120, steps=6, treatments=treatments, growth={"max_per_step": 2}))


def test_of_a_run(treated_run: Any) -> None:
    given = assignment(treated_run, "calm")
    born = treated_run.table("agents")
    assert given.agents.size == born.filter((pl.col("kind") == 0) & (pl.col("born") < 2)).height
    follows = treated_run.table("follows").filter(pl.col("step") < 2)
    person = {int(agent) for agent in given.agents}
    first = int(given.agents[0])
    followed = {b for a, b in follows.select("follower", "followed").rows() if a == first and b in person}
    assert given.follows[[0], :].sum() == len(followed)
    found = {
        (row["outcome"], row["estimate"]): row for row in treatment_effect(treated_run, 0, 99).iter_rows(named=True)
    }
    assert found["actions", "difference"]["value"] < 0
    assert found["actions", "difference"]["p"] == pytest.approx(0.01)
    outcomes_ = person_outcomes(treated_run, 1)
    assert {"agent", "actions", "false_engagement"} < set(outcomes_.columns)
    assert any(name.startswith("move.") for name in outcomes_.columns)


def test_treatments_that_are_not_there(treated_run: Any) -> None:
    with raises_error(UnknownName, allowed="calm"):
        assignment(treated_run, "clam")
    with raises_error(SettingError, where="treatment"):
        assignment(treated_run, 1)
    with raises_error(SettingError, allowed="no treatments"):
        treatment_effect(run_of(settings_of(agents=20, steps=1)))


def test_a_run_without_treatments_gives_the_columns_of_one_with_them(treated_run: Any) -> None:
    plain = run_of(settings_of({"steps": 1}))
    for table in (treatment_effects, treatment_effects_by_group):
        assert table(plain).is_empty()
        assert table(plain).schema == table(treated_run).schema
