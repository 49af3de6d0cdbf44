"""The notebooks run from top to bottom in an empty folder, and are kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from repository import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks_and_the_page_names_each() -> None:
    page = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert len(NOTEBOOKS) >= 3
    assert all(f"({path.name})" in page for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    book = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(book)
    for cell in book["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(path: Path, tmp_path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in book.cells for output in cell.get("outputs", [])]
    said = "".join(output["text"] for output in shown if output.get("name") == "stderr")
    assert "Traceback" not in said
    assert "Warning" not in said
    assert sum("image/png" in output.get("data", {}) for output in shown) >= 1
    assert sum("text/html" in output.get("data", {}) for output in shown) >= 1
