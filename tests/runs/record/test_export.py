"""Exports: every format holds what was recorded, stops and goes on, and writes over nothing."""

from __future__ import annotations

import csv
import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from raised_errors import raises_error
from random_records import KINDS, TEXTS, random_batches, recorded
from townsquare.cli import main
from townsquare.core import schema
from townsquare.core.errors import RecordError, RunBusy, SettingError, UnknownName
from townsquare.record.batches import valid_text
from townsquare.record.code_book import FILE as CODE_BOOK
from townsquare.record.export import FORMATS, MANIFEST, Plan, export
from townsquare.record.run import Run

STEPS = [random_batches(step, most=30, least=1) for step in range(3)]
SMALL = ["run", "synthetic:20", "--agents", "20", "--steps", "2", "--quiet", "--set", "moderation.strategy=hybrid"]


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    return recorded(request.param, tmp_path / "run", STEPS)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "one"
    assert main([*SMALL, "--set", "record.parquet_above=0", "--out", str(folder)]) == 0
    return folder


def test_parquet_holds_what_was_recorded(run: Run, tmp_path: Path) -> None:
    files = export(run, tmp_path / "out", Plan.of("parquet", codes=True))
    assert {file.name for file in files} == {MANIFEST, CODE_BOOK, *(f"{name}.parquet" for name in schema.TABLES)}
    for name in schema.TABLES:
        assert_frame_equal(pl.read_parquet(tmp_path / "out" / f"{name}.parquet"), run.table(name), check_exact=True)


def test_json_lines_hold_what_was_recorded(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "out", Plan.of("jsonl", ["texts", "beliefs", "posts"], codes=True))
    for name in ("texts", "beliefs", "posts"):
        lines = [json.loads(line) for line in (tmp_path / "out" / f"{name}.jsonl").read_bytes().splitlines()]
        rows = run.table(name).to_dicts()
        assert len(lines) == len(rows)
        for line, row in zip(lines, rows, strict=True):
            defined = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
            assert line == defined


def test_csv_holds_any_text(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "out", Plan.of("csv", ["texts"]))
    with (tmp_path / "out" / "texts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    expected = run.table("texts").rows()
    assert rows[0] == ["text", "content"]
    assert [(int(text), content) for text, content in rows[1:]] == expected
    assert {content for _, content in expected} & set(valid_text(TEXTS))


def test_a_database_is_a_run_whatever_it_was_stored_in(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "out", Plan.of("sqlite"))
    again = Run.open(tmp_path / "out")
    assert again.verify() == run.content_hash
    assert (again.header.bulky, again.settings, again.state) == (False, run.settings, "finished")
    for name in schema.TABLES:
        assert_frame_equal(again.table(name), run.table(name), check_exact=True)


def test_a_database_answers_the_views_that_parquet_kept_from_it(simulated: Path, tmp_path: Path) -> None:
    export(Run.open(simulated), tmp_path / "out", Plan.of("sqlite"))
    with closing(sqlite3.connect(tmp_path / "out" / "run.db")) as connection:
        for view in ("users", "follows", "spread_metrics", "feed_exposures"):
            assert connection.execute(f"SELECT count(*) FROM {view}").fetchone()[0] > 0
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        indexes = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'index'").fetchone()[0]
        assert indexes > len(schema.TABLES) // 4


def test_some_tables_in_a_database_have_the_views_they_answer(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "out", Plan.of("sqlite", ["note_ratings", "steps"]))
    with closing(sqlite3.connect(tmp_path / "out" / "run.db")) as connection:
        made = dict(connection.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"))
    assert made == {
        "ts_note_ratings": "table", "ts_steps": "table", "ts_batches": "table", "note_ratings": "view",
    }  # fmt: skip
    with raises_error(RecordError, got="without a run"):
        Run.open(tmp_path / "out")


def test_code_words_are_words_unless_asked(simulated: Path, tmp_path: Path) -> None:
    run = Run.open(simulated)
    export(run, tmp_path / "words", Plan.of("csv", ["actions", "verdicts"]))
    export(run, tmp_path / "codes", Plan.of("csv", ["actions"], codes=True))
    words, codes = (pl.read_csv(tmp_path / name / "actions.csv") for name in ("words", "codes"))
    assert words["kind"].to_list() == run.words("actions")["kind"].cast(pl.String).to_list()
    assert codes["kind"].to_list() == run.table("actions")["kind"].to_list()
    assert words.drop("kind", "status", "reason").equals(codes.drop("kind", "status", "reason"))


def test_cells_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    texts = ["=1+1", "+cmd", "-2", "@sum(a)", "\t=1", "plain", "a=b", "'quoted", ""]
    posts = [{"text": text or "x", "author": "=me", "stance:x": 0.1} for text in texts]
    (tmp_path / "posts.jsonl").write_text("\n".join(json.dumps(post) for post in posts))
    scenario = str(tmp_path / "posts.jsonl")
    assert main(["run", scenario, "--agents", "5", "--steps", "2", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    run = Run.open(tmp_path / "run")
    export(run, tmp_path / "plain", Plan.of("csv", ["texts"]))
    export(run, tmp_path / "safe", Plan.of("csv", ["texts"], safe_cells=True))
    plain, safe = (pl.read_csv(tmp_path / name / "texts.csv")["content"].to_list() for name in ("plain", "safe"))
    assert plain == run.table("texts")["content"].to_list()
    assert safe == [f"'{text}" if text[:1] in {"=", "+", "-", "@"} else text for text in plain]
    assert "'=1+1" in safe


def test_nothing_is_written_over(simulated: Path, tmp_path: Path) -> None:
    run, plan = Run.open(simulated), Plan.of("csv", ["steps"])
    (tmp_path / "empty").mkdir()
    export(run, tmp_path / "empty", plan)
    before = (tmp_path / "empty" / "steps.csv").read_bytes()
    with raises_error(RecordError, got="a non-empty folder"):
        export(run, tmp_path / "empty", plan)
    (tmp_path / "file").write_text("mine")
    with raises_error(RecordError, got="a file"):
        export(run, tmp_path / "file", plan)
    (tmp_path / "other.part").mkdir()
    (tmp_path / "other.part" / "mine").touch()
    with raises_error(RecordError, got="is not an export"):
        export(run, tmp_path / "other", plan)
    assert (tmp_path / "empty" / "steps.csv").read_bytes() == before
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "other.part" / "mine").is_file()


@pytest.mark.parametrize("to", FORMATS)
def test_an_export_that_was_stopped_goes_on(to: str, simulated: Path, tmp_path: Path) -> None:
    run, plan = Run.open(simulated), Plan.of(to)

    def stop(done: int, _name: str) -> None:
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(run, tmp_path / "out", plan, stop)
    assert not (tmp_path / "out").exists()
    draft = tmp_path / "out.part"
    before = {file.name: file.stat().st_ino for file in draft.iterdir() if file.suffix == f".{to}"}
    assert len(before) == (0 if to == "sqlite" else 7)
    seen: list[tuple[int, str]] = []
    export(run, tmp_path / "out", plan, lambda done, name: seen.append((done, name)))
    assert seen[-1] == (len(schema.TABLES), "")
    assert not draft.exists()
    assert before == {name: (tmp_path / "out" / name).stat().st_ino for name in before}
    export(run, tmp_path / "whole", plan)
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {file.name for file in (tmp_path / "whole").iterdir()}
    if to == "sqlite":
        assert Run.open(tmp_path / "out").verify() == run.content_hash
    else:
        for name in names:
            assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_the_draft_of_another_export_is_begun_anew(simulated: Path, tmp_path: Path) -> None:
    run = Run.open(simulated)

    def stop(done: int, _name: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(run, tmp_path / "out", Plan.of("csv", codes=True), stop)
    files = export(run, tmp_path / "out", Plan.of("csv", ["actions"]))
    assert [file.name for file in files] == ["actions.csv", CODE_BOOK, MANIFEST]
    assert "like" in (tmp_path / "out" / "actions.csv").read_text()


def test_two_at_once(simulated: Path, tmp_path: Path) -> None:
    run, plan = Run.open(simulated), Plan.of("csv", ["steps"])

    def meanwhile(_done: int, name: str) -> None:
        if name:
            with pytest.raises(RunBusy):
                export(run, tmp_path / "out", plan)

    export(run, tmp_path / "out", plan, meanwhile)
    assert (tmp_path / "out" / "steps.csv").is_file()


def test_a_part_that_is_lost_is_named(tmp_path: Path) -> None:
    run = recorded("parquet", tmp_path / "run", STEPS)
    (tmp_path / "run" / "parts" / "trail" / "step-000001.parquet").unlink()
    with raises_error(RecordError, where="trail"):
        export(run, tmp_path / "out", Plan.of("csv"))
    (tmp_path / "run" / "parts" / "beliefs" / "step-000001.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(RecordError):
        export(run, tmp_path / "two", Plan.of("jsonl", ["beliefs"]))


def test_plans_that_make_no_sense() -> None:
    with raises_error(SettingError, allowed="csv, parquet, jsonl, sqlite"):
        Plan.of("xlsx")
    with raises_error(UnknownName, do="did you mean 'exposures'"):
        Plan.of("csv", ["exposure"])
    with raises_error(SettingError, allowed="--to csv"):
        Plan.of("jsonl", safe_cells=True)
    with raises_error(SettingError, do="always holds numbers"):
        Plan.of("sqlite", codes=True)
    assert Plan.of("csv", ["posts", "texts", "posts"]).tables == ("texts", "posts")


def test_the_command(simulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    assert main(["export", str(simulated), "--to", "csv", "--tables", "posts,texts", "--tables", "steps", "--out", out,
                 "--json"]) == 0  # fmt: skip
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["files"] == [CODE_BOOK, MANIFEST, "posts.csv", "steps.csv", "texts.csv"]
    assert result["rows"]["steps"] == 3
    assert main(["export", str(simulated), "--to", "csv", "--out", out]) == 2
    assert "never overwrites files" in capsys.readouterr().err
    assert main(["export", str(simulated), "--to", "sqlite", "--out", str(tmp_path / "two")]) == 0
    said = capsys.readouterr()
    assert "exposures" in said.out
    assert f"export  {tmp_path / 'two'}" in said.out
    assert main(["inspect", str(tmp_path / "two"), "--verify"]) == 0
