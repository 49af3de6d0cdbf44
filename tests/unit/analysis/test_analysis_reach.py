"""Reach: distinct agents that were shown a root, in whatever form and how often it came."""

from __future__ import annotations

import math

import polars as pl
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from handwritten_runs import FrameRun, injected, settings, written
from townsquare.analysis import exposure_counts, reach, reach_over_time
from townsquare.core.enums import PostKind, Veracity, Verdict

POSTS = [
    injected(0, Veracity.TRUE),
    injected(1, Veracity.FALSE),
    written(2, PostKind.SHARE, author=6, root=1, parent=1),
    injected(3, Veracity.FALSE, step=2),
]


def shown(step: int, agent: int, root: int, *, first: bool = True, **more: int) -> dict[str, object]:
    return {"step": step, "agent": agent, "post": root, "root": root, "first_seen": first, **more}


def run(*exposures: dict[str, object], cap: int = 2000) -> FrameRun:
    return FrameRun({"posts": POSTS, "exposures": list(exposures)}, settings(feed={"seen_cap": cap}))


def test_an_agent_counts_once_however_often_it_is_shown_a_root() -> None:
    frame = reach(run(shown(1, 4, 1), shown(2, 4, 1, first=False, post=2), shown(2, 5, 1)))
    row = frame.filter(pl.col("root") == 1).row(0, named=True)
    assert (row["exposures"], row["reach"]) == (3, 2)


def test_a_root_that_nobody_was_shown_has_reach_zero() -> None:
    frame = reach(run(shown(1, 4, 1)))
    assert frame.filter(pl.col("root") == 3)["reach"].item() == 0


def test_mean_reach_is_over_the_posts_there_were_so_far() -> None:
    frame = reach_over_time(run(shown(1, 4, 1), shown(1, 5, 1), shown(2, 4, 3)))
    false = frame.filter(pl.col("veracity") == "false").sort("step")
    assert false["posts"].to_list() == [1, 2]
    assert false["mean_reach"].to_list() == [2.0, 1.5]
    assert false["cumulative"].to_list() == [2, 3]


def test_mean_reach_is_undefined_without_posts() -> None:
    frame = reach_over_time(FrameRun({}, settings()))
    assert all(math.isnan(value) for value in frame["mean_reach"])


def test_labeled_exposures_carried_a_false_verdict_or_a_note() -> None:
    frame = exposure_counts(
        run(
            shown(1, 4, 1, verdict=Verdict.FALSE),
            shown(1, 5, 1, note=0),
            shown(1, 6, 1, verdict=Verdict.TRUE),
            shown(1, 7, 1, verdict=Verdict.UNVERIFIED),
        )
    )
    assert frame["labeled"].item() == 2


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 3), st.sampled_from([0, 1, 3])), max_size=40))
@limits(deadline=None, max_examples=30)
def test_what_agents_remember_and_what_is_on_record_agree(views: list[tuple[int, int, int]]) -> None:
    """`first_seen` and the count of distinct agents are two ways to one number while nothing is forgotten."""
    seen: set[tuple[int, int]] = set()
    exposures = []
    for step, agent, root in sorted(set(views)):
        exposures.append(shown(step, agent, root, first=(agent, root) not in seen))
        seen.add((agent, root))
    told, counted = run(*exposures), run(*exposures, cap=1)
    assert exposure_counts(told).equals(exposure_counts(counted))
    assert int(reach(told)["reach"].sum()) == len(seen)


def test_forgotten_roots_are_not_counted_twice() -> None:
    again = run(shown(1, 4, 1), shown(2, 4, 1, first=True), cap=1)
    assert reach(again).filter(pl.col("root") == 1)["reach"].item() == 1
