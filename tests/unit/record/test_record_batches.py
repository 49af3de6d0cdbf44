"""Rows of a step: joined in order, by table in schema order, never copied needlessly, text made valid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from townsquare.core import schema
from townsquare.record.batches import Batches, valid_text


def ratings(agents: list[int]) -> dict[str, dict[str, Any]]:
    return {"note_ratings": schema.rows("note_ratings", len(agents), note=0, agent=agents, step=1, helpful=True)}


def test_rows_are_joined_in_the_order_of_addition() -> None:
    out = Batches(1)
    out.add(ratings([3, 1]))
    out.add(ratings([]))
    out.add(ratings([2]))
    assert out.get("note_ratings")["agent"].tolist() == [3, 1, 2]
    assert out.get("note_ratings")["agent"].dtype == np.int32
    out.add(ratings([9]))
    assert out.get("note_ratings")["agent"].tolist() == [3, 1, 2, 9]
    assert out.count("note_ratings") == 4


def test_tables_come_in_the_order_of_the_schema() -> None:
    out = Batches(1)
    out.add(ratings([1]) | {"texts": schema.rows("texts", 1, text=0, content="hello")})
    assert out.tables() == ["texts", "note_ratings"]


def test_no_rows() -> None:
    out = Batches(0)
    out.add(ratings([]))
    assert out.tables() == []
    assert out.count("note_ratings") == 0
    assert out.get("note_ratings").keys() == schema.empty("note_ratings").keys()
    assert len(out.get("texts")["content"]) == 0


def test_one_part_is_not_copied_and_cannot_be_written() -> None:
    agents = np.array([1, 2], np.int32)
    out = Batches(1)
    out.add({"note_ratings": ratings([1, 2])["note_ratings"] | {"agent": agents}})
    got = out.get("note_ratings")["agent"]
    assert np.shares_memory(got, agents)
    with pytest.raises(ValueError, match="read-only"):
        got[0] = 5
    assert agents.flags.writeable


@pytest.mark.parametrize("columns", [{"note": [0]}, {"note": [0], "agent": [0], "step": [0], "helpful": [1], "x": [1]}])
def test_wrong_columns_are_a_fault_of_the_caller(columns: dict[str, list[int]]) -> None:
    with pytest.raises(KeyError, match="note_ratings"):
        Batches(0).add({"note_ratings": {name: np.array(value) for name, value in columns.items()}})


def test_wrong_lengths_and_tables() -> None:
    columns = {"text": np.array([0, 1], np.int32), "content": ["one"]}
    with pytest.raises(ValueError, match="different lengths"):
        Batches(0).add({"texts": columns})
    with pytest.raises(KeyError):
        Batches(0).add({"tweets": columns})


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=8), max_size=6))
def test_valid_text_changes_nothing_but_surrogates(texts: list[str]) -> None:
    got = valid_text(texts)
    assert len(got) == len(texts)
    for before, after in zip(texts, got, strict=True):
        after.encode()
        if not any("\ud800" <= letter <= "\udfff" for letter in before):
            assert after == before
    assert valid_text(got) == got


def test_text_is_made_valid_when_it_is_added() -> None:
    out = Batches(0)
    out.add({"texts": schema.rows("texts", 2, text=[0, 1], content=["half \ud83d!", "nul \x00"])})
    assert out.get("texts")["content"] == ["half �!", "nul \x00"]
