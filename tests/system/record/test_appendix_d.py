"""Queries written for the schema of MOSAIC's appendix D, against the same measured from our own tables with Polars."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from decimal import Decimal
from typing import NamedTuple

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import townsquare as ts
from appendix_d import COLUMNS, NUMBERS, typed
from appendix_d_queries import CASES, STEPS, Rows
from postgres_server import new_address
from raised_errors import raises_error
from repository import ROOT
from townsquare.core.errors import UnknownName
from townsquare.core.schema import TABLES
from townsquare.record.export import Plan, export
from townsquare.record.mosaic.views import SPREAD, VIEWS, tables_of
from townsquare.record.postgresql import server
from townsquare.record.postgresql.address import Address
from townsquare.record.postgresql.recorder import PostgresRecorder
from townsquare.record.query import named_tables, named_views

PAGE = ROOT / "docs" / "record.md"
SETS = ["moderation.strategy=hybrid", "moderation.posts_per_step=12", "moderation.takedown_at=0.6"]
AGENTS = 60


class Runs(NamedTuple):
    """One run in every layout: exported to SQLite, as all were recorded once; packed; with Parquet parts; in memory."""

    sqlite: ts.Run
    packed: ts.Run
    parquet: ts.Run
    memory: ts.Run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("runs")
    bulky = ts.resolve_for("health-rumor@1", None, [*SETS, "record.parquet_above=0"], agents=AGENTS, steps=STEPS)
    plain = ts.resolve_for("health-rumor@1", None, SETS, agents=AGENTS, steps=STEPS)
    packed = ts.simulate(plain, folder / "a")
    export(packed, folder / "c", Plan.of("sqlite"))
    return Runs(ts.Run.open(folder / "c"), packed, ts.simulate(bulky, folder / "b"), ts.simulate(plain))


@pytest.fixture(scope="module")
def address() -> Address:
    """A schema of a PostgreSQL server."""
    return new_address()


@pytest.fixture(scope="module")
def served(address: Address, tmp_path_factory: pytest.TempPathFactory) -> ts.Run:
    """The same run on a PostgreSQL server."""
    recorder = PostgresRecorder(tmp_path_factory.mktemp("served"), address)
    return ts.simulate(ts.resolve_for("health-rumor@1", None, SETS, agents=AGENTS, steps=STEPS), recorder)


# --- queries ---------------------------------------------------------------------------------------------

NEED_BULKY = {view for view in VIEWS if any(TABLES[table].bulky for table in tables_of(view))}
NEED_PACKED = {"spread_metrics", "feed_exposures"}


TO_POSTGRESQL = {
    r"json_extract\((\w+\.\w+), '\$\.(\w+)'\)": r"(\1::json ->> '\2')",
    r"ROUND\(AVG\((\S+)\), 6\)": r"ROUND(AVG(\1)::numeric, 6)::float8",
}
"""What PostgreSQL writes differently in these queries."""


def in_psql(address: Address, query: str) -> Rows:
    """The answer of the server itself, as any other program would get it, with real numbers for decimals."""
    with closing(server.connect(address)) as connection, connection.cursor() as cursor:
        found = cursor.execute(query).fetchall()
    return [tuple(float(value) if isinstance(value, Decimal) else value for value in row) for row in found]


def alike(got: Rows, expected: Rows) -> None:
    assert [[pytest.approx(value, abs=1.1e-3) if isinstance(value, float) else value for value in row]
            for row in expected] == [list(row) for row in got]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_query_written_for_that_schema(name: str, runs: Runs) -> None:
    query, expected = CASES[name]
    rows = expected(runs.sqlite)
    folder = runs.sqlite.folder
    assert folder is not None
    with closing(sqlite3.connect(folder / "run.db")) as connection:  # as any other program would
        alike(connection.execute(query).fetchall(), rows)
    for run in runs:
        alike(run.sql(query).rows(), rows)


@pytest.mark.parametrize("name", CASES)
def test_a_query_written_for_that_schema_on_a_server(name: str, runs: Runs, served: ts.Run, address: Address) -> None:
    query, expected = CASES[name]
    rows = expected(runs.sqlite)
    for sqlite_form, form in TO_POSTGRESQL.items():
        query = re.sub(sqlite_form, form, query)
    alike(served.sql(query).rows(), rows)
    alike(in_psql(address, query), rows)


# --- the views ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_the_same_in_every_layout(view: str, runs: Runs) -> None:
    frames = [typed(view, run.sql(f"SELECT * FROM {view}")) for run in runs]
    assert tuple(frames[0].columns) == COLUMNS[view]
    for frame in frames[1:]:
        assert_frame_equal(frame.sort(frame.columns), frames[0].sort(frames[0].columns))


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_the_same_on_a_server(view: str, runs: Runs, served: ts.Run, address: Address) -> None:
    query = f"SELECT * FROM {view}"
    plain = pl.DataFrame(in_psql(address, query), schema=list(COLUMNS[view]), orient="row", infer_schema_length=None)
    frames = [typed(view, found) for found in (served.sql(query), runs.sqlite.sql(query), plain)]
    for frame in frames[1:]:
        assert_frame_equal(frame.sort(frame.columns), frames[0].sort(frames[0].columns))
    assert served.content_hash == runs.sqlite.content_hash


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_the_same_for_other_programs(view: str, runs: Runs) -> None:
    """What SQLite itself answers is what ``Run.sql`` does."""
    ours = typed(view, runs.packed.sql(f"SELECT * FROM {view}"))
    for run in (runs.sqlite,) if view in NEED_PACKED else (runs.sqlite, runs.packed):
        assert run.folder is not None
        with closing(sqlite3.connect(run.folder / "run.db")) as connection:
            rows = connection.execute(f"SELECT * FROM {view}").fetchall()
        whole = typed(view, pl.DataFrame(rows, schema=list(COLUMNS[view]), orient="row", infer_schema_length=None))
        assert_frame_equal(whole.sort(whole.columns), ours.sort(ours.columns))


def test_keys_are_unique(runs: Runs) -> None:
    keys = {name: columns[:1] for name, columns in COLUMNS.items()} | {
        "follows": ("follower_id", "followed_id"),
        "note_ratings": ("note_id", "user_id"),
        "spread_metrics": ("post_id", "time_step"),
        "feed_exposures": ("user_id", "post_id", "time_step"),
    }
    for view, key in keys.items():
        frame = runs.sqlite.sql(f"SELECT {', '.join(key)} FROM {view}")
        assert not frame.is_duplicated().any(), view


def test_labels_are_json_of_what_was_answered(runs: Runs) -> None:
    for run in runs:
        labels = run.sql("SELECT background_labels FROM users WHERE user_id = 'user-3'").item()
        assert isinstance(json.loads(labels)["age"], int)
        assert json.loads(labels).keys() == set(run.table("trait_values")["label"])


def test_interactions_are_the_sum_of_distinct_users(runs: Runs) -> None:
    frame = runs.sqlite.sql("SELECT * FROM spread_metrics")
    assert (frame["total_interactions"] == frame.select(pl.sum_horizontal(list(SPREAD))).to_series()).all()
    once = runs.sqlite.sql("SELECT COUNT(DISTINCT post_id || '/' || time_step) FROM spread_metrics").item()
    assert once == frame.height
    down = frame.filter(pl.col("takedown_executed") == 1)
    assert down.height
    assert down["takedown_reason"].null_count() == 0


def test_views_need_what_their_text_names() -> None:
    assert named_views('SELECT * FROM "posts" JOIN Users') == ["users", "posts"]
    assert set(named_tables("SELECT * FROM follows")) == {"follows"}
    for view in VIEWS:
        assert tables_of(view) <= set(TABLES)
    assert set(VIEWS) - NEED_BULKY == {"fact_checks", "agent_memories"}
    assert set(NUMBERS) <= {name for columns in COLUMNS.values() for name in columns}


@pytest.mark.parametrize(("layout", "views"), [("packed", NEED_PACKED), ("parquet", NEED_BULKY)])
def test_a_view_that_needs_rows_elsewhere_says_so_to_other_programs(layout: str, views: set[str], runs: Runs) -> None:
    folder = getattr(runs, layout).folder
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        assert connection.execute("SELECT count(*) FROM fact_checks").fetchone()[0] > 0
        for view in views:
            with pytest.raises(sqlite3.OperationalError, match=r"packed or Parquet tables: use Run\.sql, or town"):
                connection.execute(f"SELECT * FROM {view}")
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT json_extract(sources, '$[0]'), 1 / 2 FROM fact_checks LIMIT 1",
        "SELECT json_extract(background_labels, '$.age'), 1 / 2, is_influencer FROM users WHERE is_influencer OR 1",
        "SELECT (SELECT max(rowid) FROM ts_actions), max(id), typeof(max(id)) FROM user_actions",
        "SELECT a.*, u.num_likes FROM ts_posts a NATURAL JOIN ts_texts JOIN posts u ON u.post_id = 'post-' || a.post",
        "SELECT * FROM ts_exposures e JOIN feed_exposures f ON f.post_id = 'post-' || e.post WHERE e.step < 2",
    ],
)
def test_views_are_answered_in_the_dialect_of_sqlite(query: str, runs: Runs) -> None:
    rows = runs.sqlite.sql(query).rows()
    assert rows
    assert sorted(map(repr, runs.parquet.sql(query).rows())) == sorted(map(repr, rows))
    assert sorted(map(repr, runs.memory.sql(query).rows())) == sorted(map(repr, rows))


def test_a_misspelled_view(runs: Runs) -> None:
    for run in runs:
        with raises_error(UnknownName, do="did you mean 'spread_metrics'"):
            run.sql("SELECT * FROM spread_metric")


def test_the_page_names_every_view_and_column() -> None:
    page = PAGE.read_text(encoding="utf-8")
    missing = [f"{view}.{name}" for view, names in COLUMNS.items() for name in names if f"`{name}`" not in page]
    missing += [view for view in COLUMNS if f"`{view}`" not in page]
    assert missing == []
