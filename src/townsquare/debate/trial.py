"""One debate, from its seeds to its last message: this is the loop, and it fits a screen.

Each message goes through the same five steps (seeds, ``belief-engine``, Figure 1): say, extract, judge, take in, move.
The speaker takes in its own claims too, where those are evidence; then the opponent is moved, and the other speaks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from townsquare.beliefs.evidence.bank_files import ArgumentBank
from townsquare.beliefs.evidence.contract import Embedder, Topics, check_found, strengths
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core.draws import Draws
from townsquare.core.errors import ContractError
from townsquare.core.member_errors import in_step
from townsquare.debate.checks import check_claim, check_moved
from townsquare.debate.contract import (
    Claim,
    Evidence,
    Float,
    Floor,
    Heard,
    Line,
    Mind,
    Move,
    Said,
    Seat,
    Turn,
    few_uniform,
)
from townsquare.debate.resolve import Resolved
from townsquare.debate.settings import CON, DECLARED, PRO
from townsquare.debate.start import Begun, begin_at, thresholds, trial_seed
from townsquare.models.contract import Asker, bound
from townsquare.models.prompts.bands import TEN_BINS, ten_bins
from townsquare.settings.base import MemberParams

MOST_VECTORS = 50_000
"""Texts whose vectors are kept at most, 4 KiB each at the default size."""


class Spoken(NamedTuple):
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
    moves : tuple of (seat, Move)
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


class Held(NamedTuple):
    """A debate that was held: its starts by seat, all its claims, and its turns."""

    starts: dict[int, Begun]
    claims: list[Claim]
    turns: list[Spoken]


@dataclass(slots=True)
class _Debate:
    """Everything that one debate works with."""

    found: Resolved
    floor: Floor
    minds: dict[int, Mind]
    dialogue: list[Line]
    seed: int


def debate(
    found: Resolved, trial: int, report: Callable[[int], None] = lambda _: None, asker: Asker | None = None
) -> Held:
    """Hold one debate.

    Parameters
    ----------
    found : Resolved
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
    found = with_model(found, asker)
    settings = found.settings
    now, starts = _begin(found, trial)
    turns: list[Spoken] = []
    for number in range(1, settings.rounds + 1):
        now.floor.draws = Draws(now.seed, number)
        for seat in _order(settings.first, now.seed):
            with in_step(number, "round"):
                turns.append(_turn(now, number, seat))
        report(number)
    judged = now.floor.read([spoken.text for spoken in turns])
    turns = [spoken._replace(judged=float(one)) for spoken, one in zip(turns, judged, strict=True)]
    return Held(starts, now.floor.claims, turns)


def with_model(found: Resolved, asker: Asker | None) -> Resolved:
    """The same debate; members that ask a language model have one, if there is one."""
    if asker is None:
        return found
    members = {role: (bound(member, asker), params) for role, (member, params) in found.members.items()}
    return replace(found, members=members)


def opening(found: Resolved, trial: int, stance: float) -> str:
    """What pro says first if it stands at ``stance``, with the seeds that bring it near there at hand.

    Parameters
    ----------
    found : Resolved
        Settings that let pro start from ``stance``.
    trial : int
        From 1.
    stance : float
        [-1, 1]; what the speaker is told, whatever the seeds attain.
    """
    now, _ = _begin(found, trial)
    now.floor.draws = Draws(now.seed, 1)
    turn = _given(now, 1, PRO)._replace(stance=stance, instruction=TEN_BINS[int(ten_bins(stance))])
    return _said(now, turn, *found.members["speaker"]).text


def readings(found: Resolved, texts: Sequence[str]) -> Float:
    """Stances in [-1, 1] that the judge of a debate reads in (n,) texts, from the texts alone; NaN where none."""
    return _reader(found, _shared_vectors(*found.members["embedder"]))(texts)


def _begin(found: Resolved, trial: int) -> tuple[_Debate, dict[int, Begun]]:
    settings, bank = found.settings, found.bank
    seed = trial_seed(settings.seed, trial)
    vectors = _shared_vectors(*found.members["embedder"])
    if len(vectors.known) > MOST_VECTORS:
        vectors.known.clear()
    floor = Floor(bank, vectors, Draws(seed, 0), lambda texts: np.empty(0))
    floor.read = _reader(found, floor.vectors)
    theta, theta_self = thresholds(found)
    debater, params = found.members["debater"]
    starts = {seat: begin_at(found, seat, trial) for seat in settings.agents}
    minds = {}
    for seat, start in starts.items():
        uptake, anchoring = settings.profile(seat)
        seeds = tuple(floor.row_of(claim_of(bank, place)) for place in start.places)
        own = settings.evidence.own_claims
        minds[seat] = debater.begin(
            Seat(
                seat, uptake, anchoring, settings.confirmation, theta, theta_self, own, start.wanted, start.attained,
                start.prior, start.prior_scale, seeds,
            ),
            floor,
            params,
        )  # fmt: skip
    return _Debate(found, floor, minds, [], seed), starts


@lru_cache(maxsize=4)
def _shared_vectors(embedder: Embedder, params: MemberParams) -> Vectors:
    """A memory that all debates of a process share: an embedder says the same of a text whoever asks."""
    return Vectors(embedder, params)


def _reader(found: Resolved, vectors: Vectors) -> Callable[[Sequence[str]], Float]:
    """The judge of the debate, which sees texts and nothing else."""
    judge, params = found.members["judge"]

    def read(texts: Sequence[str]) -> Float:
        stances = np.asarray(judge.read(texts, found.bank, vectors, params), np.float64)
        fair = np.isnan(stances) | (np.abs(stances) <= 1.0)
        if stances.shape != (len(texts),) or not fair.all():
            got = f"{stances.shape} for {len(texts)} texts, or outside its range"
            raise ContractError(f"stance_judge {judge.name!r}", got=got, allowed="(n,) in [-1, 1], or NaN, for n texts")
        return stances

    return read


def claim_of(bank: ArgumentBank, place: int) -> Claim:
    """An argument of a bank as a claim."""
    text = bank.text[place]
    return Claim(text, int(bank.polarity[place]), float(bank.strength[place]), text, bank.tag[place])


def _order(first: str, seed: int) -> tuple[int, int]:
    if first == "drawn":
        first = "pro" if few_uniform(Draws(seed, 0), "first", 0, [0])[0] < 0.5 else "con"
    return (PRO, CON) if first == "pro" else (CON, PRO)


def _turn(now: _Debate, number: int, seat: int) -> Spoken:
    """One message, and what it does."""
    before = _stances(now)
    turn = _given(now, number, seat)
    role = "speaker" if seat in now.minds else "scripted"
    said = _said(now, turn, *now.found.members[role])
    speaker, debater = now.found.members[role][0].name, now.found.members["debater"][0].name
    claims = tuple(now.floor.row_of(claim) for claim in _claims(now.found, said, speaker))
    now.floor.said.update(now.floor.claims[row].text for row in claims)
    moves: list[tuple[int, Move]] = []
    for other, mind in sorted(now.minds.items(), key=lambda item: item[0] != seat):
        heard = Heard(said.text, claims, other == seat, turn.dialogue)
        moves += [(other, move) for move in check_moved(debater, mind, mind.take(heard))]
    now.dialogue.append(Line(seat, said.text))
    return Spoken(turn, said.text, claims, before, _stances(now), tuple(moves), math.nan)


def _stances(now: _Debate) -> tuple[float, float]:
    pro, con = (now.minds[seat].stance if seat in now.minds else math.nan for seat in (PRO, CON))
    return pro, con


def _given(now: _Debate, number: int, seat: int) -> Turn:
    """What the speaker of a turn is given."""
    settings = now.found.settings
    heard = next((line.text for line in reversed(now.dialogue) if line.seat != seat), "")
    recent = tuple(now.dialogue[-settings.dialogue :]) if settings.dialogue else ()
    stance, retrieved, instruction = math.nan, tuple[Evidence, ...](), ""
    if seat in now.minds:
        mind = now.minds[seat]
        stance = mind.stance
        retrieved = mind.retrieve(heard, settings.evidence.retrieved)
        instruction = TEN_BINS[int(ten_bins(stance))]
    persona = settings.agent(seat).persona
    return Turn(
        number, seat, now.found.bank.statement, persona, stance, instruction, retrieved, heard, recent
    )  # fmt: skip


def _said(now: _Debate, turn: Turn, speaker: Any, params: Any) -> Said:
    said: Said = speaker.say(turn, now.floor, params)
    if not said.text.strip():
        raise ContractError(f"speaker {speaker.name!r}", got="nothing", allowed="a message")
    return said


def _claims(found: Resolved, said: Said, speaker: str) -> list[Claim]:
    """The claims of a message: as declared, or as the extractor reads them; each with a strength."""
    if found.settings.evidence.extractor != DECLARED:
        claims = _read_claims(found, said.text)
    elif said.claims is None:
        raise ContractError(
            "evidence.extractor", got="`declared`, and a speaker that declares no claims", do="choose an extractor"
        )
    else:
        claims = [check_claim(speaker, claim) for claim in said.claims]
    return _with_strengths(found, claims)


def _read_claims(found: Resolved, text: str) -> list[Claim]:
    bank = found.bank
    extractor, params = found.members["extractor"]
    topics = Topics((bank.statement,), bank.text, np.zeros(len(bank), np.int16), bank.stance, bank.strength)
    read = check_found(extractor.name, extractor.extract([text], topics, params), 1, 1)
    columns = (read.text, read.polarity.tolist(), read.strength.tolist(), read.snippet, read.tag)
    return [Claim(*row) for row in zip(*columns, strict=True)]


def _with_strengths(found: Resolved, claims: list[Claim]) -> list[Claim]:
    unknown = [claim.text for claim in claims if math.isnan(claim.strength)]
    if not unknown:
        return claims
    judge, params = found.members["strength"]
    estimates = iter(strengths(judge, unknown, [found.bank.statement] * len(unknown), params))
    return [
        claim._replace(strength=float(next(estimates))) if math.isnan(claim.strength) else claim for claim in claims
    ]
