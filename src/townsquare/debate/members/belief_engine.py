"""``belief_engine``: a stance that is the sum of active argument records in log odds.

Source: seeds, ``belief-engine``, section 3.1, Equation 1, as the belief rule ``log_odds`` computes it:

    L = prior + κ Σ_seeds p ln(1 + s a) + Σ_others p ln(1 + s u)        S = 2σ(L) − 1

with polarity p and strength s of each active record, uptake u and anchoring a.
"""

from __future__ import annotations

from townsquare.core.enums import Origin
from townsquare.debate.contract import ActiveRecord, DebateContext, Debater, Move, ReceivedMessage, Side
from townsquare.debate.memory import Memory
from townsquare.settings.base import MemberParams


class Engine:
    """The memory of one agent, moved by the claims of messages."""

    def __init__(self, side: Side, context: DebateContext) -> None:
        self.memory = Memory(side, context.claims, context.vectors)
        self._own_claims = side.own_claims

    @property
    def stance(self) -> float:
        """S, recomputed from the active records."""
        return self.memory.stance

    def retrieve(self, message: str, k: int) -> tuple[ActiveRecord, ...]:
        """Return the strongest active records, for and against in their shares; the message plays no part."""
        return self.memory.retrieve(k)

    def take(self, message: ReceivedMessage) -> tuple[Move, ...]:
        """Take in the claims of a message; an agent's own only where own claims are evidence."""
        if message.own:
            return self.memory.take(message.claims, Origin.SELF) if self._own_claims else ()
        return self.memory.take(message.claims, Origin.PEER)


def begin(side: Side, context: DebateContext, params: MemberParams) -> Engine:
    """Return an agent with its seeds in memory."""
    return Engine(side, context)


DEBATER = Debater("belief_engine", MemberParams, begin, has_records=True)
