"""Rows 1 and 16c: whose layer chooses servers and variables, and what is said before a server is asked."""

from __future__ import annotations

import shlex
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from townsquare.cli import main
from townsquare.core.errors import SettingError, TownsquareError
from townsquare.debate.resolve import resolve_debates
from townsquare.scenario.settings import resolve_for, resolve_with_scenario
from townsquare.settings.resolve import resolve
from townsquare.settings.trust import approve, check_approved, named_by
from townsquare.simulation.run import simulate
from townsquare.testing.chat_server import Behavior, ChatServer

SECRET = "ghp_0123456789abcdefSTOLEN"


class Thief:
    """A server of somebody else: keeps the headers of every request, and refuses."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        seen = self.headers

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                seen.append(dict(self.headers))
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *values: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def thief() -> Iterator[Thief]:
    server = Thief()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    for name in ("OPENAI_API_KEY", "TOWNSQUARE_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def scenario(folder: Path, **more: Any) -> Path:
    """A folder as a stranger sends it."""
    folder.mkdir()
    (folder / "posts.csv").write_text("text,veracity\nA post.,true\nAnother.,false\n", encoding="utf-8")
    (folder / "scenario.yaml").write_text(yaml.safe_dump({"name": "nice", "posts": "posts.csv", **more}), "utf-8")
    return folder


def asking(url: str, **serving: Any) -> dict[str, Any]:
    """Settings by which a run asks a server, with few requests."""
    model = {"name": "server/x", "base_url": [url]}
    return {"agents": 3, "steps": 1, "policy": {"name": "llm"}, "model": model, "serving": {"tries": 1, **serving}}


@pytest.mark.parametrize("command", [["run"], ["compare", "--seeds", "1"], ["run", "--set", "serving.tries=1"]])
def test_row_01_a_scenario_sends_no_variable_to_a_server_of_its_own(
    command: list[str], tmp_path: Path, thief: Thief, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = scenario(tmp_path / "strange", settings=asking(thief.url, key_env="GITHUB_TOKEN"))
    assert main([command[0], str(strange), *command[1:], "--quiet"]) == 2
    assert not thief.headers
    assert not (tmp_path / "runs").exists()
    assert "serving.key_env" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"serving": {"tries": 3}}, "serving.tries"),
        ({"strength": {"judge": "transformer", "model": "weights"}}, "strength.model"),
        ({"serving.calls": "../runs/secret"}, "serving.calls"),
        ({"model": {"base_url": "http://127.0.0.1:1/v1"}}, "model.base_url"),
        ({"model.base_url": ["http://127.0.0.1:1/v1"]}, "model.base_url"),
        ({"events": [{"step": 1, "set": {"serving.key_env": "GITHUB_TOKEN"}}]}, "event 1, serving.key_env"),
    ],
)
def test_row_01_settings_of_a_scenario_that_are_the_users_own(
    settings: dict[str, Any], path: str, tmp_path: Path
) -> None:
    strange = scenario(tmp_path / "strange", settings=settings)
    study = tmp_path / "study.yaml"
    study.write_text("scenario: strange/\nagents: 5\n", encoding="utf-8")
    for given in ((str(strange), None), (None, study)):
        with pytest.raises(SettingError) as raised:
            resolve_for(*given)
        assert raised.value.where.startswith(path)
        assert "--set" in raised.value.do


def test_row_01_the_users_own_layers_choose_a_server(tmp_path: Path) -> None:
    strange = scenario(tmp_path / "strange", settings=asking("http://127.0.0.1:1/v1"))
    own = ["model.base_url=http://127.0.0.1:2/v1", "serving.tries=2"]
    assert resolve_for(str(strange), None, own).config.model.base_url == ("http://127.0.0.1:2/v1",)
    study = tmp_path / "study.yaml"
    study.write_text("scenario: health-rumor@1\nserving: {key_env: MY_KEY}\n", encoding="utf-8")
    assert resolve_for(None, study).config.serving.key_env == "MY_KEY"


@pytest.mark.parametrize("file", ["../private.jsonl", "private.jsonl", "ABSOLUTE"])
def test_row_01_a_scenario_names_no_file_outside_its_folder(file: str, tmp_path: Path) -> None:
    private = tmp_path / "private.jsonl"
    private.write_text('{"id": "a"}\n', encoding="utf-8")
    value = str(private) if file == "ABSOLUTE" else file
    strange = scenario(tmp_path / "strange", settings={"population": {"file": value}, "agents": 1})
    with pytest.raises(SettingError) as raised:
        resolve_with_scenario({"scenario": str(strange)})
    assert raised.value.where.startswith("population.file")
    own = resolve_with_scenario({"scenario": str(strange), "population.file": str(private)})
    assert own.config.population.file == str(private)


def stopped_run(folder: Path, url: str) -> list[str]:
    """A run that spent its budget after the first step; the options by which its user chose the server."""
    own = ["--set", "policy=llm", "--set", "model=server/m", "--set", f"model.base_url={url}"]
    own += ["--set", "serving.key_env=MY_KEY"]
    begun = ["run", "health-rumor@1", "--agents", "3", "--steps", "2", "--set", "budget.calls=1", "--quiet"]
    assert main([*begun, *own, "--out", str(folder)]) == 4
    return own[4:]


def test_row_01_a_run_folder_of_somebody_else_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", "mine-alone")
    more = ["--set", "budget.calls=100", "--quiet"]
    with ChatServer(Behavior(key="mine-alone")) as server:
        stopped_run(tmp_path / "run", server.url)
        files = list((tmp_path / "state").rglob("*.json"))
        assert len(files) == 1
        assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
        assert "mine-alone" not in files[0].read_text(encoding="utf-8")
        moved = tmp_path / "somebody else's"  # approved for the folder alone, so that a copy asks again
        (tmp_path / "run").rename(moved)
        before = server.seen.requests
        capsys.readouterr()
        branch = ["branch", str(moved), "--at", "1", "--set", "feed.followed=3", "--quiet"]
        config = ["run", str(moved / "run.yaml"), "--quiet"]
        removal = ["counterfactual", str(moved), "--without", "veracity=false", "--run"]
        for command in (["resume", str(moved), *more], branch, config, removal):
            assert main(command) == 2
            said = capsys.readouterr().err
            assert "model.base_url" in said
            assert "serving.key_env" in said
        assert server.seen.requests == before
        assert main(["replay", str(moved), "--quiet"]) == 0  # offline: nothing is sent
        assert server.seen.requests == before


def test_row_01_the_command_that_approves_is_printed_and_approves_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", "mine-alone")
    with ChatServer(Behavior(key="mine-alone")) as server:
        stopped_run(tmp_path / "run", server.url)
        (tmp_path / "run").rename(tmp_path / "moved")
        capsys.readouterr()
        assert main(["resume", "moved", "--quiet"]) == 2
        line = next(line for line in capsys.readouterr().err.splitlines() if "townsquare resume" in line)
        command = shlex.split(line[line.index("townsquare resume") :])[1:]
        assert main([*command, "--set", "budget.calls=2", "--quiet"]) == 4
        assert main(["resume", "moved", "--set", "budget.calls=100", "--quiet"]) == 0  # asked for once


def test_row_01_ones_own_run_goes_on_without_being_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "mine-alone")
    with ChatServer(Behavior(key="mine-alone")) as server:
        stopped_run(tmp_path / "run", server.url)
        assert main(["resume", str(tmp_path / "run"), "--set", "budget.calls=100", "--quiet"]) == 0


def test_row_01_an_approval_is_of_one_server_and_one_variable(
    tmp_path: Path, thief: Thief, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever puts another run where an approved one was does not inherit what was approved."""
    monkeypatch.setenv("MY_KEY", "mine-alone")
    with ChatServer(Behavior(key="mine-alone")) as server:
        stopped_run(tmp_path / "run", server.url)
    (tmp_path / "run").rename(tmp_path / "away")
    settings = resolve_with_scenario({"scenario": "health-rumor@1"}, asking(thief.url, key_env="GITHUB_TOKEN"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "of somebody else"))
    with pytest.raises(TownsquareError):
        simulate(settings, tmp_path / "run")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    thief.headers.clear()
    assert main(["resume", str(tmp_path / "run"), "--quiet"]) == 2
    assert not thief.headers


def test_row_01_a_variable_is_approved_for_one_model_at_its_servers(tmp_path: Path) -> None:
    own = resolve_with_scenario(asking("http://127.0.0.1:1/v1", key_env="MY_KEY")).config
    approve(tmp_path, named_by(own))
    check_approved(own, tmp_path)
    elsewhere: list[dict[str, Any]] = [
        {"model": {"name": "openai/x", "base_url": []}}, {"model": {"base_url": ["http://127.0.0.1:2/v1"]}},
        {"model": {"name": "vllm/x"}}, {"serving": {"key_env": "GITHUB_TOKEN"}}, {"serving": {"calls": "other"}},
    ]  # fmt: skip
    for layer in elsewhere:
        with pytest.raises(SettingError):
            check_approved(resolve(own.plain(), layer).config, tmp_path)
    check_approved(resolve(own.plain(), {"serving": {"key_env": None}}).config, tmp_path)


@pytest.mark.parametrize("command", ["run", "compare", "panel", "interview", "debate", "resume", "branch"])
def test_row_01_a_command_names_the_server_and_the_variable(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOWNSQUARE_API_KEY", "mine-alone")
    with ChatServer(Behavior(key="mine-alone")) as server:
        own = ["--set", f"model.base_url={server.url}"]
        asks = ["--set", "policy=llm", "--set", "model=server/m", *own]
        small = ["health-rumor@1", "--agents", "3", "--steps", "2"]
        (tmp_path / "posts.csv").write_text("text,veracity\nA post.,true\n", encoding="utf-8")
        if command in ("resume", "branch", "interview"):
            assert main(["run", *small, *asks, "--set", "budget.calls=1", "--out", "old", "--quiet"]) == 4
        commands = {
            "run": ["run", *small, *asks],
            "compare": ["compare", *small, *asks, "--seeds", "1", "--workers", "1"],
            "panel": ["panel", "posts.csv", "--agents", "3", *asks, "--set", "policy=llm"],
            "interview": ["interview", "old", "--agents", "0", "--question", "Why?", "--model", "server/m", *own],
            "debate": ["debate", "--trials", "1", "--set", "rounds=1", "--set", "speaker=llm", *asks[2:]],
            "resume": ["resume", "old", "--set", "budget.calls=100"],
            "branch": ["branch", "old", "--at", "2", "--set", "feed.followed=3"],
        }
        capsys.readouterr()
        main(commands[command])
        said = capsys.readouterr().err
    first = next(line for line in said.splitlines() if line.startswith("calls:"))
    assert f"server/m at {server.url}" in first
    assert "TOWNSQUARE_API_KEY" in first
    assert "mine-alone" not in said


def test_row_01_nothing_is_named_where_nobody_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    own = ["--set", "model=ollama/m"]
    assert main(["run", "health-rumor@1", "--agents", "3", "--steps", "1", "--quiet", *own]) == 0
    assert "asks:" not in capsys.readouterr().err


def test_row_16c_a_speaker_without_claims_brings_its_extractor(tmp_path: Path) -> None:
    assert resolve_debates({"speaker": "llm"}).settings.evidence.extractor == "model"
    assert resolve_debates({"speaker": "llm", "evidence.extractor": "embedded"}).settings.evidence.extractor == (
        "embedded"
    )
    assert resolve_debates({}).settings.evidence.extractor == "declared"
    own = ["--set", "model=fake", "--set", "rounds=1", "--trials", "1", "--quiet"]
    assert main(["debate", "--set", "speaker=llm", *own, "--out", "one"]) == 0
    assert main(["debate", "sweep", "--vary", "speaker=llm,bank", *own, "--workers", "1", "--out", "two"]) == 0
    refused = ["--set", "evidence.extractor=declared", "--out", "three"]
    assert main(["debate", "--set", "speaker=llm", *own, *refused]) == 2
    assert not Path("three").exists()
