"""Recorded runs that were damaged, mixed up or may not be read: every command says so, and makes nothing worse."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import polars as pl
import pytest

from changed_rows import change_rows
from command_errors import complaint_of, fingerprint
from townsquare import cli
from townsquare.cli import main
from townsquare.record.run import Run

SMALL = ["run", "synthetic:20", "--agents", "20", "--steps", "3", "--quiet"]
IN_PARQUET = ["--set", "record.parquet_above=0"]
READING = [
    ["inspect", "x", "--json"],
    ["why", "x", "--agent", "3"],
    ["report", "x"],
    ["resume", "x"],
    ["export", "x", "--to", "csv", "--out", "csv"],
    ["export", "x", "--to", "sqlite", "--out", "db"],
    ["export-graph", "x", "--out", "g.graphml"],
]
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run in SQLite, one with Parquet parts, and another one of those."""
    folder = tmp_path_factory.mktemp("runs")
    words = {"sqlite": [], "parquet": IN_PARQUET, "other": [*IN_PARQUET, "--seed", "2"]}
    for name, more in words.items():
        assert main([*SMALL, *more, "--out", str(folder / name)]) == 0
    return {name: folder / name for name in words}


@pytest.fixture(autouse=True)
def _elsewhere(runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(cli.DEBUG, raising=False)
    before = {name: fingerprint(folder) for name, folder in runs.items()}
    yield
    assert {name: fingerprint(folder) for name, folder in runs.items()} == before


def sql(*statements: str) -> Damage:
    def damage(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return damage


def changed(table: str, **values: int) -> Damage:
    """The third row of a step has other values."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        third = pl.int_range(pl.len()) == 2
        return rows.with_columns(
            pl.when(third).then(value).otherwise(pl.col(name)).cast(rows.schema[name]).alias(name)
            for name, value in values.items()
        )

    return lambda folder: change_rows(folder, table, 1, change)


def cut(share: float) -> Damage:
    def damage(folder: Path) -> None:
        content = (folder / "run.db").read_bytes()
        (folder / "run.db").write_bytes(content[: int(share * len(content))])

    return damage


def over(share: float, new: bytes) -> Damage:
    def damage(folder: Path) -> None:
        content = bytearray((folder / "run.db").read_bytes())
        first = int(share * len(content))
        content[first : first + len(new)] = new
        (folder / "run.db").write_bytes(bytes(content))

    return damage


def in_place_of(name: str, make: Damage) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return damage


NOISE = random.Random(1)
PART = "parts/trail/step-000002.parquet"
DATABASES: dict[str, Damage] = {
    "cut in half": cut(0.5),
    "cut to its header": cut(0.0005),
    "cut at its end": cut(0.99),
    "emptied": cut(0),
    "header of zeros": over(0, bytes(100)),
    "noise in the schema": over(0.0005, NOISE.randbytes(6000)),
    "noise in the middle": over(0.4, NOISE.randbytes(20_000)),
    "noise": in_place_of("run.db", lambda file: file.write_bytes(NOISE.randbytes(50_000))),
    "a folder instead": in_place_of("run.db", lambda file: file.mkdir()),
    "a link to nothing": in_place_of("run.db", lambda file: file.symlink_to("nowhere")),
    "no table of exposures": sql("DROP TABLE ts_packed"),
    "no table of texts": sql("DROP TABLE ts_texts"),
    "no table of steps": sql("DROP TABLE ts_steps"),
    "no table of batches": sql("DROP TABLE ts_batches"),
    "no table of the run": sql("DROP TABLE ts_run"),
    "words for stances": sql("UPDATE ts_packed SET data = 'x' WHERE name = 'beliefs' AND step = 1"),
    "bytes for beliefs": sql("UPDATE ts_packed SET data = x'ff00' WHERE name = 'beliefs' AND step = 1"),
    "no bytes for the trail": sql("UPDATE ts_packed SET data = x'' WHERE name = 'trail' AND step = 1"),
    "exposures cut": sql("UPDATE ts_packed SET data = substr(data, 1, length(data) / 2) WHERE name = 'exposures'"),
    "beliefs for exposures": sql("UPDATE ts_packed SET data = (SELECT data FROM ts_packed WHERE name = 'beliefs')"),
    "exposures without what is beside": sql("UPDATE ts_packed SET beside = NULL"),
    "an agent that is none": changed("exposures", agent=77_777),
    "a word for a target": sql("UPDATE ts_actions SET target = 'x' WHERE rowid = 3"),
    "a target beyond 32 bits": sql("UPDATE ts_actions SET target = 9223372036854775807 WHERE rowid = 3"),
    "a target that is none": sql("UPDATE ts_actions SET target = 999999 WHERE rowid = 3"),
    "a text that is none": sql("UPDATE ts_posts SET text = -5, author = 77777 WHERE rowid = 3"),
    "text that is not UTF-8": sql("UPDATE ts_texts SET content = CAST(x'ff' AS TEXT) WHERE rowid = 3"),
    "bytes for a text": sql("UPDATE ts_texts SET content = x'ff00' WHERE rowid = 3"),
    "a row lost": lambda folder: change_rows(folder, "exposures", 1, lambda rows: rows[1:]),
    "a step lost": sql("DELETE FROM ts_steps WHERE step = 2"),
    "settings that are no JSON": sql("UPDATE ts_run SET value = '{' WHERE key = 'settings'"),
    "settings that are a list": sql("UPDATE ts_run SET value = '[]' WHERE key = 'settings'"),
    "no settings": sql("UPDATE ts_run SET value = '{}' WHERE key = 'settings'"),
    "no state": sql("DELETE FROM ts_run WHERE key = 'state'"),
    "another state": sql("UPDATE ts_run SET value = 'lost' WHERE key = 'state'"),
    "no schema": sql("DELETE FROM ts_run WHERE key = 'schema'"),
}
PARTS: dict[str, Damage] = {
    "a part lost": lambda folder: (folder / PART).unlink(),
    "all parts lost": lambda folder: shutil.rmtree(folder / "parts"),
    "a part emptied": lambda folder: (folder / PART).write_bytes(b""),
    "a part cut": lambda folder: (folder / PART).write_bytes((folder / PART).read_bytes()[:200]),
    "a part of noise": lambda folder: (folder / PART).write_bytes(NOISE.randbytes(3000)),
    "a part of other columns": lambda folder: pl.DataFrame({"a": [1]}).write_parquet(folder / PART),
    "a part of other types": lambda folder: (
        pl.read_parquet(folder / PART).with_columns(pl.col("agent").cast(pl.String)).write_parquet(folder / PART)
    ),
    "a folder for a part": in_place_of(PART, lambda file: file.mkdir()),
    "a part of another run": lambda folder: shutil.copy(folder.parent / "other" / PART, folder / PART),
}


def damaged(kind: str, damage: Damage, runs: dict[str, Path], tmp_path: Path) -> Path:
    shutil.copytree(runs["other"], tmp_path / "other")
    folder = shutil.copytree(runs[kind], tmp_path / "x")
    damage(folder)
    return folder


NOT_HASHED = {"no settings"}  # `why` and others do without them; what needs them says so


@pytest.mark.parametrize(
    ("kind", "name"), [*(("sqlite", name) for name in DATABASES), *(("parquet", name) for name in PARTS)]
)
def test_what_was_damaged_is_said(
    kind: str, name: str, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = damaged(kind, (DATABASES | PARTS)[name], runs, tmp_path)
    before = fingerprint(folder) | {"report.html": ""}
    message = complaint_of(["inspect", "x", "--verify"], capsys)
    assert str(folder.name) in message
    for words in READING:
        code = main(words)
        err = capsys.readouterr().err
        assert code in (0, 1, 2), err
        assert (code == 2) == ("error: " in err), "where nothing was in the way, nothing is complained of"
        assert err.count("error: ") <= 1, err
        assert "unexpected" not in err
    assert fingerprint(folder) | {"report.html": ""} == before


@pytest.mark.parametrize("name", ["cut in half", "header of zeros", "no table of steps", "emptied", "a folder instead"])
def test_a_new_run_is_not_recorded_over_what_is_left_of_one(
    name: str, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = damaged("sqlite", DATABASES[name], runs, tmp_path)
    before = fingerprint(folder)
    if name == "emptied":  # nothing is lost, and a killed recorder leaves such a file
        assert main([*SMALL, "--out", "x"]) == 0
        return
    complaint_of([*SMALL, "--out", "x"], capsys)
    assert fingerprint(folder) == before


WHY = [
    (["why", "x", "--agent", "99999"], "agent\n  got: 99999\n  allowed: a person: 0 to"),
    (["why", "x", "--agent", "-3"], "agent"),
    (["why", "x", "--agent", "1.5"], "1.5"),
    (["why", "x", "--agent", "nan"], "nan"),
    (["why", "x", "--agent", "1", "--step", "99"], "allowed: 1 to 3"),
    (["why", "x", "--agent", "1", "--step", "-1"], "allowed: 1 to 3"),
    (["why", "x", "--agent", "1", "--proposition", "vacine"], "proposition"),
    (["why", "x", "--agent", "1", "--proposition", ""], "proposition"),
    (["why", "x", "y", "--agent", "1"], "y"),
    (["export-graph", "x", "--step", "99"], "step"),
    (["export-graph", "x", "--step", "-1"], "step"),
    (["export-graph", "x", "--to", "gml"], "gml"),
    (["export", "x"], "--to"),
    (["export", "x", "--to", "xls"], "csv, parquet, jsonl, sqlite"),
    (["export", "x", "--to", "csv", "--tables", "actoins"], "did you mean 'actions'"),
    (["export", "x", "--to", "csv", "--tables", "ts_actions"], "did you mean 'actions'"),
    (["export", "x", "--to", "csv", "--out", "x"], "a non-empty folder"),
    (["export", "x", "--to", "csv", "--out", "file"], "got: a file"),
    (["export", "x", "--to", "jsonl", "--safe-cells"], "--to csv"),
    (["inspect", "x", "--verfy"], "--verify"),
    (["inspect"], "RUN"),
    (["inspect", ""], "run.db"),
    (["run", "synthetic:20", "--out", "x"], "townsquare resume x"),
    (["compare", "synthetic:20", "--seeds", "1", "--out", "x"], "x"),
]


@pytest.mark.parametrize(("words", "said"), WHY, ids=[" ".join(words) for words, _ in WHY])
def test_what_a_run_does_not_hold(
    words: list[str], said: str, runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(runs["sqlite"], tmp_path / "x")
    (tmp_path / "file").touch()
    before = fingerprint(tmp_path)
    assert said in complaint_of(words, capsys)
    assert fingerprint(tmp_path) == before
    assert Run.open(folder).verify()


MANIFESTS = ["", "{", "[]", "null", "\xff", '{"format": 99}', '{"format": 1}', '{"format": 1, "vary": {}, "arms": 3}']


@pytest.mark.parametrize("content", MANIFESTS)
def test_a_damaged_comparison(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "experiment.json").write_bytes(content.encode("latin-1"))
    before = fingerprint(tmp_path)
    for words in (["inspect", "c"], ["report", "c"]):
        assert "experiment.json" in complaint_of(words, capsys)
    assert "c" in complaint_of([*SMALL, "--out", "c"], capsys)
    assert fingerprint(tmp_path) == before


def test_a_comparison_without_one_of_its_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "synthetic:20", "--agents", "5", "--steps", "1", "--seeds", "2", "--workers", "1", "--out", "c"]
    assert main([*words, "--quiet"]) == 0
    capsys.readouterr()
    lost = json.loads((tmp_path / "c" / "experiment.json").read_text())["runs"][0]["folder"]
    shutil.rmtree(tmp_path / "c" / lost)
    assert lost in complaint_of(["inspect", "c", "--verify"], capsys)
    (tmp_path / "c" / "experiment.json").write_text("{")  # it follows from the command and the runs
    assert main([*words, "--quiet"]) == 0
    assert main(["inspect", "c", "--verify"]) == 0


@contextmanager
def as_nobody(mode: int, *folders: Path) -> Iterator[None]:
    """Folders with other permissions; they do not hold for root, who becomes somebody else meanwhile."""
    user, before = os.geteuid(), [folder.stat().st_mode for folder in folders]
    for folder in folders:
        folder.chmod(mode)
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(0)
        for folder, old in zip(folders, before, strict=True):
            folder.chmod(old)


def open_to_all(path: Path) -> None:
    """Let somebody else come as far as this folder."""
    for above in (path, *path.parents):
        if above.stat().st_uid == os.getuid() and above.stat().st_mode & 0o005 != 0o005:
            above.chmod(above.stat().st_mode | 0o055)
    for below in path.rglob("*"):
        below.chmod(below.stat().st_mode | (0o055 if below.is_dir() else 0o044))


def test_a_run_that_may_not_be_read(runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(runs["sqlite"], tmp_path / "x")
    assert main(["inspect", "x", "--verify"]) == 0  # what is imported late would not be found as somebody else
    capsys.readouterr()
    with as_nobody(0o000, folder):
        for words in (["inspect", "x"], ["why", "x", "--agent", "1"], ["resume", "x"], [*SMALL, "--out", "x"]):
            message = complaint_of(words, capsys)
            assert "x" in message
            assert "ermission denied" in message or "unable to open" in message


def test_a_folder_that_may_not_be_written(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(runs["sqlite"], tmp_path / "x")
    sql("UPDATE ts_run SET value = 'stopped' WHERE key = 'state'")(folder)
    (tmp_path / "new").mkdir()
    assert main([*SMALL, "--out", "warm"]) == 0
    open_to_all(tmp_path)
    capsys.readouterr()
    before = fingerprint(tmp_path)
    with as_nobody(0o555, tmp_path / "new", folder):
        assert main(["inspect", "x", "--verify"]) == 0
        capsys.readouterr()
        cases = [[*SMALL, "--out", "new/run"], [*SMALL, "--out", "new"], ["resume", "x"], ["report", "x"],
                 ["export", "x", "--to", "csv"], ["export-graph", "x"]]  # fmt: skip
        for words in cases:
            message = complaint_of(words, capsys)
            assert "ermission denied" in message or "readonly" in message or "unable to open" in message
    assert fingerprint(tmp_path) == before
