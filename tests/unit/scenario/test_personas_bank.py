"""Sampled answers against the stated distributions: each question, pairs of questions, age, and the counts of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy

from townsquare.scenario.population.personas import persona_shares, stated_shares
from townsquare.scenario.population.question_bank import NO_ANSWER, NumberRange, QuestionBank, bundled_bank
from townsquare.scenario.population.sample import sample_people
from townsquare.settings.config import Population

N = 50_000
SEEDS = (1, 2, 3, 4, 5)


@pytest.fixture(scope="module")
def bank() -> QuestionBank:
    return bundled_bank()


@pytest.fixture(scope="module")
def samples() -> dict[int, np.ndarray]:
    return {seed: sample_people(0, N, Population(), (), seed).traits for seed in SEEDS}


def test_every_question_has_its_stated_distribution(samples: dict[int, np.ndarray], bank: QuestionBank) -> None:
    """95 chi-square tests: so many p values are even over [0, 1], and the smallest is no smaller than by chance."""
    p = np.array([one.p for traits in samples.values() for one in persona_shares(traits, bank)])
    assert p.size == 19 * len(SEEDS)
    assert p.min() > 0.05 / p.size
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01


def test_language_given_ethnicity_is_the_stated_table(samples: dict[int, np.ndarray], bank: QuestionBank) -> None:
    ethnicity, language = bank.number_of("ethnicity"), bank.number_of("primary_language")
    chances = bank.traits[language].chances
    p = []
    for traits in samples.values():
        table = np.zeros(chances.shape, int)
        np.add.at(table, (traits[:, ethnicity], traits[:, language]), 1)
        assert table[chances == 0].sum() == 0
        for row, stated in zip(table, chances, strict=True):
            there = stated > 0
            p.append(scipy.stats.chisquare(row[there], stated[there] * row.sum()).pvalue)
    assert len(p) == 6 * len(SEEDS)
    assert min(p) > 0.05 / len(p)
    white = bank.code("ethnicity", "White/Caucasian")
    spoken = dict(zip(bank.traits[language].answers, chances[white].tolist(), strict=True))
    assert {word: share for word, share in spoken.items() if share} == {
        "English": 0.85, "Spanish": 0.05, "French": 0.05, "German": 0.05,
    }  # fmt: skip


def test_age_is_a_normal_of_35_and_12_held_to_18_to_60(samples: dict[int, np.ndarray]) -> None:
    """Year by year, against numbers drawn as the source draws them: int(normal), then clamped."""
    stated = NumberRange(35, 12, 18, 60).chances()
    drawn = np.clip(np.trunc(np.random.default_rng(0).normal(35, 12, 2_000_000)), 18, 60).astype(int)
    assert np.bincount(drawn - 18, minlength=43) / drawn.size == pytest.approx(stated, abs=0.001)
    assert stated[0] == pytest.approx(scipy.stats.norm.cdf(19, 35, 12))
    assert stated[-1] == pytest.approx(scipy.stats.norm.sf(60, 35, 12))
    for traits in samples.values():
        counts = np.bincount(traits[:, 0] - 18, minlength=43)
        assert scipy.stats.chisquare(counts, stated * N).pvalue > 0.01 / len(SEEDS)


def test_all_other_pairs_of_questions_are_independent(samples: dict[int, np.ndarray], bank: QuestionBank) -> None:
    """850 tests of independence; all seeds make one family, since of so many some pair is always far off by chance."""
    dependent = tuple(sorted((bank.number_of("ethnicity"), bank.number_of("primary_language"))))
    p = []
    for traits in samples.values():
        groups = [bank.group_of(number, traits[:, number]) for number in range(len(bank.traits))]
        for pair in combinations(range(len(groups)), 2):
            table = np.zeros([int(groups[number].max()) + 1 for number in pair], int)
            np.add.at(table, tuple(groups[number] for number in pair), 1)
            found = scipy.stats.chi2_contingency(table[table.sum(1) > 0][:, table.sum(0) > 0]).pvalue
            if pair == dependent:
                assert found == 0
            else:
                p.append(found)
    assert len(p) == 170 * len(SEEDS)
    assert min(p) > 0.05 / len(p)
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01


def test_the_source_has_20_entries_and_19_labels_and_not_23(bank: QuestionBank) -> None:
    assert (bank.n_questions, len(bank.labels), len(set(bank.labels))) == (20, 19, 19)


# --- shares ------------------------------------------------------------------------------------------------


def test_shares_agree_with_scipy(bank: QuestionBank) -> None:
    traits = sample_people(0, 3_000, Population(), (), 1).traits
    shares = {one.label: one for one in persona_shares(traits, bank)}
    one = shares["hobby"]
    found = scipy.stats.chisquare(one.counts, one.stated * one.counts.sum())
    assert (one.statistic, one.p) == pytest.approx((found.statistic, found.pvalue))
    assert (one.freedom, one.few, one.missing) == (7, False, 0)
    assert shares["primary_language"].freedom == 3 + 2 + 5 + 1 + 1 + 1
    assert shares["gender"].stated == pytest.approx([0.48, 0.48, 0.02, 0.01, 0.01])
    assert shares["age"].groups == ("18-24", "25-34", "35-44", "45-54", "55+", "other")
    assert shares["age"].stated.sum() == pytest.approx(1)
    assert shares["age"].stated[-1] == 0


def test_people_without_answers_are_counted_apart(bank: QuestionBank) -> None:
    traits = sample_people(0, 500, Population(), (), 1).traits.copy()
    traits[:100, 1] = NO_ANSWER
    traits[:, 2] = NO_ANSWER
    shares = persona_shares(traits, bank)
    assert (shares[1].missing, shares[1].counts.sum()) == (100, 400)
    assert (shares[2].missing, shares[2].counts.sum()) == (500, 0)
    assert np.isnan([shares[2].statistic, shares[2].p]).all()


def test_an_answer_that_the_bank_never_gives(bank: QuestionBank) -> None:
    traits = sample_people(0, 500, Population(), (), 1).traits.copy()
    traits[0, 0] = 90
    traits[0, bank.number_of("primary_language")] = bank.code("primary_language", "Arabic")
    shares = {one.label: one for one in persona_shares(traits, bank)}
    assert shares["primary_language"].p == 0
    assert shares["age"].counts[4] >= 1  # 55+
    traits[0, 0] = 12
    assert {one.label: one.p for one in persona_shares(traits, bank)}["age"] == 0


def test_few_people_are_flagged(bank: QuestionBank) -> None:
    shares = persona_shares(sample_people(0, 40, Population(), (), 1).traits, bank)
    assert {one.label: one.few for one in shares}["gender"]
    assert stated_shares(bank, bank.number_of("primary_language")).shape[0] == 6
