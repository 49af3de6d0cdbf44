"""Prices, tokens and health: counted by rules that are written down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chat_requests import client, questions
from raised_errors import raises_error
from townsquare.core.errors import ModelError
from townsquare.models import usage
from townsquare.models.usage import bundled, estimate

OWN = """
date: 2026-11
models:
  fake: {in: 2, out: 4}
  server/: {in: 1, out: 1}
"""


def test_the_bundled_table_is_dated_and_finds_models_and_their_dated_versions() -> None:
    table = bundled()
    assert re.fullmatch(r"20\d\d-\d\d", table.date)
    mini = table.price("openai/gpt-4o-mini")
    assert mini is not None
    assert table.price("openai/gpt-4o-mini-2024-07-18") == mini
    assert table.price("openai/gpt-4o") != mini
    assert (
        table.price("openai/gpt-4o-2024-05-13")
        != table.price("openai/gpt-4o-2024-11-20")
        == table.price("openai/gpt-4o")
    )
    assert table.price("openai/gpt-4o-audio-preview") is None
    assert table.price("openai/o3-deep-research") is None
    local = table.price("ollama/llama3.2")
    assert local is not None
    assert local.tokens_out == 0
    assert table.price("server/anything") is None
    for price in table.models.values():
        assert 0 <= price.tokens_in <= price.tokens_out < 1000


def test_a_table_of_your_own_is_used_instead(tmp_path: Path) -> None:
    path = tmp_path / "my-prices.yaml"
    path.write_text(OWN, encoding="utf-8")
    with client("fake", prices=str(path)) as opened:
        opened.ask(questions(10))
        spent = opened.usage
        assert spent.usd == pytest.approx((2 * spent.tokens_in + 4 * spent.tokens_out) / 1e6)
    with client("faulty/0", prices=str(path)) as opened:
        opened.ask(questions(10))
        assert (opened.usage.usd, opened.usage.unpriced) == (0, 10)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "date: 2026-11", "date: 2026-11\nmodels: {a: {in: -1, out: 2}}", "date: 2026-11\nmodels: {a: {in: 1}}",
     "date: 2026-11\nmodels: {a: {in: .inf, out: 2}}", "models: {", "date: 2026-11\nmodels: {a: {in: 1, out: 2}}\nx: 1",
     "[" * 1500],
)  # fmt: skip
def test_a_table_that_is_none_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my-prices.yaml"
    path.write_text(text, encoding="utf-8")
    with raises_error(ModelError, where=r"my-prices\.yaml"):
        usage.read(path)
    with raises_error(ModelError, do=r"docs/models\.md"):
        usage.read(tmp_path / "missing.yaml")


def test_tokens_are_characters_by_four_where_nobody_counted() -> None:
    assert [estimate("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]
