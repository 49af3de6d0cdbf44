"""Influence, power laws, traits and topics: against scipy, powerlaw's own distributions, and planted differences."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy

from handwritten_runs import FrameRun, injected, settings, written
from townsquare.analysis.groups import number_bands, stance_groups, trait_groups
from townsquare.analysis.influence import inequality, influence, unequal
from townsquare.analysis.power_law import rank_fits, size_models
from townsquare.analysis.topics import by_topic, compare_topics, found_topics, time_of_posting, topics
from townsquare.analysis.traits import least_and_most, trait_tests
from townsquare.core.actions import ActionKind
from townsquare.core.enums import AgentKind, PostKind, Veracity

K = ActionKind


def test_the_score_weighs_each_amount_against_the_largest() -> None:
    acts = [(1, K.LIKE, 0), (2, K.LIKE, 0), (2, K.SHARE, 0), (1, K.COMMENT, 0), (3, K.LIKE, 1)]
    run = FrameRun(
        {
            "agents": [{"agent": 0, "kind": AgentKind.SOURCE}, *({"agent": at} for at in range(1, 4))],
            "posts": [
                injected(0, Veracity.TRUE),
                written(1, PostKind.ORIGINAL, 1),
                written(2, PostKind.SHARE, 2, root=0),
            ],
            "follows": [
                {"follower": 1, "followed": 2, "change": 1},
                {"follower": 3, "followed": 2, "change": 1},
                {"follower": 3, "followed": 2, "change": -1, "step": 1},
            ],
            "actions": [{"agent": a, "kind": kind, "target": t, "step": 1} for a, kind, t in acts],
        },
        settings(),
    )
    rows = {row["agent"]: row for row in influence(run).to_dicts()}
    assert rows[0]["influence"] == pytest.approx(0.3 + 0.2 + 0.1)
    assert (rows[1]["influence"], rows[2]["influence"]) == (pytest.approx(0.15), pytest.approx(0.4))
    assert rows[0]["influencer"]
    assert not rows[1]["influencer"]
    assert [rows[at]["popularity"] for at in range(4)] == [4, 1, 1, 0]
    assert rows[2]["made"] == 2


def test_curves_find_what_was_put_in() -> None:
    rank = np.arange(1, 51)
    found = {row["model"]: row for row in rank_fits(120 * rank**-0.6).to_dicts()}
    law = found["power law"]
    assert (law["a"], law["b"], law["r2"]) == (pytest.approx(120), pytest.approx(0.6), pytest.approx(1.0))
    assert min(found.values(), key=lambda row: row["aic"])["model"] == "power law"
    found = {row["model"]: row for row in rank_fits(100 * np.exp(-0.09 * rank)).to_dicts()}
    assert found["exponential"]["b"] == pytest.approx(0.09)
    assert found["exponential"]["r2"] > found["power law"]["r2"]


def test_sizes_that_are_a_power_law_and_sizes_that_are_not() -> None:
    rng = np.random.default_rng(1)
    law = size_models(rng.zipf(2.5, 3000)).filter((pl.col("x_min") == 1) & (pl.col("against") == "exponential"))
    row = law.row(0, named=True)
    assert row["low"] < 2.5 < row["high"]
    assert row["better"] == "power law"
    other = size_models(np.maximum(1, np.round(rng.lognormal(2.0, 0.6, 1500))))
    row = other.filter((pl.col("x_min") == 1) & (pl.col("against") == "lognormal")).row(0, named=True)
    assert row["better"] == "lognormal"


def test_a_discrete_power_law_is_the_one_of_largest_likelihood() -> None:
    """The exponent maximizes the likelihood of the zeta distribution of scipy."""
    x = np.random.default_rng(2).zipf(2.2, 800)
    row = size_models(x).filter(pl.col("x_min") == 1).row(0, named=True)
    at = [scipy.stats.zipf.logpmf(x, row["alpha"] + step).sum() for step in (-0.02, 0.0, 0.02)]
    assert at[1] > max(at[0], at[2])


def test_inequality() -> None:
    frame = pl.DataFrame({"made": [0, 0, 0, 0, 0, 0, 0, 0, 5, 15]})
    found = dict(unequal(frame, ("made",)).select("measure", "value").iter_rows())
    assert found == {"gini": pytest.approx(0.85), "top_tenth": 0.75, "none": 0.8}
    assert inequality(FrameRun({}, settings())).height == 9


# --- traits --------------------------------------------------------------------------------------------------


def test_equals_stay_together() -> None:
    values = np.r_[np.zeros(26), np.ones(29), np.arange(2, 107)]
    least, most = least_and_most(values, 50)
    assert (least.sum(), most.sum()) == (55, 50)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.poisson(1.0, 40)
        least, most = least_and_most(x, 10)
        for group in (least, most):
            assert not set(x[group]) & set(x[~group]), "equals were parted"
        assert not (least & most).any()


def test_all_equal_makes_no_groups() -> None:
    least, most = least_and_most(np.ones(10), 3)
    assert not least.any()
    assert not most.any()


def test_trait_tests_are_those_of_scipy() -> None:
    rng = np.random.default_rng(5)
    n = 120
    color = rng.integers(0, 3, n)
    amounts = pl.DataFrame({"agent": np.arange(n), "popularity": rng.random(n) + 0.3 * color})
    groups = pl.DataFrame(
        {"agent": np.r_[np.arange(n), np.arange(n)], "grouping": ["color"] * n + ["none"] * n}
    ).with_columns(group=pl.Series([str(c) for c in color] + [str(c) for c in rng.permutation(color)]))
    rows = {row["grouping"]: row for row in trait_tests(amounts, groups).to_dicts()}
    values = amounts["popularity"].to_numpy()
    order = np.argsort(values)
    table = np.array([np.bincount(color[order[:40]], minlength=3), np.bincount(color[order[-40:]], minlength=3)])
    expected = scipy.stats.chi2_contingency(table, correction=False)
    assert rows["color"]["chi2"] == pytest.approx(expected.statistic)
    assert rows["color"]["p_kruskal"] == pytest.approx(
        scipy.stats.kruskal(*(values[color == c] for c in range(3))).pvalue
    )
    assert rows["color"]["p_corrected"] < 0.001
    assert rows["none"]["p_corrected"] == pytest.approx(rows["none"]["p"])


def test_numbers_become_bands_and_equals_share_one() -> None:
    rng = np.random.default_rng(0)
    ages = rng.integers(18, 60, 200)
    bands = np.array(number_bands(ages))
    assert len(set(bands)) == 4
    for band in set(bands):
        low, high = (int(word) for word in band.split(" to "))
        assert ((ages >= low) & (ages <= high)).tolist() == (bands == band).tolist()
    assert number_bands(np.array([3, 3, 3])) == ["3", "3", "3"]


def test_groups_of_traits_and_starting_stances() -> None:
    run = FrameRun(
        {
            "agents": [{"agent": at, "born": int(at == 2)} for at in range(3)],
            "traits": [{"agent": at, "trait": 0, "value": at % 2} for at in range(3)],
            "trait_values": [
                {"trait": 0, "value": v, "label": "color", "answer": a} for v, a in ((0, "red"), (1, "blue"))
            ],
            "propositions": [{"proposition": 0, "name": "tax"}],
            "beliefs": [
                {"step": step, "agent": at, "stance": stance}
                for step, at, stance in ((0, 0, 0.5), (0, 1, 0.1), (1, 2, -0.9), (1, 0, -1.0))
            ],
        },
        settings(),
    )
    assert trait_groups(run)["group"].to_list() == ["red", "blue", "red"]
    assert stance_groups(run).select("agent", "group").rows() == [(0, "for"), (1, "undecided"), (2, "against")]


# --- topics --------------------------------------------------------------------------------------------------

CATS = [f"The cat and its kitten play with wool number {at} purring whiskers" for at in range(20)]
TRAINS = [f"Railway trains leave the station late on platform {at} again" for at in range(20)]


def test_topics_are_found() -> None:
    found, words = found_topics([*CATS, *TRAINS], 2)
    assert len(set(found[:20])) == len(set(found[20:])) == 1
    assert found[0] != found[-1]
    assert "kitten" in words[found[0]]
    assert (found_topics(["one", "two"])[0] == -1).all()


def test_tests_of_topics_are_those_of_scipy_and_outliers_are_left_out() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"root": np.arange(60), "source": "given", "topic": ["a", "b", "c"] * 20, "value": rng.poisson(4, 60) * 1.0}
    )
    samples = [frame.filter(pl.col("topic") == word)["value"].to_numpy() for word in "abc"]
    row = compare_topics(frame).row(0, named=True)
    assert row["f"] == pytest.approx(scipy.stats.f_oneway(*samples).statistic)
    assert row["p_kruskal"] == pytest.approx(scipy.stats.kruskal(*samples).pvalue)
    clear = frame.with_columns(value=pl.when(pl.col("topic") == "a").then(9.0).otherwise(pl.col("value")))
    hidden = clear.with_columns(value=pl.when(pl.col("root") == 1).then(5000.0).otherwise(pl.col("value")))
    every, without = compare_topics(hidden)["p_anova"].to_list()
    assert every > 0.2
    assert without < 0.001, "one post had hidden it"
    assert by_topic(frame)["n"].to_list() == [20, 20, 20]


def test_equal_texts_and_given_topics() -> None:
    run = FrameRun(
        {
            "texts": [{"text": at, "content": text} for at, text in enumerate([*CATS, *TRAINS, "health"])],
            "posts": [injected(at, Veracity.TRUE, text=at % 40, topic=40 if at == 0 else -1) for at in range(80)],
        },
        settings(),
    )
    found = topics(run)
    assert found.filter(pl.col("source") == "given")["topic"].to_list() == ["health"]
    by_root = dict(found.filter(pl.col("source") == "found").select("root", "topic").iter_rows())
    assert all(by_root[at] == by_root[at + 40] for at in range(40))


def test_posts_that_came_too_late_are_not_compared() -> None:
    run = FrameRun(
        {
            "posts": [injected(0, Veracity.TRUE, 1), injected(1, Veracity.TRUE, 2), injected(2, Veracity.TRUE, 5)],
            "actions": [{"agent": 1, "kind": K.LIKE, "target": 0, "step": step} for step in (1, 3, 4)],
        },
        settings(),
        last_step=5,
    )
    found = time_of_posting(run).filter(pl.col("measure") == "engagement")
    assert found.select("step", "n", "value").rows() == [(1, 1, 2.0), (2, 1, 0.0)]
    assert math.isnan(found["low"][0])
