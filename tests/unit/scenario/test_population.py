"""Who the agents are: the question bank, sampling, personas as text and JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.core.errors import DataError, SettingError
from townsquare.scenario.population.personas import (
    missing_attributes,
    read_personas,
    render_persona,
    trait_rows,
    trait_value_rows,
    write_personas,
)
from townsquare.scenario.population.question_bank import QuestionBank, bundled_bank, read_bank
from townsquare.scenario.population.sample import People, sample_people
from townsquare.settings.config import Population

N = 60_000


def sample(first: int = 0, n: int = 50, propositions: tuple[str, ...] = ("tax", "ban"), seed: int = 7, **population):
    return sample_people(first, n, Population.model_validate(population), propositions, seed)


@pytest.fixture(scope="module")
def bank() -> QuestionBank:
    return bundled_bank()


@pytest.fixture(scope="module")
def many() -> People:
    return sample(n=N)


def shares(people: People, bank: QuestionBank, label: str) -> dict[str, float]:
    trait = bank.number_of(label)
    counts = np.bincount(people.traits[:, trait], minlength=len(bank.traits[trait].answers))
    return dict(zip(bank.traits[trait].answers, (counts / counts.sum()).tolist(), strict=True))


# --- the question bank -------------------------------------------------------------------------------------


def test_the_bank_has_the_structure_of_its_source(bank: QuestionBank) -> None:
    assert (bank.n_questions, len(bank.traits)) == (20, 19)
    sizes = {trait.label: len(trait.answers) for trait in bank.traits}
    assert sizes["hobby"] == 8
    assert sizes["num_places_lived"] == sizes["education_level"] == 4
    assert bank.labels.index("social_context") == 7
    assert "strangers" in bank.traits[7].question  # the later question of that label
    assert all(np.allclose(trait.chances.sum(1), 1) for trait in bank.traits if not trait.number)


def test_codes_and_answers_are_inverse(bank: QuestionBank) -> None:
    for number, trait in enumerate(bank.traits):
        for code in [18, 44] if trait.number else range(len(trait.answers)):
            assert bank.code(trait.label, bank.answer(number, code)) == code


@pytest.mark.parametrize(
    ("label", "answer", "hint"),
    [("gendre", "Male", "gender"), ("gender", "Mael", "Male"), ("age", "old", "0 to 120"), ("age", "121", "0 to 120")],
)
def test_an_unknown_answer_has_a_hint(bank: QuestionBank, label: str, answer: str, hint: str) -> None:
    with raises_error(SettingError, allowed=hint):
        bank.code(label, answer)


QUESTION = "- {label: a, question: q, sentence: 's {value}', %s}\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", {"allowed": "a list of"}),
        ("- 3\n", {"where": "0", "got": "3"}),
        ("- {label: a}\n", {"where": r"0\.question", "got": "nothing"}),
        ("- {label: a, question: q, sentence: s, answers: []}\n", {"allowed": "{value} once"}),
        (QUESTION % "answers: [{value: x}]", {"where": r"answers\.0\.p", "got": "nothing"}),
        (QUESTION % "answers: [{value: x, p: 0.5}]", {"allowed": "probabilities that sum to 1"}),
        (QUESTION % "answers: [{value: x, p: 2}, {value: y, p: -1}]", {"where": r"answers\.1\.p", "got": "-1"}),
        (QUESTION % "distribution: {mean: 3}", {"where": r"distribution\.sd", "got": "nothing"}),
        (QUESTION % "distribution: {mean: 3, sd: -1, low: 1, high: 5}", {"allowed": "a number of at least 0"}),
        (QUESTION % "given: b, otherwise: [{value: x, p: 1}]", {"where": "given", "got": "'b'"}),
        ("- [\n", {"allowed": "plain YAML"}),
    ],
)
def test_a_bad_bank_is_refused(tmp_path: Path, text: str, says: dict[str, str]) -> None:
    path = tmp_path / "bank.yaml"
    path.write_text(text, encoding="utf-8")
    with raises_error(DataError, **says):
        read_bank(path)


# --- sampling ----------------------------------------------------------------------------------------------


def test_shapes_and_ranges(many: People) -> None:
    assert many.traits.shape == (N, 19)
    assert many.traits.dtype == np.int16
    assert many.traits.min() >= 0
    assert many.stance.shape == many.confidence.shape == (N, 2)
    assert many.activity.shape == (N,)
    assert many.activity.min() >= 0
    assert np.isfinite(many.activity).all()
    assert np.abs(many.stance).max() <= 1
    assert np.all(many.confidence == 0.5)


def test_answers_have_the_chances_of_the_bank(many: People, bank: QuestionBank) -> None:
    for trait in bank.traits:
        if not trait.number and trait.given < 0:
            assert list(shares(many, bank, trait.label).values()) == pytest.approx(trait.chances[0], abs=0.01)


def test_language_depends_on_ethnicity(many: People, bank: QuestionBank) -> None:
    ethnicity, language = bank.number_of("ethnicity"), bank.number_of("primary_language")
    for answer, row in zip(bank.traits[ethnicity].answers, bank.traits[language].chances, strict=True):
        who = many.traits[:, ethnicity] == bank.code("ethnicity", answer)
        counts = np.bincount(many.traits[who, language], minlength=row.size) / who.sum()
        assert counts == pytest.approx(row, abs=0.02)
        assert np.all(counts[row == 0] == 0)
    asian = many.traits[:, ethnicity] == bank.code("ethnicity", "Asian")
    chinese = bank.code("primary_language", "Mandarin Chinese")
    assert (many.traits[asian, language] == chinese).mean() == pytest.approx(0.25, abs=0.02)


def test_age_is_a_clamped_normal(many: People, bank: QuestionBank) -> None:
    age = many.traits[:, bank.number_of("age")]
    assert (age.min(), age.max()) == (18, 60)
    assert np.median(age) == pytest.approx(34.5, abs=0.6)  # truncation takes half a year
    assert (age == 18).mean() == pytest.approx(0.0912, abs=0.005)  # Φ((19 − 35) / 12)
    assert (age == 60).mean() == pytest.approx(0.0186, abs=0.003)  # 1 − Φ((60 − 35) / 12)


@pytest.mark.parametrize("shape", [0.35, 1.0, 4.0])
def test_activity_is_a_gamma_with_mean_one(shape: float) -> None:
    activity = sample(n=N, activity_shape=shape, silent_share=0.0).activity
    assert activity.mean() == pytest.approx(1, rel=0.05)
    assert activity.var() == pytest.approx(1 / shape, rel=0.1)


@pytest.mark.parametrize("silent", [0.1, 0.4])
def test_a_share_of_people_never_acts_and_the_mean_stays_one(silent: float) -> None:
    activity = sample(n=N, activity_shape=1.0, silent_share=silent).activity
    assert (activity == 0).mean() == pytest.approx(silent, abs=0.01)
    assert activity.mean() == pytest.approx(1, rel=0.05)
    assert activity[activity > 0].var() == pytest.approx((1 - silent) ** -2, rel=0.1)


FACTORS = {"age": {"18-24": 4, "55+": 0}, "primary_language": {"Mandarin Chinese": 9}, "gender": {"Female": 0.5}}


@pytest.mark.parametrize("margins", [{}, {"gender": {"Female": 0.9, "Male": 0.1}, "ethnicity": {"Asian": 1.0}}])
def test_factors_by_trait_change_who_is_active_and_not_how_much(
    bank: QuestionBank, margins: dict[str, dict[str, float]]
) -> None:
    plain = sample(n=N, activity_shape=1.0, margins=margins)
    acts = sample(n=N, activity_shape=1.0, margins=margins, activity_by_trait=FACTORS)
    age, language, gender = (plain.traits[:, bank.number_of(label)] for label in FACTORS)
    factor = np.select([age <= 24, age >= 55], [4.0, 0.0], 1.0)
    factor *= np.where(language == bank.code("primary_language", "Mandarin Chinese"), 9.0, 1.0)
    factor *= np.where(gender == bank.code("gender", "Female"), 0.5, 1.0)
    scale = (
        acts.activity[(plain.activity > 0) & (factor > 0)]
        / (plain.activity * factor)[(plain.activity > 0) & (factor > 0)]
    )
    assert np.ptp(scale) < 1e-9
    assert 1 / scale[0] == pytest.approx(factor.mean(), rel=0.02)
    assert (acts.activity == 0).sum() == ((plain.activity == 0) | (factor == 0)).sum()
    assert acts.activity.mean() == pytest.approx(1, rel=0.05)


def test_only_ratios_of_factors_count() -> None:
    twice = {"gender": {"Female": 2, "Male": 4, "Non-binary": 2, "Prefer not to say": 2, "Other": 2}}
    assert sample(activity_by_trait={"gender": {"Male": 2}}).activity == pytest.approx(
        sample(activity_by_trait=twice).activity
    )


def test_factors_of_many_traits_that_depend_on_one(tmp_path: Path) -> None:
    """All answers together would be three million kinds of people."""

    def answers(first: float, *others: str) -> list[dict[str, object]]:
        rest = [{"value": other, "p": (1 - first) / len(others)} for other in others]
        return [{"value": "a", "p": first}, *rest]

    words = {"question": "Which?", "sentence": "It is {value}."}
    asked = {"given": "root", "table": {"a": answers(0.2, *"bcdef"), "b": answers(0.6, *"bcdef")}}
    bank = [{"label": "root", **words, "answers": answers(0.5, "b")}]
    bank += [{"label": f"t{k}", **words, **asked} for k in range(8)]
    (tmp_path / "bank.yaml").write_text(json.dumps(bank), encoding="utf-8")
    factors = {"root": {"b": 3}, **{f"t{k}": {"a": 2} for k in range(8)}}
    people = sample(n=200, bank_file=str(tmp_path / "bank.yaml"), activity_sd=0, activity_by_trait=factors)
    factor = np.where(people.traits[:, 0] == 1, 3.0, 1.0) * 2.0 ** (people.traits[:, 1:] == 0).sum(axis=1)
    assert people.activity == pytest.approx(factor / (0.5 * 1.2**8 + 0.5 * 3 * 1.6**8))


@settings(deadline=None, max_examples=15)
@given(first=st.integers(0, 1000), n=st.integers(0, 20), seed=st.integers(0, 2**60))
def test_a_person_is_the_same_whenever_it_is_born(first: int, n: int, seed: int) -> None:
    everyone = sample(0, first + n + 3, seed=seed, confidence_sd=0.1, activity_by_trait=FACTORS)
    some = sample(first, n, seed=seed, confidence_sd=0.1, activity_by_trait=FACTORS)
    rows = slice(first, first + n)
    assert np.array_equal(everyone.traits[rows], some.traits)
    assert np.array_equal(everyone.activity[rows], some.activity)
    assert np.array_equal(everyone.stance[rows], some.stance)
    assert np.array_equal(everyone.confidence[rows], some.confidence)


def test_another_proposition_changes_no_other() -> None:
    assert np.array_equal(sample(propositions=("tax",)).stance[:, 0], sample(propositions=("ban", "tax")).stance[:, 1])
    assert not np.array_equal(sample().stance[:, 0], sample().stance[:, 1])


def test_another_seed_is_other_people() -> None:
    assert not np.array_equal(sample(seed=1).traits, sample(seed=2).traits)


# --- where stances start -----------------------------------------------------------------------------------


def test_kinds_of_start() -> None:
    stance = sample(
        n=N,
        propositions=("normal", "uniform", "camps", "constant", "other"),
        stance={
            "normal": {"mean": 0.2, "sd": 0.1},
            "uniform": {"kind": "uniform"},
            "camps": {"kind": "camps", "sd": 0.0, "distance": 0.6, "pro_share": 0.3},
            "constant": {"kind": "constant", "mean": -0.4},
            "default": {"kind": "constant", "mean": 0.9},
        },
    ).stance
    assert stance[:, 0].mean() == pytest.approx(0.2, abs=0.005)
    assert stance[:, 0].std() == pytest.approx(0.1, abs=0.005)
    assert stance[:, 1].mean() == pytest.approx(0, abs=0.01)
    assert stance[:, 1].var() == pytest.approx(1 / 3, abs=0.01)
    assert np.unique(stance[:, 2]).tolist() == [-0.6, 0.6]
    assert (stance[:, 2] > 0).mean() == pytest.approx(0.3, abs=0.01)
    assert np.all(stance[:, 3] == -0.4)
    assert np.all(stance[:, 4] == 0.9)


def test_stances_and_confidence_are_clipped() -> None:
    people = sample(n=2000, confidence_mean=0.9, confidence_sd=1.0, stance={"tax": {"sd": 5}})
    assert np.abs(people.stance).max() == 1
    assert (people.confidence.min(), people.confidence.max()) == (0, 1)


def test_traits_shift_stances(bank: QuestionBank) -> None:
    by_trait = {"gender": {"Female": 0.25}, "age": {"18-24": -0.5, "55+": 0.125, "30": 0.0625}}
    people = sample(n=3000, stance={"tax": {"kind": "constant", "by_trait": by_trait}})
    gender, age = (people.traits[:, bank.number_of(label)] for label in ("gender", "age"))
    expected = 0.25 * (gender == bank.code("gender", "Female"))
    expected = expected - 0.5 * (age <= 24) + 0.125 * (age >= 55) + 0.0625 * (age == 30)
    assert np.array_equal(people.stance[:, 0], expected)


@pytest.mark.parametrize(
    ("stance", "says"),
    [
        ({"taxes": {}}, {"do": "did you mean 'tax'"}),
        ({"tax": {"by_trait": {"gendre": {"Male": 1}}}}, {"do": "did you mean 'gender'"}),
        ({"default": {"by_trait": {"gender": {"Mle": 1}}}}, {"do": "did you mean 'Male'"}),
        ({"tax": {"by_trait": {"age": {"young": 1}}}}, {"allowed": "a range such as 18-24"}),
    ],
)
def test_settings_that_name_nothing_are_refused(stance: dict, says: dict[str, str]) -> None:
    with raises_error(SettingError, **says) as error:
        sample(stance=stance)
    assert str(error.value).startswith("population.stance")


# --- personas ----------------------------------------------------------------------------------------------


def test_every_attribute_is_in_every_persona(bank: QuestionBank) -> None:
    for traits in sample(n=400).traits:
        assert missing_attributes(render_persona(traits, bank), traits, bank) == []


def test_a_sentence_left_out_is_noticed(bank: QuestionBank) -> None:
    for traits in sample(n=40).traits:
        said = [bank.sentence(number, int(code)) for number, code in enumerate(traits)]
        for number, label in enumerate(bank.labels):
            rest = " ".join(said[:number] + said[number + 1 :])
            elsewhere = bank.answer(number, int(traits[number])).lower() in rest.lower()
            assert elsewhere or missing_attributes(rest, traits, bank) == [label]


def test_words_that_two_traits_share_must_stand_twice(bank: QuestionBank) -> None:
    codes = np.full(19, -1, np.int16)
    codes[bank.number_of("social_relationship_importance")] = bank.code("social_relationship_importance", "Loyalty")
    codes[bank.number_of("friend_value")] = bank.code("friend_value", "Loyalty")
    assert missing_attributes("Loyalty, and again loyalty.", codes, bank) == []
    assert missing_attributes("Loyalty!", codes, bank) == ["friend_value"]


def test_an_attribute_counts_as_a_whole_word(bank: QuestionBank) -> None:
    codes = np.full(19, -1, np.int16)
    codes[bank.number_of("activity")] = bank.code("activity", "Work")
    assert missing_attributes("I like networking.", codes, bank) == ["activity"]
    assert missing_attributes("I like WORK.", codes, bank) == []


def test_personas_go_out_and_come_back(tmp_path: Path, bank: QuestionBank) -> None:
    people = sample(n=30)
    path = tmp_path / "people.jsonl"
    write_personas(path, people.traits, bank)
    back = read_personas(path, bank)
    assert np.array_equal(back.traits, people.traits)
    assert back.ids == tuple(str(row) for row in range(30))
    assert back.texts == tuple(render_persona(row, bank) for row in people.traits)
    write_personas(path, back.traits, bank, ids=[f"p{i}" for i in range(30)], texts=["é\n"] * 30)
    assert read_personas(path, bank).ids[3] == "p3"
    assert read_personas(path, bank).texts[3] == "é"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", {"got": "an empty file"}),
        ("{", {"where": "line 1", "got": "invalid JSON"}),
        ("[1]", {"where": "line 1", "got": "list"}),
        ('{"text": "a", "text": "b"}', {"got": "the key 'text' twice"}),
        ('{"text": "a"}\n{"txt": "b"}', {"where": "line 2, field 'txt'", "do": "did you mean 'text'"}),
        ('{"text": "a", "labels": 3}', {"allowed": "an object of answers by label"}),
        ('{"labels": {"gendre": "Male"}}', {"do": "did you mean 'gender'"}),
        (
            '{"labels": {"gender": "Mal"}}',
            {"where": "field 'labels:gender'", "got": "'Mal'", "do": "did you mean 'Male'"},
        ),
        ('{"labels": {"age": "25-34"}}', {"allowed": "a whole number from 0 to 120"}),
        ('{"labels": {"age": [1]}}', {"allowed": "a whole number from 0 to 120"}),
        ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}', {"where": "line 2, field 'id'", "got": "'a'"}),
        ('{"id": "a"}', {"got": "no text, labels or stance"}),
        ('{"text": true}', {"where": "field 'text'", "got": "bool"}),
        ('{"text": "' + "x" * 10_001 + '"}', {"got": "10,001 characters"}),
        ('{"text": ' + "[" * 100_000 + "}", {"got": "over 100 levels"}),
    ],
)
def test_bad_personas_name_line_and_field(tmp_path: Path, bank: QuestionBank, text: str, says: dict[str, str]) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text(text, encoding="utf-8")
    with raises_error(DataError, **says) as error:
        read_personas(path, bank)
    assert "people.jsonl" in str(error.value)


def test_text_of_personas_is_cleaned(tmp_path: Path, bank: QuestionBank) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text(json.dumps({"text": "a\x00b\ud800c"}) + "\n", encoding="utf-8")
    assert read_personas(path, bank).texts == ("a\ufffdb\ufffdc",)


def test_a_file_of_personas_is_a_population(tmp_path: Path, bank: QuestionBank) -> None:
    made = sample(100, 12)
    write_personas(tmp_path / "people.jsonl", made.traits, bank)
    path = str(tmp_path / "people.jsonl")
    people = sample(n=10, file=path)
    assert np.array_equal(people.traits, made.traits[:10])
    assert people.names == tuple(str(row) for row in range(10))
    assert np.array_equal(people.stance, sample(n=10).stance)
    late = sample_people(40, 2, Population(file="people.jsonl"), ("tax",), 7, ordinal=10, folder=tmp_path)
    assert np.array_equal(late.traits, made.traits[10:])
    with raises_error(DataError, got="12 personas, but 13 are needed"):
        sample(n=13, file=path)
    with raises_error(DataError, got="nothing at"):
        sample(file=str(tmp_path / "none.jsonl"))


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text('{"text": "one"}\n', encoding="utf-8")
    assert sample(n=1, file=str(path)).texts == ("one",)
    path.write_text('{"text": "another"}\n', encoding="utf-8")
    assert sample(n=1, file=str(path)).texts == ("another",)


def test_rows_for_the_record(bank: QuestionBank) -> None:
    traits = sample(n=3).traits.copy()
    traits[1, 4] = -1
    rows = trait_rows(np.array([5, 8, 9]), traits)
    assert len(rows["agent"]) == 3 * 19 - 1
    values = trait_value_rows(bank)
    words = {
        (int(t), int(v)): (label, answer)
        for t, v, label, answer in zip(*(values[name] for name in ("trait", "value", "label", "answer")), strict=True)
    }
    assert len(words) == len(values["trait"])
    for agent, trait, value in zip(rows["agent"], rows["trait"], rows["value"], strict=True):
        row = {5: 0, 8: 1, 9: 2}[int(agent)]
        assert traits[row, trait] == value
        assert words[int(trait), int(value)] == (bank.labels[trait], bank.answer(int(trait), int(value)))
