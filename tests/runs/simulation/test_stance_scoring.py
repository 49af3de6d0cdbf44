"""Stances of what agents write, from the text instead of the declaration."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from raised_errors import raises_error
from small_worlds import run_of, settings_of
from townsquare.beliefs.stance.contract import StanceScorer
from townsquare.beliefs.stance.vader import score_text
from townsquare.core import registry
from townsquare.core.enums import PostKind, Scorer
from townsquare.core.errors import SettingError
from townsquare.record.run import Run
from townsquare.settings.config import MemberParams
from townsquare.settings.resolve import resolve


class NoSettings(MemberParams):
    """No settings."""


def by_length(texts: Sequence[str], propositions: Sequence[str]) -> npt.NDArray[np.float64]:
    """No stance where the text is short."""
    sizes = np.array([len(text) for text in texts], np.float64)
    return np.repeat(np.where(sizes > 45, 0.25, np.nan)[:, None], len(propositions), axis=1)


SCORER = StanceScorer("by_length", NoSettings, by_length)


def stances(run: Run) -> pl.DataFrame:
    posts = run.table("posts").join(run.table("texts"), on="text")
    return run.table("post_stances").join(posts, on="post")


def test_vader_scores_what_agents_write_and_leaves_what_is_given() -> None:
    declared, scored = (run_of(settings_of(beliefs={"stance_scorer": name})) for name in ("declared", "vader"))
    assert set(stances(declared)["scorer"]) == {Scorer.GIVEN, Scorer.DECLARED}
    found = stances(scored)
    assert set(found["scorer"]) == {Scorer.GIVEN, Scorer.TEXT}
    given = found.filter(pl.col("scorer") == Scorer.GIVEN)
    assert set(given["kind"]) == {PostKind.INJECTED}
    assert given.height == stances(declared).filter(pl.col("scorer") == Scorer.GIVEN).height
    written = found.filter(pl.col("scorer") == Scorer.TEXT)
    assert set(written["kind"]) == {PostKind.ORIGINAL, PostKind.COMMENT}
    assert written["stance"].to_list() == [score_text(text) for text in written["content"]]
    wrote = scored.table("posts").filter(pl.col("kind").is_in([PostKind.ORIGINAL, PostKind.COMMENT]))
    assert written["post"].to_list() == wrote["post"].to_list()


def test_a_text_without_a_stance_is_no_exposure(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.register("stance", "by_length", f"{__name__}:SCORER")
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(SCORER=SCORER))
    found = stances(run_of(settings_of(beliefs={"stance_scorer": "by_length"})))
    written = found.filter(pl.col("scorer") == Scorer.OUTSIDE)
    assert written.height
    assert set(written["stance"]) == {0.25}
    assert written["content"].str.len_chars().min() > 45  # type: ignore[operator]


def test_an_unknown_scorer_is_refused() -> None:
    with raises_error(SettingError, where=r"beliefs\.stance_scorer", got="'vadr'", do="did you mean 'vader'"):
        resolve({"beliefs.stance_scorer": "vadr"})
