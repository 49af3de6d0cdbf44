"""What a user can get wrong, through the real command line: one message that names the place, exit code 2, no harm.

Recorded runs that were damaged are in ``test_bad_runs.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_errors import complaint_of, fingerprint
from townsquare import cli
from townsquare.cli import main
from wrong_inputs import CASES, RUN, Case


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An earlier run in the working directory of every case."""
    where = tmp_path_factory.mktemp("earlier") / "first"
    assert main([*RUN, "--quiet", "--out", str(where)]) == 0
    return where


@pytest.fixture(autouse=True)
def _unharmed(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(cli.DEBUG, raising=False)
    before = fingerprint(recorded)
    yield
    assert fingerprint(recorded) == before


def named(case: Case) -> str:
    words, files, _ = case
    return " ".join([*words, *files])[:80].encode("ascii", "backslashreplace").decode()


@pytest.mark.parametrize("case", CASES, ids=named)
def test_one_message_and_no_harm(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, files, said = case
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = fingerprint(tmp_path)
    message = complaint_of(words, capsys)
    assert said in message
    assert fingerprint(tmp_path) == before, "a command that failed left something behind, or changed something"


def test_the_corpus_is_large() -> None:
    assert len({json.dumps([words, sorted(map(str, files.items()))]) for words, files, _ in CASES}) >= 60
