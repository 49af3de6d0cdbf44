"""Appendix B on hand-worked cases, for one agent and, against it, for many at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conflict_oracle import resolve_conflict
from evidence_world import argue, end_step, judges_of, shown, square, take_in, with_stance
from raised_errors import raises_error
from townsquare.beliefs.evidence.holding_kernels import ACTIVE, AGREED, EVER, HELD, ORIGIN_SHIFT
from townsquare.core.enums import Origin
from townsquare.core.errors import DataError, SettingError

# --- one agent ---------------------------------------------------------------------------------------------


def test_without_an_active_record_of_its_polarity_a_claim_stays() -> None:
    assert resolve_conflict([], [], [], [], 1, 0.5, 0.8)[:3] == (True, -1, -1)
    assert resolve_conflict([0.9, 1.0], [-1, 1], [0.9, 0.9], [True, False], 1, 0.1, 0.8)[:3] == (True, -1, -1)


def test_below_theta_both_stay_and_at_theta_one() -> None:
    assert resolve_conflict([0.79999], [1], [0.5], [True], 1, 0.9, 0.8)[:2] == (True, -1)
    assert resolve_conflict([0.8], [1], [0.5], [True], 1, 0.9, 0.8)[:2] == (True, 0)


def test_the_stronger_stays_and_a_tie_keeps_the_old_one() -> None:
    assert resolve_conflict([0.9], [-1], [0.5], [True], -1, 0.51, 0.8)[:2] == (True, 0)
    assert resolve_conflict([0.9], [-1], [0.5], [True], -1, 0.5, 0.8)[:2] == (False, -1)
    assert resolve_conflict([0.9], [-1], [0.5], [True], -1, 0.49, 0.8)[:2] == (False, -1)


def test_only_the_nearest_decides() -> None:
    # It is stronger than the nearest and weaker than another near-duplicate, which stays beside it.
    found = resolve_conflict([0.85, 0.95], [1, 1], [0.9, 0.3], [True, True], 1, 0.5, 0.8)
    assert found == (True, 1, 1, 0.95)


def test_what_cannot_be_is_refused_in_words() -> None:
    for theta in (0.0, -0.1, 1.1, math.nan):
        with raises_error(SettingError, where="theta", allowed="a number above 0 and at most 1"):
            resolve_conflict([], [], [], [], 1, 0.5, theta)
    with raises_error(DataError, where="record 1", got="polarity 0", allowed=r"-1 or \+1"):
        resolve_conflict([0.9], [1], [0.5], [True], 0, 0.5, 0.8)
    with raises_error(DataError, where="record 0", got="strength 1.5", allowed="0 to 1"):
        resolve_conflict([0.9], [1], [1.5], [True], 1, 0.5, 0.8)


# --- many agents -------------------------------------------------------------------------------------------

NEAR = {"a": [1.0, 0.0, 0.0], "a again": [0.9, 0.4, 0.0], "b": [0.0, 1.0, 0.0], "a differently": [0.7, 0.0, 0.7]}


def test_paraphrases_do_not_count_twice() -> None:
    world, judges = square(), judges_of(NEAR)
    posts = [argue(world, 3, text, 0.5, s) for text, s in (("a", 0.5), ("a again", 0.6), ("b", 0.2))]
    events = take_in(world, shown(world, *((0, post) for post in posts)), judges)
    assert [(row["claim"], row["change"], row["by"]) for row in events] == [
        (0, "accepted", -1),
        (1, "accepted", -1),
        (0, "archived", 1),
        (2, "accepted", -1),
    ]


def test_other_agents_other_propositions_and_the_other_side_do_not_meet() -> None:
    world, judges = square(), judges_of(NEAR)
    argue(world, 3, "a", 0.5, 0.5)
    argue(world, 3, "a again", -0.5, 0.9)
    argue(world, 3, "a again", 0.5, 0.9, proposition=1)
    argue(world, 3, "a again", 0.5, 0.9)
    events = take_in(world, shown(world, (0, 0), (0, 1), (0, 2), (1, 3)), judges)
    assert {row["change"] for row in events} == {"accepted"}
    assert len(events) == 4


def test_a_claim_that_is_held_changes_nothing_and_a_stronger_one_in_the_same_words_replaces_it() -> None:
    world, judges = square(), judges_of()
    first, again, stronger = (argue(world, 3, "the same words", 0.5, s) for s in (0.4, 0.4, 0.7))
    events = take_in(world, shown(world, (0, first), (0, again), (0, stronger)), judges)
    assert world.claims["same_as"].tolist() == [0, 0, 2]
    assert [(row["claim"], row["change"], row["post"]) for row in events] == [
        (0, "accepted", first),
        (2, "accepted", stronger),
        (0, "archived", stronger),
    ]


def test_a_refused_claim_is_judged_anew_when_what_stopped_it_is_gone() -> None:
    world, judges = square(), judges_of(NEAR)
    strong, weak = argue(world, 3, "a", 0.5, 0.9), argue(world, 3, "a again", 0.5, 0.3)
    first = take_in(world, shown(world, (0, strong), (0, weak)), judges)
    assert [(row["claim"], row["change"], row["by"]) for row in first] == [(0, "accepted", -1), (1, "refused", 0)]
    end_step(world)
    assert take_in(world, shown(world, (0, weak)), judges) == []
    end_step(world)
    later = take_in(world, shown(world, (0, strong), (0, weak), weights=[0.0, 1.0]), judges)
    assert [(row["claim"], row["change"], row["by"]) for row in later] == [(0, "archived", -1), (1, "accepted", -1)]


def test_a_label_archives_and_its_withdrawal_restores() -> None:
    world, judges = square(), judges_of()
    post, other = argue(world, 3, "a", 0.5, 0.5), argue(world, 3, "b", -0.5, 0.5)
    take_in(world, shown(world, (0, post)), judges)
    for weights, expected in (([0.0, 0.0], ["archived", "refused"]), ([1.0, 1.0], ["restored", "accepted"])):
        end_step(world)
        events = take_in(world, shown(world, (0, post), (0, other), weights=weights), judges)
        assert [row["change"] for row in events] == expected
    end_step(world)
    assert take_in(world, shown(world, (0, post), weights=[0.4]), judges) == []
    end_step(world)
    assert [
        row["change"] for row in take_in(world, shown(world, (0, post), weights=[0.4]), judges, archive_weight=0.5)
    ] == ["archived"]


def test_own_claims_use_their_own_threshold_and_keep_their_origin() -> None:
    world, judges = square(), judges_of(NEAR, theta=0.8, theta_self=0.5)
    heard = argue(world, 3, "a", 0.5, 0.5)
    said = argue(world, 0, "a differently", 0.5, 0.6)
    events = take_in(world, shown(world, (0, heard)), judges, own_claims=True)
    assert [(row["claim"], row["change"], row["origin"], row["post"], row["rank"]) for row in events] == [
        (0, "accepted", "peer", heard, 0),
        (1, "accepted", "self", said, -1),
        (0, "archived", "peer", said, -1),
    ]


def test_own_claims_are_no_records_by_default() -> None:
    world, judges = square(), judges_of(NEAR)
    argue(world, 0, "a", 0.5, 0.5)
    assert take_in(world, shown(world), judges) == []


def test_what_agreed_with_the_stance_is_marked() -> None:
    world, judges = square(), judges_of()
    with_stance(world, [[0.2, 0.0], [-0.2, 0.0], [0.0, 0.0], [0.0, 0.0]])
    post = argue(world, 3, "a", 0.5, 0.5)
    events = take_in(world, shown(world, (0, post), (1, post), (2, post)), judges)
    assert [row["agreed"] for row in events] == [True, False, False]


# --- against the plain form --------------------------------------------------------------------------------


@dataclass
class Record:
    active: bool
    ever: bool
    agreed: bool
    origin: int

    def flags(self) -> int:
        bits = HELD | ACTIVE * self.active | EVER * self.ever | AGREED * self.agreed
        return bits | self.origin << ORIGIN_SHIFT


def meet(held: dict[int, Record], claim: int, weight: float, stance: float, theta: float, world) -> None:
    """What the rules of docs/evidence.md say of one claim that an agent is shown."""
    columns = {name: np.asarray(world.claims[name]) for name in ("polarity", "strength")}
    record = held.setdefault(claim, Record(False, False, False, int(Origin.PEER)))
    if weight <= 0 or record.active:
        record.active = record.active and weight > 0
        return
    others = sorted(other for other in held if held[other].active)
    pairs = {}
    for one, two, cosine in zip(
        *(world.near_duplicates[name].tolist() for name in ("claim", "other", "similarity")), strict=True
    ):
        pairs[one, two] = pairs[two, one] = cosine
    found = resolve_conflict(
        [pairs.get((claim, other), 0.0) for other in others], columns["polarity"][others], columns["strength"][others],
        [True] * len(others), int(columns["polarity"][claim]), float(columns["strength"][claim]), theta,
    )  # fmt: skip
    if found.archived >= 0:
        held[others[found.archived]].active = False
    if found.active:
        record.agreed = record.agreed if record.ever else stance * columns["polarity"][claim] > 0
        record.active = record.ever = True


texts = [f"text {k}" for k in range(7)]
showing = st.tuples(st.integers(0, 1), st.integers(0, 6), st.sampled_from([1.0, 1.0, 1.0, 0.0]))


@settings(max_examples=60, deadline=None)
@given(
    angles=st.lists(st.floats(0, 3), min_size=7, max_size=7),
    kinds=st.lists(st.tuples(st.sampled_from([-1, 1]), st.sampled_from([0.2, 0.5, 0.8])), min_size=7, max_size=7),
    steps=st.lists(st.lists(showing, max_size=8), min_size=1, max_size=4),
    stance=st.sampled_from([-0.5, 0.0, 0.5]),
)
def test_many_agents_get_what_each_would_get_alone(angles, kinds, steps, stance) -> None:
    vectors = {text: [math.cos(angle), math.sin(angle)] for text, angle in zip(texts, angles, strict=True)}
    world, judges = square(2, 1), judges_of(vectors, theta=0.9, theta_self=0.9)
    with_stance(world, [[stance], [-stance], [0.0]])
    for text, (side, strength) in zip(texts, kinds, strict=True):
        argue(world, 2, text, side * 0.5, strength)
    held: list[dict[int, Record]] = [{}, {}]
    for rows in steps:
        rows = sorted(rows, key=lambda row: row[0])
        out = shown(world, *(row[:2] for row in rows), weights=[row[2] for row in rows])
        take_in(world, out, judges)
        for agent, post, weight in rows:
            claim = int(world.claims["same_as"][world.posts["claims"][post]])
            meet(held[agent], claim, weight, stance if agent == 0 else -stance, 0.9, world)
        end_step(world)
    (block,) = world.holdings.blocks
    for agent in (0, 1):
        span = slice(block.indptr[agent], block.indptr[agent + 1])
        found = dict(zip(block.key[span].tolist(), block.value[span].tolist(), strict=True))
        assert found == {claim: record.flags() for claim, record in held[agent].items()}
