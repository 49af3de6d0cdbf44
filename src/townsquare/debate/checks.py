"""What speakers and debaters gave, checked against their contracts: in every round, and in the conformance check."""

from __future__ import annotations

import math

from townsquare.core.member_errors import breach
from townsquare.debate.contract import Claim, DebateAgent, Move


def check_claim(speaker: str, claim: Claim) -> Claim:
    """Return a declared claim if it has a text, a polarity of -1 or +1 and a strength in [0, 1] or NaN.

    Raises
    ------
    ContractError
        Names the speaker and the claim.
    """
    fair = math.isnan(claim.strength) or 0.0 <= claim.strength <= 1.0
    if not claim.text.strip() or claim.polarity not in (-1, 1) or not fair:
        allowed = "a text, a polarity of -1 or +1, a strength in [0, 1] or NaN"
        raise breach("speaker", speaker, repr(claim)[:200], allowed)
    return claim


def check_moved(debater: str, agent: DebateAgent, moves: tuple[Move, ...]) -> tuple[Move, ...]:
    """Return the moves of an agent if its stance is in [-1, 1] and every amount is finite.

    Raises
    ------
    ContractError
        Names the debater and the number.
    """
    if not -1.0 <= agent.stance <= 1.0:
        raise breach("debater", debater, f"a stance of {agent.stance}", "-1 to 1")
    for move in moves:
        if not math.isfinite(move.amount):
            raise breach("debater", debater, f"a move of {move.amount}", "a finite number")
    return moves
