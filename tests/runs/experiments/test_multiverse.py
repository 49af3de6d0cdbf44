"""Universes of modeling choices: specification curves and shares of variance, against made effects."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from townsquare.analysis.outcomes import describe
from townsquare.cli import main
from townsquare.core.errors import RecordError
from townsquare.experiments.arms import Arm, arms_of
from townsquare.experiments.manifest import FINISHED, ArmRun, Experiment
from townsquare.experiments.multiverse import REST, Multiverse, specifications, variance_shares
from townsquare.pages.report.multiverse_page import finding

ACROSS = {"beliefs.rule": ["x", "y", "z"], "feed.ranker": ["p", "q"]}
CONTRAST = {"moderation.strategy": ["none", "hybrid"]}


def made(folder: Path, noise: float = 0.1, drop: int = 0) -> Multiverse:
    """The effect is 1 under rule x, 2 under y, 3 under z, and does not care for the ranker; seeds add noise."""
    arms = arms_of({**ACROSS, **CONTRAST})
    rng = np.random.default_rng(0)
    runs: list[tuple[Arm, int, float]] = []
    for arm, seed in itertools.product(arms, (1, 2, 3)):
        level = rng.normal(10, 1) if arm.changes["moderation.strategy"] == "none" else math.nan
        runs.append((arm, seed, level))
    base = {(a.changes["beliefs.rule"], a.changes["feed.ranker"], s): v for a, s, v in runs if not math.isnan(v)}
    done = []
    for arm, seed, level in runs:
        rule = str(arm.changes["beliefs.rule"])
        if math.isnan(level):
            effect = {"x": 1.0, "y": 2.0, "z": 3.0}[rule]
            level = base[rule, arm.changes["feed.ranker"], seed] + effect + rng.normal(0, noise)
        done.append(ArmRun(arm.name, seed, arm.slug, "d", FINISHED, outcomes={"reach_false_mean": level}))
    kept = tuple(done[: len(done) - drop])
    found = Experiment(folder, {**ACROSS, **CONTRAST}, arms, (1, 2, 3), kept)
    found.save()
    multiverse = Multiverse(found, tuple(ACROSS), tuple(CONTRAST))
    multiverse.save()
    return Multiverse.load(folder)


def test_every_universe_has_its_effect(tmp_path: Path) -> None:
    multiverse = made(tmp_path)
    assert multiverse.sides == ["hybrid"]
    effects = multiverse.effects("reach_false_mean")
    assert effects.height == 18
    curve = specifications(effects, multiverse.across)
    assert curve.height == 6
    assert curve["effect"].is_sorted()
    assert curve["beliefs.rule"].to_list() == ["x", "x", "y", "y", "z", "z"]
    assert curve["effect"].to_list() == pytest.approx([1, 1, 2, 2, 3, 3], abs=0.25)
    assert (curve["low"] < curve["effect"]).all()
    assert curve["seeds"].to_list() == [3] * 6


def test_shares_of_variance_are_those_of_statsmodels(tmp_path: Path) -> None:
    import pandas
    import statsmodels.api as sm
    from statsmodels.formula.api import ols

    multiverse = made(tmp_path, noise=0.3, drop=2)
    effects = multiverse.effects("reach_false_mean")
    shares = {row["source"]: row["share"] for row in variance_shares(effects, multiverse.across).iter_rows(named=True)}
    data = {"e": effects["effect"].to_list(), "a": effects["beliefs.rule"].to_list()}
    data |= {"b": effects["feed.ranker"].to_list(), "s": effects["seed"].to_list()}
    table = sm.stats.anova_lm(ols("e ~ C(a) + C(b) + C(s)", pandas.DataFrame(data)).fit(), typ=2)["sum_sq"]
    total = float(np.sum((np.array(data["e"]) - np.mean(data["e"])) ** 2))
    assert shares["beliefs.rule"] == pytest.approx(table["C(a)"] / total)
    assert shares["feed.ranker"] == pytest.approx(table["C(b)"] / total)
    assert shares["seed"] == pytest.approx(table["C(s)"] / total)


def test_an_effect_that_hangs_on_the_rule_says_so(tmp_path: Path) -> None:
    multiverse = made(tmp_path, noise=0.01)
    found = variance_shares(multiverse.effects("reach_false_mean"), multiverse.across)
    shares = {row["source"]: row for row in found.iter_rows(named=True)}
    assert shares["beliefs.rule"]["share"] > 0.99
    assert shares["beliefs.rule"]["low_mean"] == pytest.approx(1, abs=0.05)
    assert shares["beliefs.rule"]["high_mean"] == pytest.approx(3, abs=0.05)
    assert sum(row["share"] for row in shares.values()) == pytest.approx(1)
    assert list(shares) == [*ACROSS, "seed", REST]


def test_an_effect_that_does_not_vary_has_no_shares() -> None:
    effects = pl.DataFrame({"side": ["a"] * 4, "seed": [1, 2, 1, 2], "k": ["x", "x", "y", "y"], "effect": [0.5] * 4})
    assert variance_shares(effects, ["k"])["share"].is_nan().all()


@pytest.mark.parametrize(("seeds", "says"), [(1, "one seed gives no CI"), (3, "in 6, the 95% CI excludes zero")])
def test_the_sentence_counts_intervals_that_exist(tmp_path: Path, seeds: int, says: str) -> None:
    multiverse = made(tmp_path, noise=0.01)
    effects = multiverse.effects("reach_false_mean").filter(pl.col("seed") <= seeds)
    shares = variance_shares(effects, multiverse.across)
    sentence = finding(specifications(effects, multiverse.across), shares, describe("reach_false_mean"))
    assert f"It is above zero in 6; {says}." in sentence
    assert "The largest share of its variance comes from beliefs.rule (" in sentence


def test_the_sentence_names_chance_where_it_has_the_largest_share() -> None:
    shares = pl.DataFrame({"source": ["k", "seed", REST], "share": [0.2, 0.3, 0.5]})
    curve = pl.DataFrame({"effect": [1.0, 2.0], "low": [0.5, 1.0], "high": [1.5, 3.0]})
    assert finding(curve, shares, describe("reach_false_mean")).endswith(f"comes from {REST} (50%).")


def test_levels_without_a_contrast(tmp_path: Path) -> None:
    multiverse = made(tmp_path)
    levels = Multiverse(multiverse.experiment, (*ACROSS, *CONTRAST), ())
    assert levels.sides == ["level"]
    assert levels.effects("reach_false_mean").height == 36


def test_what_is_no_multiverse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        Multiverse.load(tmp_path)


@pytest.mark.slow
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    given = ["compare", "health-rumor@1", "--multiverse", "--vary", "moderation.strategy=none,third_party"]
    across = ["--across", "beliefs.rule=exposure-bounded,averaging", "--across", "feed.ranker=recent,random"]
    size = ["--agents", "20", "--steps", "3", "--seeds", "2", "--workers", "2", "--out", str(out), "--json"]
    assert main([*given, *across, *size]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(found["runs"]) == 16
    assert {row["source"] for row in found["shares"]} == {"beliefs.rule", "feed.ranker", "seed", REST}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Specification curve" in page
    assert main(["report", str(out)]) == 0
    assert main(["compare", "--across", "feed.ranker=recent,random"]) == 2
