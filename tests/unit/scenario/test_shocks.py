"""Shocks take from the queue of posts to inject, and nothing is injected twice."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from small_worlds import posts_of
from townsquare.core.enums import Veracity
from townsquare.core.errors import SettingError
from townsquare.scenario.contents import Posts
from townsquare.scenario.load import injection_schedule
from townsquare.scenario.shocks import Shock
from townsquare.settings.config import Injection
from townsquare.settings.events import Inject


def shock(step: int, posts: int, veracity: str = "any", source: int = -1) -> Shock:
    return Shock(f"at {step}", step, Inject.model_validate({"posts": posts, "veracity": veracity}), source)


def by_step(posts: Posts, injection: Injection, *shocks: Shock) -> dict[int, list[int]]:
    rows, steps = injection_schedule(posts, injection, 1, shocks)
    assert (np.diff(steps) >= 0).all()
    assert np.unique(rows).size == rows.size
    return {int(step): rows[steps == step].tolist() for step in np.unique(steps)}


def test_a_shock_takes_the_next_that_fit_and_the_queue_goes_on_without_them() -> None:
    posts = posts_of([1, 2, 1, 2, 1, 2, 1, 2, 1, 2])
    found = by_step(posts, Injection(posts_per_step=2), shock(2, 2, "false"))
    assert found == {1: [0, 1], 2: [3, 5, 2, 4], 3: [6, 7], 4: [8, 9]}
    found = by_step(posts, Injection(posts_per_step=2), shock(2, 2, source=0), shock(2, 1))
    assert found == {1: [0, 1], 2: [2, 4, 3, 5, 6], 3: [7, 8], 4: [9]}
    found = by_step(posts, Injection(posts_per_step=2, start_step=3), shock(1, 3), shock(4, 2, "true"))
    assert found == {1: [0, 1, 2], 3: [3, 4], 4: [6, 8, 5, 7], 5: [9]}


def test_scheduled_posts_stay_and_come_first() -> None:
    posts = posts_of([1, 1, 1, 1], [2, -1, -1, -1])
    assert by_step(posts, Injection(posts_per_step=1), shock(2, 1)) == {1: [1], 2: [0, 2, 3]}


def test_without_a_queue_shocks_take_everything() -> None:
    assert by_step(posts_of([1, 2, 1]), Injection(posts_per_step=0), shock(4, 2)) == {4: [0, 1]}


def test_what_a_share_of_false_posts_leaves_out_is_left_for_shocks() -> None:
    posts = posts_of([1] * 5 + [2] * 5)
    injection = Injection(posts_per_step=2, false_share=0.5, limit=None)
    assert by_step(posts, injection) == {1: [0, 5], 2: [1, 6], 3: [2, 7], 4: [3, 8], 5: [4, 9]}
    few = posts_of([1] * 2 + [2] * 8)
    assert by_step(few, injection) == {1: [0, 2], 2: [1, 3]}
    assert by_step(few, injection, shock(3, 5, "false")) == {1: [0, 2], 2: [1, 3], 3: [4, 5, 6, 7, 8]}


def test_more_than_there_is_cannot_be_asked_for() -> None:
    with raises_error(SettingError, where="at 3", got="4 posts", allowed="the 2 left"):
        by_step(posts_of([2, 2, 1, 2, 2]), Injection(posts_per_step=1), shock(3, 4, "false"))


@settings(deadline=None, max_examples=60)
@given(
    veracity=st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=40),
    per_step=st.integers(0, 4),
    start=st.integers(1, 4),
    asks=st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 5), st.sampled_from(["any", "true", "false"])), max_size=4
    ),
)
def test_every_step_holds_what_was_asked_for(
    veracity: list[int], per_step: int, start: int, asks: list[tuple[int, int, str]]
) -> None:
    """Against a plain loop over steps."""
    posts = posts_of(veracity)
    shocks = [shock(*ask) for ask in sorted(asks, key=lambda ask: ask[0])]
    left, wanted = list(range(len(veracity))), {}
    for step in range(1, 60):
        now: list[int] = []
        for one in (one for one in shocks if one.step == step):
            word = {"any": None, "true": Veracity.TRUE, "false": Veracity.FALSE}[one.asks.veracity]
            taken = [row for row in left if word in (None, veracity[row])][: one.asks.posts]
            assume(len(taken) == one.asks.posts)
            now += taken
            left = [row for row in left if row not in taken]
        if step >= start:
            now, left = now + left[:per_step], left[per_step:]
        if now:
            wanted[step] = now
    assert by_step(posts, Injection(posts_per_step=per_step, start_step=start), *shocks) == wanted
