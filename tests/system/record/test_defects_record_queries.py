"""Queries over a run read no file, the page on the record is derived, and a copy without its log says what lacks."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from changed_rows import as_rows
from random_records import KINDS_HERE, header, random_batches, recorded, recorder_of, summary_of
from repository import ROOT
from townsquare.core import schema
from townsquare.core.errors import RecordError, SettingError
from townsquare.record.content_hash import HashChain
from townsquare.record.folder import FolderReader
from townsquare.record.mosaic.views import VIEWS
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder

FILES = [
    """select count(*) from ts_exposures, "read_csv"('{file}')""",
    "select count(*) from ts_exposures, read_csv('{file}')",
    "select count(*) from ts_exposures, READ_csv ('{file}')",
    "select count(*) from ts_exposures, `read_csv`('{file}')",
    "select count(*) from ts_exposures, [read_csv]('{file}')",
    "select count(*) from ts_exposures, read_csv/**/('{file}')",
    "select count(*) from ts_exposures, read_csv--\n('{file}')",
    "select count(*) from ts_exposures, read_csv--\r('{file}')",
    """select count(*) from ts_exposures, "read_csv" /* ' */ ('{file}') /* ' */""",
    "select '/* ' from ts_exposures, read_csv('{file}') where '*/' = '*/'",
    "/* /* */ ' */ select count(*) from ts_exposures, read_csv('{file}') -- '",
    "select /* /* */ ' */ count(*) from ts_exposures, read_csv('{file}') /* ' */",
    """select count(*) from ts_exposures, U&"read\\005fcsv"('{file}')""",
    "select count(*) from ts_exposures, read_parquet('{file}')",
    "select count(*) from ts_exposures, scan_parquet('{file}')",
    "select count(*) from ts_exposures, read_ipc('{file}')",
    "select count(*) from ts_exposures, read_json('{file}')",
    "select count(*) from ts_exposures, read_ndjson('{file}')",
    "select count(*) from ts_exposures, lateral read_csv('{file}')",
    "with read_csv as (select 1 as a) select count(*) from ts_exposures, read_csv('{file}')",
    "with read_csv(a) as (select 1) select count(*) from ts_exposures, read_csv('{file}')",
    "select count(*) from ts_exposures where step in (select 1 from read_csv('{file}'))",
    "select 'a\\', count(*) from ts_exposures, read_csv('{file}') where 'b' = 'b'",
    "select E'a\\'' from ts_exposures, read_csv('{file}') where 'b' = 'b'",
    "select $$'$$, count(*) from ts_exposures, read_csv('{file}') where $$'$$ = 'b'",
    "select count(*) from ts_exposures, '{file}'",
    'select count(*) from ts_exposures, "{file}"',
    "select pg_read_file('{file}') from ts_exposures",
    """select "pg_read_file"('{file}') from ts_exposures""",
    "select pg_catalog.pg_read_file('{file}') from ts_exposures",
    "select query_to_xml('select pg_read_file(''{file}'')', true, true, '') from ts_exposures",
    "select load_extension('{file}') from ts_exposures",
    "select readfile('{file}') from ts_exposures",
    "select * from ts_exposures, read_text('{file}')",
    "select * from ts_exposures, read_blob('{file}')",
    "select * from ts_exposures, sniff_csv('{file}')",
    "select * from ts_exposures, glob('{file}*')",
    "select * from ts_exposures, '{file}*'",
    "select * from ts_exposures, 'file://{file}'",
    "select * from ts_exposures, main.'{file}'",
    "select getenv('HOME') from ts_exposures",
    "select * from ts_exposures, duckdb_secrets()",
    "select * from ts_exposures, which_secret('{file}', 's3')",
    "select current_setting('data_directory') from ts_exposures",
    "select pg_ls_dir('/') from ts_exposures",
    "select pg_stat_file('{file}') from ts_exposures",
    "select lo_import('{file}') from ts_exposures",
    "select lo_export(1, '{file}') from ts_exposures",
    "select * from ts_exposures, dblink('dbname=other', 'select 1') as other(a int)",
    "select * from ts_exposures, pragma_journal_mode('delete')",
    "select * from ts_exposures, pragma_writable_schema(1)",
]
"""Queries of one SELECT that would read a file if its database let them."""
STATEMENTS = [
    "ATTACH '{file}' AS other",
    "ATTACH DATABASE '{file}' AS other; SELECT 1",
    "SELECT 1; ATTACH '{file}' AS other",
    "DETACH main",
    "COPY ts_exposures TO '{file}'",
    "COPY (SELECT 1) TO PROGRAM 'touch {file}'",
    "COPY ts_exposures FROM '{file}'",
    "EXPORT DATABASE '{file}'",
    "VACUUM INTO '{file}'",
    "SELECT 1 AS a INTO OUTFILE '{file}'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{file}'",
    "SET lock_configuration = false",
    "SET enable_external_access = true",
    "RESET role",
    "PRAGMA database_list",
    "PRAGMA writable_schema = 1",
    "CREATE SECRET mine (TYPE s3)",
    "CREATE TABLE mine AS SELECT 1 AS a",
    "DROP TABLE ts_exposures",
    "UPDATE ts_exposures SET agent = 0",
    "WITH a AS (SELECT 1) INSERT INTO ts_texts SELECT 1, 'a'",
    "EXPLAIN SELECT 1",
    "BEGIN",
    "CALL pragma_version()",
    "FROM ts_exposures",
    "VALUES (1)",
]
"""Anything but one SELECT."""


@pytest.mark.parametrize("kind", KINDS_HERE)
def test_row_10b_no_query_reads_a_file(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\nsecret\n")
    run = recorded(kind, tmp_path / "run", [random_batches(0, least=1)])
    for query in FILES:
        for asked in (query, query.replace("ts_exposures", "feed_exposures")):
            with pytest.raises(SettingError):
                run.sql(asked.format(file=file))


@pytest.mark.parametrize("kind", KINDS_HERE)
def test_row_10b_a_query_is_one_select_that_changes_nothing(kind: str, tmp_path: Path) -> None:
    run = recorded(kind, tmp_path / "run", [random_batches(0, least=1)])
    file = tmp_path / "other"
    before = sorted(tmp_path.rglob("*"))
    for query in STATEMENTS:
        for asked in (query, query.replace("ts_exposures", "feed_exposures")):
            with pytest.raises(SettingError):
                run.sql(asked.format(file=file))
    assert sorted(tmp_path.rglob("*")) == before
    assert run.verify() == run.content_hash


@pytest.mark.parametrize("kind", KINDS_HERE)
def test_row_10b_plain_queries_are_answered(kind: str, tmp_path: Path) -> None:
    run = recorded(kind, tmp_path, [random_batches(0, least=1)])
    for query in (
        "select count(*) as n from ts_exposures where 'read_csv(' <> '/* -- '",
        "SELECT COUNT ( * ) AS n FROM ts_exposures -- read_csv('x')",
        "with a as (select * from ts_exposures) select count(*) as n from a where (rank in (1) or not (rank in (1)))",
        """select count("agent") as n from "ts_exposures" as "read_csv";""",
        "select sum(coalesce(abs(1), 2)) as n from ts_exposures",
        "select count(cast(agent as varchar(10))) as n from ts_exposures",
    ):
        assert run.sql(query)["n"][0] == run.counts["exposures"] > 0, query


def test_row_16b_the_page_says_what_the_views_hold(tmp_path: Path) -> None:
    recorded("sqlite", tmp_path, [random_batches(0, least=1)])
    page = (ROOT / "docs" / "record.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `"): line for line in page.splitlines() if line.startswith("| `")}
    as_rows(tmp_path)
    with closing(sqlite3.connect(tmp_path / "run.db")) as database:
        views = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
        assert sorted(views) == sorted(VIEWS)
        for view in views:
            names = [column[0] for column in database.execute(f"SELECT * FROM {view} LIMIT 0").description]
            at = [rows[view].index(f"`{name}`") for name in names]
            assert at == sorted(at), view
    assert "no memories yet" not in page


def test_row_10c_a_copy_without_its_log_says_what_to_copy(tmp_path: Path) -> None:
    recorder = recorder_of("sqlite", tmp_path / "run")
    recorder.open(header())
    out = random_batches(0, least=1)
    recorder.save_step(out, summary_of(out, HashChain()))
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "run" / "run.db", tmp_path / "copy" / "run.db")
    with pytest.raises(RecordError) as error:
        Run.open(tmp_path / "copy")
    assert "run.db-wal" in str(error.value.do)
    shutil.copy(tmp_path / "run" / "run.db-wal", tmp_path / "copy" / "run.db-wal")
    assert Run.open(tmp_path / "copy").last_step == 0
    recorder.close("finished")


def test_a_query_reads_all_packed_tables_as_of_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [random_batches(step, least=1) for step in range(3)]
    recorder, chain, shipped = FolderRecorder(tmp_path), HashChain(), FolderReader.lazy
    recorder.open(header())
    recorder.save_step(steps[0], summary_of(steps[0], chain))
    more = iter(steps[1:])

    def lazy(reader: FolderReader, table: schema.Table, last: int | None = None) -> pl.LazyFrame:
        if (out := next(more, None)) is not None:
            recorder.save_step(out, summary_of(out, chain))
        return shipped(reader, table, last)

    monkeypatch.setattr(FolderReader, "lazy", lazy)
    counts = "SELECT (SELECT count(*) FROM exposures) AS exposures, (SELECT count(*) FROM trail) AS trail"
    answer = Run.open(tmp_path).sql(counts).to_dicts()
    recorder.close("finished")
    assert answer == [{name: steps[0].count(name) for name in ("exposures", "trail")}]
