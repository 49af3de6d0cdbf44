"""Measures of community notes against plain Python, on records made by chance."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from fact_records import FOLLOWED, LAST, SHARE, WARM, record, run_of
from townsquare.analysis.contract import CachedRun
from townsquare.analysis.courses import courses
from townsquare.analysis.notes import effects_of_pairs, followed_posts, note_course, note_effects, note_numbers
from townsquare.analysis.outcomes import outcomes
from townsquare.core.enums import LogKind, PostKind, Veracity

SEEDS = [0, 1, 2]


def notes_of(seed: int) -> list[dict[str, Any]]:
    """Notes on posts after the warm-up, with the truth of the post and the first steps shown and withdrawn."""
    posts = {row["post"]: row for row in record(seed)["posts"]}
    out = []
    for note in record(seed)["notes"]:
        post = posts[note["post"]]
        if post["step"] > WARM:
            log = [row for row in record(seed)["moderation_log"] if row["value"] == note["note"]]
            steps = {
                name: min((row["step"] for row in log if row["kind"] == kind), default=None)
                for name, kind in (("shown", LogKind.NOTE_SHOWN), ("withdrawn", LogKind.NOTE_WITHDRAWN))
            }
            injected = post["kind"] == PostKind.INJECTED
            out.append({"post": post["post"], "written": note["step"], "truth": injected * post["veracity"], **steps})
    return out


@pytest.mark.parametrize("seed", SEEDS)
def test_the_course_counts_notes_so_far(seed: int) -> None:
    notes, run = notes_of(seed), CachedRun(run_of(seed))
    false = [
        row for row in record(seed)["posts"]
        if row["kind"] == PostKind.INJECTED and row["veracity"] == Veracity.FALSE and row["step"] > WARM
    ]  # fmt: skip
    course = note_course(run)
    assert course["step"].to_list() == list(range(1, LAST + 1))
    for row in course.iter_rows(named=True):
        step = row["step"]
        for name in ("written", "shown", "withdrawn"):
            assert row[name] == sum(note[name] is not None and note[name] <= step for note in notes)
        shown = [note for note in notes if note["shown"] is not None and note["shown"] <= step]
        truths = [note["truth"] for note in shown if note["truth"] != Veracity.UNKNOWN]
        right = sum(truth == Veracity.FALSE for truth in truths)
        assert row["precision"] == pytest.approx(right / len(truths) if truths else math.nan, nan_ok=True)
        so_far = [post["post"] for post in false if post["step"] <= step]
        noted = {note["post"] for note in shown}.intersection(so_far)
        assert row["recall"] == pytest.approx(len(noted) / len(so_far) if so_far else math.nan, nan_ok=True)
    values = note_numbers(run)
    assert values["note_precision"] == pytest.approx(course["precision"][-1], nan_ok=True)
    assert values["notes_shown"] == pytest.approx(course["shown"][-1] / course["written"][-1])
    drawn = courses(run).filter(course="note_recall")["value"].drop_nans()
    assert drawn[-1] == pytest.approx(values["note_recall"])
    of_run = outcomes(run)
    assert {name: of_run[name] for name in values} == pytest.approx(values, nan_ok=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_views_before_the_note_are_of_false_posts_with_a_shown_note(seed: int) -> None:
    first: dict[int, int] = {}
    for note in notes_of(seed):
        if note["truth"] == Veracity.FALSE and note["shown"] is not None:
            first[note["post"]] = min(first.get(note["post"], LAST), note["shown"])
    steps = [(row["step"], first[row["root"]]) for row in record(seed)["exposures"] if row["root"] in first]
    expected = sum(step <= shown for step, shown in steps) / len(steps) if steps else math.nan
    assert note_numbers(run_of(seed))["views_before_note"] == pytest.approx(expected, nan_ok=True)


def test_effects_of_several_pairs_are_sums() -> None:
    pairs = []
    for seed in SEEDS:
        chance = random.Random(seed)
        fewer = [row for row in record(seed)["posts"] if row["kind"] != SHARE or chance.random() < 0.6]
        pairs.append((CachedRun(run_of(seed, posts=fewer)), CachedRun(run_of(seed))))
    each = [note_effects(*pair) for pair in pairs]
    all_ = effects_of_pairs([(followed_posts(run), followed_posts(without)) for run, without in pairs])
    counts = ["shares_life", "views_life", "shares_after", "views_after"]
    for at, measure in enumerate(counts):
        assert all_["measure"][at] == measure
        for column in ("without", "with", "averted"):
            assert all_[column][at] == sum(one[column][at] for one in each)
    after = all_.filter(measure="shares_per_view_after").row(0, named=True)
    assert after["with"] == pytest.approx(all_["with"][2] / all_["with"][3])
    assert after["change"] == pytest.approx(after["with"] / after["without"] - 1)
    assert all_["averted"][0] > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_effects_while_a_note_is_shown_leave_out_the_time_of_withdrawal(seed: int) -> None:
    run = CachedRun(run_of(seed))
    signs = {LogKind.NOTE_SHOWN: 1, LogKind.NOTE_WITHDRAWN: -1}
    posts = record(seed)["posts"]
    injected = {row["post"] for row in posts if row["kind"] == PostKind.INJECTED and row["step"] > WARM}
    log = [(row["post"], row["step"], signs[row["kind"]]) for row in record(seed)["moderation_log"]
           if row["kind"] in signs and row["post"] in injected]  # fmt: skip

    def has_a_note(post: int, step: int) -> bool:
        return sum(sign for root, at, sign in log if root == post and at < step) > 0

    first = {post: min((at for root, at, sign in log if root == post and sign > 0), default=LAST) for post in injected}

    def counts(post: int, step: int) -> bool:
        return has_a_note(post, step) and first[post] < step <= first[post] + FOLLOWED

    views = sum(counts(row["root"], row["step"]) for row in record(seed)["exposures"])
    shares = sum(row["kind"] == SHARE and counts(row["root"], row["step"]) for row in posts)
    effects = note_effects(run, run)
    assert effects.filter(measure="views_shown")["with"].item() == views
    assert effects.filter(measure="shares_shown")["with"].item() == shares


def test_a_run_without_notes_has_no_numbers_of_notes() -> None:
    run = CachedRun(run_of(0, notes=[], moderation_log=[]))
    assert not note_course(run).height
    assert all(math.isnan(value) for value in note_numbers(run).values())
    assert not courses(run)["course"].str.starts_with("note_").any()
