"""Extraction: no, one or several claims; snippets are passages of the message; no text makes it fail."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argument_tables import BAN, FUND, TEXTS, examples
from townsquare.beliefs.evidence.contract import Topics, check_found
from townsquare.beliefs.evidence.examples import NO_EXAMPLES, Examples
from townsquare.beliefs.evidence.extract import MOST_CLAIMS, Claim, Params, canonical, extract_many, tag
from townsquare.beliefs.evidence.passages import passages
from townsquare.beliefs.evidence.proposition import read_proposition
from townsquare.beliefs.evidence.relevance import WITH_BANK, WITHOUT_BANK, relevance
from townsquare.core import registry

BOTH = [BAN, FUND]
BANKS = [examples(BAN, skip=1), examples(FUND, skip=1)]


def extract(text: str, statements: list[str], banks: list[Examples] | None = None) -> list[Claim]:
    """The claims of one message."""
    return extract_many([text], statements, banks)[0]


def topics() -> Topics:
    """Both propositions and their whole banks."""
    rows = [(text, BOTH.index(statement), side) for (statement, side), texts in TEXTS.items() for text in texts]
    return Topics(
        tuple(BOTH),
        tuple(text for text, _, _ in rows),
        np.array([proposition for _, proposition, _ in rows], np.int16),
        np.array([float(side) for _, _, side in rows]),
        np.full(len(rows), 0.5),
    )


def test_one_argument_is_one_claim_on_its_proposition() -> None:
    for (statement, side), texts in TEXTS.items():
        claims = extract(texts[0], BOTH, BANKS)
        assert len(claims) == 1, texts[0]
        assert claims[0].proposition == BOTH.index(statement)
        assert claims[0].polarity in (side, -side)
        assert 0 <= claims[0].strength <= 1
        assert 0.5 <= claims[0].confidence <= 1


def test_other_matters_give_no_claim() -> None:
    for text in ("", "   ", "!!!", "I had soup for lunch.", "The match ended two to one.", "12 34"):
        assert extract(text, BOTH, BANKS) == []
    assert extract(TEXTS[BAN, 1][0], []) == []


def test_sentences_that_go_on_are_one_claim() -> None:
    text = "Night flights ruin the sleep of children. This is why they fall ill, and it should stop."
    claims = extract(text, BOTH, BANKS)
    assert [claim.snippet for claim in claims] == [text]


def test_two_arguments_are_two_claims() -> None:
    first = "The noise of cargo planes that land at the airport after midnight is harmful to children who need sleep."
    second = "Public libraries help people without work to find jobs, and they give every child in town free books."
    claims = extract(f"{first} {second}", BOTH, BANKS)
    assert [claim.proposition for claim in claims] == [0, 1]
    assert [claim.snippet for claim in claims] == [first, second]


def test_without_a_bank_the_words_of_the_proposition_decide() -> None:
    assert relevance("Night flights wake me.", BAN, NO_EXAMPLES) >= WITHOUT_BANK
    assert relevance("Aircraft noise causes stress.", BAN, NO_EXAMPLES) < WITHOUT_BANK
    assert relevance("Aircraft noise causes stress near the airport.", BAN, examples(BAN)) >= WITH_BANK


def test_many_messages_are_read_as_one_by_one() -> None:
    messages = [text for texts in TEXTS.values() for text in texts[:3]] + ["", "Soup."]
    assert extract_many(messages, BOTH, BANKS) == [extract(message, BOTH, BANKS) for message in messages]


def test_unsure_claims_can_be_left_out() -> None:
    messages = [text for texts in TEXTS.values() for text in texts]
    every = [claim for claims in extract_many(messages, BOTH, BANKS) for claim in claims]
    sure = [claim for claims in extract_many(messages, BOTH, BANKS, least_confidence=0.7) for claim in claims]
    assert sure == [claim for claim in every if claim.confidence >= 0.7]
    assert len(sure) < len(every)


def test_the_family_finds_the_same_claims_and_leaves_strength_to_the_judge() -> None:
    member = registry.get("extractor", "embedded")
    messages = ["Soup.", TEXTS[FUND, -1][0], "", TEXTS[BAN, 1][1]]
    found = check_found("embedded", member.extract(messages, topics(), Params()), len(messages), 2)
    assert found.message.tolist() == [1, 3]
    assert found.proposition.tolist() == [1, 0]
    assert found.polarity.tolist() == [-1, 1]
    assert np.isnan(found.strength).all()
    assert member.extract([], topics(), Params()).message.size == 0


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=400))
def test_no_text_breaks_it(text: str) -> None:
    for claim in extract(text, BOTH, BANKS):
        assert claim.snippet in text
        assert claim.text.strip()
        assert claim.polarity in (-1, 1)


@pytest.mark.parametrize(
    "text",
    [
        "Night flights. " * 4000,
        "night flights" * 4000,
        "a.b." * 5000,
        "\n" * 50_000,
        "((((" * 10_000,
        "1) " * 20_000,
        "\ud800 \x00 night flights \u202e",
        "٣ " * 5000,
    ],
)
def test_hostile_texts_are_bounded(text: str) -> None:
    claims = extract(text, BOTH, BANKS)
    assert len(claims) <= MOST_CLAIMS
    assert all(len(claim.text) <= 1001 for claim in claims)


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=300))
def test_passages_are_whole_and_apart(text: str) -> None:
    spans = passages(text, read_proposition(BAN))
    assert all(one.end <= other.start for one, other in pairwise(spans))
    assert all(text[start:end].strip() == text[start:end] for start, end in spans)


@given(st.text(min_size=1, max_size=200).filter(lambda text: text.strip()))
def test_a_canonical_claim_is_one_line_and_says_something(text: str) -> None:
    said = canonical(text)
    assert said
    assert "\n" not in said
    assert canonical(said) == canonical(canonical(said))


def test_tags() -> None:
    assert tag("Doctors say that cancer patients suffer.") == "health"
    assert tag("It is blue.") == ""
