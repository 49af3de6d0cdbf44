"""The pages on the record say what the schema says."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from describe_record import PAGE, PARTS, TABLES_PAGE, refreshed, tables

from random_records import random_batches, recorded
from repository import ROOT
from townsquare.core import schema
from townsquare.record.code_book import code_book, missing


def test_the_page_holds_every_table_of_the_schema() -> None:
    for page in PARTS:
        text = page.read_text(encoding="utf-8")
        assert refreshed(page, text) == text, "run: python scripts/describe_record.py"
    text = TABLES_PAGE.read_text(encoding="utf-8")
    for table in schema.TABLES.values():
        assert f"### ts_{table.name}\n" in text
        for column in table.recorded:
            assert f"| {column.name} | {column.dtype} |" in tables()


def test_the_code_book_is_that_of_the_schema() -> None:
    text = (ROOT / "docs" / "code-book.csv").read_text(encoding="utf-8")
    assert text == code_book().write_csv(), "run: townsquare schema --record > docs/code-book.csv"
    columns = [(table.name, column.name) for table in schema.TABLES.values() for column in table.recorded]
    assert code_book().select("table", "column").rows() == columns
    assert (code_book()["meaning"] != "").all()


def test_the_code_book_says_which_value_stands_for_none() -> None:
    columns = {column.name: column for column in schema.TABLES["actions"].recorded}
    assert [missing(columns[name]) for name in ("agent", "rank", "helpful")] == ["", "-1 for none", "-1 no rating"]
    for name in ("beliefs", "follows", "starts"):
        assert not any(missing(column) for column in schema.TABLES[name].recorded), name
    [rating] = [column for column in schema.TABLES["note_ratings"].recorded if column.name == "rating"]
    assert missing(rating) == "empty in records before version 3"
    [quality] = [column for column in schema.TABLES["notes"].recorded if column.name == "quality"]
    assert missing(quality) == "NaN for notes not by contributors; empty in records before version 3"


def test_the_code_book_names_the_missing_value_that_a_frame_has() -> None:
    for table in schema.TABLES.values():
        for column in table.recorded:
            other = "null" if column.dtype.startswith("f") else "NaN" if column.since == 1 else "-1"
            assert other not in missing(column), (table.name, column.name)


def test_a_comma_cuts_no_meaning_short() -> None:
    for path in (ROOT / "src" / "townsquare").rglob("*.csv"):
        head, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
        wrong = [row for row in rows if len(row) != len(head)]
        assert not wrong, path


def test_a_page_without_its_marks() -> None:
    with pytest.raises(ValueError, match="lacks"):
        refreshed(PAGE, "# A page\n")


@pytest.mark.parametrize("kind", ["sqlite", "parquet"])
def test_the_folder_holds_what_the_page_says(tmp_path: Path, kind: str) -> None:
    recorded(kind, tmp_path, [random_batches(0, least=1)])
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    bulky = [name for name, table in schema.TABLES.items() if table.bulky] if kind == "parquet" else []
    assert files == {"run.db", "run.yaml", "run.lock"} | {f"parts/{name}/step-000000.parquet" for name in bulky}
    assert "step-000012-beside.parquet" in PAGE.read_text(encoding="utf-8")
    assert all(name in TABLES_PAGE.read_text(encoding="utf-8") for name in bulky)
