"""500 bad inputs and more: each ends in one message, within seconds, with exit code 2 and no harm."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import wrong_inputs
from command_errors import fingerprint
from hostile_inputs import Attempt, of_bundles, of_cells, of_documents, of_settings, of_sizes
from townsquare import cli
from townsquare.cli import WRONG, main

FAMILIES = (of_settings, of_bundles, of_cells, of_documents, of_sizes)
QUICK = (of_bundles, of_cells)
MOST_SECONDS = 5.0
LONGEST_MESSAGE = 20_000


def faults_of(attempt: Attempt, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is wrong with how a bad input was answered."""
    _, words, files = attempt
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = fingerprint(folder)
    begun = time.process_time()
    code = main(words)
    spent = time.process_time() - begun
    out, err = capsys.readouterr()
    err = "".join(line for line in err.splitlines(keepends=True) if not line.startswith("note: "))
    found = [
        (code != WRONG, f"exit code {code}"),
        ("unexpected error" in err or "Traceback" in err, "an unexpected error"),
        (code == WRONG and not err.startswith("error: "), "no message"),
        (len(err) > LONGEST_MESSAGE, f"a message of {len(err):,} characters"),
        (spent > MOST_SECONDS, f"{spent:.1f} s"),
        (out != "", "something was printed"),
        (fingerprint(folder) != before, "something was left behind, or changed"),
    ]
    return [f"{what}: {err[:300]}" for wrong, what in found if wrong]


@pytest.mark.parametrize(
    "family",
    [pytest.param(one, id=one.__name__, marks=() if one in QUICK else pytest.mark.slow) for one in FAMILIES],
)
def test_row_10_one_message_each(
    family: Callable[[], list[Attempt]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(cli.DEBUG, raising=False)
    wrong = []
    for number, attempt in enumerate(family()):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        wrong += [f"{attempt[0]}: {fault}" for fault in faults_of(attempt, folder, capsys)]
    assert not wrong, f"{len(wrong)} faults:\n" + "\n".join(wrong)


def test_row_10_there_are_500_bad_inputs() -> None:
    attempts = [(words, files) for family in FAMILIES for _, words, files in family()]
    attempts += [(words, files) for words, files, _ in wrong_inputs.CASES]
    different = {repr((words, sorted(files.items()))) for words, files in attempts}
    assert len(different) >= 500
