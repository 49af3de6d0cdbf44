"""Engagement by veracity: what counts, on which post, and the levels beside the gap."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from handwritten_runs import FrameRun, injected, settings, written
from townsquare.analysis import engagement, engagement_balance, engagement_by_post
from townsquare.core.actions import ActionKind
from townsquare.core.enums import ActionStatus, PostKind, Reason, Veracity

TRUE, FALSE, OWN, SHARE_OF_FALSE, COMMENT_ON_FALSE = 0, 1, 2, 3, 4
POSTS = [
    injected(TRUE, Veracity.TRUE),
    injected(FALSE, Veracity.FALSE),
    written(OWN, PostKind.ORIGINAL, author=5),
    written(SHARE_OF_FALSE, PostKind.SHARE, author=6, root=FALSE, parent=FALSE),
    written(COMMENT_ON_FALSE, PostKind.COMMENT, author=7, parent=FALSE),
    injected(5, Veracity.TRUE, step=2),
    injected(6, Veracity.UNKNOWN, step=2),
]


def act(step: int, kind: ActionKind, target: int, **more: Any) -> dict[str, Any]:
    return {"step": step, "agent": 9, "kind": kind, "target": target, **more}


def run(*actions: dict[str, Any]) -> FrameRun:
    return FrameRun({"posts": POSTS, "actions": list(actions)}, settings())


def cell(frame: pl.DataFrame, step: int, veracity: str, column: str) -> Any:
    return frame.filter((pl.col("step") == step) & (pl.col("veracity") == veracity))[column].item()


def test_a_like_of_a_share_counts_for_the_root() -> None:
    frame = engagement(run(act(1, ActionKind.LIKE, SHARE_OF_FALSE)))
    assert cell(frame, 1, "false", "likes") == 1
    assert cell(frame, 1, "unknown", "likes") == 0


def test_a_like_of_a_comment_is_not_one_of_the_post_above() -> None:
    frame = engagement(run(act(1, ActionKind.LIKE_COMMENT, COMMENT_ON_FALSE)))
    assert cell(frame, 1, "false", "engagement") == 0
    assert cell(frame, 1, "unknown", "likes") == 1


def test_a_comment_counts_for_the_post_it_answers() -> None:
    frame = engagement(run(act(1, ActionKind.COMMENT, FALSE, result=COMMENT_ON_FALSE)))
    assert cell(frame, 1, "false", "comments") == 1


def test_only_accepted_reactions_count() -> None:
    refused = {"status": ActionStatus.REFUSED, "reason": Reason.REPEATED}
    others = [ActionKind.FLAG, ActionKind.POST, ActionKind.IGNORE, ActionKind.ADD_NOTE, ActionKind.RATE_NOTE]
    frame = engagement(run(act(1, ActionKind.LIKE, TRUE, **refused), *(act(1, kind, TRUE) for kind in others)))
    assert frame["engagement"].sum() == 0


def test_every_step_and_class_has_a_row() -> None:
    frame = engagement(run())
    assert frame.select("step", "veracity").rows() == [
        (step, veracity) for step in (1, 2) for veracity in ("false", "true", "unknown")
    ]


def test_levels_divide_by_the_posts_injected_so_far() -> None:
    frame = engagement(run(act(1, ActionKind.LIKE, TRUE), act(1, ActionKind.SHARE, TRUE), act(2, ActionKind.LIKE, 5)))
    assert [cell(frame, step, "true", "posts") for step in (1, 2)] == [1, 2]
    assert [cell(frame, step, "true", "cumulative") for step in (1, 2)] == [2, 3]
    assert [cell(frame, step, "true", "per_post") for step in (1, 2)] == [2.0, 1.5]


def test_the_gap_grows_with_volume_and_the_ratio_does_not() -> None:
    def volume(n: int) -> FrameRun:
        true = [act(1, ActionKind.LIKE, TRUE, agent=a) for a in range(2 * n)]
        return run(*true, *(act(1, ActionKind.LIKE, FALSE, agent=a) for a in range(n)))

    little, much = (engagement_balance(volume(n)).filter(pl.col("step") == 1) for n in (1, 10))
    assert (little["gap"].item(), much["gap"].item()) == (1, 10)
    assert little["ratio"].item() == much["ratio"].item() == 2.0


def test_a_ratio_without_false_engagement_is_undefined() -> None:
    assert math.isnan(engagement_balance(run(act(1, ActionKind.LIKE, TRUE)))["ratio"][-1])


def test_levels_are_undefined_while_nothing_is_injected() -> None:
    frame = engagement(FrameRun({}, settings()))
    assert all(math.isnan(value) for value in frame["per_post"])


def test_posts_are_ordered_by_engagement_then_by_row() -> None:
    frame = engagement_by_post(
        run(act(1, ActionKind.LIKE, 5), act(1, ActionKind.LIKE, TRUE), act(2, ActionKind.DISLIKE, SHARE_OF_FALSE)),
    )
    assert frame.select("root", "engagement").rows() == [(0, 1), (1, 1), (5, 1)]
    assert frame.filter(pl.col("root") == FALSE)["dislikes"].item() == 1
