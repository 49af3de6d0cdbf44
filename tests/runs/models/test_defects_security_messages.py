"""Rows 13 and 17: messages hide keys, and say what is the matter at first contact."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from chat_requests import client, questions
from townsquare.cli import main
from townsquare.core.errors import DataError, SettingError, TownsquareError, Unreachable
from townsquare.core.redact import HIDDEN, redacted
from townsquare.debate.resolve import resolve_debates
from townsquare.scenario.settings import resolve_for
from townsquare.settings.resolve import resolve
from townsquare.testing.chat_server import Behavior, ChatServer, Fault

LOOKS = [
    "sk-live-0123456789abcdef",
    "sk-proj-abcdefABCDEF0123456789",
    "ghp_0123456789abcdefABCDEF0123456789abcd",
    "github_pat_11ABCDEFG0123456789_abc",
    "glpat-0123456789abcdefXYZ",
    "AKIAIOSFODNN7EXAMPLE",
    "hf_abcdefghijklmnopqrstuvwxyz012345",
    "gsk_abcdefghijklmnopqrst0123456789",
    "xoxb-123456789012-abcdefABCDEF",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
]
NAMES = ["api_key", "apiKey", "token", "password", "secret", "key", "access_token", "client-secret", "OPENAI_API_KEY"]
ORDINARY = {"keyword": "vaccine", "tokens": 1500, "seeds": "1-20", "keys": "a", "monkey": "b", "max_token_count": 7}


def messages(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) in (1, 2)
    said = capsys.readouterr()
    return said.out + said.err


@pytest.mark.parametrize("key", LOOKS)
def test_row_13_what_looks_like_a_key_is_hidden_wherever_it_stands(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values: list[dict[str, Any]] = [
        {"steps": key}, {"nothing": key}, {"model": {"name": key}}, {"feed": {"ranker": key}}, {key: 1},
        {"population": {"margins": {key: {"a": "b"}}}}, {"serving": {"key_env": key}}, {"graph": [key]},
        {"steps": f"Bearer {key}"},
    ]  # fmt: skip
    for given in values:
        with pytest.raises(SettingError) as raised:
            resolve(given)
        assert key not in str(raised.value), given
        file = tmp_path / "study.yaml"
        file.write_text(yaml.safe_dump(given), encoding="utf-8")
        assert key not in messages(capsys, "run", str(file))
    with pytest.raises(TownsquareError) as raised_debate:
        resolve_debates({"speaker": key})
    assert key not in str(raised_debate.value)
    for words in (["run", key], ["run", f"--{key}"], ["run", "a", key], ["run", "--set", key], ["run", "--seed", key]):
        assert key not in messages(capsys, *words), words
    folder = tmp_path / "strange"
    folder.mkdir()
    (folder / "scenario.yaml").write_text(yaml.safe_dump({"name": "x", "posts": key}), encoding="utf-8")
    with pytest.raises(DataError) as raised_data:
        resolve_for(str(folder))
    assert key not in str(raised_data.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("section", ["model.", "serving.", "", "model.auth."])
def test_row_13_what_stands_under_the_name_of_a_key_is_hidden(
    name: str, section: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = messages(capsys, "run", "--set", f"{section}{name}=hunter2")
    assert "hunter2" not in said
    assert HIDDEN in said
    nested: Any = {name: "hunter2", "plain": "visible"}
    for part in reversed(section.split(".")[:-1]):
        nested = {part: nested}
    with pytest.raises(SettingError) as raised:
        resolve(nested)
    assert "hunter2" not in str(raised.value)
    assert "visible" in str(raised.value)


def test_row_13_a_number_or_a_broken_value_is_hidden_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("model.password=20461", "model.password=[20461", "model.password={a: 20461}", "model.api_key:20461"):
        assert "20461" not in messages(capsys, "run", "--set", text), text


@pytest.mark.parametrize("name", list(ORDINARY))
def test_row_13_ordinary_values_are_shown(name: str) -> None:
    with pytest.raises(SettingError) as raised:
        resolve({"model": {name: ORDINARY[name]}})
    assert str(ORDINARY[name]) in raised.value.got


def test_row_13_ordinary_words_are_left_as_they_are() -> None:
    for text in (
        "tokens: 1500, max_tokens=10, seed=3", "task-management and sk-learn", "key=value, such as feed.followed=10",
        "set OPENAI_API_KEY in the environment", "postgresql://me@localhost/runs?schema=one", "content 0f3a9b7c" * 4,
        "http://127.0.0.1:8000/v1", "the keyword is risk-assessment-score", "a bearer of bad news",
    ):  # fmt: skip
        assert redacted(text) == text


@pytest.mark.parametrize(
    "address",
    ["postgresql://me:hunter2@host/db", "https://me:hunter2@host/v1", "postgresql://host/db?password=hunter2"],
)
def test_row_13_passwords_in_addresses_are_hidden(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ["inspect", address], ["run", address], ["run", "--record", address], ["run", "--set", f"steps={address}"],
        ["run", "--set", f"model.base_url={address}"], ["compare", "--out", address, "--seeds", "1"],
    ):  # fmt: skip
        assert "hunter2" not in messages(capsys, *words), words


# --- first contact -----------------------------------------------------------------------------------------


def crowded(wait: str | None) -> Behavior:
    fault = Fault(status=429, retry_after=wait)
    return Behavior(fault=lambda number, body: fault)


def unreachable(model: str, url: str) -> Unreachable:
    with client(model, None, url, tries=1) as opened, pytest.raises(Unreachable) as raised:
        opened.ask(questions(1))
    return raised.value


def test_row_17_a_crowded_server_is_called_crowded() -> None:
    for wait, when in ((None, "later"), ("700", "700 s")):
        with ChatServer(crowded(wait)) as server:
            fault = unreachable("server/m", server.url)
        assert "overloaded" in fault.got
        assert "429" in fault.got
        assert when in fault.do
        assert "base_url" not in fault.do
        assert "key" not in fault.do


def test_row_17_a_server_that_is_down_is_called_so() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
    fault = unreachable("ollama/m", url)
    assert fault.got.startswith(f"{url}: no server answers at this address")
    assert "ssl" not in fault.got
    assert "Error" not in fault.got
    assert "key" not in fault.do.lower()


def test_row_17_a_refused_key_and_a_wrong_model_have_remedies_of_their_own() -> None:
    with ChatServer(Behavior(key="right")) as server:
        fault = unreachable("vllm/m", server.url)
    assert "VLLM_API_KEY" in fault.do
    assert "base_url" not in fault.do
    with ChatServer(Behavior(models=("other",))) as server:
        fault = unreachable("vllm/m", server.url)
    assert "name of the model" in fault.do
    assert "KEY" not in fault.do


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("gpt-4o-mini", "openai/gpt-4o-mini"), ("o3-mini", "openai/o3-mini"), ("anthropic/claude-x", "server/claude-x"),
        ("gemini/pro", "model.base_url"), ("openia/m", "'openai'"),
    ],
)  # fmt: skip
def test_row_17_a_model_without_a_known_provider(name: str, wanted: str) -> None:
    with pytest.raises(SettingError) as raised:
        resolve({"model": name})
    assert raised.value.where == "model.name"
    assert wanted in raised.value.do
