"""Contract of belief rules: their inputs and outputs.

A rule is two pure functions. It is called on one block of agents at a time, sees nothing else of the world, does not
change its inputs (arrays are read-only) and draws only from the ``rng`` that it receives. Shapes: ``n`` agents of the
block, ``P`` propositions, ``m`` input rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from townsquare.core.array_types import Array, Bool, Byte, Float, Int16, Int32, Int64
from townsquare.core.draws import StageDraws
from townsquare.core.pairs import PairBlock
from townsquare.core.threads import Part
from townsquare.settings.config import MemberParams

AgentParams = Mapping[str, Any]
"""A rule's parameters: each float field of its ``Params`` as (n,) float64, other fields as they are."""
UNASKED = 0.5
"""The confidence of people in data that do not report confidence."""
_NAMES = {
    "i8": "indptr",
    "i4": "agent post author likes dislikes claim record",
    "i2": "proposition rank",
    "i1": "polarity",
    "u1": "kind origin verdict",
    "?": "first_seen active agreed noted",
    "f8": "stance confidence start credibility weight strength amount trust plausibility",
}
DTYPES = {name: np.dtype(dtype) for dtype, names in _NAMES.items() for name in names.split()}
"""The dtype of every column of the state, the inputs and the trail, by its name."""


_PLAIN: Mapping[str, npt.ArrayLike] = {
    "proposition": 0, "rank": 0, "credibility": np.nan, "likes": 0, "first_seen": True, "weight": 1.0, "agreed": False
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BeliefState:
    """The beliefs of a block of agents.

    ``stance`` (n, P) in [-1, 1]; ``confidence`` (n, P) in [0, 1]; ``start`` (n, P) the initial stance. ``arrays`` holds
    other values that a rule stores per agent (first axis n), ``pairs`` values per pair of agents (for example ``trust``
    by author, float64).
    """

    stance: Float
    confidence: Float
    start: Float
    arrays: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    pairs: Mapping[str, PairBlock] = field(default_factory=dict)


class Exposed(NamedTuple):
    """Exposures of a block to posts with a stance, in compressed rows (CSR) by agent.

    The rows of an agent are ordered by proposition, then as in the feed. An exposure to a post with stances toward two
    propositions has two rows; an exposure to a post without a stance has no row.
    """

    indptr: Int64  # (n + 1,)
    proposition: Int16  # (m,)
    post: Int32  # (m,) the row that was shown
    rank: Int16  # (m,)
    author: Int32  # (m,) who passed it on
    credibility: Float  # (m,) initial trust in that author
    stance: Float  # (m,) of the root toward the proposition, [-1, 1]
    likes: Int32  # (m,) social proof: likes of the root as shown
    first_seen: Bool  # (m,)
    weight: Float  # (m,) label weight, [0, 1]


class Own(NamedTuple):
    """Posts written by a block in this step, and reactions in this step to its posts of any age."""

    likes: Int32  # (n, P) accepted this step on own posts that speak to the proposition
    dislikes: Int32  # (n, P)
    indptr: Int64  # (n + 1,) CSR of own accepted posts and comments of this step, by proposition
    proposition: Int16  # (k,)
    post: Int32  # (k,)
    stance: Float  # (k,)


class Records(NamedTuple):
    """The argument records of a block after the step, active and archived: a CSR by agent, then by claim."""

    indptr: Int64  # (n + 1,)
    claim: Int32  # (k,) row of claims, ascending within an agent
    proposition: Int16  # (k,)
    polarity: npt.NDArray[np.int8]  # (k,) -1 or +1
    strength: Float  # (k,) [0, 1]
    origin: Byte  # (k,) Origin
    active: Bool  # (k,) whether it counts
    agreed: Bool  # (k,) its polarity was the sign of the stance when it was accepted


class Changes(NamedTuple):
    """Changes to the records of a block in the step, in order: a CSR by agent."""

    indptr: Int64  # (n + 1,)
    record: Int32  # (c,) which of the agent's records, from 0
    kind: Byte  # (c,) HoldingChange
    post: Int32  # (c,) the row that was shown, or the own post
    rank: Int16  # (c,) -1 for an own post


class ClaimExposures(NamedTuple):
    """Every claim that a block was shown, in feed order, even if the claim changed nothing: a CSR by agent."""

    indptr: Int64  # (n + 1,)
    record: Int32  # (m,) which of the agent's records, from 0
    post: Int32  # (m,) the row that was shown
    rank: Int16  # (m,)
    author: Int32  # (m,) who passed it on
    credibility: Float  # (m,) initial trust in that author
    likes: Int32  # (m,) of the root as shown
    first_seen: Bool  # (m,)
    weight: Float  # (m,) label weight, [0, 1]


Rows = TypeVar("Rows", Exposed, Own, Records, Changes, ClaimExposures)


@dataclass(frozen=True, slots=True)
class Holdings:
    """Argument records, their changes in the step, and the exposures to their claims."""

    records: Records
    changes: Changes
    claim_exposures: ClaimExposures


def no_holdings(n: int) -> Holdings:
    """Return inputs for a block of ``n`` agents without argument records."""
    return Holdings(no_rows(Records, n), no_rows(Changes, n), no_rows(ClaimExposures, n))


def no_rows(kind: type[Rows], n: int) -> Rows:
    """Return a CSR of ``n`` agents without rows."""
    return kind(np.zeros(n + 1, np.int64), *(np.empty(0, DTYPES[name]) for name in kind._fields[1:]))


def rows_of(kind: type[Rows], indptr: Int64, /, **columns: npt.ArrayLike) -> Rows:
    """Return a CSR with these columns, each an array or one value for all rows, in the dtypes of the contract.

    A missing column gets the values of a new row without likes or labels.
    """
    given = {**_PLAIN, **columns}
    cells = (np.broadcast_to(np.asarray(given[name], DTYPES[name]), int(indptr[-1])) for name in kind._fields[1:])
    return kind(indptr.astype(np.int64), *map(np.array, cells))


NEEDS = frozenset({"exposures", "contents", "own", "holdings", "claim_exposures", "authors", "ties", "groups"})
"""What a rule may need."""


@dataclass(frozen=True, slots=True)
class Authors:
    """The accounts that posted or shared what was shown: one value for each row of the exposures, in the same order.

    A column exists only if the rule's ``needs`` name it; reading another column raises a LookupError.
    """

    columns: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    @property
    def stance(self) -> Float:
        """Return (m,) the author's own stance on the row's proposition before the step, [-1, 1]; NaN for sources."""
        return self._column("stance", "authors")

    @property
    def tie(self) -> Float:
        """Return (m,) 1 where the reader follows the author, else 0; in human data, the strength of the tie, [0, 1]."""
        return self._column("tie", "ties")

    @property
    def group(self) -> Int16:
        """Return (m,) the author's group, -1 for none."""
        return self._column("group", "groups")

    @property
    def reader_group(self) -> Int16:
        """Return (n,) the group of each agent of the block, -1 for none."""
        return self._column("reader_group", "groups")

    def _column(self, name: str, need: str) -> Array:
        if name not in self.columns:
            raise LookupError(f"authors.{name} is not there: add {need!r} to the rule's needs")
        return self.columns[name]


class Contents(NamedTuple):
    """What exposures say and how they were labeled: one value for each row of the exposures, in the same order."""

    claim: Int32  # (m,) row of texts: the claim of an injected post; -1 of what people write
    plausibility: Float  # (m,) of an injected post, to a lay reader, [0, 1]; NaN of what people write
    verdict: Byte  # (m,) Verdict shown beside it
    noted: Bool  # (m,) whether a note was shown beside it


def no_contents(m: int) -> Contents:
    """Return ``m`` rows that people wrote, without labels."""
    return Contents(np.full(m, -1, np.int32), np.full(m, np.nan), np.zeros(m, np.uint8), np.zeros(m, np.bool_))


@dataclass(frozen=True, slots=True)
class BeliefInputs:
    """Inputs of a block in one step. Parts that the rule does not need are empty.

    ``hours`` is the length of the step; where steps have no length, 24 times ``memory.days_per_step``.
    """

    first: int  # row of the block's first agent, for draws by agent
    exposures: Exposed
    own: Own
    holdings: Holdings = field(default_factory=lambda: no_holdings(0))
    authors: Authors = field(default_factory=Authors)
    contents: Contents = field(default_factory=lambda: no_contents(0))
    hours: float = 24.0


class Trail(NamedTuple):
    """Causes of belief changes of a block, in the unit of the rule; the sum per agent and proposition is the change.

    ``agent`` counts within the block. ``rank`` and ``post`` are -1 for causes other than exposures and own posts;
    ``trust`` is NaN if the rule has no trust. Rows of amount 0 may be left out.
    """

    agent: Int32
    proposition: Int16
    kind: Byte
    rank: Int16
    post: Int32
    amount: Float
    trust: Float


class Veracities(NamedTuple):
    """Beliefs of agents in the claims that they were shown in a step, (k,) each, in log odds.

    ``agent`` counts within the block; ``claim`` is a row of texts. ``judged`` is the belief at the exposure, with the
    verdict and note shown; ``judged_verdict`` and ``judged_note`` are the parts of verdicts and notes. ``veracity`` is
    the belief after the step without a label in view. ``source``, ``verdict``, ``repetition`` and ``note`` are parts of
    ``veracity``; the rest is the prior.
    """

    agent: Int32
    claim: Int32
    judged: Float
    veracity: Float
    source: Float
    verdict: Float
    repetition: Float
    note: Float
    judged_verdict: Float
    judged_note: Float


class Replayed(NamedTuple):
    """Evidence of n people, event by event: records that began to count, and records that ceased to.

    ``initial`` (n,) stances in [-1, 1]; ``indptr`` (n + 1,) a CSR of the e events by person, in order. ``polarity``
    (e,) -1 or +1 and ``strength`` (e,) [0, 1] of the record; ``sign`` (e,) +1 where it began to count, -1 where it
    ceased to; ``shown`` (e,) the stance of the message, [-1, 1]; ``author`` (e,) a number; ``back`` (e,) how many
    events before this one its record began to count: 0 where ``sign`` is +1; it points before the person's first event
    if the record began to count in an earlier stretch. ``tie`` (e,) is the strength of the person's tie to the author,
    [0, 1], NaN where the data do not report it; ``group`` and ``reader_group`` (e,) are the author's and the person's
    group, -1 for none.
    """

    initial: Float
    indptr: Int64
    polarity: Float
    strength: Float
    sign: Float
    shown: Float
    author: Int64
    back: Int64
    tie: Float
    group: Int64
    reader_group: Int64


class Replay(NamedTuple):
    """A compiled form of a rule's steps, one message per step, for fits that need thousands of steps.

    ``run(part, rows, cells, out)`` writes to ``out`` (n, X, Y) the final stance of each person of a part
    (:class:`townsquare.core.threads.Part`) under each combination of settings in ``cells`` (X, Y), whose fields are
    ``settings``. It uses the same functions as ``step``.
    """

    run: Callable[[Part, Replayed, npt.NDArray[np.void], Float], None]
    settings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BeliefRule:
    """A member of the family ``beliefs``.

    Attributes
    ----------
    name : str
        As in the registry.
    needs : frozenset of str
        Inputs that the rule uses: ``"exposures"``, and in addition to them ``"contents"`` (:class:`Contents`),
        ``"authors"``, ``"ties"`` and ``"groups"`` (columns of :class:`Authors`; groups are answers to the trait that
        the rule's setting ``group_by`` names); ``"own"``; ``"holdings"`` (argument records and their changes), and in
        addition to them ``"claim_exposures"``.
    unit : str
        Unit of the trail: ``"stance"`` or ``"log odds"``. A rule in log odds stores the log odds L in
        an (n, P) array ``log_odds``, and its stance is always 2σ(L) − 1.
    ordered : bool
        Whether the order of an agent's rows may change the result beyond rounding (updates of trust in feed order do).
    bounded : bool
        Whether the stance after a step lies within the range of: the stance before, the initial stance, the stances of
        exposures with a weight above 0, of own posts and, if the rule reads them, of authors.
    params : type of MemberParams
        The settings of the rule.
    init : callable
        ``init(stance, confidence, params) -> BeliefState`` for new agents; ``stance`` and ``confidence`` are (n, P). A
        rule in log odds may start from another stance than the given one; ``start`` holds the one it started from.
    step : callable
        ``step(state, inputs, params, rng) -> (BeliefState, Trail)``.
    abrupt : bool
        Whether stances can jump after a small change of a fitted setting, such as a tolerance. Intervals of fits then
        come from the grid, not from slopes.
    replay : Replay, optional
        A compiled form with the same result, for ``townsquare fit``. Without it, ``step`` is called for each message.
    veracities : callable, optional
        ``veracities(state, params) -> Veracities`` after a step, for a rule that keeps beliefs in claims.
    judge : callable, optional
        ``judge(state, inputs, params, rng) -> (m,)`` the reader's belief in the claim of each exposure, in log odds, as
        ``step`` would compute it; NaN for a post without a claim.
    """

    name: str
    needs: frozenset[str]
    params: type[MemberParams]
    init: Callable[[Float, Float, AgentParams], BeliefState]
    step: Callable[[BeliefState, BeliefInputs, AgentParams, StageDraws], tuple[BeliefState, Trail]]
    unit: str = "stance"
    ordered: bool = False
    bounded: bool = False
    abrupt: bool = False
    replay: Replay | None = None
    veracities: Callable[[BeliefState, AgentParams], Veracities] | None = None
    judge: Callable[[BeliefState, BeliefInputs, AgentParams, StageDraws], Float] | None = None


def per_agent(params: MemberParams, n: int, own: Mapping[str, Float] | None = None) -> AgentParams:
    """Spread the float settings of a rule over ``n`` agents, without copying.

    ``own`` maps a setting to individual values of agents, (n,) float64; where one is NaN, the rule's setting applies.

    >>> from townsquare.beliefs.contract import per_agent
    >>> class Params(MemberParams):
    ...     pull: float = 0.1
    >>> per_agent(Params(), 3)["pull"].shape
    (3,)
    >>> per_agent(Params(), 2, {"pull": np.array([0.5, np.nan])})["pull"].tolist()
    [0.5, 0.1]
    """
    out: dict[str, Any] = {k: np.broadcast_to(v, (n,)) if isinstance(v, float) else v for k, v in params}
    for name, column in (own or {}).items():
        out[name] = np.where(np.isnan(column), out[name], column)
    return out


def start_as_given(stance: Float, confidence: Float, params: AgentParams) -> BeliefState:
    """Return new agents with the (n, P) ``stance`` in [-1, 1] given, also as their start: an ``init`` of rules."""
    return BeliefState(stance.copy(), confidence.copy(), stance.copy())


def no_authors(n: int) -> Authors:
    """Return every column of authors, for a block of ``n`` agents that were shown nothing."""
    nobody = {name: np.empty(0) for name in ("stance", "tie")}
    return Authors({**nobody, "group": np.empty(0, np.int16), "reader_group": np.full(n, -1, np.int16)})


def no_exposures(n: int) -> Exposed:
    """Return inputs for a block of ``n`` agents that were shown nothing with a stance."""
    return no_rows(Exposed, n)


def no_own(n: int, n_propositions: int) -> Own:
    """Return inputs for a block of ``n`` agents that wrote nothing and were not reacted to."""
    likes, dislikes = (np.zeros((n, n_propositions), np.int32) for _ in range(2))
    rows = {name: np.empty(0, DTYPES[name]) for name in ("proposition", "post", "stance")}
    return Own(likes, dislikes, np.zeros(n + 1, np.int64), **rows)
