"""The page of a comparison: differences, intervals and every run, and what it says where they are missing."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browser_pages import HOSTILE, Elements, Visit, assert_self_contained
from raised_errors import raises_error
from townsquare.core.errors import UnknownName
from townsquare.experiments.comparison import compare
from townsquare.pages.report import Comparison, write_comparison

Values = dict[str, dict[str, list[float]]]
VALUES: Values = {
    "none": {"engagement_false_per_post": [5.0, 6.0, 7.0], "f1": [math.nan] * 3, "shift.tax": [0.1, 0.0, 0.2]},
    "hybrid": {"engagement_false_per_post": [3.0, 4.1, 5.0], "f1": [0.5, 0.6, 0.4], "shift.tax": [0.1, 0.1, 0.1]},
}


def comparison(values: Values = VALUES, intervals: bool = True, **more: Any) -> Comparison:
    """Arms with the values of some outcomes by seed, the first arm the baseline."""
    rows = [
        {"arm": arm, "seed": seed, "outcome": outcome, "value": value}
        for arm, outcomes in values.items()
        for outcome, by_seed in outcomes.items()
        for seed, value in enumerate(by_seed)
    ]
    base = next(iter(values))
    paired = []
    for arm, outcomes in values.items():
        for outcome, here in outcomes.items():
            difference = sum(here) / len(here) - sum(values[base][outcome]) / len(here)
            margin = 0.5 if intervals and arm != base else math.nan
            paired.append(
                {
                    "arm": arm,
                    "outcome": outcome,
                    "mean": sum(here) / len(here),
                    "difference": difference,
                    "low": difference - margin,
                    "high": difference + margin,
                    "n": len(here) if not math.isnan(difference) else 0,
                    "p": 0.01 if margin == 0.5 else math.nan,
                }
            )
    arms = [(arm, {"moderation.strategy": arm}) for arm in values]
    return Comparison(
        more.pop("title", "Strategies"),
        arms,
        pl.DataFrame(rows),
        pl.DataFrame(paired, infer_schema_length=None),
        **more,
    )


def page_of(what: Comparison, folder: Path) -> str:
    return write_comparison(what, folder / "comparison.html").read_text(encoding="utf-8")


def test_a_comparison_has_a_forest_and_dots_for_each_family(tmp_path: Path) -> None:
    page = page_of(comparison(), tmp_path)
    assert_self_contained(page)
    text = Elements(page).text
    assert page.count("Difference from the baseline (none), 95% CI") >= 2
    assert page.count("Single runs (dots) and means of arms (bars)") >= 3
    assert (
        "Engagement per false post: hybrid −1.97 [−2.47, −1.47] vs. the baseline "
        "(higher means more engagement with false posts)." in text
    )
    assert "No arm is statistically distinguishable from the baseline (95% CIs include zero): Mean shift: tax." in text


def test_what_is_undefined_in_the_baseline_has_no_difference(tmp_path: Path) -> None:
    page = page_of(comparison(), tmp_path)
    assert "Not comparable, undefined in the baseline or in all other arms: F1." in Elements(page).text
    assert 'id="forest-detection' not in page
    assert 'id="strip-detection' in page


def test_the_page_is_a_function_of_the_numbers(tmp_path: Path) -> None:
    assert page_of(comparison(), tmp_path) == page_of(comparison(), tmp_path)


def test_one_seed_has_no_intervals_and_says_so(tmp_path: Path) -> None:
    one = {arm: {outcome: values[:1] for outcome, values in outcomes.items()} for arm, outcomes in VALUES.items()}
    text = Elements(page_of(comparison(one, intervals=False), tmp_path)).text
    assert "One seed only" in text
    assert "vs. the baseline" not in text


def test_one_arm_is_shown_without_differences(tmp_path: Path) -> None:
    page = page_of(comparison({"none": VALUES["none"]}), tmp_path)
    assert "One arm only" in Elements(page).text
    assert "Difference from" not in page


def test_nothing_finished_is_said(tmp_path: Path) -> None:
    text = Elements(page_of(comparison({"none": {"f1": [math.nan]}, "hybrid": {"f1": [math.nan]}}), tmp_path)).text
    assert "2 arms with 1 seed each." in text


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    values = {"none": {f"shift.{HOSTILE}": [0.1, 0.2]}, HOSTILE: {f"shift.{HOSTILE}": [0.3, 0.9]}}
    page = page_of(comparison(values, title=HOSTILE, notes=[HOSTILE]), tmp_path)
    assert_self_contained(page)
    assert "<script>alert(1)</script>" in Elements(page).text


def test_unknown_outcomes_are_refused(tmp_path: Path) -> None:
    with raises_error(UnknownName, do="did you mean 'recall'"):
        page_of(comparison({"none": {"recal": [0.5]}}), tmp_path)


def test_arms_are_called_by_what_tells_them_apart() -> None:
    assert comparison().labels == {"none": "none", "hybrid": "hybrid"}
    bare = Comparison("", [("one", {}), ("two", {})], pl.DataFrame(), pl.DataFrame())
    assert bare.labels == {"one": "one", "two": "two"}


def test_a_real_comparison(tmp_path: Path) -> None:
    layers = [{"scenario": "health-rumor", "agents": 20, "steps": 3}]
    found = compare(layers, {"moderation.strategy": ["none", "third_party"]}, [1, 2], tmp_path / "runs", workers=1)
    page = write_comparison(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert_self_contained(page)
    text = Elements(page).text
    assert "health-rumor: 2 arms compared" in text
    assert "people at the start 20" in text


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_and_is_silent(browser: Any, tmp_path: Path, width: int) -> None:
    values = {**VALUES, HOSTILE: VALUES["hybrid"]}
    visit = Visit(browser, write_comparison(comparison(values, title=HOSTILE), tmp_path / "page.html"), width)
    assert visit.heard == []
    assert visit.run("document.documentElement.scrollWidth") == width
    visit.page.close()
