"""What a belief rule takes and gives.

A rule is two pure functions. It is called on one block of agents at a time, sees nothing else of the world, changes
nothing it is given (arrays come read-only) and draws only from the ``rng`` it is handed. Shapes: ``n`` agents of the
block, ``P`` propositions, ``m`` input rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Bool, Byte, Float, Int16, Int32, Int64
from townsquare.core.draws import StageDraws
from townsquare.core.pairs import PairBlock
from townsquare.settings.config import MemberParams

AgentParams = Mapping[str, Any]
"""A rule's parameters: each float field of its ``Params`` as (n,) float64, other fields as they are."""
DTYPES: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(dtype)
    for dtype, names in (
        ("i8", "indptr"),
        ("i4", "agent post author likes dislikes claim record"),
        ("i2", "proposition rank"),
        ("i1", "polarity"),
        ("u1", "kind origin"),
        ("?", "first_seen active agreed"),
        ("f8", "stance confidence start credibility weight strength amount trust"),
    )
    for name in names.split()
}
"""The dtype of every column of the state, the inputs and the trail, by its name."""


@dataclass(frozen=True, slots=True)
class BeliefState:
    """The beliefs of a block of agents.

    ``stance`` (n, P) in [-1, 1]; ``confidence`` (n, P) in [0, 1]; ``start`` (n, P) the stance at birth, which anchors
    pull to. ``arrays`` holds what else a rule keeps per agent (first axis n), ``pairs`` what it keeps per agent and
    other (for example ``trust`` by author, float64).
    """

    stance: Float
    confidence: Float
    start: Float
    arrays: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    pairs: Mapping[str, PairBlock] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Exposed:
    """What a block was shown that takes a stance: a CSR by agent, by proposition and then feed order within it.

    An exposure whose post speaks to two propositions is two rows; one that speaks to none is no row.
    """

    indptr: Int64  # (n + 1,)
    proposition: Int16  # (m,)
    post: Int32  # (m,) the row that was shown
    rank: Int16  # (m,)
    author: Int32  # (m,) who passed it on
    credibility: Float  # (m,) trust in that author before anything was learned
    stance: Float  # (m,) of the root toward the proposition, [-1, 1]
    likes: Int32  # (m,) social proof: likes of the root as shown
    first_seen: Bool  # (m,)
    weight: Float  # (m,) label weight, [0, 1]


@dataclass(frozen=True, slots=True)
class Own:
    """What a block wrote, and how others met what it ever wrote, in this step."""

    likes: Int32  # (n, P) accepted this step on own posts that speak to the proposition
    dislikes: Int32  # (n, P)
    indptr: Int64  # (n + 1,) CSR of own accepted posts and comments of this step, by proposition
    proposition: Int16  # (k,)
    post: Int32  # (k,)
    stance: Float  # (k,)


@dataclass(frozen=True, slots=True)
class Records:
    """The argument records of a block after the step, active and archived: a CSR by agent, by claim within it."""

    indptr: Int64  # (n + 1,)
    claim: Int32  # (k,) row of claims, ascending within an agent
    proposition: Int16  # (k,)
    polarity: npt.NDArray[np.int8]  # (k,) -1 or +1
    strength: Float  # (k,) [0, 1]
    origin: Byte  # (k,) schema.Origin
    active: Bool  # (k,) whether it counts
    agreed: Bool  # (k,) its polarity was the sign of the stance when it was accepted


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to the records of a block in the step, in order: a CSR by agent."""

    indptr: Int64  # (n + 1,)
    record: Int32  # (c,) which of the agent's records, from 0
    kind: Byte  # (c,) schema.HoldingChange
    post: Int32  # (c,) the row that was shown, or the own post
    rank: Int16  # (c,) -1 for an own post


@dataclass(frozen=True, slots=True)
class Showings:
    """Every claim that a block was shown, in feed order, whether it changed anything or not: a CSR by agent."""

    indptr: Int64  # (n + 1,)
    record: Int32  # (m,) which of the agent's records, from 0
    post: Int32  # (m,) the row that was shown
    rank: Int16  # (m,)
    author: Int32  # (m,) who passed it on
    credibility: Float  # (m,) trust in that author before anything was learned
    likes: Int32  # (m,) of the root as shown
    first_seen: Bool  # (m,)
    weight: Float  # (m,) label weight, [0, 1]


Rows = TypeVar("Rows", Exposed, Own, Records, Changes, Showings)


@dataclass(frozen=True, slots=True)
class Holdings:
    """Argument records, what happened to them, and when they were shown."""

    records: Records
    changes: Changes
    showings: Showings


def no_holdings(n: int) -> Holdings:
    """Inputs for a block of ``n`` agents without argument records."""
    return Holdings(no_rows(Records, n), no_rows(Changes, n), no_rows(Showings, n))


def no_rows(kind: type[Rows], n: int) -> Rows:
    """A CSR of ``n`` agents without rows."""
    names = [column.name for column in fields(kind) if column.name != "indptr"]
    return kind(np.zeros(n + 1, np.int64), *(np.empty(0, DTYPES[name]) for name in names))


@dataclass(frozen=True, slots=True)
class BeliefInputs:
    """All that moved a block in one step. Parts that the rule does not need are empty."""

    first: int  # row of the block's first agent, for draws by agent
    exposures: Exposed
    own: Own
    holdings: Holdings = field(default_factory=lambda: no_holdings(0))


class Trail(NamedTuple):
    """Why a block moved: rows in the rule's own unit that sum, per agent and proposition, to the move.

    ``agent`` counts within the block. ``rank`` and ``post`` are -1 where the row is no exposure or own post; ``trust``
    is NaN where the rule has none. Rows of amount 0 may be left out.
    """

    agent: Int32
    proposition: Int16
    kind: Byte
    rank: Int16
    post: Int32
    amount: Float
    trust: Float


@dataclass(frozen=True, slots=True)
class BeliefRule:
    """A member of the family ``beliefs``.

    Attributes
    ----------
    name : str
        As in the registry.
    needs : frozenset of str
        Which inputs it uses: ``"exposures"``, ``"own"``, ``"holdings"`` (argument records and their changes), and
        beside these ``"showings"``.
    unit : str
        Unit of its trail: ``"stance"`` or ``"log odds"``. A rule in log odds keeps them in an (n, P) array
        ``log_odds``, and its stance is always 2σ(L) − 1.
    ordered : bool
        Whether the order of an agent's rows may change the result beyond rounding (trust stepped in feed order does).
    bounded : bool
        Whether a step stays in the hull of the own stance, what was seen, and the anchor.
    params : type of MemberParams
        Its settings, in its own file.
    init : callable
        ``init(stance, confidence, params) -> BeliefState`` for new agents; both inputs (n, P). A rule in log odds may
        start elsewhere than at the stance it is given; ``start`` is where it did.
    step : callable
        ``step(state, inputs, params, rng) -> (BeliefState, Trail)``.
    """

    name: str
    needs: frozenset[str]
    unit: str
    ordered: bool
    bounded: bool
    params: type[MemberParams]
    init: Callable[[Float, Float, AgentParams], BeliefState]
    step: Callable[[BeliefState, BeliefInputs, AgentParams, StageDraws], tuple[BeliefState, Trail]]


def per_agent(params: MemberParams, n: int, own: Mapping[str, Float] | None = None) -> AgentParams:
    """Spread the float settings of a rule over ``n`` agents, without copying.

    ``own`` has, by setting, what agents have of their own, (n,) float64; where it is NaN the rule's setting holds.

    >>> from townsquare.beliefs.contract import per_agent
    >>> class Params(MemberParams):
    ...     pull: float = 0.1
    >>> per_agent(Params(), 3)["pull"].shape
    (3,)
    >>> per_agent(Params(), 2, {"pull": np.array([0.5, np.nan])})["pull"].tolist()
    [0.5, 0.1]
    """
    out: dict[str, Any] = {}
    for name, value in params.model_dump().items():
        is_number = isinstance(value, float)
        out[name] = np.broadcast_to(np.float64(value), (n,)) if is_number else value
    for name, mine in (own or {}).items():
        out[name] = np.where(np.isnan(mine), out[name], mine)
    return out


def no_exposures(n: int) -> Exposed:
    """Inputs for a block of ``n`` agents that were shown nothing with a stance."""
    return no_rows(Exposed, n)


def no_own(n: int, n_propositions: int) -> Own:
    """Inputs for a block of ``n`` agents that wrote nothing and were not reacted to."""
    likes, dislikes = (np.zeros((n, n_propositions), np.int32) for _ in range(2))
    rows = {name: np.empty(0, DTYPES[name]) for name in ("proposition", "post", "stance")}
    return Own(likes, dislikes, np.zeros(n + 1, np.int64), **rows)
