"""The largest effect on a mean belief under a second belief rule, executed on what people saw."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import townsquare as ts
from townsquare.analysis.beliefs import last_stances
from townsquare.cli import main
from townsquare.experiments.second_rule import SecondRule, second_rule_of, stances_under, under_second_rule

NAN = (math.nan, math.nan)
SMALL = {"beliefs.rule": "credence", "time.step_minutes": 60, "moderation.strategy": "none"}


@pytest.fixture(scope="module")
def run() -> ts.Run:
    return ts.run("health-rumor@1", agents=60, steps=72, seed=1, settings=SMALL)


def test_days_in_one_step_give_nearly_the_recorded_stances(run: ts.Run) -> None:
    people, stances = stances_under(run, "credence", {})
    recorded = np.full(stances.shape, np.nan)
    for agent, proposition, end in last_stances(run).collect().iter_rows():
        recorded[np.searchsorted(people, agent), proposition] = end
    assert np.abs(stances - recorded).max() < 0.01
    assert np.ptp(stances - stances_under(run, "no_change", {})[1]) > 0.0, "the rule moved somebody"


def test_the_second_rule_has_the_attention_and_the_half_life_of_the_run(run: ts.Run) -> None:
    rule, own = second_rule_of(run)
    assert rule == "exposure-bounded"
    assert (own["pull"], own["anchor"]) == pytest.approx((0.02 * 0.05, 1 - 0.5 ** (1 / 14)))
    other = ts.run("health-rumor@1", agents=30, steps=2, seed=1, settings={"beliefs.rule": "averaging"})
    assert second_rule_of(other) == ("credence", {})


def test_equal_arms_have_no_effect_under_either_rule(run: ts.Run) -> None:
    both = under_second_rule({("a", 1): run, ("b", 1): run}, "a", "b", "vaccine_safe")
    assert both is not None
    assert (both.first[0], both.second[0], both.agree) == (0.0, 0.0, True)
    assert "find no detectable effect of b on" in both.sentence("b", "It is safe")
    other = ts.run("health-rumor@1", agents=30, steps=2, seed=1, settings={"beliefs.rule": "averaging"})
    assert under_second_rule({("a", 1): run, ("b", 1): other}, "a", "b", "vaccine_safe") is None


def test_two_rules_agree_where_both_find_the_same_direction() -> None:
    def both(first: tuple[float, float, float], second: tuple[float, float, float]) -> SecondRule:
        return SecondRule("b", "p", ("credence", "exposure-bounded"), 3, first, second)

    up, none, down = (0.2, 0.1, 0.3), (0.1, -0.1, 0.3), (-0.2, -0.3, -0.1)
    one, other = (0.2, *NAN), (-0.1, *NAN)
    agreed = [both(*pair).agree for pair in ((up, up), (none, none), (up, none), (up, down), (one, one), (one, other))]
    assert agreed == [True, True, False, False, True, False]
    assert "disagree about an effect of labels" in both(up, down).sentence("labels", "It is safe")
    assert "differences of different signs for labels" in both(one, other).sentence("labels", "It is safe")
    assert "one seed gives no CI" in both(one, one).sentence("labels", "It is safe")


def test_compare_says_it_unless_told_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "compare",
        "health-rumor@1",
        "--agents",
        "40",
        "--steps",
        "6",
        "--seeds",
        "2",
        "--out",
        str(tmp_path / "c"),
    ]
    words += ["--vary", "moderation.strategy=none,hybrid", "--set", "beliefs.rule=credence", "--workers", "1"]
    words += ["--set", "beliefs.attention=1", "--set", "beliefs.new=1"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert main([*words, "--rules", "one"]) == 0
    assert "two belief rules" not in capsys.readouterr().out
    assert ("Two belief rules" in said) == ("Mean stances moved as with" not in said)
