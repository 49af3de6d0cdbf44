"""Python looks for unreachable cycles less often while calls are under way, and as before when they have ended."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from chat_requests import door, questions
from townsquare.models.client import ROOM, seldom
from townsquare.models.store import MemoryCalls


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield (700, 10, 10)
    gc.set_threshold(*before)


def test_stretches_may_overlap_and_end_in_any_order(thresholds: tuple[int, int, int]) -> None:
    one, two = seldom(), seldom()
    one.__enter__()
    two.__enter__()
    assert gc.get_threshold() == (ROOM, 10, 10)
    one.__exit__(None, None, None)
    assert gc.get_threshold() == (ROOM, 10, 10)
    two.__exit__(None, None, None)
    assert gc.get_threshold() == thresholds
    with pytest.raises(KeyError), seldom():
        raise KeyError
    assert gc.get_threshold() == thresholds


@pytest.mark.parametrize("own", [(0, 10, 10), (2 * ROOM, 5, 5)])
def test_who_wants_it_less_often_still_is_left_alone(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with seldom():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_asking_is_such_a_stretch(thresholds: tuple[int, int, int]) -> None:
    seen = []
    with door("fake", MemoryCalls(), on_call=lambda call: seen.append(gc.get_threshold()[0])) as asked:
        asked.ask(questions(3))
    assert seen == [ROOM] * 3
    assert gc.get_threshold() == thresholds
