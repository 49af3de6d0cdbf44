"""Retrieval on hand-worked cases: slots in proportion to what is active, the strongest of each side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.beliefs.evidence.retrieval import DEFAULT_SLOTS, retrieve, slots
from townsquare.core.errors import SettingError


@pytest.mark.parametrize(
    ("n_pro", "n_con", "expected"),
    [
        ((8), 2, (4, 1)),
        (10, 0, (5, 0)),
        (0, 3, (0, 5)),
        (7, 3, (3, 2)),  # 3.5: the half goes to the smaller side
        (3, 7, (2, 3)),
        (6, 4, (3, 2)),
        (9, 1, (4, 1)),  # 4.5
        (1, 9, (1, 4)),
        (19, 1, (5, 0)),  # 4.75
        (0, 0, (3, 2)),  # an even split
    ],
)
def test_five_slots(n_pro: int, n_con: int, expected: tuple[int, int]) -> None:
    assert slots(n_pro, n_con) == expected


def test_between_equal_sides_the_half_goes_to_the_stronger_record() -> None:
    assert slots(4, 4) == (3, 2)
    assert slots(4, 4, pro_stronger=False) == (2, 3)
    polarity, strength = [1, 1, 1, -1, -1, -1], [0.5, 0.4, 0.3, 0.6, 0.2, 0.1]
    assert retrieve(polarity, strength, [True] * 6).tolist() == [0, 1, 3, 4, 5]


def test_the_strongest_come_first_and_archived_ones_never() -> None:
    polarity, strength = [1, -1, 1, 1, -1, 1], [0.3, 0.9, 0.8, 0.8, 0.2, 1.0]
    active = [True, True, True, True, True, False]
    assert retrieve(polarity, strength, active, 3).tolist() == [2, 3, 1]


def test_a_side_without_enough_records_leaves_slots_empty() -> None:
    assert retrieve([1, -1], [0.5, 0.5], [True, True]).tolist() == [0, 1]
    assert retrieve([], [], []).tolist() == []


def test_slots_below_zero_are_refused() -> None:
    with raises_error(SettingError, where="retrieved records", got="-1"):
        slots(1, 1, -1)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 12), st.booleans())
def test_slots_add_up_are_near_the_share_and_favor_no_side(n_pro: int, n_con: int, k: int, stronger: bool) -> None:
    pro, con = slots(n_pro, n_con, k, pro_stronger=stronger)
    assert pro + con == k
    assert min(pro, con) >= 0
    if n_pro + n_con:
        assert abs(pro - k * n_pro / (n_pro + n_con)) <= 0.5
    assert slots(n_con, n_pro, k, pro_stronger=not stronger) == (con, pro)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([-1, 1]), st.sampled_from([0.1, 0.4, 0.4, 0.9]), st.booleans()), max_size=15),
    st.integers(0, 8),
)
def test_what_is_left_out_is_no_stronger(records: list[tuple[int, float, bool]], k: int) -> None:
    polarity, strength, active = (np.array([row[c] for row in records]) for c in range(3))
    found = retrieve(polarity, strength, active.astype(bool), k)
    assert len(set(found.tolist())) == len(found) <= k
    for side in (-1, 1):
        mine = [at for at in found if polarity[at] == side]
        rest = [at for at in range(len(records)) if active[at] and polarity[at] == side and at not in mine]
        assert all(active[at] for at in mine)
        assert not mine or not rest or min(strength[mine]) >= max(strength[rest])


def test_the_default_is_that_of_table_a5() -> None:
    assert DEFAULT_SLOTS == 5
