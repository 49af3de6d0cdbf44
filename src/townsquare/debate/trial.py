"""One debate, from its seeds to its last message.

Each message goes through the same five steps (seeds, ``belief-engine``, Figure 1): say, extract, judge, take in, move.
The speaker takes in its own claims too, where those are evidence; then the opponent is moved, and the other speaks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from townsquare.beliefs.evidence.contract import Embedder, Topics, check_found, with_strengths
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core.array_types import Float
from townsquare.core.draws import Draws
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import in_step
from townsquare.debate.checks import check_claim, check_moved
from townsquare.debate.contract import (
    ActiveRecord,
    Claim,
    DebateAgent,
    DebateContext,
    DialogueLine,
    Move,
    ReceivedMessage,
    Side,
    Turn,
    Utterance,
    few_uniform,
)
from townsquare.debate.resolve import ResolvedDebate
from townsquare.debate.settings import CON, DECLARED, PRO
from townsquare.debate.start import begin_at, trial_seed
from townsquare.models.contract import Asker, bound
from townsquare.models.prompts.bands import TEN_BINS, ten_bins
from townsquare.settings.base import MemberParams

MOST_VECTORS = 50_000
"""Texts whose vectors are kept at most, 4 KiB each at the default size."""


class TurnRecord(NamedTuple):
    """One turn as it is recorded.

    Attributes
    ----------
    turn : Turn
        What the speaker was given.
    text : str
        What it said.
    claims : tuple of int
        Rows of the claims it made.
    before, after : (2,) tuple of float
        Stances of pro and con before and after the message; NaN for a fixed opponent.
    moves : tuple of (side, Move)
        What the message did to whom, in order.
    judged : float
        Stance that the judge reads in the text; NaN if it takes none.
    """

    turn: Turn
    text: str
    claims: tuple[int, ...]
    before: tuple[float, float]
    after: tuple[float, float]
    moves: tuple[tuple[int, Move], ...]
    judged: float


class TrialCourse(NamedTuple):
    """A debate that was held: its agents as they started, by side; all its claims; and its turns."""

    sides: dict[int, Side]
    claims: list[Claim]
    turns: list[TurnRecord]


@dataclass(slots=True)
class _Debate:
    """A debate while it is held; ``agents`` and how they started by side."""

    resolved: ResolvedDebate
    context: DebateContext
    seed: int
    sides: dict[int, Side]
    agents: dict[int, DebateAgent]
    dialogue: list[DialogueLine] = field(default_factory=list)

    def stances(self) -> tuple[float, float]:
        """Return the stances of pro and con; NaN for a fixed opponent."""
        pro, con = (self.agents[side].stance if side in self.agents else math.nan for side in (PRO, CON))
        return pro, con


def debate(
    resolved: ResolvedDebate, trial: int, report: Callable[[int], None] = lambda _: None, asker: Asker | None = None
) -> TrialCourse:
    """Hold one debate.

    Parameters
    ----------
    resolved : ResolvedDebate
        Settings, members, arguments.
    trial : int
        From 1; trials of one number share their draws in all arms.
    report : callable
        Told the round that ended.
    asker : Asker, optional
        A language model for the members that ask one.

    Raises
    ------
    SettingError, DataError
        It cannot begin: too few seeds, an empty side, a threshold outside (0, 1].
    ContractError
        A member breaks its contract.
    """
    running = _begin(with_model(resolved, asker), trial)
    settings, context = resolved.settings, running.context
    turns: list[TurnRecord] = []
    for number in range(1, settings.rounds + 1):
        context.draws = Draws(running.seed, number)
        for side in _order(settings.first, running.seed):
            with in_step(number, "round"):
                turns.append(_turn(running, number, side))
        report(number)
    judged = context.read([turn.text for turn in turns])
    turns = [turn._replace(judged=float(stance)) for turn, stance in zip(turns, judged, strict=True)]
    return TrialCourse(running.sides, context.claims, turns)


def with_model(resolved: ResolvedDebate, asker: Asker | None) -> ResolvedDebate:
    """Return the same debate with a language model for the members that ask one."""
    if asker is None:
        return resolved
    members = {role: (bound(member, asker), params) for role, (member, params) in resolved.members.items()}
    return replace(resolved, members=members)


def opening(resolved: ResolvedDebate, trial: int, stance: float) -> str:
    """Return pro's first message at ``stance``, with the seeds that bring it near that stance.

    Parameters
    ----------
    resolved : ResolvedDebate
        Settings that let pro start from ``stance``.
    trial : int
        From 1.
    stance : float
        [-1, 1]; what the speaker is told, regardless of the seeds attain.
    """
    running = _begin(resolved, trial)
    running.context.draws = Draws(running.seed, 1)
    turn = _given(running, 1, PRO)._replace(stance=stance, instruction=TEN_BINS[int(ten_bins(stance))])
    return _said(running, turn, *resolved.members["speaker"]).text


def readings(resolved: ResolvedDebate, texts: Sequence[str]) -> Float:
    """Return stances in [-1, 1] that the judge of a debate reads in (n,) texts alone; NaN where none."""
    return _reader(resolved, _shared_vectors(*resolved.members["embedder"]))(texts)


def _begin(resolved: ResolvedDebate, trial: int) -> _Debate:
    settings, bank = resolved.settings, resolved.bank
    seed = trial_seed(settings.seed, trial)
    vectors = _shared_vectors(*resolved.members["embedder"])
    if len(vectors.known) > MOST_VECTORS:
        vectors.known.clear()
    context = DebateContext(bank, vectors, Draws(seed, 0), _reader(resolved, vectors))
    debater, params = resolved.members["debater"]
    starts = {number: begin_at(resolved, number, trial) for number in settings.agents}
    evidence = settings.evidence
    theta: tuple[float, float] = resolved.members["embedder"][0].thresholds(evidence.theta, evidence.theta_self)
    sides = {}
    for number, start in starts.items():
        seeds = tuple(context.row_of(Claim.of(bank, at)) for at in start.places)
        profile = (*settings.profile(number), settings.confirmation)
        sides[number] = Side(number, *profile, *theta, evidence.own_claims, *start[:-1], seeds)
    agents = {number: debater.begin(side, context, params) for number, side in sides.items()}
    return _Debate(resolved, context, seed, sides, agents)


@lru_cache(maxsize=4)
def _shared_vectors(embedder: Embedder, params: MemberParams) -> Vectors:
    """Return the vectors that all debates of a process share."""
    return Vectors(embedder, params)


def _reader(resolved: ResolvedDebate, vectors: Vectors) -> Callable[[Sequence[str]], Float]:
    """Return the judge of the debate as a function of texts alone."""
    judge, params = resolved.members["judge"]

    def read(texts: Sequence[str]) -> Float:
        stances = np.asarray(judge.read(texts, resolved.bank, vectors, params), np.float64)
        fair = np.isnan(stances) | (np.abs(stances) <= 1.0)
        if stances.shape != (len(texts),) or not fair.all():
            got = f"{stances.shape} for {len(texts)} texts, or outside its range"
            raise ContractError(f"stance_judge {judge.name!r}", got=got, allowed="(n,) in [-1, 1], or NaN, for n texts")
        return stances

    return read


def _order(first: str, seed: int) -> tuple[int, int]:
    if first == "drawn":
        first = "pro" if few_uniform(Draws(seed, 0), "first", 0, [0])[0] < 0.5 else "con"
    return (PRO, CON) if first == "pro" else (CON, PRO)


def _turn(running: _Debate, number: int, side: int) -> TurnRecord:
    """Execute one turn: a message and its effects."""
    context, members = running.context, running.resolved.members
    before = running.stances()
    turn = _given(running, number, side)
    speaker, params = members["speaker" if side in running.agents else "scripted"]
    utterance = _said(running, turn, speaker, params)
    claims = tuple(context.row_of(claim) for claim in _claims(running.resolved, utterance, speaker.name))
    context.used_texts.update(context.claims[row].text for row in claims)
    moves: list[tuple[int, Move]] = []
    for other, agent in sorted(running.agents.items(), key=lambda item: item[0] != side):
        message = ReceivedMessage(utterance.text, claims, other == side, turn.dialogue)
        moves += [(other, move) for move in check_moved(members["debater"][0].name, agent, agent.take(message))]
    running.dialogue.append(DialogueLine(side, utterance.text))
    return TurnRecord(turn, utterance.text, claims, before, running.stances(), tuple(moves), math.nan)


def _given(running: _Debate, number: int, side: int) -> Turn:
    """Return what the speaker of a turn is given."""
    settings, dialogue = running.resolved.settings, running.dialogue
    latest = next((line.text for line in reversed(dialogue) if line.side != side), "")
    recent = tuple(dialogue[-settings.dialogue :]) if settings.dialogue else ()
    stance, retrieved, instruction = math.nan, tuple[ActiveRecord, ...](), ""
    if side in running.agents:
        agent = running.agents[side]
        stance = agent.stance
        retrieved = agent.retrieve(latest, settings.evidence.retrieved)
        instruction = TEN_BINS[int(ten_bins(stance))]
    statement, persona = running.context.bank.statement, settings.agent(side).persona
    return Turn(number, side, statement, persona, stance, instruction, retrieved, latest, recent)


def _said(running: _Debate, turn: Turn, speaker: Any, params: Any) -> Utterance:
    utterance: Utterance = speaker.say(turn, running.context, params)
    if not utterance.text.strip():
        raise ContractError(f"speaker {speaker.name!r}", got="nothing", allowed="a message")
    return utterance


def _claims(resolved: ResolvedDebate, utterance: Utterance, speaker: str) -> list[Claim]:
    """Return the claims of a message, declared or extracted, each with a strength."""
    if resolved.settings.evidence.extractor != DECLARED:
        claims = _read_claims(resolved, utterance.text)
    elif utterance.claims is None:
        got = "`declared`, and a speaker that declares no claims"
        raise ContractError("evidence.extractor", got=got, do="choose an extractor")
    else:
        claims = [check_claim(speaker, claim) for claim in utterance.claims]
    given, texts = [claim.strength for claim in claims], [claim.text for claim in claims]
    filled = with_strengths(given, texts, resolved.bank.statement, *resolved.members["strength"])
    return [claim._replace(strength=strength) for claim, strength in zip(claims, filled.tolist(), strict=True)]


def _read_claims(resolved: ResolvedDebate, text: str) -> list[Claim]:
    bank = resolved.bank
    extractor, params = resolved.members["extractor"]
    topics = Topics((bank.statement,), bank.text, np.zeros(len(bank), np.int16), bank.stance, bank.strength)
    read = check_found(extractor.name, extractor.extract([text], topics, params), 1, 1)
    return list(map(Claim, read.text, read.polarity.tolist(), read.strength.tolist(), read.snippet, read.tag))
