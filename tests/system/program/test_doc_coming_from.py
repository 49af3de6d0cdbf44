"""The pages for newcomers: every script of ours runs, and the commands for a Slurm cluster are accepted and join."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repository import ROOT
from townsquare.cli import main
from townsquare.experiments.manifest import Experiment
from townsquare.record.run import Run

PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
SLURM = (ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")
SCRIPTS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^\$ townsquare (.*)$", PAGE, re.MULTILINE)


def test_each_tool_has_its_words_and_a_script_of_theirs_and_of_ours() -> None:
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections] == ["OASIS", "Mesa", "NDlib", "Concordia"]
    for section in sections:
        assert "| Townsquare |" in section
        assert "```py\n" in section
        assert "```python\n" in section or "```console\n" in section


@pytest.mark.parametrize("number", range(len(SCRIPTS)))
def test_our_scripts_run(number: int, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPTS[number], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "shape: (" in done.stdout, "a table is shown"


def test_our_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        assert main(shlex.split(command)) == 0, capsys.readouterr().err


def _script(marker: str) -> str:
    [text] = [text for text in re.findall(r"^```sh\n(.*?)^```$", SLURM, re.MULTILINE | re.DOTALL) if marker in text]
    small = "--agents 20 --steps 1"
    return text.replace("--agents 1000", small).replace("none,community,third_party,hybrid", "none,hybrid")


def seconds_of(database: Path) -> list[object]:
    """The time that each step took, which no second execution repeats."""
    return Run.open(database.parent).table("steps")["seconds"].to_list()


def test_the_tasks_of_an_array_join_into_one_comparison_without_running_again(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    program = tmp_path / ".venv" / "bin" / "townsquare"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m townsquare "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    bash = str(shutil.which("bash"))

    def ran(text: str, **more: str) -> None:
        environment = {**os.environ, "SLURM_CPUS_PER_TASK": "1", **more}
        done = subprocess.run(
            [bash, "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stderr

    for task in ("1", "2"):
        ran(_script("--array"), SLURM_ARRAY_TASK_ID=task)
    ran(_script("mkdir -p study").replace("--seeds 1-20", "--seeds 1-2"))
    study = Experiment.load(tmp_path / "study")
    assert len(study.finished) == 4
    for part in (tmp_path / "parts").iterdir():
        for path in part.rglob("run.db"):
            joined = study.folder / path.relative_to(part)
            assert seconds_of(joined) == seconds_of(path), "it was not executed again"
