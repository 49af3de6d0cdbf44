"""Readers open any record, however odd: what no member may give, and what a recorder takes all the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import townsquare as ts
from townsquare.analysis.outcomes import outcomes
from townsquare.cli import main
from townsquare.pages.view.server import QUESTIONS, app
from townsquare.pages.view.tables import TABLES
from townsquare.record.batches import Batches
from townsquare.record.content_hash import HashChain
from townsquare.record.contract import RunHeader, StepSummary
from townsquare.record.memory import MemoryRecorder
from townsquare.record.run import Run
from townsquare.record.sqlite import FolderRecorder

Rows = dict[str, dict[str, Any]]
Change = Callable[[int, Rows], None]
WHERE = {"agent": 0, "step": 1, "post": 0, "proposition": "vaccine_safe", "rank": 0, "claim": 0}


class Tape(MemoryRecorder):
    """A recorder that also keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[StepSummary, Rows]] = []

    def open(self, header: RunHeader) -> int:
        self.of = header
        return super().open(header)

    def save_step(self, out: Batches, mark: StepSummary) -> None:
        self.given.append((mark, {name: dict(out.get(name)) for name in out.tables()}))
        super().save_step(out, mark)


@pytest.fixture(scope="module")
def tapes() -> dict[str, Tape]:
    """Two small runs: a rule in stances, and one over argument records."""
    found = {}
    for rule in ("exposure-bounded", "social_log_odds"):
        found[rule] = Tape()
        sets = [f"beliefs.rule={rule}", "moderation.strategy=hybrid"]
        ts.simulate(ts.resolve_for("health-rumor@1", agents=20, steps=3, sets=sets), found[rule])
    return found


def written(folder: Path, tape: Tape, change: Change, most: int | None = None, **settings: Any) -> Path:
    """The run, recorded with other rows, whose hashes are those of what it holds."""
    recorder, chain = FolderRecorder(folder), HashChain()
    recorder.open(replace(tape.of, settings={**tape.of.settings, **settings}))
    for mark, given in tape.given[:most]:
        rows = {name: dict(columns) for name, columns in given.items()}
        change(mark.step, rows)
        out = Batches(mark.step)
        out.add(rows)
        recorder.save_step(out, replace(mark, hash=chain.add(mark.step, out.get)))
    recorder.close("finished")
    return folder


def put(table: str, column: str, value: float, row: int | None = 0) -> Change:
    """A value in one row of a table in every step, or in all rows."""

    def change(step: int, rows: Rows) -> None:
        if table in rows:
            values = np.array(rows[table][column])
            values[slice(row, None if row is None else row + 1)] = value
            rows[table][column] = values

    return change


def without(*tables: str) -> Change:
    def change(step: int, rows: Rows) -> None:
        for table in tables:
            rows.pop(table, None)

    return change


def of_both_signs(step: int, rows: Rows) -> None:
    """Infinities of both signs in one move."""
    if "trail" in rows:
        amount = np.array(rows["trail"]["amount"])
        amount[::2], amount[1::2] = np.inf, -np.inf
        rows["trail"]["amount"] = amount


def as_it_was(step: int, rows: Rows) -> None:
    pass


ODD: dict[str, Change] = {
    "a stance of nan": put("beliefs", "stance", np.nan),
    "stances of nan": put("beliefs", "stance", np.nan, None),
    "a stance of infinity": put("beliefs", "stance", np.inf),
    "stances of infinity": put("beliefs", "stance", -np.inf, None),
    "a stance of 7": put("beliefs", "stance", 7.0),
    "a confidence of nan": put("beliefs", "confidence", np.nan),
    "a trail of nan": put("trail", "amount", np.nan),
    "a trail of infinity": put("trail", "amount", np.inf),
    "a trail of both infinities": of_both_signs,
    "a trail of an unknown kind": put("trail", "kind", 77),
    "a trail of an unknown agent": put("trail", "agent", 10**6),
    "a trail of an unknown post": put("trail", "post", 10**6),
    "actions of an unknown kind": put("actions", "kind", 200),
    "posts of an unknown kind": put("posts", "kind", 99),
    "posts of an unknown author": put("posts", "author", 10**6),
    "posts of an unknown root": put("posts", "root", 10**6),
    "posts of an unknown truth": put("posts", "veracity", 99),
    "verdicts of an unknown kind": put("verdicts", "verdict", 99),
    "exposures with an unknown verdict": put("exposures", "verdict", 99, None),
    "a post stance of nan": put("post_stances", "stance", np.nan),
    "no trail": without("trail"),
    "no beliefs": without("beliefs", "trail"),
    "no actions": without("actions"),
    "no exposures": without("exposures", "trail"),
    "no posts": without("posts", "post_stances"),
    "no agents": without("agents"),
    "no propositions": without("propositions"),
    "no rows": lambda step, rows: rows.clear(),
}


def opened(folder: Path, capsys: pytest.CaptureFixture[str], *commands: list[str]) -> None:
    """Every command ends without an unexpected error; each question to the viewer has an answer that is JSON."""
    for words in commands:
        code = main([words[0], str(folder), *words[1:]])
        assert "unexpected" not in capsys.readouterr().err, words
        assert code in (0, 1, 2, 3), words


COMMANDS = (
    ["inspect"],
    ["inspect", "--json"],
    ["why", "--agent", "0"],
    ["why", "--agent", "0", "--step", "1"],
    ["attribute", "--by", "author"],
    ["attribute", "--by", "label"],
    ["export", "--to", "csv"],
)


def asked(folder: Path) -> None:
    """Every question and table of the viewer has an answer, and JSON has no NaN."""
    with TestClient(app(folder.parent), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/api/runs").status_code == 200
        for name in QUESTIONS:
            answer = client.get(f"/api/{name}", params={"run": folder.name, **WHERE})
            assert answer.status_code < 500, name
            if answer.headers["content-type"].startswith("application/json"):
                json.loads(answer.text, parse_constant=pytest.fail)
        for name in TABLES:
            assert client.get(f"/csv/{name}", params={"run": folder.name, **WHERE}).status_code < 500, name


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["exposure-bounded", "social_log_odds"])
@pytest.mark.parametrize("name", ODD)
def test_row_02_readers_open_odd_records(
    name: str, rule: str, tapes: dict[str, Tape], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "r", tapes[rule], ODD[name])
    opened(folder, capsys, *COMMANDS)
    asked(folder)
    assert all(isinstance(value, float) for value in outcomes(Run.open(folder)).values())


@pytest.mark.parametrize("name", ["a stance of nan", "a stance of 7", "a trail of an unknown kind", "no trail"])
def test_row_02_readers_open_the_commonest(
    name: str, tapes: dict[str, Tape], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "r", tapes["exposure-bounded"], ODD[name])
    opened(folder, capsys, ["inspect"], ["why", "--agent", "0"], ["attribute"])
    asked(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a stance of nan", "stances of nan", "stances of infinity", "no beliefs", "no rows"])
def test_row_02_reports_and_analyses_of_odd_records(
    name: str, tapes: dict[str, Tape], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "r", tapes["exposure-bounded"], ODD[name])
    opened(folder, capsys, ["report"], ["analyze", "--out", str(tmp_path / "tables")])


@pytest.mark.parametrize("steps", [0, 1])
def test_row_02_readers_open_a_run_without_steps(
    steps: int, tapes: dict[str, Tape], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "r", tapes["exposure-bounded"], as_it_was, steps)
    opened(folder, capsys, *COMMANDS, ["report"])
    asked(folder)


@pytest.mark.parametrize(
    "settings",
    [{"beliefs": None}, {"beliefs": {"rule": 5}}, {"beliefs": {"rule": "gone"}}, {"steps": "many"}, {"scenario": 7}],
)
def test_row_02_readers_open_odd_settings(
    settings: dict[str, Any], tapes: dict[str, Tape], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "r", tapes["exposure-bounded"], as_it_was, **settings)
    opened(folder, capsys, ["inspect"], ["why", "--agent", "0"], ["attribute"])
    asked(folder)


def test_row_02_memory_holds_odd_rows_too(tapes: dict[str, Tape]) -> None:
    memory, chain = MemoryRecorder(), HashChain()
    tape = tapes["exposure-bounded"]
    memory.open(tape.of)
    for mark, given in tape.given:
        rows = {name: dict(columns) for name, columns in given.items()}
        ODD["stances of nan"](mark.step, rows)
        out = Batches(mark.step)
        out.add(rows)
        memory.save_step(out, replace(mark, hash=chain.add(mark.step, out.get)))
    memory.close("finished")
    assert all(isinstance(value, float) for value in outcomes(Run.of(memory)).values())
