"""One suite over every recorder: memory, SQLite, Parquet parts and PostgreSQL give the same frames and hashes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from raised_errors import raises_error
from random_records import (
    KINDS,
    KINDS_HERE,
    SETTINGS,
    header,
    random_batches,
    record,
    recorded,
    recorder_of,
    summary_of,
)
from townsquare.core import schema
from townsquare.core.enums import ActionStatus
from townsquare.core.errors import RecordError, SettingError, UnknownName
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain, hashed_tables
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run

NUMPY = {pl.Int8: "i1", pl.Int16: "i2", pl.Int32: "i4", pl.Int64: "i8", pl.UInt8: "u1", pl.UInt64: "u8"} | {
    pl.Float64: "f8",
    pl.Boolean: "?",
    pl.String: "str",
}


@settings(deadline=None, max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), n_steps=st.integers(1, 4))
def test_all_stores_hold_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int, n_steps: int) -> None:
    steps = [random_batches(step, seed) for step in range(n_steps)]
    folder = tmp_path_factory.mktemp("runs")
    runs = [recorded(kind, folder / kind, steps) for kind in KINDS_HERE]
    for name in schema.TABLES:
        frames = [run.table(name) for run in runs]
        lazy = [run.lazy(name).collect() for run in runs]
        some = [run.table(name, steps=(1, 2)) for run in runs]
        for frame, others in ((frames[0], frames[1:] + lazy), (some[0], some[1:])):
            for other in others:
                assert_frame_equal(frame, other, check_exact=True)
        dtypes = [NUMPY[type(dtype)] for dtype in frames[0].dtypes]
        assert dtypes == [column.dtype for column in schema.TABLES[name].recorded]
    assert len({run.verify() for run in runs} | {run.content_hash for run in runs}) == 1


@pytest.fixture(scope="module", params=KINDS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return recorded(request.param, tmp_path_factory.mktemp("runs") / "run", [random_batches(step) for step in range(4)])


def test_frames_hold_what_was_given(run: Run) -> None:
    steps = [random_batches(step) for step in range(4)]
    for name in hashed_tables():
        frame = run.table(name)
        for column in schema.TABLES[name].recorded:
            given_values = [value for out in steps for value in list(out.get(name)[column.name])]
            for was, now in zip(given_values, frame[column.name].to_list(), strict=True):
                expected = None if was == column.missing else was  # only columns that came later have a missing value
                same = now is None if expected is None else now == was or (math.isnan(was) and math.isnan(now))
                assert same, f"{name}.{column.name}"
        without_missing = [column.name for column in schema.TABLES[name].recorded if column.missing is None]
        assert frame.select(without_missing).null_count().sum_horizontal()[0] == 0, name


def test_what_a_run_says_of_itself(run: Run) -> None:
    assert (run.version, run.state, run.last_step) == ("0.1.0", "finished", 3)
    assert run.settings == SETTINGS
    assert run.header.environment == {"machine": "test"}
    assert run.steps["step"].to_list() == [0, 1, 2, 3]
    assert run.steps["hash"][-1] == run.content_hash == run.verify()
    assert run.steps["exposures"].to_list() == [random_batches(step).count("exposures") for step in range(4)]
    assert_frame_equal(run.steps, run.table("steps"))


def test_steps_filter_only_tables_of_steps(run: Run) -> None:
    assert set(run.table("actions", steps=(1, 2))["step"]) <= {1, 2}
    assert set(run.table("agents", steps=(2, 2))["born"]) <= {2}
    assert run.table("steps", steps=(2, 9))["step"].to_list() == [2, 3]
    assert run.table("exposures", steps=(7, 9)).height == 0
    assert run.table("texts", steps=(2, 2)).height == run.table("texts").height
    parts = pl.concat([run.table("posts", steps=(step, step)) for step in range(4)])
    assert_frame_equal(parts, run.table("posts"))


def test_counts_are_those_of_the_frames(run: Run) -> None:
    assert run.counts == {name: run.table(name).height for name in schema.TABLES}


def test_lazy_frames_read_as_frames_do(run: Run) -> None:
    frame, lazy = run.table("exposures"), run.lazy("exposures")
    assert lazy.select(pl.len()).collect().item() == frame.height
    query = pl.col("first_seen") & (pl.col("step") > 1)
    picked = lazy.filter(query).select("root", "agent")
    assert_frame_equal(picked.collect(), frame.filter(query).select("root", "agent"))
    assert_frame_equal(lazy.head(2).collect(), frame.head(2))
    assert lazy.collect_schema() == frame.schema
    joined = picked.join(lazy.group_by("root").len(), on="root", maintain_order="left")
    assert joined.collect().height == picked.collect().height


def test_conditions_on_steps_leave_out_no_row(run: Run) -> None:
    step, agent = pl.col("step"), pl.col("agent")
    conditions = [
        step == 2,
        (step == 0) | (step == 3),
        step.is_between(1, 2) & (agent > 2) & ~step.is_in([2]),
        (step > 1) & ((step == 1) | (agent % 2 == 0)),
        step + agent > 3,
        step.is_null(),
        step > 99,
    ]
    for name in ("beliefs", "actions", "exposures"):
        frame = run.table(name)
        for condition in conditions:
            assert_frame_equal(run.lazy(name).filter(condition).collect(), frame.filter(condition))


def test_columns_come_as_asked(run: Run) -> None:
    assert run.table("exposures", columns=["root", "agent"]).columns == ["root", "agent"]
    assert_frame_equal(run.table("exposures", columns=["weight"]), run.table("exposures").select("weight"))
    with raises_error(UnknownName, do="did you mean 'author'"):
        run.table("exposures", columns=["autor"])


def test_rows_are_picked_by_their_values(run: Run) -> None:
    frame = run.table("exposures")
    some = sorted(set(frame["agent"].to_list()))[:2]
    wanted = frame.filter(pl.col("agent").is_in(some), pl.col("step") == 1)
    assert_frame_equal(run.rows_where("exposures", agent=some, step=1), wanted)
    assert run.rows_where("steps", step=10**6).schema == run.steps.schema
    with raises_error(UnknownName, do="did you mean 'author'"):
        run.rows_where("exposures", autor=1)


def test_unknown_tables(run: Run) -> None:
    for ask in (run.table, run.lazy, run.words):
        with raises_error(UnknownName, do="did you mean 'exposures'"):
            ask("exposure")


def test_sql_agrees_in_all_layouts(run: Run) -> None:
    query = """
        SELECT step, count(*) AS n, sum(first_seen) AS firsts, count(weight) AS weights,
          max(CAST(likes AS BIGINT) - dislikes) AS gap
        FROM ts_exposures WHERE slot >= 0 GROUP BY step ORDER BY step
    """
    frame = run.table("exposures")
    got = run.sql(query).rows()
    gap = pl.col("likes").cast(pl.Int64) - pl.col("dislikes").cast(pl.Int64)
    want = frame.group_by("step").agg(
        pl.len(), pl.col("first_seen").sum(), pl.col("weight").is_not_nan().sum(), gap.max()
    )
    assert got == want.sort("step").rows()
    keys = run.sql("SELECT key FROM ts_posts ORDER BY post, key")["key"]
    unsigned = np.sort(run.table("posts")["key"].to_numpy())
    assert np.array_equal(np.sort(keys.to_numpy().astype(np.uint64)), unsigned)
    joined = "WITH a AS (SELECT agent FROM ts_agents) SELECT count(*) AS n FROM a JOIN ts_texts t ON a.agent = t.text;"
    assert run.sql(joined)["n"][0] >= 0


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM ts_posts",
        "SELECT 1; SELECT 2",
        "WITH a AS (SELECT 1) DELETE FROM ts_posts",
        "ATTACH 'other.db' AS other",
        "PRAGMA journal_mode",
        "CREATE TABLE mine AS SELECT 1 AS a",
        "SELECT * FROM read_csv('secret.csv')",
        "SELECT nothing FROM ts_posts",
        "SELECT FROM WHERE",
        "",
        "-- SELECT 1",
    ],
)
def test_only_one_select(run: Run, query: str) -> None:
    with pytest.raises(SettingError):
        run.sql(query)
    assert run.table("posts").height == sum(random_batches(step).count("posts") for step in range(4))


def test_sql_names_the_nearest_table(run: Run) -> None:
    with raises_error(UnknownName, do="did you mean 'ts_posts'"):
        run.sql("SELECT * FROM ts_post")


def test_words(run: Run) -> None:
    codes, words = run.table("actions"), run.words("actions")
    for code, word in zip(codes["status"], words["status"], strict=True):
        assert word == (ActionStatus(code).name.lower() if code < 2 else str(code))
    assert isinstance(words.schema["kind"], pl.Enum)
    assert words.schema["step"] == pl.Int32


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_without_steps(kind: str, tmp_path: Path) -> None:
    run = recorded(kind, tmp_path, [])
    assert (run.last_step, run.content_hash, run.verify()) == (-1, HashChain().value, HashChain().value)
    assert all(run.table(name).height == 0 for name in schema.TABLES)
    assert run.sql("SELECT count(*) AS n FROM ts_exposures")["n"].to_list() == [0]


@pytest.mark.parametrize("kind", KINDS)
def test_steps_must_follow_each_other(kind: str, tmp_path: Path) -> None:
    recorder = recorder_of(kind, tmp_path)
    record(recorder, [random_batches(0)], close=None, bulky=kind == "parquet")
    late = random_batches(2)
    with pytest.raises(ValueError, match="does not follow"):
        recorder.save_step(late, summary_of(late, HashChain()))
    with pytest.raises(ValueError, match="with the summary of"):
        recorder.save_step(Batches(1), summary_of(Batches(0), HashChain()))
    with pytest.raises(ValueError, match="none of"):
        recorder.close("done")
    recorder.close("stopped")


def test_text_of_any_kind_and_length(tmp_path: Path) -> None:
    contents = ["x" * 3_000_000, "a\x00b", "'\"; --", "half \ud83d", "😀", ""]
    out = Batches(0)
    out.add({"texts": schema.rows("texts", len(contents), text=np.arange(len(contents)), content=contents)})
    for kind in KINDS_HERE:
        run = recorded(kind, tmp_path / kind, [out])
        assert run.table("texts")["content"].to_list() == [*contents[:3], "half \ufffd", *contents[4:]]


def test_a_recorder_in_memory_says_what_it_lacks() -> None:
    run = Run.of(MemoryRecorder())
    with raises_error(RecordError, got="nothing recorded yet"):
        _ = run.settings
    recorder = MemoryRecorder()
    assert recorder.open(header()) == -1
    assert Run.of(recorder).state == "running"
