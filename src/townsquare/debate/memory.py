"""The argument records of one agent in a debate: taken in, archived, summed, retrieved.

Conflict resolution, retrieval and Equation 1 are those of :mod:`townsquare.beliefs.evidence` and
:mod:`townsquare.beliefs.equation`; here they meet for one agent at a time, a message at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from townsquare.beliefs.arrays import settings
from townsquare.beliefs.equation import stances_of, sum_of
from townsquare.beliefs.evidence.conflict import check_records, check_theta
from townsquare.beliefs.evidence.holding_kernels import (
    ACTIVE,
    AGREED,
    EVER,
    HELD,
    ORIGIN_SHIFT,
    Arrivals,
    has_flag,
    origin_of,
    resolve,
)
from townsquare.beliefs.evidence.near import Vectors, near_pairs
from townsquare.beliefs.evidence.retrieval import retrieve
from townsquare.beliefs.log_odds_kernels import SETTINGS, amount
from townsquare.core.enums import HoldingChange, Origin
from townsquare.debate.contract import ActiveRecord, Claim, Move, Side

_SEED = HELD | ACTIVE | EVER | Origin.SEED << ORIGIN_SHIFT


class Memory:
    """Records in the order they came, nothing deleted.

    Parameters
    ----------
    side : Side
        Profile, thresholds, prior, seeds.
    claims : sequence of Claim
        All claims of the debate by row, as it grows; strengths known.
    vectors : Vectors
        What compares them.

    Raises
    ------
    SettingError
        θ or θ_self outside (0, 1].
    DataError
        A seed without a polarity of -1 or +1, or with a strength outside [0, 1].
    """

    def __init__(self, side: Side, claims: Sequence[Claim], vectors: Vectors) -> None:
        check_theta(side.theta, "theta")
        check_theta(side.theta_self, "theta_self")
        self._side, self._all, self._vectors = side, claims, vectors
        self._settings = settings(side._asdict(), SETTINGS, 1)[0]
        self.claims = list(side.seeds)
        self.amounts: list[float] = []
        self._flags = np.full(len(self.claims), _SEED, np.uint8)
        check_records(*self._judged(), "seed records")
        self._count_new()

    @property
    def active(self) -> list[bool]:
        """Which records count."""
        flags: list[bool] = has_flag(self._flags, ACTIVE).tolist()
        return flags

    @property
    def log_odds(self) -> float:
        """L: the prior and what the active records add, from left to right."""
        amounts = [added for added, active in zip(self.amounts, self.active, strict=True) if active]
        return sum_of(amounts, self._side.prior)

    @property
    def stance(self) -> float:
        """S = 2σ(L) − 1."""
        return float(stances_of([self.log_odds])[0])

    def take(self, rows: Sequence[int], origin: Origin) -> tuple[Move, ...]:
        """Take in the claims of one message, in order.

        Whether a record agrees with the agent is judged by its stance before the message.
        """
        stance, first, own = self.stance, len(self.claims), origin is Origin.SELF
        theta = self._side.theta_self if own else self._side.theta
        self.claims += rows
        texts = [self._all[row].text for row in self.claims]
        polarity, strength = self._judged()
        check_records(polarity[first:], strength[first:])
        near = near_pairs(self._vectors.of(texts), texts, first, theta)
        columns = np.array(polarity, np.int8), np.array(strength, np.float64)
        came = Arrivals(np.array([0, len(self.claims)]), *columns, near)
        self._flags = np.concatenate([self._flags, np.zeros(len(rows), np.uint8)])
        outcome = resolve(came, self._flags, first, np.array([[stance]]), theta, own=own)
        self._count_new()
        changes = zip(outcome.change[::2].tolist(), outcome.by[::2].tolist(), outcome.replaced.tolist(), strict=True)
        return tuple(move for at, change in enumerate(changes, first) for move in self._moves(at, *change))

    def _moves(self, at: int, change: int, by: int, replaced: int) -> tuple[Move, ...]:
        row = self.claims[at]
        if change == HoldingChange.REFUSED:
            return (Move(HoldingChange.REFUSED, row, self.claims[by], 0.0),)
        if replaced < 0:
            return (Move(HoldingChange.ACCEPTED, row, -1, self.amounts[at]),)
        old = self.claims[replaced]
        archived = Move(HoldingChange.ARCHIVED, old, row, -self.amounts[replaced])
        return (archived, Move(HoldingChange.ACCEPTED, row, old, self.amounts[at]))

    def _count_new(self) -> None:
        """Note what each record that has come adds to the log odds while it is active."""
        new = slice(len(self.amounts), None)
        polarity, strength = self._judged()
        origin, agreed = origin_of(self._flags).tolist(), has_flag(self._flags, AGREED).tolist()
        for columns in zip(polarity[new], strength[new], origin[new], agreed[new], strict=True):
            self.amounts.append(float(amount(self._settings, *columns)))

    def _judged(self) -> tuple[list[int], list[float]]:
        """Return polarity and strength of each record."""
        claims = [self._all[row] for row in self.claims]
        return [claim.polarity for claim in claims], [claim.strength for claim in claims]

    def retrieve(self, k: int) -> tuple[ActiveRecord, ...]:
        """Return the strongest active records, with ``k`` slots shared between the polarities (section 3.1)."""
        places = retrieve(*self._judged(), self.active, k)
        origins = origin_of(self._flags).tolist()
        return tuple(ActiveRecord.of(self._all, self.claims[at], Origin(origins[at])) for at in places)
