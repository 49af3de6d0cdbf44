"""Where calls are kept: the same in memory and in a file, nothing lost by a kill, nothing changed by a replay."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from chat_requests import client, questions
from raised_errors import raises_error
from repository import HELPERS, environment_with_helpers
from townsquare.core.errors import ModelError
from townsquare.models.contract import Call, CallStore, Outcome
from townsquare.models.store import FILE, TABLE, Layered, MemoryCalls, SqliteCalls
from townsquare.testing.chat_server import Behavior, ChatServer


def call(i: int, **given: object) -> Call:
    fields = {
        "identity": f"{i:064x}", "purpose": "act", "agent": i, "step": 1, "turn": 0, "request": "{}",
        "outcome": Outcome.OK, "text": "né\n", "value": '"né"', "error": "", "model": "m", "reported": "m-1",
        "server": "here", "tokens_in": -1, "tokens_out": 2, "seconds": 0.25, "tries": 2,
    }  # fmt: skip
    return Call(**{**fields, **given})  # type: ignore[arg-type]


@pytest.fixture(params=["memory", "sqlite", "layered"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> CallStore:
    if request.param == "memory":
        return MemoryCalls()
    if request.param == "sqlite":
        return SqliteCalls(tmp_path)
    past = MemoryCalls()
    past.put_all([call(99)])
    return Layered(SqliteCalls(tmp_path), past)


def test_stores_hold_what_was_put(store: CallStore) -> None:
    assert store.get_all([call(1).identity]) == {}
    for outcome in Outcome:
        store.put_all([call(outcome, outcome=outcome)])
    for outcome in Outcome:
        found = store.get_all([f"{outcome:064x}"])[f"{outcome:064x}"]
        assert found == call(outcome, outcome=outcome)
        assert isinstance(found.outcome, Outcome)
    store.put_all([call(1, text="another")])
    (kept,) = store.get_all([call(1).identity]).values()
    assert kept == call(1, outcome=Outcome.REFUSED)  # the first one counts
    store.close()


def test_many_are_looked_for_at_once_and_a_file_of_an_earlier_version_still_serves(tmp_path: Path) -> None:
    with SqliteCalls(tmp_path)._connection as new:
        (table,) = new.execute("SELECT sql FROM sqlite_master WHERE type = 'table'").fetchone()
        new.executescript(f"DROP TABLE {TABLE}; {table} WITHOUT ROWID")
    store = SqliteCalls(tmp_path)
    store.put_all([call(i) for i in range(250)])
    wanted = [call(i).identity for i in range(300)]
    assert store.get_all(wanted) == {call(i).identity: call(i) for i in range(250)}
    assert list(store) == [call(i) for i in range(250)]
    assert store.get_all([]) == {}
    store.close()


def test_a_file_holds_them_for_the_next_one_and_for_readers_beside_it(tmp_path: Path) -> None:
    store = SqliteCalls(tmp_path)
    store.put_all([call(i) for i in range(5)])
    beside = sqlite3.connect(tmp_path / FILE)
    assert beside.execute(f"SELECT agent FROM {TABLE} WHERE step = 1 ORDER BY agent").fetchall() == [
        (i,) for i in range(5)
    ]
    beside.close()
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    again = SqliteCalls(tmp_path / FILE, read_only=True)
    assert list(again) == [call(i) for i in range(5)]
    assert len(again) == 5
    with raises_error(ModelError, do="reading only"):
        again.put_all([call(6)])
    again.close()


def test_a_replay_needs_calls_and_changes_no_file(tmp_path: Path) -> None:
    with raises_error(ModelError, do="removed or never recorded"):
        SqliteCalls(tmp_path, read_only=True)
    (tmp_path / FILE).write_bytes(b"no database at all" * 100)
    with raises_error(ModelError, where=FILE):
        SqliteCalls(tmp_path)
    (tmp_path / FILE).unlink()
    store = SqliteCalls(tmp_path)
    with client("fake", store) as opened:
        expected = opened.ask(questions(20))
    store.close()
    before = (tmp_path / FILE).read_bytes()
    store = SqliteCalls(tmp_path, read_only=True)
    with client("recorded/fake", store) as opened:
        assert opened.ask(questions(20)) == expected
    store.close()
    assert (tmp_path / FILE).read_bytes() == before


def test_a_file_may_be_shared_by_threads(tmp_path: Path) -> None:
    store = SqliteCalls(tmp_path)
    workers = [
        threading.Thread(target=lambda k=k: [store.put_all([call(100 * k + i)]) for i in range(20)]) for k in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(store) == 80


def ask_in_a_process(folder: Path, url: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(HELPERS / "ask_until_killed.py"), str(folder), url, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment_with_helpers())


def test_killed_while_asking_everything_recorded_is_there_and_asked_no_more(tmp_path: Path) -> None:
    """Killed at several random instants; then to the end: every question was asked once, but for those under way."""
    count, kills, dice = 400, 3, random.Random(5)
    with ChatServer(Behavior(latency=0.025, spread=0.025)) as server:
        said: set[str] = set()
        for kill in range(kills):
            process = ask_in_a_process(tmp_path, server.url, count)
            assert process.stdout is not None
            goal = len(said) + dice.randint(20, 80)
            while len(said) < goal:
                said.add(process.stdout.readline().strip())
            process.send_signal(signal.SIGKILL)
            said |= {line.strip() for line in process.stdout if len(line) == 65}
            process.wait()
            process.stdout.close()
            store = SqliteCalls(tmp_path)
            there = {call.identity for call in store}
            store.close()
            assert said <= there, f"kill {kill}"
            said = there
        before = set(said)
        asked_before = dict(server.seen.bodies)
        with ask_in_a_process(tmp_path, server.url, count) as process:
            assert process.stdout is not None
            lines = process.stdout.read().split()
        assert lines[-1] == "done"
        assert before.isdisjoint(lines)
        assert len(lines) - 1 == count - len(before)
        again = sum(server.seen.bodies.values()) - sum(asked_before.values())
        assert again == count - len(before)
        assert len(server.seen.bodies) == count
    store = SqliteCalls(tmp_path, read_only=True)
    with client("fake") as whole, client("recorded/server/m", store, server.url) as replayed:
        expected = [reply.value for reply in whole.ask(questions(count))]
        assert [reply.value for reply in replayed.ask(questions(count))] == expected
