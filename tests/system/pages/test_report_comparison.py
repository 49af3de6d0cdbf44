"""The page of a comparison: differences, intervals and every run, and what it says where they are missing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from PIL import Image

from browser_pages import HOSTILE, Elements, Visit, assert_self_contained
from raised_errors import raises_error
from townsquare.cli import main
from townsquare.core.errors import UnknownName
from townsquare.experiments.answer import Answer, effects
from townsquare.experiments.arms import Arm
from townsquare.experiments.comparison import compare
from townsquare.experiments.manifest import FINISHED, ArmRun, Experiment
from townsquare.pages.report import Comparison, write_comparison

Values = dict[str, dict[str, list[float]]]
PRIMARY = "engagement_false_per_post"
VALUES: Values = {
    "none": {PRIMARY: [5.0, 6.0, 7.0], "f1": [math.nan] * 3, "shift.tax": [0.1, 0.0, 0.2]},
    "hybrid": {PRIMARY: [3.0, 4.1, 5.0], "f1": [0.5, 0.6, 0.4], "shift.tax": [0.1, 0.1, 0.1]},
}


def comparison(values: Values = VALUES, **more: Any) -> Comparison:
    """Arms with the values of some outcomes by seed, the first arm the baseline."""
    arms = tuple(Arm(f"moderation.strategy={arm}", arm, {"moderation.strategy": arm}) for arm in values)
    seeds = range(max(len(by_seed) for outcomes in values.values() for by_seed in outcomes.values()))
    runs = tuple(
        ArmRun(arm.name, seed, "", "", FINISHED, outcomes={name: each[seed] for name, each in values[arm.slug].items()})
        for arm in arms
        for seed in seeds
    )
    found = Experiment(Path(), {}, arms, tuple(seeds), runs)
    primary = next(name for name in next(iter(values.values())))
    frame = found.outcomes.unpivot(index=["arm", "seed"], variable_name="outcome", value_name="value")
    answer = Answer(more.pop("title", "Strategies"), "", (), effects=effects(found, primary, {}))
    return Comparison(answer, arms, frame, **more)


def page_of(what: Comparison, folder: Path) -> str:
    return write_comparison(what, folder / "comparison.html").read_text(encoding="utf-8")


def test_every_group_has_a_forest_with_named_rows_and_dots(tmp_path: Path) -> None:
    page = page_of(comparison(), tmp_path)
    assert_self_contained(page)
    text = Elements(page).text
    assert "Engagement: difference from no moderation, 95% CI" in text
    assert "Engagement: single runs (dots) and means of arms (bars)" in text
    assert text.count("notes and fact-checking") >= 4
    assert "Engagement per false post (lower is better)" in text


def test_the_first_figure_says_the_effect_and_its_verdict_in_words(tmp_path: Path) -> None:
    text = Elements(page_of(comparison(), tmp_path)).text
    assert "Engagement per false post: difference from no moderation, with 95% CI (lower is better)" in text
    assert "−33% [−35%, −30%], better" in text
    assert "difference, actions per post" in text


def test_what_is_undefined_in_the_baseline_has_no_difference(tmp_path: Path) -> None:
    page = page_of(comparison(), tmp_path)
    assert "Not comparable, undefined in the baseline or in all other arms: F1 of moderation." in Elements(page).text
    assert 'id="forest-detection' not in page
    assert 'id="strip-detection' in page


def test_the_primary_outcome_comes_first_and_each_has_its_definition(tmp_path: Path) -> None:
    rare = {arm: {"exposures_false": [9.0, 8.0, 9.5], **outcomes} for arm, outcomes in VALUES.items()}
    what = comparison(rare)
    what = replace(what, answer=replace(what.answer, primary="exposures_false"))
    text = Elements(page_of(what, tmp_path)).text
    assert text.index("Exposures: difference from") < text.index("Engagement: difference from")
    assert "Exposures to injected false posts." in text
    assert "Mean of final minus initial stance over persons." in text


def test_detail_is_folded(tmp_path: Path) -> None:
    page = page_of(comparison(), tmp_path)
    assert page.index('id="answer-figure"') < page.index("<details") < page.index('id="forest-engagement-figure"')


def test_the_page_is_a_function_of_the_numbers(tmp_path: Path) -> None:
    assert page_of(comparison(), tmp_path) == page_of(comparison(), tmp_path)


def test_one_seed_has_no_intervals_and_says_so(tmp_path: Path) -> None:
    one = {arm: {outcome: values[:1] for outcome, values in outcomes.items()} for arm, outcomes in VALUES.items()}
    text = Elements(page_of(comparison(one), tmp_path)).text
    assert "−2.00 (one seed)" in text
    assert "[" not in text.partition("Every outcome")[0]


def test_one_arm_is_shown_without_differences(tmp_path: Path) -> None:
    page = page_of(comparison({"none": VALUES["none"]}), tmp_path)
    assert "ifference from" not in page
    assert 'id="strip-engagement' in page


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    values = {"none": {f"shift.{HOSTILE}": [0.1, 0.2]}, HOSTILE: {f"shift.{HOSTILE}": [0.3, 0.9]}}
    page = page_of(comparison(values, title=HOSTILE, notes=[HOSTILE]), tmp_path)
    assert_self_contained(page)
    assert "<script>alert(1)</script>" in Elements(page).text


def test_unknown_outcomes_are_refused(tmp_path: Path) -> None:
    with raises_error(UnknownName, do="did you mean 'recall'"):
        page_of(comparison({"none": {PRIMARY: [0.5], "recal": [0.5]}}), tmp_path)


def test_arms_are_called_by_what_tells_them_apart() -> None:
    assert list(comparison().labels.values()) == ["no moderation", "notes and fact-checking"]
    bare = Comparison(Answer("", "", ()), [Arm("one", "one", {}), Arm("two", "two", {})], pl.DataFrame())
    assert bare.labels == {"one": "one", "two": "two"}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    layers = [{"scenario": "health-rumor@1", "agents": 40, "steps": 5}]
    strategies = {"moderation.strategy": ["none", "third_party"]}
    return compare(layers, strategies, [1, 2], tmp_path_factory.mktemp("real") / "runs", workers=1)


def test_a_real_comparison_answers_first(found: Experiment, tmp_path: Path) -> None:
    page = write_comparison(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert_self_contained(page)
    text = Elements(page).text
    first, _, rest = text.partition("Every outcome")
    assert "A health rumor in Marlow Bay" in first
    assert "varied setting moderation.strategy" in first
    assert "Primary outcome: mean reach of a false post (lower is better; " in first
    for said in (
        "The answer",
        "What could mislead",
        "Largest change of stance:",
        "Reach of a false post by age, by arm",
        "Change of mean stance",
    ):
        assert said in first
    assert "Reach: difference from no moderation" in rest


def test_exported_figures_stand_alone(found: Experiment, tmp_path: Path) -> None:
    assert main(["report", str(found.folder), "--out", str(tmp_path), "--parquet"]) == 0
    for name, words in {
        "answer": ("Mean reach of a false post: difference from no moderation", "fact-checking", "difference, agents"),
        "course-reach_by_age": ("no moderation", "fact-checking", "agents", "age of the post (steps)"),
        "forest-reach": ("Reach: difference from no moderation", "fact-checking", "lower is better", "agents"),
        "strip-reach": ("no moderation", "fact-checking", "agents"),
    }.items():
        texts = " ".join(ElementTree.parse(tmp_path / "figures" / f"{name}.svg").getroot().itertext())
        assert all(word in texts for word in words), (name, texts)
        assert (tmp_path / "figures" / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert Image.open(tmp_path / "figures" / f"{name}.png").info["dpi"] == pytest.approx((300, 300), abs=0.1)
    assert list((tmp_path / "figures").glob("forest-*.png"))
    paired = pl.read_parquet(tmp_path / "tables" / "paired.parquet")
    assert {"outcome", "arm", "difference", "p_holm", "p_fdr"} <= set(paired.columns)
    assert set(pl.read_parquet(tmp_path / "tables" / "differences.parquet")["seed"]) == {1, 2}
    assert pl.read_parquet(tmp_path / "tables" / "effects_by_group.parquet").is_empty()  # no group has an answer
    effects_written = pl.read_parquet(tmp_path / "tables" / "effects.parquet")
    assert effects_written.row(0, named=True)["outcome"] == "reach_false_mean"
    methods = (tmp_path / "methods.md").read_text(encoding="utf-8")
    assert all(run.content_hash in methods for run in found.finished)
    assert "The primary outcome was the mean reach of a false post" in methods


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_fits_and_is_silent(browser: Any, tmp_path: Path, width: int) -> None:
    values = {**VALUES, HOSTILE: VALUES["hybrid"]}
    visit = Visit(browser, write_comparison(comparison(values, title=HOSTILE), tmp_path / "page.html"), width)
    assert visit.heard == []
    assert visit.run("document.documentElement.scrollWidth") == width
    visit.page.close()
