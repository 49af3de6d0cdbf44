"""Guards beside the answer: each fires on a run that deserves it and stays silent on one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from handwritten_runs import FrameRun, injected, run_of_courses, settings, written
from townsquare.core.enums import PostKind, Veracity, Verdict
from townsquare.experiments.cautions import misleading, of_moderation

CLOCK = {"step_minutes": 1440, "warm_up_hours": 0.0}
PEOPLE = range(40)
STILL = {a: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.001 * (a % 7)] for a in PEOPLE}


def said(
    courses: dict[int, list[float]], time: dict[str, Any] | None = None, rule: str = "exposure-bounded", **more: Any
) -> str:
    known = run_of_courses(courses)
    made = settings(rule=rule, time=time or CLOCK, **more)
    return " ".join(misleading(FrameRun(known.tables, made, known.last_step)))


def test_steps_of_belief_as_in_a_laboratory() -> None:
    fast = {a: [0.0, *[0.1 * k for k in range(1, 7)]] for a in PEOPLE}
    assert "as large as in a laboratory" in said(fast)
    assert "as large as in a laboratory" not in said(STILL)
    assert "as large as in a laboratory" not in said(fast, {"step_minutes": None})


def test_belief_change_in_the_warm_up() -> None:
    early = {a: [0.0, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01] for a in PEOPLE}
    warm = CLOCK | {"warm_up_hours": 48.0}
    assert "comes in the warm-up" in said(early, warm)
    assert "comes in the warm-up" not in said(STILL, warm)
    assert "comes in the warm-up" not in said(early)


def test_interventions_in_the_warm_up() -> None:
    warm = CLOCK | {"warm_up_hours": 48.0}
    for step, fires in ((2, True), (3, False)):
        assert ("begins in the warm-up" in said(STILL, warm, events=[{"step": step}])) == fires
        assert ("begins in the warm-up" in said(STILL, warm, treatments=[{"start": step}])) == fires


def test_a_run_within_its_warm_up() -> None:
    assert "ends within its warm-up" in said(STILL, CLOCK | {"warm_up_hours": 144.0})
    assert "ends within its warm-up" not in said(STILL, CLOCK | {"warm_up_hours": 120.0})


def test_one_rule_only() -> None:
    known = FrameRun(run_of_courses(STILL).tables, settings(rule="credence", time=CLOCK), 6)
    assert any("from one rule" in text for text in misleading(known))
    assert not any("from one rule" in text for text in misleading(known, varied={"beliefs.rule"}))
    assert not any("from one rule" in text for text in misleading(known, second_rule=True))
    assert "from one rule" not in said(STILL, rule="no_change")


def test_initial_stances_explain_the_change() -> None:
    back = {a: [a / 20 - 1] * 6 + [0.9 * (a / 20 - 1)] for a in PEOPLE}
    aside = {a: [a / 20 - 1] * 6 + [a / 20 - 1 + 0.01 * (a * 7 % 5)] for a in PEOPLE}
    assert "Regression to the mean" in said(back)
    assert "Regression to the mean" not in said(aside)


@pytest.mark.parametrize(("reached", "at", "words"), [(40, 1, "near its ceiling"), (20, 1, "in which it is published")])
def test_reach_saturated_or_got_at_injection(reached: int, at: int, words: str) -> None:
    def reaching(people: int, step: int) -> str:
        rows = [
            {"step": step, "agent": a, "post": 0, "root": 0, "first_seen": True, "under": -1} for a in range(people)
        ]
        known = run_of_courses(STILL, posts=[injected(0, Veracity.FALSE)], exposures=rows)
        return " ".join(misleading(FrameRun(known.tables, settings(time=CLOCK), 6)))

    assert words in reaching(reached, at)
    assert words not in reaching(10, 3)


def test_a_checker_that_never_falls_behind_and_posts_that_move_few_beliefs() -> None:
    posts = [injected(k, Veracity.FALSE) for k in range(4)]
    posts += [
        written(4, PostKind.ORIGINAL, 0),
        written(5, PostKind.COMMENT, 1),
    ]  # the checker reviews the first of them
    known = run_of_courses(STILL, posts=posts)
    for capacity, fires in ((5, True), (4, False)):
        made = settings(time=CLOCK, moderation={"strategy": "third_party", "posts_per_step": capacity})
        text = " ".join(of_moderation(FrameRun(known.tables, made, 6)))
        assert ("never falls behind" in text) == fires


def test_a_checker_that_reviews_posts_of_people_and_leaves_injected_ones() -> None:
    posts = [*(injected(k, Veracity.FALSE) for k in range(4)), written(4, PostKind.ORIGINAL, 0)]
    made = settings(time=CLOCK, moderation={"strategy": "third_party", "posts_per_step": 1})
    for reviewed, fires in (([0, 4], True), ([0, 1, 2, 3, 4], False), ([0, 1], False)):
        verdicts = [{"post": post, "step": 1, "verdict": Verdict.UNVERIFIED} for post in reviewed]
        known = run_of_courses(STILL, posts=posts, verdicts=verdicts)
        text = " ".join(of_moderation(FrameRun(known.tables, made, 6)))
        assert ("never reviewed 75% of the injected posts: 50% of its reviews" in text) == fires
