"""The page on the record says what the schema says."""

from __future__ import annotations

from pathlib import Path

import pytest
from describe_record import PAGE, refreshed, tables

from random_records import random_batches, recorded
from townsquare.core import schema


def test_the_page_holds_every_table_of_the_schema() -> None:
    text = PAGE.read_text(encoding="utf-8")
    do = "run: python scripts/describe_record.py"
    assert refreshed(text) == text, do
    for table in schema.TABLES.values():
        assert f"### ts_{table.name}\n" in text
        for column in table.recorded:
            assert f"| {column.name} | {column.dtype} |" in tables()


def test_a_page_without_its_marks() -> None:
    with pytest.raises(ValueError, match="lacks"):
        refreshed("# A page\n")


@pytest.mark.parametrize("kind", ["sqlite", "parquet"])
def test_the_folder_holds_what_the_page_says(tmp_path: Path, kind: str) -> None:
    recorded(kind, tmp_path, [random_batches(0, least=1)])
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    bulky = [name for name, table in schema.TABLES.items() if table.bulky] if kind == "parquet" else []
    assert files == {"run.db", "run.yaml", "run.lock"} | {f"parts/{name}/step-000000.parquet" for name in bulky}
    assert "step-000012-beside.parquet" in PAGE.read_text(encoding="utf-8")
    assert all(name in PAGE.read_text(encoding="utf-8") for name in bulky)
