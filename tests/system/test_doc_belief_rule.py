"""The rule on the page "Adding a belief rule" is a whole one: it registers, passes the check and does what it says."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from belief_blocks import new, shown, step
from townsquare.beliefs.contract import BeliefRule
from townsquare.core import registry
from townsquare.testing.belief_conformance import check_belief_rule

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding-a-belief-rule.md"


@pytest.fixture
def rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BeliefRule]:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    (tmp_path / "news_rule.py").write_text(blocks[0], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    # A copy, so that no other test meets a rule whose file is gone.
    monkeypatch.setitem(registry._FAMILIES, "beliefs", {**registry._FAMILIES["beliefs"]})
    registry.register("beliefs", "news", "news_rule:RULE")
    yield registry.get("beliefs", "news")
    sys.modules.pop("news_rule", None)
    importlib.invalidate_caches()


@pytest.mark.parametrize("seed", range(5))
def test_it_passes_the_public_check(rule: BeliefRule, seed: int) -> None:
    check_belief_rule(rule, seed)


def test_it_does_what_it_says(rule: BeliefRule) -> None:
    news = {"stance": 1.0, "first_seen": True}
    known = {"stance": -1.0, "first_seen": False}
    state, trail = step(rule, new(rule, [[0.0], [0.0]]), shown([news, known], [known]), openness=0.5)
    assert state.stance[:, 0].tolist() == [0.25, 0.0]
    assert trail.amount.tolist() == [0.25, 0.0, 0.0]
