"""Which tests may be skipped in continuous integration: `tests/allowed_skips.txt` names them with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase

import pytest

NAME = "tests/allowed_skips.txt"


def allowed_skips(text: str) -> dict[str, str]:
    """Patterns of test ids with their reasons, from a text of lines ``pattern | reason``."""
    rows = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    named = {}
    for row in rows:
        pattern, bar, reason = (part.strip() for part in row.partition("|"))
        if not (pattern and bar and reason):
            raise ValueError(f"{NAME}, got: {row!r}, allowed: a pattern, `|` and the reason")
        named[pattern] = reason
    return named


def unexpected_skips(skipped: Iterable[str], allowed: Iterable[str]) -> list[str]:
    """The ids of skipped tests that no pattern matches, in order and each once."""
    patterns = list(allowed)
    return sorted({test for test in skipped if not any(fnmatchcase(test, pattern) for pattern in patterns)})


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run of continuous integration that skipped a test without a line in the file."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if "CI" not in os.environ or hasattr(session.config, "workerinput") or reporter is None:
        return
    skipped = [report.nodeid for report in reporter.stats.get("skipped", [])]
    allowed = allowed_skips((session.config.rootpath / NAME).read_text(encoding="utf-8"))
    if rows := unexpected_skips(skipped, allowed):
        reporter.write_line(f"\nskipped, and not in {NAME}:\n  " + "\n  ".join(rows), red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
