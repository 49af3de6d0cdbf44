"""What the viewer's server answers: views, tables, errors, and to whom."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import polars as pl
import pytest

from raised_errors import raises_error
from running_viewer import RECORDS, ask, data, record
from townsquare.analysis.causes.why import why
from townsquare.core.enums import TrailKind
from townsquare.core.errors import SettingError
from townsquare.experiments.comparison import compare
from townsquare.pages.view.security import HEADERS
from townsquare.pages.view.server import QUESTIONS, app
from townsquare.pages.view.serving import listen, serving
from townsquare.pages.view.tables import TABLES
from townsquare.record.run import Run
from townsquare.settings.resolve import layers_for


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with serving(folder.parent) as where:
        yield where


BYTES = {"stances", "follows", "false-share"}
EVERYTHING = {"run": "first", "agent": 7, "step": 2, "post": 1, "note": 0}


def test_runs_are_listed_with_what_tells_them_apart(url: str) -> None:
    (row,) = data(url, "/api/runs")["runs"]
    assert (row["id"], row["scenario"], row["seed"], row["state"]) == ("first", "health-rumor@1", 3, "finished")
    assert (row["step"], row["steps"], row["error"]) == (4, 4, None)
    assert row["problems"] == []


@pytest.mark.parametrize("name", sorted(set(QUESTIONS) - BYTES - {"without", "without-record"}))
def test_every_question_is_answered(url: str, name: str) -> None:
    assert data(url, f"/api/{name}", **EVERYTHING)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_is_a_csv(url: str, name: str) -> None:
    status, body, headers = ask(url, f"/csv/{name}", **EVERYTHING)
    assert status == 200
    assert headers["content-type"].startswith("text/csv")
    assert f'first-{name}.csv"' in headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(body.decode())))
    if name == "memories":  # nobody remembers in this run
        assert len(rows) == 1
    elif name != "records":  # this rule has none
        assert len(rows[0]) > 1
        assert all(len(row) == len(rows[0]) for row in rows)


def test_tables_hold_what_the_view_shows_in_its_order(url: str) -> None:
    for name, query in (("posts", {"veracity": "false", "sort": "flags"}), ("agents", {"sort": "followers"})):
        page = data(url, f"/api/{name}", run="first", **query)
        _, body, _ = ask(url, f"/csv/{name}", run="first", **query)
        rows = list(csv.DictReader(io.StringIO(body.decode())))
        key = "root" if name == "posts" else "agent"
        assert len(rows) == page["total"]
        assert [row[key] for row in rows[:50]] == [str(row[key]) for row in page["rows"]]
    assert {row["veracity"] for row in data(url, "/api/posts", run="first", veracity="false")["rows"]} == {"false"}


def test_influence_is_what_the_trail_says_of_each_author(url: str, folder: Path) -> None:
    run = Run.open(folder)
    trail = run.table("trail").filter(pl.col("rank") >= 0).join(run.table("posts").select("post", "author"), on="post")
    moved = data(url, "/api/influence", run="first")["moved"]
    assert len(moved) == run.table("agents").height
    for author in (0, 3, trail["author"][0]):
        assert moved[author] == pytest.approx(trail.filter(pl.col("author") == author)["amount"].abs().sum(), abs=1e-5)


def test_memories_fade_and_are_there_from_their_step_on(tmp_path: Path) -> None:
    record(tmp_path / "run", agents=60, steps=6, **RECORDS)
    memories = Run.open(tmp_path / "run").table("agent_memories")
    agent, first = memories.group_by("agent").agg(pl.col("step").min()).sort("step", "agent").row(0)
    with serving(tmp_path) as where:
        found = data(where, "/api/agent-step", run="run", agent=agent, step=first + 1)["memories"]
        assert data(where, "/api/run", run="run")["memories"] is True
        assert data(where, "/api/run", run="run")["hours"] is None
    mine = memories.filter((pl.col("agent") == agent) & (pl.col("step") <= first + 1))
    assert sorted(row["memory"] for row in found) == mine["memory"].to_list()
    for row in found:
        fresh = row["accessed"] == first + 1
        assert row["relevance"] == pytest.approx(row["importance"] * (1.0 if fresh else 0.9))


def test_each_change_of_a_record_stands_in_the_waterfall_with_its_text(tmp_path: Path) -> None:
    run = Run.open(record(tmp_path / "run", agents=60, steps=5, **RECORDS))
    gone = run.table("trail").filter((pl.col("kind") == TrailKind.ARCHIVED) & (pl.col("proposition") == 0))
    texts = run.table("claims").join(run.table("texts"), on="text")
    said = dict(zip(texts["claim"].to_list(), texts["content"].to_list(), strict=True))
    held = run.table("holdings")
    with serving(tmp_path) as where:
        for agent, step in gone.select("agent", "step").unique().sort("agent", "step").head(8).iter_rows():
            query = {"run": "run", "agent": agent, "step": step, "proposition": "vaccine_safe"}
            causes = data(where, "/api/waterfall", **query)["causes"]
            assert causes
            for cause in causes:
                record_ = cause["record"]
                assert record_["text"] == said[record_["claim"]]
                assert (cause["recorded"] > 0) == ((record_["polarity"] > 0) != (cause["kind"] == "archived"))
                mine = held.filter((pl.col("agent") == agent) & (pl.col("step") == step))
                assert record_["claim"] in mine["claim"].to_list()


def test_runs_of_a_comparison_are_listed_with_their_arms(tmp_path: Path) -> None:
    layers, _ = layers_for("health-rumor@1", agents=30, steps=2, seed=1)
    done = compare(layers, {"moderation.strategy": ["none", "hybrid"]}, [1], tmp_path / "out", workers=1)
    with serving(tmp_path) as where:
        rows = data(where, "/api/runs")["runs"]
        assert {row["arm"] for row in rows} == {arm.name for arm in done.arms}
        assert {row["health"] for row in rows} == {"good"}
        assert data(where, "/api/run", run=rows[0]["id"])["arm"] == rows[0]["arm"]


def test_stances_are_one_byte_an_agent(url: str, folder: Path) -> None:
    run = Run.open(folder)
    _, body, _ = ask(url, "/api/stances", run="first", step=3)
    rows = run.table("beliefs", (3, 3))
    first = rows.filter((rows["agent"] == 7) & (rows["proposition"] == 0))["stance"][0]
    codes = [byte - 256 if byte > 127 else byte for byte in body]
    assert len(codes) == run.table("agents").height
    assert codes[7] == round(first * 127)


@pytest.mark.parametrize("agent", [0, 7, 111])
def test_the_waterfall_is_what_why_says_and_sums_to_the_change(url: str, folder: Path, agent: int) -> None:
    run = Run.open(folder)
    for step in (1, 4):
        (move,) = why(run, agent, step, "vaccine_safe").moves
        found = data(url, "/api/waterfall", run="first", agent=agent, step=step, proposition="vaccine_safe")
        assert found["agrees"] is True
        assert sum(cause["recorded"] for cause in found["causes"]) == pytest.approx(found["change"], abs=1e-12)
        assert found["before"] + found["sum"] == pytest.approx(found["after"], abs=1e-12)
        assert [(c["kind"], c["post"], c["recorded"]) for c in found["causes"]] == [
            (c.kind, c.post, c.recorded) for c in move.causes
        ]


def test_what_is_asked_wrongly_is_told(url: str) -> None:
    for path, query, words in (
        ("/api/agent", {"run": "first", "agent": "7; DROP"}, "whole number"),
        ("/api/agent", {"run": "first", "agent": 999_999}, "0 to"),
        ("/api/waterfall", {"run": "first", "agent": 7, "step": 99}, "0 to 4"),
        ("/api/waterfall", {"run": "first", "agent": 7, "proposition": "no such"}, "vaccine_safe"),
        ("/csv/why", {"run": "first", "agent": 7, "step": -1}, "0 to 4"),
        ("/api/posts", {"run": "first", "sort": "x"}, "engagement"),
    ):
        status, body, _ = ask(url, path, **query)
        assert status == 400, body
        assert words in body.decode()


@pytest.mark.parametrize("name", ["../first", "", "/", "..", "first/../first", "no such"])
def test_only_runs_of_the_folder_are_opened(url: str, name: str) -> None:
    status, body, _ = ask(url, "/api/run", run=name)
    assert status == 404
    assert b"no such run" in body


@pytest.mark.parametrize("path", ["/../server.py", "/%2e%2e/server.py", "/..%2f..%2ferrors.py", "/run.db"])
def test_only_files_of_the_page_are_given(url: str, path: str) -> None:
    connection = HTTPConnection(urlsplit(url).netloc)
    connection.request("GET", path)
    assert connection.getresponse().status == 404
    connection.close()


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("evil.example", 421), ("localhost.evil.example", 421),
     ("127.0.0.1.evil.example", 421), ("", 421), ("a@localhost", 421)],
)  # fmt: skip
def test_other_hosts_are_refused(url: str, host: str, status: int) -> None:
    assert ask(url, "/api/runs", {"Host": host})[0] == status


def test_writing_and_other_sites_are_refused(url: str) -> None:
    connection = HTTPConnection(urlsplit(url).netloc)
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        connection.request(method, "/api/runs")
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 405
    connection.close()
    assert ask(url, "/api/runs", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"})[0] == 403
    assert ask(url, "/", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})[0] == 200


def test_every_answer_carries_the_policy(url: str) -> None:
    for path in ("/", "/api/runs", "/csv/course", "/nothing", "/viewer.js"):
        _, _, headers = ask(url, path)
        for name, value in HEADERS.items():
            assert headers[name] == value
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_it_listens_on_this_machine_only_and_says_which_port_is_taken() -> None:
    with listen(0) as taken:
        host, port = taken.getsockname()
        assert host == "127.0.0.1"
        taken.listen()
        with raises_error(SettingError, where="--port"):
            listen(port)
    with raises_error(SettingError, where="no such folder"):
        app("no such folder")


def test_looking_at_a_run_leaves_its_record_as_it_is(url: str, folder: Path) -> None:
    before = Run.open(folder).verify()
    for name in ("network", "beliefs", "activity"):
        data(url, f"/api/{name}", run="first")
    assert Run.open(folder).verify() == before
    assert {path.name for path in folder.iterdir()} >= {"view-beliefs.json", "view-activity.json"}


def test_a_damaged_cache_is_made_anew(folder: Path) -> None:
    with serving(folder) as where:
        good = data(where, "/api/activity", run="first"), data(where, "/api/beliefs", run="first")
    for name in ("view-activity.json", "view-beliefs.json"):
        (folder / name).write_bytes(b'{"key": 1}')
    with serving(folder) as where:
        assert (data(where, "/api/activity", run="first"), data(where, "/api/beliefs", run="first")) == good
