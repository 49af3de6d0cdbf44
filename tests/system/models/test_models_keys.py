"""Keys and addresses: found where they should be, and seen nowhere else."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from chat_requests import client, question, questions
from raised_errors import raises_error
from townsquare.core.errors import SettingError, TownsquareError
from townsquare.models.contract import Outcome
from townsquare.models.providers import find_key
from townsquare.models.store import SqliteCalls
from townsquare.settings.resolve import resolve
from townsquare.testing.chat_server import Behavior, ChatServer, Fault, name_of

KEY = "sk-secret-5f2c9d1e7b"
VARIABLES = ("OPENAI_API_KEY", "TOWNSQUARE_API_KEY", "VLLM_API_KEY", "OLLAMA_API_KEY", "MY_KEY")


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_keys_come_from_the_environment_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_key("MY_KEY") is None
    lines = [
        "# keys",
        "",
        "export OTHER=1",
        f"MY_KEY = '{KEY}'",
        'QUOTED="a b"',
        "NOTED=abc # a note",
        "no equals sign",
    ]
    (tmp_path / ".env").write_text("\n".join(lines), encoding="utf-8")
    assert find_key("MY_KEY") == KEY
    assert find_key("NOTED") == "abc"
    assert find_key("MISSING") is None
    with raises_error(SettingError, where="QUOTED") as raised:
        find_key("QUOTED")
    assert "a b" not in str(raised.value)
    monkeypatch.setenv("MY_KEY", "from-outside")
    assert find_key("MY_KEY") == "from-outside"


def test_a_public_service_needs_its_key_and_gives_it_to_no_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with raises_error(SettingError, do="set OPENAI_API_KEY in the environment"):
        client("openai/gpt-4o-mini")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    client("openai/gpt-4o-mini").close()
    with ChatServer(Behavior(key=KEY)) as server:
        with client("openai/m", None, server.url) as opened, raises_error(TownsquareError, got="401"):
            opened.ask(questions(1))
        with client("openai/m", None, server.url, key_env="OPENAI_API_KEY") as opened:
            assert opened.ask(questions(1))[0].ok
    monkeypatch.setenv("VLLM_API_KEY", "vllm-key")
    with ChatServer(Behavior(key="vllm-key")) as server, client("vllm/m", None, server.url) as opened:
        assert opened.ask(questions(1))[0].ok


def test_the_key_itself_where_its_variable_should_stand_is_not_repeated() -> None:
    with raises_error(SettingError, do="never the key itself") as raised:
        resolve({"serving": {"key_env": KEY}})
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    ["http://user:s3cret@127.0.0.1/v1", "http://s3cret@host/v1", "https://host/v1?key=s3cret", "http://host:s3cret/v1",
     "https://host/v1#s3cret", "", "ftp://host/v1", "host:8000", "/v1", "http://", "http://[::1"],
)  # fmt: skip
def test_addresses_that_are_none_or_hold_secrets_are_refused_and_not_repeated(url: str) -> None:
    for given in (url, ["http://a/v1", url]):
        with raises_error(SettingError, do="write http://HOST:PORT/v1") as raised:
            resolve({"model": {"name": "server/m", "base_url": given}})
        assert "s3cret" not in str(raised.value)


def test_addresses_lose_the_slash_at_their_end_and_may_be_one_or_several() -> None:
    for given in ("http://a/v1/", ["http://a/v1"]):
        assert resolve({"model": "server/m", "model.base_url": given}).config.model.base_url == ("http://a/v1",)


def test_names_without_a_model_or_a_server() -> None:
    with raises_error(SettingError, allowed="openai/MODEL"):
        client("openai", key_env="MY_KEY")
    with raises_error(SettingError, do="give its address"):
        client("server/m")
    with raises_error(SettingError, got="same address twice"):
        client("server/m", None, "http://a/v1", "http://a/v1/")


def test_a_server_that_repeats_the_key_puts_it_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """In replies, errors, names, and the refusal at first contact; looked for in every file, log, message and reply."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TOWNSQUARE_API_KEY", KEY)
    faults = [
        Fault(text=f"The key is {KEY}."),
        Fault(text='{"reactions": [], "stance": 0, "key": "' + KEY + '"}'),
        Fault(400, f"Incorrect API key provided: {KEY}"),
        Fault(500, f"{KEY} " * 400),
        Fault(body=b'{"model": "' + KEY.encode() + b'", "choices": [{"message": {"content": "x"}}]}'),
    ]
    behavior = Behavior(fault=lambda number, body: None if name_of(body) == "contact" else faults[number % len(faults)])
    folder = tmp_path / "run"
    folder.mkdir()
    store = SqliteCalls(folder)
    seen = []
    with ChatServer(behavior) as server:
        with client("server/m", store, server.url, tries=2) as opened:
            plain = [question(100 + i, schema={}) for i in range(20)]
            replies = opened.ask(questions(20) + plain)
            seen += [repr(replies), repr(opened.taken()), repr(opened.usage), repr(opened.model.name)]
        assert {reply.outcome for reply in replies} >= {Outcome.INVALID, Outcome.ERROR}
        assert any("[key]" in reply.error + reply.text for reply in replies)
        server.behavior = Behavior(key="another")
        with client("server/m", store, server.url) as opened, pytest.raises(TownsquareError) as raised:
            opened.ask([question(500)])
        seen += traceback.format_exception(raised.value)
    for path in folder.iterdir():  # while the log of the database is still beside it
        seen.append(path.read_bytes().decode("latin-1"))
    store.close()
    seen += [path.read_bytes().decode("latin-1") for path in folder.iterdir()]
    printed = capfd.readouterr()
    seen += [caplog.text, printed.out, printed.err]
    assert not [text for text in seen if KEY in text]


def test_no_file_and_no_line_of_a_run_holds_the_key(tmp_path: Path) -> None:
    """The command line, with a server that repeats the key now and then, and one that refuses it."""
    faults = [None, Fault(text=f"my key is {KEY}"), Fault(400, f"Incorrect API key provided: {KEY}"), None]
    behavior = Behavior(
        key=KEY, fault=lambda number, body: None if name_of(body) == "contact" else faults[number % len(faults)]
    )
    (tmp_path / ".env").write_text(f"TOWNSQUARE_API_KEY={KEY}\n", encoding="utf-8")
    folder = tmp_path / "run"
    with ChatServer(behavior) as server:
        command = [
            sys.executable, "-m", "townsquare", "run", "synthetic:20", "--agents", "8", "--steps", "2",
            "--set", "policy=llm", "--set", "model=server/m", "--set", f"model.base_url={server.url}", "--out",
        ]  # fmt: skip
        done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
        assert (folder / "calls.db").exists(), done.stderr
        assert "[key]" in (folder / "calls.db").read_bytes().decode("latin-1")
        server.behavior = Behavior(key="another")
        refused = subprocess.run([*command, str(tmp_path / "refused")], capture_output=True, text=True, check=False)
        assert "Incorrect API key provided: [key]" in refused.stderr
        assert refused.returncode == 2
    seen = [
        path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file() and path.name != ".env"
    ]
    assert len(seen) >= 3
    seen += [done.stdout, done.stderr, refused.stdout, refused.stderr]
    assert not [text for text in seen if KEY in text]
