"""In continuous integration a skip that nobody allowed fails the run."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest

from repository import HELPERS, ROOT
from skips import NAME, allowed_skips, unexpected_skips

pytest_plugins = ["pytester"]

SKIPPING = """
import pytest

@pytest.mark.parametrize("what", ["data", "server"])
def test_needs(what):
    pytest.skip(f"no {what} here")

def test_passes():
    pass
"""


def test_every_allowed_skip_names_tests_that_are_there() -> None:
    patterns = allowed_skips((ROOT / NAME).read_text(encoding="utf-8"))
    assert patterns
    for pattern in patterns:
        file, _, test = pattern.partition("::")
        names = re.findall(r"^def (test_\w+)", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        wanted = test.partition("[[]")[0] or "*"
        assert any(fnmatchcase(name, wanted) for name in names), pattern
        assert test != "*", f"{pattern}: name the tests, so that no other of the file can be skipped unseen"


def test_what_no_pattern_matches_is_unexpected() -> None:
    skipped = ["tests/a.py::test_one[x]", "tests/a.py::test_two", "tests/b.py", "tests/a.py::test_two"]
    assert unexpected_skips(skipped, ["tests/b.py", "tests/a.py::test_one*"]) == ["tests/a.py::test_two"]


@pytest.mark.parametrize("row", ["tests/a.py", "tests/a.py |", "| no data"])
def test_a_line_without_a_reason_is_refused(row: str) -> None:
    with pytest.raises(ValueError, match="a pattern"):
        allowed_skips(row)


@pytest.mark.parametrize(("ci", "allowed", "code"), [(True, "*server*", 1), (True, "test_*", 0), (False, "none", 0)])
def test_a_skip_that_is_not_allowed_fails_in_ci(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ci: bool, allowed: str, code: int
) -> None:
    pytester.makepyfile(test_skipping=SKIPPING)
    pytester.makeconftest("from skips import pytest_sessionfinish")
    pytester.syspathinsert(HELPERS)
    (pytester.mkdir("tests") / "allowed_skips.txt").write_text(f"{allowed} | a reason\n")
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    ended = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert ended.ret == code
    ended.assert_outcomes(passed=1, skipped=2)
    if code:
        ended.stdout.fnmatch_lines(["skipped, and not in tests/allowed_skips.txt:", "*test_needs[[]data]"])
