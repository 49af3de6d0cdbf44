"""Tables of text: one value, shown alike everywhere."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from townsquare.core.text_table import MOST_STEPS, Table, as_csv, as_markdown, as_text, table


class Fruit(NamedTuple):
    """A row."""

    name: str
    weight: float | None


def grams(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} g"


def test_rows_of_every_kind_give_the_same_table() -> None:
    frame = pl.DataFrame({"name": ["pear", "fig"], "weight": [180.25, None]})
    columns = (str, "fruit=name"), (grams, "weight")
    expected = Table("Fruit", ["fruit", "weight"], [["pear", "180.2 g"], ["fig", "–"]], {0})
    assert table("Fruit", frame, *columns) == expected
    assert table("Fruit", frame.to_dicts(), *columns) == expected
    assert table("Fruit", [Fruit("pear", 180.25), Fruit("fig", None)], *columns) == expected
    assert table("Fruit", frame.rows(), (str, "fruit"), (grams, "weight")) == expected


def test_a_heading_may_be_empty_or_hold_an_equals_sign() -> None:
    shown = table("", [{"a": 1, "b": 2}], (str, "=a", "x = y=b"))
    assert shown.head == ["", "x = y"]
    assert shown.rows == [["1", "2"]]


def test_columns_of_words_are_found_or_named() -> None:
    rows = [("a", 1, None), ("b", 2, "text")]
    assert table("", rows, (str, "one", "two", "three")).words == {0, 2}
    assert table("", rows, (str, "one", "two", "three"), words=["two"]).words == {1}


def test_a_long_course_is_thinned_and_says_so() -> None:
    shown = table("", pl.DataFrame({"step": range(100)}), (str, "step"))
    assert len(shown.rows) == MOST_STEPS
    assert (shown.rows[0], shown.rows[-1]) == (["0"], ["99"])
    assert shown.note == "25 of 100 steps are listed."
    assert not table("", pl.DataFrame({"step": range(20)}), (str, "step")).note


def test_the_same_cells_as_csv_as_text_and_in_markdown() -> None:
    shown = Table("Fruit", ["fruit", "g"], [["pear", "180"], ["a|b", "9"]], note="Ripe.")
    assert as_csv(shown) == "fruit,g\npear,180\na|b,9\n"
    assert as_text(shown) == "Fruit\n\nfruit    g\n----------\npear   180\na|b      9\n\nRipe.\n"
    assert as_markdown(shown) == "| fruit | g |\n| --- | ---: |\n| pear | 180 |\n| a\\|b | 9 |"
