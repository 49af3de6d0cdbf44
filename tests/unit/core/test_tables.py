"""The one reader of tables: what a list of columns finds in a file, and what it refuses with which words."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from raised_errors import raises_error
from townsquare.core.cells import (
    Column,
    Group,
    Scale,
    Sheet,
    is_filled,
    names,
    numbers,
    read_columns,
    texts,
    words,
)
from townsquare.core.errors import DataError
from townsquare.core.tabular import Record, Records, read_table

COLUMNS = (
    Column("text", texts(), ("headline", "claim"), needed=True),
    Column("id", names(), unique=True),
    Column("share", numbers(0, 1, 0.5), meaning="the share of it"),
    Column("side", words({"pro": 1, "con": -1, "": 0})),
)
STANCES = Group("stance", ("tax", "dam"), numbers(-1, 1))
ROWS = "headline,id,share,side,stance:dam\nA,1,0,pro,\nB,2,,,0.5\n"


def sheet_of(path: Path, text: str = ROWS, *, strict: bool = True) -> Sheet:
    path.write_text(text, encoding="utf-8")
    return read_columns(read_table(path), COLUMNS, [STANCES], strict=strict)


def test_columns_go_by_any_of_their_names(tmp_path: Path) -> None:
    sheet = sheet_of(tmp_path / "t.csv")
    assert (sheet["text"], sheet.used["text"]) == (["A", "B"], "headline")
    assert (sheet["id"], sheet["share"], sheet["side"]) == (["1", "2"], [0.0, 0.5], [1, 0])
    assert list(sheet.group("stance")) == ["dam"]
    assert sheet.group("stance")["dam"][1] == 0.5


def test_a_column_that_is_not_there_is_empty(tmp_path: Path) -> None:
    sheet = sheet_of(tmp_path / "t.csv", "text\nA\nB\n")
    assert "share" not in sheet
    assert sheet["share"] == [0.5, 0.5]
    assert all(math.isnan(stance) for stance in sheet["stance:tax"])
    with raises_error(DataError, where=r"row 1 \(line 2\), column 'id'", got="nothing"):
        sheet["id"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "id\n1\n",
            {"where": "t.csv, header", "got": "columns id", "allowed": r"a column `text` \(or headline, claim\)"},
        ),
        (
            "text,shar\nA,1\n",
            {"where": "header", "got": "the column 'shar'", "allowed": "text, ", "do": "did you mean 'share'"},
        ),
        (
            "text,stance:dams\nA,1\n",
            {
                "where": "header, column 'stance:dams'",
                "got": "'dams'",
                "allowed": "tax, dam",
                "do": "did you mean 'dam'",
            },
        ),
    ],
)
def test_other_columns_are_refused(tmp_path: Path, text: str, says: dict[str, str]) -> None:
    with raises_error(DataError, **says):
        sheet_of(tmp_path / "t.csv", text)


def test_other_columns_are_left_out_where_they_may_be_there(tmp_path: Path) -> None:
    assert sheet_of(tmp_path / "t.csv", "text,shoe,claim\nA,41,B\n", strict=False).spare == ("shoe", "claim")


@pytest.mark.parametrize(
    ("column", "text", "says"),
    [
        (
            "id",
            ROWS.replace("B,2", "B,1"),
            {"where": "row 2 .*column 'id'", "got": "'1' again", "allowed": "another than in .*row 1"},
        ),
        (
            "share",
            ROWS.replace("A,1,0", "A,1,2"),
            {"got": "'2'", "allowed": "from 0 to 1, or nothing", "do": "for the share of it: rename"},
        ),
        (
            "side",
            ROWS.replace("pro", "prp"),
            {"where": "column 'side'", "got": "'prp'", "allowed": "pro, con, nothing", "do": "did you mean 'pro'"},
        ),
        ("text", ROWS.replace("A", " "), {"where": "column 'headline'", "got": "nothing", "allowed": "a text"}),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, column: str, text: str, says: dict[str, str]) -> None:
    with raises_error(DataError, **says):
        sheet_of(tmp_path / "t.csv", text)[column]


@pytest.mark.parametrize(
    ("read", "good", "wrong", "says"),
    [
        (numbers(0, 9, None), 0, "", {"got": "nothing", "allowed": "a number from 0 to 9$"}),
        (
            numbers(1, 9, -1, whole=True),
            "3.0",
            2.5,
            {"got": "2.5", "allowed": "a whole number from 1 to 9, or nothing"},
        ),
        (numbers(0, 9, 1.0, above=True), 1e-9, 0, {"got": "0", "allowed": "a number above 0, at most 9, or nothing"}),
        (numbers(0, 9), 9, True, {"got": "True"}),
        (texts(limit=3), 123, "1234", {"got": "4 characters", "allowed": "at most 3"}),
        (Scale(5, 1).stance, 5, 6, {"got": "6", "allowed": "a number from 1 to 5"}),
        (
            Scale(None, None, {"Yes": 1}).stance,
            "yes ",
            "Yess",
            {"allowed": ".", "got": "Yes", "do": "did you mean 'Yes'"},
        ),
    ],
)
def test_one_cell(read: Callable[[Record, str], Any], good: object, wrong: object, says: dict[str, str]) -> None:
    read(Record("here", {"x": good}), "x")
    with raises_error(DataError, **says):
        read(Record("here", {"x": wrong}), "x")


def test_a_scale_keeps_stances_to_the_last_bit() -> None:
    assert Scale().stance(Record("here", {"x": "0.1"}), "x") == 0.1
    assert math.isnan(Scale(1, 5, {"no idea": None}).stance(Record("here", {"x": "No idea"}), "x"))


def test_a_zero_is_something() -> None:
    table = Records("here", ("x",), [Record("row 1", {"x": None}), Record("row 2", {"x": 0})])
    assert read_columns(table, [Column("x", numbers(0, 1))]).has_any("x")
    assert [is_filled(Record("here", {"x": cell}), "x") for cell in (0, "0", False, " ", "", None)] == [True] * 3 + [
        False
    ] * 3


def test_three_kinds_of_files_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(ROWS, encoding="utf-8")
    frame = pl.read_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    sheets = [
        read_columns(read_table(tmp_path / f"t.{kind}"), COLUMNS, [STANCES]) for kind in ("csv", "parquet", "jsonl")
    ]
    for name in ("text", "id", "share", "side"):
        assert sheets[0][name] == sheets[1][name] == sheets[2][name]
    with raises_error(DataError, got=".txt", allowed=".csv"):
        read_table(tmp_path / "t.txt", [".csv"])
