"""Polarity is stance toward the proposition, not tone; the same text, the same judgment; refusals that say why."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from train_judges import quantize

from argument_tables import BAN, FUND, TEXTS, examples
from raised_errors import raises_error
from townsquare.beliefs.evidence.examples import NO_EXAMPLES, Examples
from townsquare.beliefs.evidence.linear import fit_ridge, predict
from townsquare.beliefs.evidence.ngrams import Rows
from townsquare.beliefs.evidence.polarity import judge_polarity
from townsquare.beliefs.evidence.proposition import read_proposition
from townsquare.beliefs.evidence.scopes import read_scopes
from townsquare.beliefs.evidence.text import sentences, stem, tokens
from townsquare.beliefs.stance.vader import score_text
from townsquare.core.errors import DataError


def test_the_sides_of_a_bank_are_told_apart_on_arguments_outside_it() -> None:
    right = []
    for (statement, side), texts in TEXTS.items():
        said = judge_polarity(texts[:2], statement, examples(statement, skip=2))
        right += (said.polarity == side).tolist()
    assert sum(right) >= 7, right


def test_a_bank_is_learned() -> None:
    for (statement, side), texts in TEXTS.items():
        said = judge_polarity(texts, statement, examples(statement))
        assert (said.polarity == side).all(), statement
        assert (said.confidence > 0.6).all()


def test_stance_is_not_tone() -> None:
    harsh, warm = "Cars kill children and poison the air.", "Cars give freedom and joy to families."
    assert score_text(harsh) < 0 < score_text(warm)
    assert judge_polarity([harsh, warm], "We should ban cars").polarity.tolist() == [1, -1]
    assert judge_polarity([harsh, warm], "We should subsidize cars").polarity.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("statement", "direction", "coercion"),
    [
        ("We should ban night flights", -1, 1),
        ("Night flights should not be banned", 1, 1),
        ("We should end mandatory retirement", -1, -1),
        ("We should fight for the abolition of nuclear weapons", -1, 0),
        ("Online shopping brings more good than harm", 1, 0),
        ("Online shopping brings more harm than good", -1, 0),
        ("We should legalize cannabis", 1, -1),
        ("Smoking is harmful", -1, 0),
        ("", 1, 0),
        ("12 34 !!", 1, 0),
    ],
)
def test_what_a_proposition_does_to_its_subject(statement: str, direction: int, coercion: int) -> None:
    frame = read_proposition(statement)
    assert (frame.direction, frame.coercion) == (direction, coercion)


def test_scopes_turn_what_a_negation_or_an_action_is_said_of() -> None:
    words = tokens("Guns do not protect anyone. Banning guns would save lives.")
    scopes = read_scopes(words, frozenset({"gun"}))
    at = {word: place for place, word in enumerate(words)}
    assert scopes.negated[at["protect"]] == -1
    assert scopes.of_action[at["protect"]] == 1
    assert scopes.of_action[at["save"]] == -1


def test_a_judgment_depends_on_its_own_text_alone() -> None:
    texts = list(TEXTS[BAN, 1] + TEXTS[BAN, -1])
    together = judge_polarity(texts, BAN, examples(BAN, skip=3))
    alone = [judge_polarity([text], BAN, examples(BAN, skip=3)) for text in texts]
    assert together.score.tolist() == [one.score[0] for one in alone]
    backward = judge_polarity(texts[::-1], BAN, examples(BAN, skip=3))
    assert together.score.tolist() == backward.score[::-1].tolist()


def test_expected_polarity_is_a_stance() -> None:
    said = judge_polarity(TEXTS[FUND, 1] + TEXTS[FUND, -1], FUND, examples(FUND))
    assert (np.sign(said.stance) == said.polarity).all()
    assert (np.abs(said.stance) <= 1).all()


def test_too_small_a_bank_leaves_it_to_the_general_judge() -> None:
    texts = TEXTS[FUND, 1]
    alone = judge_polarity(texts, FUND, NO_EXAMPLES).score
    assert judge_polarity(texts, FUND, Examples(("It is good.",) * 9, (1,) * 9)).score.tolist() == alone.tolist()


def test_a_bank_without_polarities_is_refused() -> None:
    texts = tuple(f"Argument {n}." for n in range(8))
    with raises_error(DataError, where="argument 6", got="polarity 0"):
        judge_polarity(["Any."], FUND, Examples(texts, (1, 1, 1, -1, -1, -1, 0, 1)))
    with raises_error(DataError, got="8 texts and 7 polarities"):
        judge_polarity(["Any."], FUND, Examples(texts, (1, 1, 1, -1, -1, -1, 1)))


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=300), st.text(max_size=80))
def test_any_text_on_any_statement_is_judged(text: str, statement: str) -> None:
    said = judge_polarity([text, ""], statement, examples(FUND))
    assert set(said.polarity.tolist()) <= {-1, 1}
    assert np.isfinite(said.score).all()
    assert ((said.confidence >= 0.5) & (said.confidence <= 1)).all()


# --- the parts underneath ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_ridge_is_the_closed_form(n: int, d: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    features, target, weight = draw.normal(size=(n, d)), draw.normal(size=n), draw.uniform(0.2, 2.0, n)
    found = fit_ridge(Rows(features), target, 0.7, weight)
    base = (weight * target).sum() / weight.sum()
    scaled = features * weight[:, None]
    exact = np.linalg.solve(features.T @ scaled + 0.7 * np.eye(d), scaled.T @ (target - base))
    np.testing.assert_allclose(found.slope, exact, atol=1e-3)
    np.testing.assert_allclose(predict(found, Rows(features)), base + features @ exact, atol=1e-2)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20))
def test_weights_as_bytes_err_by_half_a_unit(slope: list[float]) -> None:
    values = np.array(slope)
    small, unit = quantize(values)
    assert small.dtype == np.int8
    assert (np.abs(small * unit - values) <= 0.5 * unit + 1e-9).all()


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet=st.sampled_from("ab .!?;\n3A\"'-"), max_size=80))
def test_sentences_lie_in_the_text_in_order(text: str) -> None:
    spans = sentences(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one.end <= other.start for one, other in pairwise(spans))
    outside = text
    for start, end in reversed(spans):
        outside = outside[:start] + outside[end:]
    assert not any(letter.isalnum() for letter in outside)


@given(st.text(alphabet="abcdefghilmnoprstuz", min_size=1, max_size=20))
def test_a_stem_begins_its_word(word: str) -> None:
    assert word.startswith(stem(word))
    assert stem(word)
