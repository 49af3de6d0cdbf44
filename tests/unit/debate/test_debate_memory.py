"""The records of one agent: hand-worked sums, and what holds for any records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raised_errors import raises_error
from townsquare.beliefs.evidence.bank_files import load_bank
from townsquare.beliefs.evidence.contract import Embedder
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.errors import DataError, SettingError
from townsquare.debate.contract import Claim, DebateContext, Move, ReceivedMessage, Side
from townsquare.debate.members.self_update import Revision, debater, toward_message
from townsquare.debate.memory import Memory
from townsquare.settings.base import MemberParams
from townsquare.testing.debate_conformance import a_context, a_side

ACCEPTED, ARCHIVED, REFUSED = HoldingChange.ACCEPTED, HoldingChange.ARCHIVED, HoldingChange.REFUSED


@dataclass(frozen=True)
class Angles:
    """Texts that are angles in degrees: the cosine of two texts is that of their difference."""

    @staticmethod
    def embed(texts, params):
        turns = [math.radians(float(text.split()[0])) for text in texts]
        return np.array([[math.cos(turn), math.sin(turn)] for turn in turns])


def vectors() -> Vectors:
    return Vectors(Embedder("angles", MemberParams, Angles.embed, 0.6, 0.45), MemberParams())


def side(seeds=(), **changes) -> Side:
    plain = Side(0, 0.4, 0.7, 0.0, 0.9, 0.5, True, 0.0, 0.0, 0.0, 1.0, tuple(seeds))
    return plain._replace(**changes)


def memory(claims, seeds=(), **changes) -> Memory:
    return Memory(side(seeds, **changes), claims, vectors())


def test_equation_1_by_hand():
    claims = [Claim("0", 1, 0.5), Claim("90", -1, 1.0), Claim("180", -1, 0.25)]
    held = memory(claims, seeds=[0])
    assert held.log_odds == pytest.approx(math.log(1.35))
    assert held.take([1, 2], Origin.PEER) == (
        Move(ACCEPTED, 1, -1, pytest.approx(-math.log(1.4))),
        Move(ACCEPTED, 2, -1, pytest.approx(-math.log(1.1))),
    )
    expected = math.log(1.35) - math.log(1.4) - math.log(1.1)
    assert held.log_odds == pytest.approx(expected)
    assert held.stance == pytest.approx(2 / (1 + math.exp(-expected)) - 1)


def test_prior_scale_and_prior():
    claims = [Claim("0", 1, 1.0)]
    assert memory(claims, seeds=[0], prior_scale=2.0).log_odds == pytest.approx(2 * math.log(1.7))
    assert memory(claims, prior=0.3).log_odds == pytest.approx(0.3)


def test_a_stronger_near_duplicate_replaces_a_seed_and_counts_with_uptake():
    claims = [Claim("0", 1, 0.5), Claim("10", 1, 0.6)]
    held = memory(claims, seeds=[0])
    archived, accepted = held.take([1], Origin.PEER)
    assert archived == Move(ARCHIVED, 0, 1, pytest.approx(-math.log(1.35)))
    assert accepted == Move(ACCEPTED, 1, 0, pytest.approx(math.log(1.24)))
    assert held.log_odds == pytest.approx(math.log(1.24))
    assert held.active == [False, True]


def test_a_tie_keeps_what_was_there_and_nothing_is_deleted():
    claims = [Claim("0", 1, 0.5), Claim("10", 1, 0.5)]
    held = memory(claims, seeds=[0])
    assert held.take([1], Origin.PEER) == (Move(REFUSED, 1, 0, 0.0),)
    assert held.claims == [0, 1]
    assert held.active == [True, False]


def test_own_claims_are_compared_by_their_own_threshold():
    claims = [Claim("0", 1, 0.5), Claim("40", 1, 0.4), Claim("40 ", 1, 0.4)]
    assert memory(claims, seeds=[0]).take([1], Origin.SELF)[0].kind is REFUSED
    assert memory(claims, seeds=[0]).take([2], Origin.PEER)[0].kind is ACCEPTED


def test_near_duplicates_of_the_other_side_stand_beside_each_other():
    claims = [Claim("0", 1, 0.5), Claim("1", -1, 0.9)]
    assert memory(claims, seeds=[0]).take([1], Origin.PEER)[0].kind is ACCEPTED


def test_confirmation_goes_by_the_stance_before_the_message():
    claims = [Claim("0", 1, 1.0), Claim("60", 1, 0.5), Claim("120", -1, 0.5), Claim("200", 1, 0.5)]
    held = memory(claims, seeds=[0], confirmation=0.5)
    amounts = [move.amount for move in held.take([1, 2], Origin.PEER)]
    assert amounts == pytest.approx([math.log1p(0.5 * 0.6), -math.log1p(0.5 * 0.2)])
    undecided = memory(claims, confirmation=0.5)
    assert undecided.take([3], Origin.PEER)[0].amount == pytest.approx(math.log1p(0.5 * 0.2))


def test_retrieval_follows_the_active_records():
    claims = [Claim(f"{30 * k}", -1 if k == 3 else 1, 0.1 * (k + 1)) for k in range(4)]
    held = memory(claims, seeds=range(4), theta=1.0)
    assert [one.claim for one in held.retrieve(3)] == [2, 1, 3]
    assert held.retrieve(3)[0].origin is Origin.SEED


@pytest.mark.parametrize("theta", [0.0, -0.1, 1.01])
def test_a_threshold_outside_its_range_is_refused(theta):
    with raises_error(SettingError, where="theta", allowed="a number above 0 and at most 1"):
        memory([], theta=theta)


def test_a_seed_without_polarity_is_refused():
    with raises_error(DataError, where="seed records, record 1", got="polarity 0"):
        memory([Claim("0", 1, 0.5), Claim("90", 0, 0.5)], seeds=[0, 1])


# --- for any records ---------------------------------------------------------------------------------------

some_claims = st.lists(
    st.tuples(st.integers(0, 359), st.sampled_from([-1, 1]), st.floats(0, 1)), min_size=1, max_size=12
)
quick = settings(deadline=None, max_examples=60)


def claims_of(rows):
    return [Claim(f"{angle} {at}", sign, strength) for at, (angle, sign, strength) in enumerate(rows)]


@quick
@given(rows=some_claims, theta=st.floats(0.05, 1), start=st.floats(-3, 3))
def test_changes_sum_to_the_move_and_the_stance_is_bounded(rows, theta, start):
    held = memory(claims_of(rows), theta=theta, prior=start)
    for row in range(len(rows)):
        before = held.log_odds
        moves = held.take([row], Origin.PEER)
        assert math.fsum(move.amount for move in moves) == pytest.approx(held.log_odds - before, abs=1e-12)
        assert -1 <= held.stance <= 1
    assert len(held.claims) == len(rows)
    kept = [amount for amount, active in zip(held.amounts, held.active, strict=True) if active]
    assert held.log_odds == pytest.approx(start + math.fsum(kept))


@quick
@given(rows=some_claims, data=st.data())
def test_without_near_duplicates_the_order_does_not_matter(rows, data):
    claims = [Claim(f"{at}", sign, strength) for at, (_, sign, strength) in enumerate(rows)]
    order = data.draw(st.permutations(range(len(claims))))
    one, other = (memory(claims, theta=1.0) for _ in range(2))
    one.take(range(len(claims)), Origin.PEER)
    other.take(order, Origin.PEER)
    assert one.log_odds == pytest.approx(other.log_odds, abs=1e-12)


@quick
@given(rows=some_claims, theta=st.floats(0.05, 1), start=st.floats(-3, 3))
def test_without_uptake_nothing_moves(rows, theta, start):
    held = memory(claims_of(rows), theta=theta, prior=start, uptake=0.0)
    before = held.stance
    held.take(range(len(rows)), Origin.PEER)
    assert held.stance == before


@quick
@given(rows=some_claims, at=st.integers(0, 11), more=st.floats(0, 1))
def test_a_stronger_record_moves_further(rows, at, more):
    at %= len(rows)
    claims = [Claim(f"{k}", sign, strength) for k, (_, sign, strength) in enumerate(rows)]
    stronger = list(claims)
    stronger[at] = claims[at]._replace(strength=claims[at].strength + more * (1 - claims[at].strength))
    one, other = memory(claims, theta=1.0), memory(stronger, theta=1.0)
    one.take(range(len(rows)), Origin.PEER)
    other.take(range(len(rows)), Origin.PEER)
    assert claims[at].polarity * (other.log_odds - one.log_odds) >= -1e-12


# --- baselines ---------------------------------------------------------------------------------------------


def test_the_stand_in_moves_a_share_of_the_way():
    context = a_context()
    params = debater("mine", toward_message, with_records=False).params.model_validate({"step": 0.1})
    asked = Revision("Vote.", 0.5, "no", (), ())
    assert toward_message(asked, context, params) == pytest.approx(0.5 + 0.1 * (-0.5 - 0.5))
    assert toward_message(asked._replace(message="hm"), context, params) == 0.5


def test_records_hold_the_stand_in_back():
    context = a_context()
    agent = {}
    for with_records in (False, True):
        member = debater("mine", toward_message, with_records=with_records)
        agent[with_records] = member.begin(a_side(context), context, member.params.model_validate({"step": 0.1}))
    start = agent[True].stance
    for one in agent.values():
        one.take(ReceivedMessage("no", (), own=False, dialogue=()))
    assert agent[False].stance < agent[True].stance < start


def test_a_model_takes_the_place_of_the_stand_in():
    def revise(asked: Revision, context: DebateContext, params: object) -> float:
        return 5.0 if asked.message == "no" else asked.stance

    member = debater("mine", revise, with_records=True)
    context = a_context(load_bank("austerity"))
    agent = member.begin(a_side(context), context, member.params())
    (move,) = agent.take(ReceivedMessage("no", (), own=False, dialogue=()))
    assert agent.stance == 1.0
    assert move.kind is None
    assert move.claim == -1
