"""docs/python.md: its examples run as they stand, and plain scripts work or say what they need."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 10
    assert not failed


@pytest.mark.parametrize(("workers", "code"), [(1, 0), (2, 1)])
def test_a_script_without_a_guard_works_or_gives_one_error(workers: int, code: int, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    vary = {"moderation.strategy": ["none", "hybrid"]}
    call = f"'synthetic:20', vary={vary}, seeds=1, agents=5, steps=1, out='out', workers={workers}"
    script.write_text(f"import townsquare as ts\nprint(len(ts.compare({call}).finished))\n", encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert (done.stdout.strip() == "2") if code == 0 else ("__name__" in done.stderr and "workers=1" in done.stderr)
    assert done.stderr.count("Traceback") == code
