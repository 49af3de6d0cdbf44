"""Raking: margins that are met, what stays as it was, and margins that cannot be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.core.errors import SettingError
from townsquare.scenario.population.margins import effective_size, fit, rake_bank, rake_people, read_margins
from townsquare.scenario.population.personas import read_personas, write_personas
from townsquare.scenario.population.question_bank import NO_ANSWER, QuestionBank, bundled_bank, group_by_spans
from townsquare.scenario.population.sample import People, sample_people
from townsquare.settings.config import Population

N = 40_000
LANGUAGES = {"English": 0.6, "Spanish": 0.25, "French": 0.05, "Korean": 0.1}
ETHNICITIES = {
    "White/Caucasian": 0.5, "Hispanic/Latino": 0.2, "African American": 0.1, "Asian": 0.15, "Other": 0.05,
}  # fmt: skip
AGES = {"18-24": 0.3, "25-44": 0.3, "45-60": 0.4}


@pytest.fixture(scope="module")
def bank() -> QuestionBank:
    return bundled_bank()


def sample(n: int = N, first: int = 0, seed: int = 7, **population: object) -> People:
    return sample_people(first, n, Population.model_validate(population), (), seed)


def p_value(codes: np.ndarray, margin: dict[str, float], label: str, bank: QuestionBank) -> float:
    """Of a chi-square test of answers against a margin."""
    target = read_margins({label: margin}, bank)[0]
    counts = np.bincount(group_by_spans(codes, target.spans), minlength=target.share.size)
    assert counts[-1] == 0
    return float(scipy.stats.chisquare(counts[:-1], target.share[:-1] * codes.size).pvalue)


# --- a question bank ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "margins",
    [
        {"gender": {"Male": 0.3, "Female": 0.7}},
        {"age": AGES},
        {"primary_language": LANGUAGES},
        {"ethnicity": ETHNICITIES, "primary_language": LANGUAGES},
        {"gender": {"Male": 0.5, "Female": 0.5}, "age": AGES, "ethnicity": ETHNICITIES, "primary_language": LANGUAGES},
    ],
)
def test_agents_answer_as_the_margins_say(margins: dict[str, dict[str, float]], bank: QuestionBank) -> None:
    people = sample(margins=margins)
    for label, margin in margins.items():
        assert p_value(people.traits[:, bank.number_of(label)], margin, label, bank) > 0.01


def test_fitted_chances_meet_the_margins_exactly(bank: QuestionBank) -> None:
    raked = rake_bank(bank, {"ethnicity": ETHNICITIES, "primary_language": LANGUAGES, "age": AGES})
    ethnicity, language = bank.number_of("ethnicity"), bank.number_of("primary_language")
    first = raked.traits[ethnicity].chances[0]
    second = first @ raked.traits[language].chances
    assert {a: first[bank.code("ethnicity", a)] for a in ETHNICITIES} == pytest.approx(ETHNICITIES, abs=1e-9)
    assert {a: second[bank.code("primary_language", a)] for a in LANGUAGES} == pytest.approx(LANGUAGES, abs=1e-9)
    ages = raked.traits[0].chances[0]
    assert ages.sum() == pytest.approx(1)
    assert ages[: 25 - 18].sum() == pytest.approx(0.3)


def test_dependence_is_kept(bank: QuestionBank) -> None:
    """Fitting multiplies by one factor an answer: ratios of odds between the two traits stay as the bank has them."""
    raked = rake_bank(bank, {"ethnicity": ETHNICITIES, "primary_language": LANGUAGES})
    number = bank.number_of("primary_language")
    old, new = bank.traits[number].chances, raked.traits[number].chances
    white, asian = bank.code("ethnicity", "White/Caucasian"), bank.code("ethnicity", "Hispanic/Latino")
    one, two = bank.code("primary_language", "English"), bank.code("primary_language", "Spanish")

    def odds(chances: np.ndarray) -> float:
        return float(chances[white, one] * chances[asian, two] / (chances[white, two] * chances[asian, one]))

    assert odds(new) == pytest.approx(odds(old))
    assert np.all(new[old == 0] == 0)


def test_a_margin_changes_no_trait_that_does_not_depend_on_it(bank: QuestionBank) -> None:
    plain = sample(2_000)
    raked = sample(2_000, margins={"gender": {"Male": 0.2, "Female": 0.8}, "ethnicity": {"Asian": 1.0}})
    changed = {label for t, label in enumerate(bank.labels) if (plain.traits[:, t] != raked.traits[:, t]).any()}
    assert changed == {"gender", "ethnicity", "primary_language"}
    assert np.array_equal(plain.activity, raked.activity)
    gender = bank.number_of("gender")
    stayed = plain.traits[:, gender] == raked.traits[:, gender]
    assert stayed.mean() > 0.6  # a man may become a woman; a woman stays one
    assert stayed[plain.traits[:, gender] == 1].all()


def test_people_are_lasting(bank: QuestionBank) -> None:
    margins = {"age": AGES, "primary_language": LANGUAGES}
    whole, part = sample(300, margins=margins), sample(100, 200, margins=margins)
    assert np.array_equal(whole.traits[200:], part.traits)
    assert not np.array_equal(whole.traits, sample(300, seed=8, margins=margins).traits)


def test_a_margin_that_is_already_met_changes_nobody(bank: QuestionBank) -> None:
    trait = bank.traits[bank.number_of("primary_goal")]
    margin = dict(zip(trait.answers, trait.chances[0].tolist(), strict=True))
    assert np.array_equal(sample(1_000).traits, sample(1_000, margins={"primary_goal": margin}).traits)


@pytest.mark.parametrize(
    ("margins", "says"),
    [
        ({"gendre": {"Male": 1}}, {"do": "did you mean 'gender'"}),
        ({"gender": {"Mael": 1}}, {"do": "did you mean 'Male'"}),
        ({"gender": {"Male": 0.6}}, {"got": "shares that sum to 0.6", "allowed": "shares that sum to 1"}),
        ({"gender": {"Male": 1.2, "Female": -0.2}}, {"got": "a share of -0.2"}),
        ({"gender": {}}, {"got": "shares that sum to 0"}),
        ({"age": {"young": 1}}, {"allowed": "a number, a range such as 18-24"}),
        ({"age": {"18-30": 0.5, "30-60": 0.5}}, {"got": "'18-30' and '30-60', which overlap"}),
        ({"age": {"60-18": 1}}, {"allowed": "the smaller number first"}),
        (
            {"age": {"18-60": 0.5, "61-70": 0.5}},
            {"where": "age.61-70", "got": "0.5, but no one has this answer", "do": "set its share"},
        ),
        ({"primary_language": {"Chinese": 1}}, {"where": "Chinese", "got": "1, but no one has this answer"}),
        (
            {"ethnicity": {"Hispanic/Latino": 1}, "primary_language": {"Korean": 0.5, "Spanish": 0.5}},
            {"got": "which no weights can meet", "do": "the margins contradict each other"},
        ),
        (
            {"ethnicity": {"Asian": 0.4, "Other": 0.6}, "primary_language": {"Korean": 0.45, "English": 0.55}},
            {"do": "contradict each other"},
        ),
    ],
)
def test_what_cannot_be_met_is_refused(
    margins: dict[str, dict[str, float]], says: dict[str, str], bank: QuestionBank
) -> None:
    with raises_error(SettingError, **says):
        rake_bank(bank, margins)


# --- weights -----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(2, 5),
    columns=st.integers(2, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_fitting_agrees_with_scaling_rows_and_columns(rows: int, columns: int, seed: int) -> None:
    """The table of the textbook: scale rows, then columns, until nothing moves."""
    rng = np.random.default_rng(seed)
    table = rng.uniform(0.1, 1, (rows, columns))
    row_share, column_share = rng.dirichlet(np.ones(rows)), rng.dirichlet(np.ones(columns))
    bank = bundled_bank()
    genders, places = bank.traits[1].answers[:rows], bank.traits[2].answers[:columns]
    targets = read_margins(
        {
            "gender": dict(zip(genders, row_share.tolist(), strict=True)),
            "current_location": dict(zip(places, column_share.tolist(), strict=True)),
        },
        bank,
    )
    at = np.indices((rows, columns)).reshape(2, -1)
    found = fit(table.ravel(), [at[0], at[1]], targets).reshape(rows, columns)
    for _ in range(3000):
        table *= (row_share / table.sum(1))[:, None]
        table *= column_share / table.sum(0)
    assert found == pytest.approx(table, abs=1e-6)


# --- people of one's own -----------------------------------------------------------------------------------


@pytest.fixture
def respondents(tmp_path: Path, bank: QuestionBank) -> Path:
    path = tmp_path / "people.jsonl"
    people = sample(80, seed=3)
    write_personas(path, people.traits, bank, ids=[f"r{k}" for k in range(80)])
    return path


MARGINS = {"gender": {"Male": 0.5, "Female": 0.5}, "age": {"18-34": 0.6, "35-60": 0.4}}


def test_respondents_stand_for_others_by_their_weight(respondents: Path, bank: QuestionBank) -> None:
    people = sample(N, file=str(respondents), margins=MARGINS)
    for label, margin in MARGINS.items():
        assert p_value(people.traits[:, bank.number_of(label)], margin, label, bank) > 0.01
    assert len(set(people.names)) == N
    who = {name.partition("/")[0] for name in people.names}
    known = read_personas(respondents, bank)
    weights = rake_people(known, bank, MARGINS)
    assert who == {name for name, weight in zip(known.ids, weights, strict=True) if weight > 0}
    counts = np.bincount([int(name[1 : name.index("/")]) for name in people.names], minlength=80)
    positive = weights > 0
    assert scipy.stats.chisquare(counts[positive], weights[positive] * N).pvalue > 0.01
    assert 0 < effective_size(weights) < 80


def test_respondents_are_lasting_draws(respondents: Path) -> None:
    whole = sample(300, file=str(respondents), margins=MARGINS)
    part = sample(100, 200, file=str(respondents), margins=MARGINS)
    assert whole.names[200:] == part.names
    assert whole.texts[200:] == part.texts


def test_margins_are_raked_around_missing_answers(tmp_path: Path, bank: QuestionBank) -> None:
    path, number = tmp_path / "people.jsonl", bank.number_of("gender")
    traits = sample(80, seed=3).traits.copy()
    traits[[4, 9, 20], number] = NO_ANSWER
    write_personas(path, traits, bank)
    codes = sample(1000, file=str(path), margins=MARGINS, resample=True).traits[:, number]
    assert np.mean(codes[codes != NO_ANSWER] == 0) == pytest.approx(0.5, abs=0.01)
    assert (codes == NO_ANSWER).any()
    shares = {"gender": {"Male": 0.3, "Female": 0.5, "no answer": 0.2}}
    codes = sample(1000, file=str(path), margins=shares, resample=True).traits[:, number]
    assert np.bincount(codes + 1, minlength=3) / 1000 == pytest.approx([0.2, 0.3, 0.5], abs=0.01)


def test_a_margin_that_no_respondent_fits(respondents: Path) -> None:
    with raises_error(SettingError, got="no one has this answer"):
        sample(50, file=str(respondents), margins={"age": {"18-60": 0.5, "70+": 0.5}})


def test_effective_size_is_kishs() -> None:
    assert effective_size(np.array([1.0, 1.0, 2.0])) == pytest.approx(16 / 6)
