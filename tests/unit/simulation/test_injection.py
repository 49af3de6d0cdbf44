"""In which order and when the posts of a scenario enter a run."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from small_worlds import posts_of
from townsquare.core.errors import SettingError
from townsquare.scenario.contents import Posts
from townsquare.scenario.load import injection_schedule
from townsquare.settings.config import Injection


def injection_order(posts: Posts, injection: Injection, seed: int) -> np.ndarray:
    return injection_schedule(posts, injection, seed)[0]


def test_the_order_of_the_file() -> None:
    posts = posts_of([1, 2, 0, 1])
    assert injection_order(posts, Injection(), 1).tolist() == [0, 1, 2, 3]
    assert injection_order(posts, Injection(limit=2), 1).tolist() == [0, 1]
    assert injection_order(posts, Injection(limit=0), 1).tolist() == []
    assert injection_order(posts, Injection(posts_per_step=0), 1).tolist() == []


def test_a_shuffled_order_is_keyed_by_post() -> None:
    shuffled = Injection(order="shuffled")
    order = injection_order(posts_of([1] * 200), shuffled, 3)
    assert sorted(order.tolist()) == list(range(200))
    assert order.tolist() != list(range(200))
    assert np.array_equal(order, injection_order(posts_of([1] * 200), shuffled, 3))
    assert not np.array_equal(order, injection_order(posts_of([1] * 200), shuffled, 4))
    fewer = injection_order(posts_of([1] * 150), shuffled, 3)
    assert fewer.tolist() == [row for row in order.tolist() if row < 150]


def test_every_tenth_is_false() -> None:
    order = injection_order(posts_of([2] * 10 + [1] * 50 + [0] * 50), Injection(false_share=0.1), 1)
    assert order.size == 109  # an eleventh false post would be due
    assert [k for k, row in enumerate(order) if row < 10] == list(range(9, 109, 10))
    assert order[order < 10].tolist() == list(range(10))
    assert order[order >= 10].tolist() == list(range(10, 109))


@settings(deadline=None, max_examples=60)
@given(
    veracity=st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=60),
    share=st.integers(0, 20).map(lambda k: k / 20),
    shuffled=st.booleans(),
)
def test_false_posts_are_evenly_spread(veracity: list[int], share: float, shuffled: bool) -> None:
    posts = posts_of(veracity)
    injection = Injection(false_share=share, order="shuffled" if shuffled else "file")
    n_false = veracity.count(2)
    if (share > 0 and n_false == 0) or (share < 1 and n_false == len(veracity)):
        with raises_error(SettingError, where="false_share"):
            injection_order(posts, injection, 1)
        return
    order = injection_order(posts, injection, 1)
    assert len(set(order.tolist())) == order.size
    so_far = np.cumsum(posts.veracity[order] == 2)
    assert so_far.tolist() == [int(k * share + 1e-9) for k in range(1, order.size + 1)]
    if order.size < len(veracity):
        false_is_due = int((order.size + 1) * share + 1e-9) > int(order.size * share + 1e-9)
        used = np.count_nonzero((posts.veracity[order] == 2) == false_is_due)
        assert used == (n_false if false_is_due else len(veracity) - n_false)


def test_posts_with_a_step_enter_then() -> None:
    posts = posts_of([1] * 7, [-1, 3, -1, -1, 1, -1, 9])
    rows, steps = injection_schedule(posts, Injection(posts_per_step=2, start_step=2), 1)
    assert list(zip(rows.tolist(), steps.tolist(), strict=True)) == [
        (4, 1), (0, 2), (2, 2), (1, 3), (3, 3), (5, 3), (6, 9),
    ]  # fmt: skip
    assert injection_order(posts, Injection(posts_per_step=2, start_step=2), 1).tolist() == rows.tolist()
    cut, _ = injection_schedule(posts, Injection(posts_per_step=2, start_step=2, limit=3), 1)
    assert cut.tolist() == [4, 0, 2]
