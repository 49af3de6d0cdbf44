"""The code on the pages "Adding a …" passes ``mypy --strict``: all of it in one process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from repository import ROOT

ELSEWHERE = "adding-an-action.md"
"""Its block is part of a file of the package: `test_doc_action.py` puts it there."""


def test_the_code_of_every_page_has_strict_types(tmp_path: Path) -> None:
    pages = {path for path in (ROOT / "docs").glob("adding-*.md") if path.name != ELSEWHERE}
    files = []
    for page in sorted(pages):
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        assert blocks, page.name
        for number, block in enumerate(blocks):
            files.append(tmp_path / f"{page.stem.replace('-', '_')}_{number}.py")
            files[-1].write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
