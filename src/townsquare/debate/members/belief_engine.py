"""``belief_engine``: a stance that is the sum of active argument records in log odds (seeds, section 3.1)."""

from __future__ import annotations

from townsquare.core.schema import Origin
from townsquare.debate.contract import Debater, Evidence, Floor, Heard, Move, Seat
from townsquare.debate.memory import Memory
from townsquare.settings.base import MemberParams


class Params(MemberParams):
    """Nothing: uptake and anchoring belong to the agents."""


class Engine:
    """The memory of one agent, moved by the claims of messages."""

    def __init__(self, seat: Seat, floor: Floor) -> None:
        self.memory = Memory(seat, floor.claims, floor.vectors)
        self._own_claims = seat.own_claims

    @property
    def stance(self) -> float:
        """S, recomputed from the active records."""
        return self.memory.stance

    def retrieve(self, heard: str, k: int) -> tuple[Evidence, ...]:
        """The strongest active records, as many for and against as is their share; ``heard`` has no part in it."""
        return self.memory.retrieve(k)

    def take(self, heard: Heard) -> tuple[Move, ...]:
        """Take in the claims of a message; of one's own only where own claims are evidence."""
        if heard.own:
            return self.memory.take(heard.claims, Origin.SELF) if self._own_claims else ()
        return self.memory.take(heard.claims, Origin.PEER)


def begin(seat: Seat, floor: Floor, params: Params) -> Engine:
    """The mind of one agent."""
    return Engine(seat, floor)


DEBATER = Debater("belief_engine", Params, begin, has_records=True)
