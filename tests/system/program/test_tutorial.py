"""The tutorials, as a reader would follow them: every file saved, every command given, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from repository import ROOT
from townsquare.experiments.manifest import Experiment
from townsquare.record.run import Run

PAGES = [ROOT / "docs" / name for name in ("tutorial.md", "own-survey.md")]
PART = re.compile(
    r"^Save as `(?P<file>[^`]+)`:\n\n```\w+\n(?P<text>.*?)^```$|^```console\n(?P<words>.*?)^```$", re.M | re.S
)


def parts(page: Path) -> list[tuple[str, str]]:
    """In the order of the page: ("name of a file", its text) or ("", one command)."""
    out = []
    for found in PART.finditer(page.read_text(encoding="utf-8")):
        if found["file"]:
            out.append((found["file"], found["text"]))
        else:
            lines = found["words"].splitlines()
            assert all(line.startswith("$ ") for line in lines), lines
            out += [("", line.removeprefix("$ ")) for line in lines]
    return out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_is_read_whole(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len([name for name, _ in parts(page) if name]) == text.count("Save as `")
    assert len([name for name, _ in parts(page) if not name]) == len(re.findall(r"^\$ ", text, re.M))
    assert text.count("```") == 2 * len(re.findall(r"^```\w", text, re.M))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_the_tutorial_works(page: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    for name, text in parts(page):
        if name:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
            continue
        done = subprocess.run(["bash", "-c", text], check=False, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"$ {text}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
    if page.stem == "tutorial":
        _what_the_reader_has(tmp_path)
    else:
        assert (tmp_path / "runs" / "bridge" / "report.html").is_file()
        assert len(Experiment.load(tmp_path / "runs" / "arms").finished) == 4


def _what_the_reader_has(folder: Path) -> None:
    compared = Experiment.load(folder / "runs" / "compared")
    assert len(compared.finished) == 9
    page = (folder / "runs" / "compared" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") > 3
    assert (folder / "stance.svg").stat().st_size > 5_000
    assert (folder / "graph.gexf").is_file()
    run = Run.open(folder / "runs" / "one")
    names = {name.partition("/")[0] for name in run.table("texts")["content"] if name.startswith("r")}
    assert {f"r{k}" for k in range(1, 13)} >= {name for name in names if name[1:].isdecimal()} != set()
