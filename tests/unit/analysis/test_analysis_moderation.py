"""Measures of moderation: what is positive, whatever the strategy is called, and what stays outside."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

from handwritten_runs import FrameRun, injected, settings, written
from townsquare.analysis import labels, moderation, moderation_events
from townsquare.analysis.moderation import scores, strategies
from townsquare.core.enums import LogKind, PostKind, Veracity, Verdict

# Posts 0 to 3 are false, 4 to 6 true, 7 of unknown veracity, 8 is written by an agent.
POSTS = [
    *(injected(post, Veracity.FALSE) for post in range(4)),
    *(injected(post, Veracity.TRUE) for post in range(4, 7)),
    injected(7, Veracity.UNKNOWN),
    written(8, PostKind.ORIGINAL, author=3),
]
VERDICTS = [(0, 2, Verdict.FALSE), (1, 3, Verdict.UNVERIFIED), (2, 4, Verdict.TRUE), (4, 2, Verdict.FALSE)]
NOTES = [(1, 5), (5, 2), (0, 6), (7, 2), (8, 2)]
TAKEDOWNS = [(0, 3), (6, 2)]


def run(strategy: str, **more: Any) -> FrameRun:
    log = [
        *({"post": p, "step": s, "kind": LogKind.NOTE_SHOWN} for p, s in NOTES),
        {"post": 5, "step": 4, "kind": LogKind.NOTE_WITHDRAWN},
        *({"post": p, "step": s, "kind": LogKind.TAKEDOWN} for p, s in TAKEDOWNS),
    ]
    verdicts = [{"post": p, "step": s, "verdict": v} for p, s, v in VERDICTS]
    tables = {"posts": POSTS, "verdicts": verdicts, "moderation_log": log, **more}
    return FrameRun(tables, settings(strategy), last_step=8)


@pytest.mark.parametrize(
    ("record", "tp", "fp", "fn", "tn"),
    [({"verdicts": []}, 2, 1, 2, 2), ({"moderation_log": []}, 1, 1, 3, 2), ({}, 2, 2, 2, 1)],
    ids=["notes alone", "verdicts alone", "both"],
)
def test_what_is_positive(record: dict[str, Any], tp: int, fp: int, fn: int, tn: int) -> None:
    row = moderation(run("of-my-own", **record)).row(0, named=True)
    assert (row["tp"], row["fp"], row["fn"], row["tn"]) == (tp, fp, fn, tn)
    assert row["precision"] == tp / (tp + fp)
    assert row["recall"] == tp / (tp + fn)
    assert row["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn))


def test_without_moderation_there_is_no_f1() -> None:
    row = moderation(FrameRun({"posts": POSTS}, settings("none"))).row(0, named=True)
    assert all(math.isnan(row[name]) for name in ("precision", "recall", "f1"))


@pytest.mark.parametrize(
    ("first", "event", "names"),
    [
        ({"strategy": "desk", "response": "none"}, {"moderation.response": "label"}, ["none", "desk"]),
        ({"strategy": "desk", "response": "label"}, {"moderation": {"response": "none"}}, ["desk", "none"]),
        ({"strategy": "none", "unused": {"response": "none"}}, {"moderation": "desk"}, ["none"]),
        ({"strategy": "none"}, {"moderation.strategy": "desk"}, ["none", "desk"]),
        ({"strategy": "none"}, {"moderation.strategy": "desk", "moderation.response": "none"}, ["none"]),
        ({"strategy": "desk", "response": "label"}, {"moderation": None, "feed.moderation.response": "none"}, ["desk"]),
    ],
)
def test_events_that_switch_the_response_of_a_desk(
    first: dict[str, Any], event: dict[str, Any], names: list[str]
) -> None:
    given = settings(moderation=first, events=[{"step": 4, "set": event}])
    assert strategies(FrameRun({"posts": POSTS}, given, last_step=8)) == names


@pytest.mark.parametrize(
    ("counts", "f1"), [((24, 28, 25), 0.475), ((7, 25, 38), 0.182), ((30, 18, 20), 0.612), ((0, 0, 4), 0.0)]
)
def test_f1_as_in_table_2_of_mosaic(counts: tuple[int, int, int], f1: float) -> None:
    assert scores(*counts)["f1"] == pytest.approx(f1, abs=5e-4)


def test_scores_of_nothing_are_undefined() -> None:
    assert all(math.isnan(value) for value in scores(0, 0, 0).values())


def test_unknown_veracity_and_own_posts_stay_outside() -> None:
    assert labels(run("hybrid"))["root"].to_list() == [0, 1, 2, 3, 4, 5, 6]


def test_a_note_that_was_withdrawn_was_shown() -> None:
    noted = labels(run("community")).filter(pl.col("root") == 5)
    assert noted["positive"].item()
    assert noted["note_step"].item() == 2


def test_the_label_is_the_earlier_of_verdict_and_note() -> None:
    frame = labels(run("hybrid"))
    assert frame["label_step"].to_list() == [2, 5, None, None, 2, 2, None]


@pytest.mark.parametrize(("down", "label"), [(1, None), (2, None), (3, 2)])
def test_a_post_that_comes_down_before_its_label_is_shown_has_none(down: int, label: int | None) -> None:
    taken = [{"post": 0, "step": down, "kind": LogKind.TAKEDOWN}]
    marked = labels(run("desk", moderation_log=taken, verdicts=[{"post": 0, "step": 2, "verdict": Verdict.FALSE}]))
    first = marked.filter(root=0).row(0, named=True)
    assert (first["label_step"], first["false_verdict_step"], first["positive"]) == (label, 2, True)


def test_delays_count_from_injection_over_posts_it_happened_to() -> None:
    row = moderation(run("hybrid")).row(0, named=True)
    assert row["steps_to_verdict"] == pytest.approx((1 + 2 + 3) / 3)
    assert row["steps_to_label"] == pytest.approx((1 + 4) / 2)
    assert row["steps_to_takedown"] == 2.0
    assert math.isnan(moderation(FrameRun({"posts": POSTS}, settings()))["steps_to_label"].item())


def test_errors_are_counted_for_true_posts() -> None:
    row = moderation(run("hybrid")).row(0, named=True)
    assert (row["true_labeled"], row["true_removed"], row["false_removed"]) == (2, 1, 1)


def test_exposures_of_false_posts_around_the_label() -> None:
    shown = [
        *({"step": s, "agent": 1, "post": 0, "root": 0} for s in (1, 2, 3)),
        {"step": 4, "agent": 2, "post": 0, "root": 0, "verdict": Verdict.FALSE},
        *({"step": s, "agent": 1, "post": 3, "root": 3} for s in (1, 2)),
        {"step": 1, "agent": 1, "post": 4, "root": 4},
    ]
    row = moderation(run("third_party", exposures=shown)).row(0, named=True)
    assert (row["before_label"], row["after_label"], row["never_labeled"], row["shown_labeled"]) == (2, 2, 2, 1)


def test_notes_are_uninformative_without_plausibility() -> None:
    assert not moderation(run("community"))["notes_informative"].item()
    told = [{**post, "plausibility": 0.2 + 0.1 * i} for i, post in enumerate(POSTS)]
    assert moderation(run("community", posts=told))["notes_informative"].item()


def test_events_by_step_and_veracity() -> None:
    frame = moderation_events(run("hybrid"))
    first = frame.filter((pl.col("step") == 1) & (pl.col("event") == "injected"))
    assert dict(first.select("veracity", "posts").rows()) == {"false": 4, "true": 3, "unknown": 1}
    removed = frame.filter(pl.col("event") == "taken down").select("step", "veracity").rows()
    assert removed == [(2, "true"), (3, "false")]
    assert frame.filter(pl.col("event") == "note withdrawn").height == 1
