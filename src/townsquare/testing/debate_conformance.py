"""Conformance checks of speakers, debaters and stance judges, for anyone's member."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from townsquare.beliefs.evidence.bank_files import ArgumentBank, load_bank
from townsquare.beliefs.evidence.hashing import EMBEDDER
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core.draws import Draws
from townsquare.core.enums import HoldingChange, Origin
from townsquare.debate.checks import check_claim, check_moved
from townsquare.debate.contract import (
    ActiveRecord,
    Claim,
    DebateAgent,
    DebateContext,
    Debater,
    ReceivedMessage,
    Side,
    Speaker,
    StanceJudge,
    Turn,
    Utterance,
)
from townsquare.models.prompts.bands import TEN_BINS, ten_bins
from townsquare.settings.base import MemberParams
from townsquare.testing.member_calls import MemberUnderTest

TOPIC = "compulsory-voting"
ROUNDS = 4
CLOSE = 1e-9
JUDGED = ("Everyone should have to vote.", "Nobody should have to vote.", "It rained.", "", "😀 — «ok»")


def a_context(bank: ArgumentBank | None = None) -> DebateContext:
    """Return a context on a bundled topic, whose judge reads the sign of the first word that says yes or no."""

    def read(texts: Sequence[str]) -> np.ndarray:
        return np.array([0.5 if "yes" in text else -0.5 if "no" in text else math.nan for text in texts])

    vectors = Vectors(EMBEDDER, EMBEDDER.params())
    return DebateContext(bank or load_bank(TOPIC), vectors, Draws(7, 1), read)


def a_side(context: DebateContext, **changes: Any) -> Side:
    """Return the side of an agent for the proposition, with four seeds that are entered on the context."""
    places = np.flatnonzero(context.bank.seed)[:4]
    rows = tuple(context.row_of(Claim.of(context.bank, int(at))) for at in places)
    side = Side(0, 0.4, 0.7, 0.0, 0.6, 0.45, False, 0.5, math.nan, 0.0, 1.0, rows)
    amounts = sum(math.log1p(0.7 * context.claims[row].strength) * context.claims[row].polarity for row in rows)
    return side._replace(attained=math.tanh(amounts / 2), **changes)


def check_speaker(speaker: Speaker, params: MemberParams | None = None) -> None:
    """Raise if a speaker breaks its contract.

    Checked, on some turns of a debate: the same turn gives the same message; a message is never empty; claims have a
    text, a polarity of -1 or +1 and a strength in [0, 1] or NaN; no claim is said twice; the context is left as it is.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    test = MemberUnderTest.of("speaker", speaker, params)
    context = a_context()
    seen = tuple(ActiveRecord(0, "Voting is a duty.", 1, 0.5, Origin.SEED) for _ in range(2))
    for number in range(1, ROUNDS + 1):
        context.draws = Draws(7, number)
        for side, stance in ((0, 0.6), (1, -0.3)):
            words = TEN_BINS[int(ten_bins(stance))]
            turn = Turn(number, side, context.bank.statement, "", stance, words, seen, "No.", ())
            _check_turn(test, turn, context)


def _check_turn(test: MemberUnderTest, turn: Turn, context: DebateContext) -> None:
    before = (set(context.used_texts), list(context.claims))
    utterance: Any = test.call("say", lambda: test.member.say(turn, context, test.params))
    again: Any = test.call("say", lambda: test.member.say(turn, context, test.params))
    if (context.used_texts, context.claims) != before:
        raise test.broken("writes on the context", "a message, and nothing changed")
    if repr(utterance) != repr(again):
        raise test.broken("another message when asked again", "a function of the turn and the context")
    if not isinstance(utterance, Utterance) or not utterance.text.strip():
        raise test.broken(repr(utterance)[:80], "an Utterance with a text")
    for claim in utterance.claims or ():
        check_claim(test.name, claim)
        if claim.text in context.used_texts:
            raise test.broken(f"{claim.text[:80]!r} again", "nothing that was said before")
        context.used_texts.add(claim.text)


def check_debater(debater: Debater, params: MemberParams | None = None) -> None:
    """Raise if a debater breaks its contract.

    Checked: an agent begins at its attained stance; messages move it within [-1, 1]; with records, changes sum to the
    move in log odds and each names its record; its own message moves it only where own claims are evidence; at most k
    records are retrieved; equal messages move equal agents equally.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    test = MemberUnderTest.of("debater", debater, params)
    courses = [_course(test) for _ in range(2)]
    if courses[0] != courses[1]:
        raise test.broken("another course with equal messages", "a function of side, context and messages")


def _course(test: MemberUnderTest) -> list[float]:
    context = a_context()
    side = a_side(context)
    agent: DebateAgent = test.call("begin", lambda: test.member.begin(side, context, test.params))
    if abs(agent.stance - side.attained) > CLOSE:
        raise test.broken(f"a start at {agent.stance:.6f}", f"the attained stance, {side.attained:.6f}")
    course = [agent.stance]
    for number, at in enumerate(np.flatnonzero(~context.bank.seed)[20:28]):
        row = context.row_of(Claim.of(context.bank, int(at)))
        message = ("yes" if number % 2 else "no", (row,))
        own = ReceivedMessage(*message, own=True, dialogue=())
        if test.call("take", partial(agent.take, own)) or agent.stance != course[-1]:
            raise test.broken("moved by its own message", "unmoved, where own claims are no evidence")
        _check_take(test, agent, ReceivedMessage(*message, own=False, dialogue=()), course)
    for k in (0, 1, 5):
        if len(test.call("retrieve", partial(agent.retrieve, "yes", k))) > k:
            raise test.broken(f"more than {k} records", "at most k")
    return course


def _check_take(test: MemberUnderTest, agent: DebateAgent, message: ReceivedMessage, course: list[float]) -> None:
    moves = check_moved(test.name, agent, test.call("take", lambda: agent.take(message)))
    amount = math.fsum(move.amount for move in moves)
    before, after = course[-1], agent.stance
    moved = 2 * (math.atanh(after) - math.atanh(before)) if test.member.has_records else after - before
    if abs(amount - moved) > CLOSE:
        raise test.broken(f"changes that sum to {amount:.6f}", f"the move, {moved:.6f}")
    for move in moves:
        if test.member.has_records and (move.kind is None or move.claim < 0):
            raise test.broken(repr(move), f"a record, and one of {', '.join(k.name for k in HoldingChange)}")
    course.append(after)


def check_stance_judge(judge: StanceJudge, params: MemberParams | None = None) -> None:
    """Raise if a judge of stance breaks its contract.

    Checked, on some texts: (n,) numbers in [-1, 1], NaN for no stance; the same call gives the same; each number
    depends on its text alone, not on the others or their order; no texts are fine.

    Raises
    ------
    ContractError
        For the first thing that broke.
    """
    test = MemberUnderTest.of("stance_judge", judge, params)
    context = a_context()
    texts = [*JUDGED, *context.bank.text[:3]]

    def read(some: Sequence[str]) -> np.ndarray:
        given = (some, context.bank, context.vectors, test.params)
        stances = test.call("read", lambda: np.asarray(test.member.read(*given)))
        if stances.shape != (len(some),) or stances.dtype != np.float64:
            raise test.broken(f"{stances.dtype} of shape {stances.shape}", f"float64 of shape ({len(some)},)")
        if not (np.isnan(stances) | (np.abs(stances) <= 1.0)).all():
            raise test.broken("numbers outside [-1, 1]", "-1 to 1, or NaN")
        return stances

    whole = {"stances": read(texts)}
    test.check_same("the same call twice gives other", whole, {"stances": read(texts)}, "equal numbers")
    alone = {"stances": np.concatenate([read([text]) for text in texts])}
    test.check_same("other texts beside it give other", whole, alone, "a number of the text alone")
    read([])
