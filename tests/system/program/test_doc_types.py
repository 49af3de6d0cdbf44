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
    # Strict for the pages alone: under other options, mypy would check the whole package anew, and the next time again.
    modules = [file.stem for file in files]
    strict = f"\n[[tool.mypy.overrides]]\nmodule = {modules}\ndisallow_untyped_decorators = true\n"
    config = tmp_path / "mypy.toml"
    config.write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8") + strict, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
