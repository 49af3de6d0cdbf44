"""Strength: within [0, 1], a function of one text and its statement, blind to the side, and better than length."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from argument_tables import BAN, FUND
from raised_errors import raises_error
from repository import ROOT
from townsquare.beliefs.evidence.fitted import fitted
from townsquare.beliefs.evidence.strength import judge_strength
from townsquare.beliefs.evidence.words import JUDGES
from townsquare.core import registry
from townsquare.core.errors import DataError, TownsquareError
from townsquare.settings.base import MemberParams

REASONED = (
    "Night flights should be banned because studies show that people who are woken by aircraft noise suffer more often"
    " from stress and heart disease."
)


def test_reasons_beat_remarks() -> None:
    said = judge_strength([REASONED, "planes bad lol!!", "i dont like it"], [BAN] * 3)
    assert said[0] > said[1:].max()


def test_bearing_on_the_proposition_counts() -> None:
    on, off = judge_strength([REASONED, REASONED], [BAN, FUND])
    assert on > off


def test_the_family_gives_the_same_numbers() -> None:
    judge = registry.get("strength", "embedded")
    texts = [REASONED, "planes bad"]
    assert judge.estimate(texts, [BAN] * 2, MemberParams()).tolist() == judge_strength(texts, [BAN] * 2).tolist()
    assert judge.estimate([], [], MemberParams()).shape == (0,)


def test_one_statement_for_each_text() -> None:
    with raises_error(DataError, got="2 texts, 1 statements"):
        judge_strength(["a", "b"], [BAN])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=4), st.text(max_size=60))
def test_any_text_has_a_strength_of_its_own(texts: list[str], statement: str) -> None:
    said = judge_strength(texts, [statement] * len(texts))
    assert ((said >= 0) & (said <= 1)).all()
    assert said.tolist() == [judge_strength([text], [statement])[0] for text in texts]


def test_a_long_text_is_no_outlier() -> None:
    said = judge_strength([REASONED * 60, "a" * 20_000, "1. " * 3000], [BAN] * 3)
    assert (np.abs(said - 0.55) < 0.45).all()


def test_the_transformer_says_what_it_needs() -> None:
    judge = registry.get("strength", "transformer")
    with raises_error(TownsquareError, do=r"quality|strength\.model"):
        judge.estimate(["a"], [BAN], judge.params())


# --- what is shipped ---------------------------------------------------------------------------------------


def test_shipped_numbers_say_where_they_come_from() -> None:
    about = fitted().about
    for source in about["sources"]:
        assert source["license"]
        assert source["from"]
    assert about["date"]
    assert fitted().polarity_topics
    assert fitted().strength_topics


def test_shipped_numbers_are_small_and_hold_no_texts() -> None:
    files = sorted(JUDGES.iterdir())
    assert sum(file.stat().st_size for file in files) < 1_000_000
    with np.load(JUDGES / "fitted.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype.kind in "if" for name in arrays.files)


def test_the_training_script_names_the_same_sources() -> None:
    script = ROOT / "scripts" / "train_judges.py"
    words = script.read_text(encoding="utf-8")
    assert all(source["file"] in words for source in fitted().about["sources"])
