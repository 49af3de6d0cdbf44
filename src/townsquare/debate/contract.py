"""The contracts of speakers, debaters and judges of stance: the three families of a debate.

A *speaker* writes the message of a turn. A *debater* has a stance, which messages change: the Belief Engine, or a
baseline without it. A *judge* reads a stance from texts alone, so that all arms can be measured in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.evidence.bank_files import ArgumentBank
from townsquare.beliefs.evidence.near import Vectors
from townsquare.core.array_types import Float
from townsquare.core.draws import U64, Draws, Stage, uniform_oracle
from townsquare.core.enums import HoldingChange, Origin
from townsquare.models.contract import AskingMember


class Claim(NamedTuple):
    """One argument in a message: canonical text, polarity ±1, strength in [0, 1] or NaN, passage and category."""

    text: str
    polarity: int
    strength: float
    snippet: str = ""
    tag: str = ""

    @classmethod
    def of(cls, bank: ArgumentBank, at: int) -> Claim:
        """Return the argument at a place of a bank as a claim."""
        text = bank.text[at]
        return cls(text, int(bank.polarity[at]), float(bank.strength[at]), text, bank.tag[at])


class ActiveRecord(NamedTuple):
    """One active record as a speaker gets it: its row of claims, and what it says."""

    claim: int
    text: str
    polarity: int
    strength: float
    origin: Origin

    @classmethod
    def of(cls, claims: Sequence[Claim], row: int, origin: Origin) -> ActiveRecord:
        """Return the record of the claim in ``row``, with its origin."""
        claim = claims[row]
        return cls(row, claim.text, claim.polarity, claim.strength, origin)


class DialogueLine(NamedTuple):
    """One message of the dialogue: the side of its speaker (0 pro, 1 con), and what was said."""

    side: int
    text: str


class Turn(NamedTuple):
    """The inputs of a speaker, as in the Belief Engine paper (Table A10, response generation).

    Attributes
    ----------
    round : int
        From 1.
    side : int
        0 pro, 1 con: the side on which the speaker started; its current stance may be on the other side.
    statement : str
        The proposition.
    persona : str
        The persona of the speaker; "" for none.
    stance : float
        [-1, 1]; NaN for a fixed opponent, which has no stance.
    instruction : str
        The stance in words, one of ten stance bands.
    retrieved : tuple of ActiveRecord
        At most k active records, the strongest for and then against.
    message : str
        The opponent's latest message; "" if there is none yet.
    dialogue : tuple of DialogueLine
        The latest messages of both sides, oldest first.
    """

    round: int
    side: int
    statement: str
    persona: str
    stance: float
    instruction: str
    retrieved: tuple[ActiveRecord, ...]
    message: str
    dialogue: tuple[DialogueLine, ...]


class Utterance(NamedTuple):
    """A message, and its claims; None if they have to be extracted from the text."""

    text: str
    claims: tuple[Claim, ...] | None


def few_uniform(draws: Draws, purpose: str, side: int, keys: Sequence[int] | npt.NDArray[U64]) -> Float:
    """Return uniform draws of the stage ``DEBATE`` in [0, 1) for a side and each of (n,) keys.

    They equal those of :meth:`townsquare.core.draws.StageDraws.uniform`.
    """
    wanted = np.asarray(keys, U64)
    return uniform_oracle(draws(Stage.DEBATE).base(purpose), np.full(wanted.size, side, np.int64), wanted)


@dataclass(slots=True)
class DebateContext:
    """The values that all members of one debate share.

    Attributes
    ----------
    bank : ArgumentBank
        The arguments on the proposition.
    vectors : Vectors
        Vectors of texts, of unit length.
    draws : Draws
        Random draws of this trial and round; stage ``DEBATE``, with the side as the agent.
    read : callable
        The judge: ``read(texts)`` returns (n,) float64 stances in [-1, 1], NaN for a text without a stance.
    used_texts : set of str
        Texts of all claims made so far, which a speaker does not repeat.
    claims : list of Claim
        All claims of the debate; records refer to their positions.
    """

    bank: ArgumentBank
    vectors: Vectors
    draws: Draws
    read: Callable[[Sequence[str]], Float]
    used_texts: set[str] = field(default_factory=set)
    claims: list[Claim] = field(default_factory=list)

    def row_of(self, claim: Claim) -> int:
        """Add a claim and return its row."""
        self.claims.append(claim)
        return len(self.claims) - 1


@dataclass(frozen=True, slots=True)
class Speaker(AskingMember):
    """A member of the family ``speaker``.

    Attributes
    ----------
    say : callable
        ``say(turn, context, params) -> Utterance``. It changes nothing in the context; draws come from
        ``context.draws`` only.
    declares : bool
        Whether it returns the claims of its messages. If not, ``evidence.extractor`` is ``model`` by default.
    """

    say: Callable[[Turn, DebateContext, Any], Utterance]
    declares: bool = True


class Move(NamedTuple):
    """One effect of a message on an agent.

    Attributes
    ----------
    kind : HoldingChange or None
        The change of a record; None if the stance changed without any record.
    claim : int
        The row of the record's claim; -1 for none.
    other : int
        The claim that refused or replaced this claim, or that this claim replaced; -1 for none.
    amount : float
        The change in log odds; for a debater without log odds, the change in stance.
    """

    kind: HoldingChange | None
    claim: int
    other: int
    amount: float


class ReceivedMessage(NamedTuple):
    """A message that an agent receives: its text, the rows of its claims, and whether it is the agent's own."""

    text: str
    claims: tuple[int, ...]
    own: bool
    dialogue: tuple[DialogueLine, ...]


class DebateAgent(Protocol):
    """The state of one agent during a debate."""

    @property
    def stance(self) -> float:
        """The current stance in [-1, 1]."""

    def retrieve(self, message: str, k: int) -> tuple[ActiveRecord, ...]:
        """Return at most ``k`` records to use in the answer to a message."""

    def take(self, message: ReceivedMessage) -> tuple[Move, ...]:
        """Process a message; return its effects on records and stance, in order."""


class Side(NamedTuple):
    """The start of an agent in a debate.

    Attributes
    ----------
    number : int
        The side: 0 pro, 1 con.
    uptake, anchoring, confirmation : float
        u, a and B of the Belief Engine.
    theta, theta_self : float
        Cosine from which two claims count as the same: among all claims, and among the agent's own claims.
    own_claims : bool
        Whether the agent's own claims become evidence.
    wanted, attained : float
        Initial stance in [-1, 1] that the settings ask for, and that the seed records or the prior give.
    prior : float
        Prior in log odds; 0 if seed records take its place.
    prior_scale : float
        Factor on the log odds that each seed record adds.
    seeds : tuple of int
        Rows of the claims of the seed records.
    """

    number: int
    uptake: float
    anchoring: float
    confirmation: float
    theta: float
    theta_self: float
    own_claims: bool
    wanted: float
    attained: float
    prior: float
    prior_scale: float
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Debater(AskingMember):
    """A member of the family ``debater``.

    Attributes
    ----------
    begin : callable
        ``begin(side, context, params) -> DebateAgent``.
    has_records : bool
        Whether the stance follows from argument records, so that each change names its record. Otherwise, the debater
        itself states the stance, and only stances read by the judge can be compared between arms.
    """

    begin: Callable[[Side, DebateContext, Any], DebateAgent]
    has_records: bool


@dataclass(frozen=True, slots=True)
class StanceJudge(AskingMember):
    """A member of the family ``stance_judge``: reads a stance from each text, and sees nothing else of a debate.

    Attributes
    ----------
    read : callable
        ``read(texts, bank, vectors, params)``: (n,) float64 in [-1, 1], +1 for full support of the bank's proposition;
        NaN for a text without a stance. Each stance depends on its text and the bank alone.
    """

    read: Callable[[Sequence[str], ArgumentBank, Vectors, Any], Float]
