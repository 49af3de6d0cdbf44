"""The argument records of one agent in a debate: taken in, archived, summed, retrieved.

Conflict resolution, retrieval and Equation 1 are those of :mod:`townsquare.beliefs.evidence` and
:mod:`townsquare.beliefs.equation`; here they meet for one agent at a time, a message at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from townsquare.beliefs.equation import contributions, stances_of, sum_of
from townsquare.beliefs.evidence.conflict import check_records, check_theta, resolve_conflict
from townsquare.beliefs.evidence.near import Vectors, cosines
from townsquare.beliefs.evidence.retrieval import retrieve
from townsquare.core.schema import HoldingChange, Origin
from townsquare.debate.contract import ActiveRecord, Claim, Move, Side

Float = npt.NDArray[np.float64]


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
        self.claims = list(side.seeds)
        self.origins = [Origin.SEED] * len(side.seeds)
        self.active = [True] * len(side.seeds)
        seeds = [claims[row] for row in side.seeds]
        sign, strength = [seed.polarity for seed in seeds], [seed.strength for seed in seeds]
        check_records(sign, strength, "seed records")
        self.amounts = [float(x) for x in side.prior_scale * contributions(sign, strength, side.anchoring)]

    @property
    def log_odds(self) -> float:
        """L: the prior and what the active records add, from left to right."""
        kept = [amount for amount, active in zip(self.amounts, self.active, strict=True) if active]
        return sum_of(kept, self._side.prior)

    @property
    def stance(self) -> float:
        """S = 2σ(L) − 1."""
        return float(stances_of([self.log_odds])[0])

    def take(self, rows: Sequence[int], origin: Origin) -> tuple[Move, ...]:
        """Take in the claims of one message, in order.

        Whether a record agrees with the agent is judged by its stance before the message.
        """
        stance = self.stance
        return tuple(move for row in rows for move in self._take_one(row, origin, stance))

    def _take_one(self, row: int, origin: Origin, stance: float) -> tuple[Move, ...]:
        claim, side = self._all[row], self._side
        theta = side.theta_self if origin is Origin.SELF else side.theta
        held = [self._all[other] for other in self.claims]
        result = resolve_conflict(
            self._similarity(claim, held), [one.polarity for one in held], [one.strength for one in held],
            self.active, claim.polarity, claim.strength, theta,
        )  # fmt: skip
        bias = side.confirmation if stance * claim.polarity > 0 else -side.confirmation
        amount = float(contributions([claim.polarity], [claim.strength], side.uptake * (1.0 + bias))[0])
        self.claims.append(row)
        self.origins.append(origin)
        self.active.append(result.active)
        self.amounts.append(amount)
        if not result.active:
            return (Move(HoldingChange.REFUSED, row, self.claims[result.nearest], 0.0),)
        if result.archived < 0:
            return (Move(HoldingChange.ACCEPTED, row, -1, amount),)
        self.active[result.archived] = False
        old = self.claims[result.archived]
        return (
            Move(HoldingChange.ARCHIVED, old, row, -self.amounts[result.archived]),
            Move(HoldingChange.ACCEPTED, row, old, amount),
        )

    def _similarity(self, claim: Claim, held: Sequence[Claim]) -> Float:
        if not held:
            return np.empty(0)
        rows = self._vectors.of([claim.text, *(one.text for one in held)])
        found = cosines(rows, np.zeros(len(held), np.int64), np.arange(1, len(held) + 1))
        found[[one.text == claim.text for one in held]] = 1.0
        return found

    def retrieve(self, k: int) -> tuple[ActiveRecord, ...]:
        """The strongest active records, ``k`` slots shared as the active ones are (section 3.1)."""
        held = [self._all[row] for row in self.claims]
        places = retrieve([one.polarity for one in held], [one.strength for one in held], self.active, k)
        return tuple(ActiveRecord.of(self._all, self.claims[at], self.origins[at]) for at in places)
