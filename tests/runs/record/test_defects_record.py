"""Version 2 of the record: settings that were changed are found, and columns can be added to tables later."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import townsquare as ts
from changed_rows import as_rows
from random_records import KINDS, ON_DISK, random_rows, recorded, recorder_of, summary_of
from random_records import header as some_header
from repository import TESTS, unpack
from townsquare.analysis.health import diagnostics
from townsquare.cli import main
from townsquare.core import schema
from townsquare.core.errors import HashMismatch, WrongVersion
from townsquare.core.identity import canonical_json, run_hash, settings_digest
from townsquare.core.schema import Column
from townsquare.experiments.bundle.check import FAILED, OK, check
from townsquare.experiments.bundle.freeze import Bundle
from townsquare.pages.report.health import health_section
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.database import fingerprint
from townsquare.record.mosaic.views import VIEWS
from townsquare.record.postgresql.address import address_in
from townsquare.record.run import Run
from townsquare.scenario.settings import resolve_with_scenario

ARCHIVE = TESTS / "data" / "record-version-1.tar.xz"
"""Recorded by version 1 of the record: `sqlite` and `parquet` (one simulation of 6 agents in two layouts), `fake` (it
asked a fake model), `stopped` after step 1 of 3, `experiment` with two runs, `bundle.json` of it, and the scenario."""
CONTENT = {
    "sqlite": "1ebd2cb84a62c17614a7d716737291db256217a161d0464ca047966129604000",
    "parquet": "1ebd2cb84a62c17614a7d716737291db256217a161d0464ca047966129604000",
    "fake": "3fede35125622ae0d1eb7296c3a9721d0b1571d2d29c791b72a87e9de42e864a",
    "stopped": "9d28a9129b2d33bed63ae9c510e998fe25d9eeecba694885d50a520b3680a34d",
    "experiment/strategy-none/seed-5": "4e74433a5bc99183619e6ce82aa706f63a1fa7817ab98baac4a0582b70f216a3",
}
SMALL = {"scenario": "health-rumor@1", "agents": 12, "steps": 2, "seed": 3}
LATER = {
    "actions": Column("effort", "i4", "test", since=2, missing=-1),
    "exposures": Column("dwell", "f8", "test", since=2),
    "posts": Column("language", "u1", "test", since=2, missing=255, repeats=True),
    "moderation_log": Column("appeal", "str", "test", since=2, missing=""),
    "steps": Column("queued", "i8", "test", since=2, missing=-1, hashed=False),
}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The runs of version 1, in the working directory."""
    unpack(ARCHIVE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that adds a column to five tables."""
    add_columns(monkeypatch)


def add_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, column in LATER.items():
        table = schema.TABLES[name]
        monkeypatch.setitem(schema.TABLES, name, replace(table, columns=(*table.columns, column)))


def set_info(folder: Path, **values: str) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        database.executemany("UPDATE ts_run SET value = ? WHERE key = ?", [(v, k) for k, v in values.items()])


def as_version_1(folder: Path) -> None:
    """What later versions brought is taken out of a run: all that tells it from one of version 1."""
    columns = [(name, one.name) for name, table in schema.TABLES.items() for one in table.recorded if one.since > 1]
    prints = canonical_json({name: fingerprint(table, 1) for name, table in schema.TABLES.items()})
    info = ["DELETE FROM ts_run WHERE key IN ('record_version', 'run_hash')"]
    info.append(f"UPDATE ts_run SET value = '{prints}' WHERE key = 'schema'")
    address = address_in(folder)
    if address is not None:
        from townsquare.record.postgresql import server

        with closing(server.connect(address, writing=True)) as connection:
            for statement in (
                *info,
                *(f"ALTER TABLE ts_{table} DROP COLUMN {column} CASCADE" for table, column in columns),
            ):
                connection.execute(statement)
            connection.commit()
        return
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        tables = dict(database.execute("SELECT name, type FROM sqlite_master")).keys()
        drops = [f"ALTER TABLE ts_{table} DROP COLUMN {column}" for table, column in columns if f"ts_{table}" in tables]
        for statement in (*info, *(f"DROP VIEW {view}" for view in VIEWS), *drops):  # views name the columns
            database.execute(statement)


def some_steps(n: int) -> list[Batches]:
    """The first steps of some run, under the tables of version 1."""
    steps = []
    for step in range(n):
        out, rng = Batches(step), np.random.default_rng(step)
        for table in ("texts", "actions", "exposures", "moderation_log"):
            out.add({table: random_rows(rng, table, 4, step)})
        steps.append(out)
    return steps


def hashes_of(steps: list[Batches]) -> list[str]:
    chain = HashChain()
    return [chain.add(out.step, out.get) for out in steps]


def small_run(folder: Path | None = None, **more: object) -> Run:
    return ts.simulate(resolve_with_scenario({**SMALL, **more}), folder)


# --- what a record says of its settings --------------------------------------------------------------------


@pytest.mark.parametrize("changed", ["seed", "empty"])
@pytest.mark.parametrize("kind", ["version 1", "version 2"])
def test_row_05_changed_settings_are_found(
    kind: str, changed: str, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = corpus / "sqlite"
    if kind == "version 2":
        small_run(folder := corpus / "new")
    settings = dict(Run.open(folder).settings)
    set_info(folder, settings=canonical_json({**settings, "seed": 777} if changed == "seed" else {}))
    run = Run.open(folder)
    with pytest.raises(HashMismatch) as error:
        run.verify()
    assert error.value.where == f"{folder}: settings"
    assert run.header.settings_hash in str(error.value.allowed)
    with pytest.raises(HashMismatch):
        _ = run.settings
    assert run.table("actions").height == run.counts["actions"]  # rows can still be read
    assert main(["inspect", str(folder)]) == 1
    assert "CHANGED" in capsys.readouterr().out
    assert main(["inspect", str(folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["settings_as_recorded"] is False
    for command in (["inspect", "--verify"], ["report"], ["resume"]):
        assert main([command[0], str(folder), *command[1:]]) == 2, command
        assert "settings" in capsys.readouterr().err


def test_row_05_settings_and_their_hash_changed_together(tmp_path: Path) -> None:
    run = small_run(tmp_path / "run")
    settings = {**run.settings, "seed": 777}
    before = run.run_hash
    set_info(tmp_path / "run", settings=canonical_json(settings), settings_hash=settings_digest(settings))
    run = Run.open(tmp_path / "run")
    with pytest.raises(HashMismatch) as error:
        run.verify()
    assert error.value.where == f"{tmp_path / 'run'}: run hash"
    assert before in str(error.value.allowed)
    set_info(tmp_path / "run", run_hash="")
    with pytest.raises(HashMismatch):
        run.verify()
    set_info(tmp_path / "run", run_hash=run.run_hash)  # who can write all of it can only be told from outside
    assert run.verify() == run.content_hash
    assert run.run_hash != before


@pytest.mark.parametrize("kind", KINDS)
def test_row_05_every_record_keeps_the_run_hash(kind: str, tmp_path: Path) -> None:
    run = recorded(kind, tmp_path, some_steps(2))
    assert run.run_hash == run_hash(settings_digest(run.settings), run.content_hash)
    assert run.verify() == run.content_hash
    assert run.header.record_version == schema.RECORD_VERSION


@pytest.mark.slow
def test_row_05_what_is_said_of_a_run_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    vary = ["--vary", "moderation.strategy=none,community", "--seeds", "1-1", "--workers", "1"]
    assert main(["compare", "health-rumor@1", "--agents", "12", "--steps", "2", "--out", "both", *vary]) == 0
    assert main(["bundle", "both", "--out", "bundle.json"]) == 0
    bundle, listed = Bundle.load(Path("bundle.json")), json.loads(Path("both/experiment.json").read_text())["runs"]
    runs = [Run.open(entry.folder) for entry in bundle.entries]
    assert [run.run_hash for run in runs] == [entry.run_hash for entry in bundle.entries]
    assert [run.run_hash for run in runs] == [one["run_hash"] for one in listed]
    folder, settings = Path(bundle.entries[0].folder), {**runs[0].settings, "seed": 777}
    set_info(folder, settings=canonical_json(settings), settings_hash=settings_digest(settings))
    set_info(folder, run_hash=Run.open(folder).run_hash)
    assert Run.open(folder).verify() == runs[0].content_hash
    assert main(["inspect", "both", "--verify"]) == 2
    found = {one.what: one.state for one in check(bundle, Path(), sample=0)}
    assert [state for what, state in found.items() if what.startswith("run ")] == [FAILED, OK]
    entries = (replace(bundle.entries[0], settings=settings), bundle.entries[1])
    forged = replace(bundle, entries=entries)
    found = {one.what: one.state for one in check(replace(forged, digest=forged.computed_digest()), Path(), sample=0)}
    assert (found["bundle"], found["settings"]) == (OK, FAILED)


# --- version 1 ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("released", ["as it is", "with later columns"])
def test_row_05_runs_of_version_1_are_read_and_verified(
    released: str, corpus: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if released != "as it is":
        add_columns(monkeypatch)
    for name, content in CONTENT.items():
        run = Run.open(corpus / name)
        assert run.verify() == run.content_hash == content, name
        assert run.header.record_version == 1
        assert run.run_hash == run_hash(settings_digest(run.settings), content)
        assert all(run.table(table).height == n for table, n in run.counts.items())
        assert main(["inspect", name, "--verify"]) == 0
        assert content in capsys.readouterr().out
    assert main(["report", "sqlite"]) == 0
    assert main(["report", "parquet"]) == 0
    assert main(["inspect", "experiment", "--verify"]) == 0
    found = check(Bundle.load(corpus / "bundle.json"), corpus, sample=0)
    states = {one.what: one.state for one in found if one.what in ("bundle", "settings") or one.what.startswith("run")}
    assert len(states) == 4
    assert set(states.values()) == {OK}


@pytest.mark.parametrize("name", ["sqlite", "parquet"])
@pytest.mark.usefixtures("later")
def test_row_05_a_column_that_came_later_is_null_in_older_runs(name: str, corpus: Path) -> None:
    run = Run.open(corpus / name)
    effort, dwell = run.table("actions")["effort"], run.table("exposures")["dwell"]
    assert (effort.dtype, effort.null_count()) == (pl.Int32, run.counts["actions"])
    assert run.table("actions", columns=["agent", "kind"]).height == run.counts["actions"]
    assert run.table("exposures", columns=["likes", "dwell"])["likes"].null_count() == 0
    assert (dwell.dtype, dwell.is_nan().sum()) == (pl.Float64, run.counts["exposures"])
    assert run.steps["queued"].null_count() == run.table("steps", columns=["queued"]).height == run.last_step + 1
    assert run.lazy("posts").select(pl.col("language").is_null().sum()).collect().item() == run.counts["posts"] > 0
    assert run.words("actions", (1, 2))["effort"].is_null().all()
    for query in (
        "SELECT count(*) AS n, count(effort) AS efforts FROM ts_actions",
        "WITH a AS (SELECT * FROM ts_actions) SELECT count(*) AS n, count(effort) AS efforts FROM a /* effort */;",
    ):
        assert run.sql(query).rows() == [(run.counts["actions"], 0)]
    assert run.sql("SELECT count(dwell) AS n FROM ts_exposures e JOIN comments c ON c.num_likes = e.likes")["n"][0] == 0
    assert main(["export", name, "--to", "sqlite", "--out", "whole"]) == 0
    whole = Run.open("whole")
    assert whole.verify() == run.content_hash
    assert whole.sql("SELECT count(effort) AS n FROM ts_actions")["n"][0] == 0
    assert main(["export", name, "--to", "csv", "--out", "files"]) == 0


@pytest.mark.parametrize("name", ["sqlite", "parquet"])
def test_a_table_that_came_later_is_empty_in_older_runs(name: str, corpus: Path) -> None:
    run = Run.open(corpus / name)
    assert run.table("note_scores").height == 0
    assert run.sql("SELECT count(*), max(intercept) FROM ts_note_scores").row(0) == (0, None)
    assert run.sql("SELECT count(*) FROM ts_steps LEFT JOIN ts_note_scores USING (step)").item() == run.last_step + 1


@pytest.mark.parametrize("name", ["sqlite", "parquet"])
def test_a_diagnostic_column_of_steps_gets_a_panel_and_is_null_in_older_runs(name: str, corpus: Path) -> None:
    older, now = Run.open(corpus / name), small_run()
    assert (older.header.record_version, now.header.record_version) == (1, schema.RECORD_VERSION)
    assert older.steps["first_sights"].is_nan().all()
    shown = now.table("exposures").group_by("step").agg(pl.col("first_seen").mean()).sort("step")
    assert now.steps["first_sights"].to_list()[1:] == shown["first_seen"].to_list()
    assert diagnostics(older)["first_sights"].null_count() == older.last_step
    panels = [{figure.key for figure in health_section(run).figures} for run in (older, now)]
    assert panels[1] - panels[0] == {"step-first-sights"}
    assert panels[0]


@pytest.mark.parametrize("kind", KINDS)
def test_row_05_a_later_column_enters_the_hash_where_it_holds_a_value(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = some_steps(3)
    before = hashes_of(without)
    add_columns(monkeypatch)
    never, once = recorded(kind, tmp_path / "a", again(without)), recorded(kind, tmp_path / "b", again(without, 1))
    assert never.steps["hash"].to_list() == before
    assert [old == new for old, new in zip(before, once.steps["hash"], strict=True)] == [True, False, False]
    assert never.verify() == before[-1]
    assert once.verify() == once.content_hash
    assert once.table("actions", (1, 2))["effort"].to_list() == [5, None, 7, None] * 2
    assert once.sql("SELECT sum(effort) AS s, count(effort) AS n FROM ts_actions").rows() == [(24, 4)]
    assert never.table("moderation_log")["appeal"].null_count() == 12


def again(steps: list[Batches], filled: int = 99) -> list[Batches]:
    """The same rows under the tables that there are now, with ``actions.effort`` given from step ``filled`` on."""
    made = []
    for old in steps:
        out = Batches(old.step)
        for table in old.tables():
            more = {"effort": np.array([5, -1, 7, -1], np.int32)} if table == "actions" and old.step >= filled else {}
            out.add({table: {**old.get(table), **more}})
        made.append(out)
    return made


@pytest.mark.usefixtures("later")
def test_row_05_a_simulation_that_never_fills_it_has_the_same_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    now = small_run()
    monkeypatch.undo()
    before = small_run()
    assert now.content_hash == before.content_hash
    assert now.steps["hash"].to_list() == before.steps["hash"].to_list()


# --- going on with an older run ----------------------------------------------------------------------------


def begin(kind: str, folder: Path, steps: list[Batches], close: str = "stopped") -> int:
    """Record into a folder and end; returns the last step that was there before."""
    recorder = recorder_of(kind, folder)
    last = recorder.open(some_header(bulky=kind == "parquet"))
    chain = HashChain()
    try:
        for out in steps:
            recorder.save_step(out, summary_of(out, chain))
    finally:
        recorder.close(close)
    return last


@pytest.mark.parametrize("filled", [99, 2, 1])
@pytest.mark.parametrize(("kind", "rows"), [("sqlite", True), *((kind, False) for kind in ON_DISK)])
def test_row_05_an_unfinished_older_run_goes_on_where_its_rows_are_the_same(
    kind: str, rows: bool, filled: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = some_steps(3)
    begin(kind, tmp_path, steps[:2])
    if rows:
        as_rows(tmp_path)
    as_version_1(tmp_path)
    add_columns(monkeypatch)
    assert Run.open(tmp_path).table("actions")["effort"].null_count() == 8
    assert Run.open(tmp_path).sql("SELECT count(effort) AS n FROM ts_actions")["n"][0] == 0
    now = again(steps, filled)
    if filled == 1:
        with pytest.raises(HashMismatch) as error:
            begin(kind, tmp_path, now, "finished")
        assert "effort" in str(error.value.do)
        return
    assert begin(kind, tmp_path, now, "finished") == 1
    run = Run.open(tmp_path)
    assert run.verify() == hashes_of(again(steps, filled))[-1]
    assert run.header.record_version == schema.RECORD_VERSION
    assert run.table("actions")["effort"].drop_nulls().to_list() == ([] if filled == 99 else [5, 7])


@pytest.mark.slow
def test_row_05_an_unfinished_simulation_of_version_1_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = resolve_with_scenario({**SMALL, "steps": 3})

    def stop(mark: object) -> None:
        if getattr(mark, "step", 0) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ts.simulate(settings, tmp_path / "run", on_step=stop)
    as_version_1(tmp_path / "run")
    add_columns(monkeypatch)
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 0
    run = Run.open(tmp_path / "run")
    assert (run.state, run.last_step, run.header.record_version) == ("finished", 3, schema.RECORD_VERSION)
    assert run.verify() == ts.simulate(settings).content_hash


@pytest.mark.parametrize("rate", [None, 0.2])
def test_a_run_older_than_a_setting_goes_on_with_its_default(
    rate: float | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(mark: object) -> None:
        if getattr(mark, "step", 0) == 1:
            raise KeyboardInterrupt

    settings = resolve_with_scenario(SMALL, {"activation.rate": rate} if rate else {})
    with pytest.raises(KeyboardInterrupt):
        ts.simulate(settings, tmp_path, on_step=stop)
    older = settings.plain()
    del older["activation"]["rate"]
    set_info(tmp_path, settings=canonical_json(older), settings_hash=settings_digest(older))
    with closing(sqlite3.connect(tmp_path / "run.db")) as database, database:
        database.execute("DROP VIEW note_ratings")
        database.execute("CREATE VIEW note_ratings AS SELECT 1 AS old")
    ended = main(["resume", str(tmp_path), "--quiet"])
    if rate:  # recorded under another value than the default
        assert ended == 2
        assert "first difference" in capsys.readouterr().err
        return
    assert ended == 0
    run = Run.open(tmp_path)
    assert run.verify() == ts.simulate(settings).content_hash
    assert run.sql("SELECT * FROM note_ratings").columns == ["note_id", "user_id", "rating", "created_at"]
    assert main(["replay", str(tmp_path)]) == 0


def test_row_05_a_column_that_changed_is_refused_still(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = schema.TABLES["actions"]
    for columns in (table.columns[:-1], (*table.columns, Column("effort", "i4", "test"))):
        monkeypatch.setitem(schema.TABLES, "actions", replace(table, columns=columns))
        with pytest.raises(WrongVersion) as error:
            Run.open("sqlite").table("actions")
        assert error.value.where.endswith("table actions")


def test_row_05_a_record_of_a_later_version_is_refused(tmp_path: Path) -> None:
    small_run(tmp_path / "run")
    set_info(tmp_path / "run", record_version=str(schema.RECORD_VERSION + 1))
    with pytest.raises(WrongVersion) as error:
        Run.open(tmp_path / "run")
    assert f"version {schema.RECORD_VERSION + 1}" in str(error.value.got)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dtype": "i4", "since": 2},
        {"dtype": "?", "since": 2, "missing": 0},
        {"dtype": "u8", "since": 2, "missing": 0},
        {"dtype": "i4", "missing": -1},
    ],
)
def test_row_05_a_later_column_says_what_stands_for_null(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="missing"):
        Column("new", meaning="test", **wrong)  # type: ignore[arg-type]
