"""Random blocks for the conformance check of belief rules, and ways to cut and reorder them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from townsquare.beliefs.contract import (
    AgentParams,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Changes,
    Exposed,
    Holdings,
    Own,
    Records,
    Showings,
    no_exposures,
    no_holdings,
    no_own,
    per_agent,
)
from townsquare.core.pairs import PairBlock
from townsquare.testing.belief_holdings import random_holdings

Index = npt.NDArray[np.int64]
FIRST = 1000  # a block is rarely the first of the world
_AUTHORS = 12
_OWN_BY_AGENT = frozenset({"indptr", "likes", "dislikes"})
Rows = TypeVar("Rows", Exposed, Records, Changes, Showings)


@dataclass(frozen=True, slots=True)
class Case:
    """What one call of a rule is given, but for its draws."""

    state: BeliefState
    inputs: BeliefInputs
    params: AgentParams

    @property
    def n_agents(self) -> int:
        """How many agents the block has."""
        return int(self.state.stance.shape[0])


def random_params(rule: BeliefRule, n: int, rng: np.random.Generator) -> AgentParams:
    """Settings that differ between agents, where the rule's ranges allow it."""
    out: dict[str, Any] = dict(per_agent(rule.params(), n))
    for name, value in out.items():
        if isinstance(value, np.ndarray) and n:
            wish = value * rng.uniform(0.5, 1.0, n) if value[0] else rng.uniform(0.0, 0.2, n)
            if _accepts(rule, name, float(wish.min())) and _accepts(rule, name, float(wish.max())):
                out[name] = wish
    return out


def _accepts(rule: BeliefRule, name: str, value: float) -> bool:
    try:
        rule.params(**{name: value})
    except ValidationError:
        return False
    return True


def random_inputs(
    rule: BeliefRule, n: int, n_propositions: int, rng: np.random.Generator, before: BeliefInputs | None = None
) -> BeliefInputs:
    """Rows as a simulation would give them: some agents see nothing, authors repeat, labels weigh.

    ``before`` is what the step before was given: argument records go on from there.
    """
    holdings = no_holdings(n)
    if "holdings" in rule.needs:
        holdings = random_holdings(n, n_propositions, before.holdings if before else None, rng)
    if "showings" not in rule.needs:
        holdings = replace(holdings, showings=no_holdings(n).showings)
    return BeliefInputs(
        first=FIRST,
        exposures=_random_exposed(n, n_propositions, rng) if "exposures" in rule.needs else no_exposures(n),
        own=_random_own(n, n_propositions, rng) if "own" in rule.needs else no_own(n, n_propositions),
        holdings=holdings,
    )


def _random_rows(
    n: int, n_propositions: int, most: int, rng: np.random.Generator
) -> tuple[Index, npt.NDArray[np.int16]]:
    """A CSR of up to ``most`` rows an agent (a third of them have none), by proposition within an agent."""
    counts = rng.integers(1, most + 1, n) * (rng.random(n) > 1 / 3) * (n_propositions > 0)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    agent = np.repeat(np.arange(n), counts)
    proposition = rng.integers(0, max(n_propositions, 1), agent.shape[0])
    return indptr, proposition[np.lexsort((proposition, agent))].astype(np.int16)


def _random_exposed(n: int, n_propositions: int, rng: np.random.Generator) -> Exposed:
    indptr, proposition = _random_rows(n, n_propositions, 25, rng)
    m = len(proposition)
    author = rng.integers(0, _AUTHORS, m).astype(np.int32)
    credibility = np.where(rng.random(_AUTHORS) < 0.5, np.nan, rng.random(_AUTHORS))
    return Exposed(
        indptr=indptr,
        proposition=proposition,
        post=rng.permutation(m).astype(np.int32),
        rank=(np.arange(m) - np.repeat(indptr[:-1], np.diff(indptr))).astype(np.int16),
        author=author,
        credibility=credibility[author],
        stance=np.clip(rng.uniform(-1.2, 1.2, m), -1.0, 1.0),
        likes=rng.poisson(3, m).astype(np.int32),
        first_seen=rng.random(m) < 0.5,
        weight=rng.choice([0.0, 0.25, 0.5, 1.0], m, p=[0.1, 0.1, 0.1, 0.7]),
    )


def _random_own(n: int, n_propositions: int, rng: np.random.Generator) -> Own:
    indptr, proposition = _random_rows(n, n_propositions, 3, rng)
    k = len(proposition)
    return Own(
        likes=rng.poisson(2, (n, n_propositions)).astype(np.int32),
        dislikes=rng.poisson(2, (n, n_propositions)).astype(np.int32),
        indptr=indptr,
        proposition=proposition,
        post=(1_000_000 + rng.permutation(k)).astype(np.int32),
        stance=rng.uniform(-1, 1, k),
    )


def agents_of(indptr: Index) -> Index:
    """Which agent each row of a CSR belongs to."""
    return np.repeat(np.arange(indptr.shape[0] - 1), np.diff(indptr))


def gather(indptr: Index, agents: Index) -> tuple[Index, Index]:
    """The CSR of ``agents``, in that order, and which rows of the old one it takes.

    >>> [part.tolist() for part in gather(np.array([0, 2, 3]), np.array([1, 0]))]
    [[0, 1, 3], [2, 0, 1]]
    """
    counts = np.diff(indptr)[agents]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
    return offsets, np.repeat(indptr[:-1][agents], counts) + within


def take_state(state: BeliefState, agents: Index) -> BeliefState:
    """The beliefs of ``agents`` alone, in that order."""
    return BeliefState(
        stance=state.stance[agents],
        confidence=state.confidence[agents],
        start=state.start[agents],
        arrays={name: array[agents] for name, array in state.arrays.items()},
        pairs={name: _take_pairs(block, agents) for name, block in state.pairs.items()},
    )


def _take_pairs(block: PairBlock, agents: Index) -> PairBlock:
    offsets, rows = gather(block.indptr, agents)
    return PairBlock(offsets, block.key[rows], block.value[rows])


def take_params(params: AgentParams, agents: Index) -> AgentParams:
    """The settings of ``agents`` alone, in that order."""
    return {name: value[agents] if isinstance(value, np.ndarray) else value for name, value in params.items()}


def take(case: Case, agents: Index, first: int) -> Case:
    """The same call for ``agents`` alone, in that order, as a block that begins at agent ``first``."""
    own, holdings = case.inputs.own, case.inputs.holdings
    own_offsets, own_rows = gather(own.indptr, agents)
    picked = {
        field.name: getattr(own, field.name)[own_rows] for field in fields(own) if field.name not in _OWN_BY_AGENT
    }
    inputs = BeliefInputs(
        first=first,
        exposures=_take_rows(case.inputs.exposures, agents),
        own=replace(own, likes=own.likes[agents], dislikes=own.dislikes[agents], indptr=own_offsets, **picked),
        holdings=Holdings(
            _take_rows(holdings.records, agents),
            _take_rows(holdings.changes, agents),
            _take_rows(holdings.showings, agents),
        ),
    )
    return Case(take_state(case.state, agents), inputs, take_params(case.params, agents))


def _take_rows(part: Rows, agents: Index) -> Rows:
    offsets, rows = gather(part.indptr, agents)
    return reorder(part, rows, offsets)


def reorder(part: Rows, rows: Index, indptr: Index) -> Rows:
    """The rows ``rows`` of a CSR by agent, in that order, under another ``indptr``."""
    columns: dict[str, Any] = {
        field.name: getattr(part, field.name)[rows] for field in fields(part) if field.name != "indptr"
    }
    return replace(part, **{**columns, "indptr": indptr})


def spoken_to(case: Case) -> list[tuple[Index, npt.NDArray[np.int16]]]:
    """Agent and proposition of every row that could move a stance: exposures, own posts, changes, showings."""
    exposures, own, holdings = case.inputs.exposures, case.inputs.own, case.inputs.holdings
    cells = [(agents_of(part.indptr), part.proposition) for part in (exposures, own)]
    for part in (holdings.changes, holdings.showings):
        agent = agents_of(part.indptr)
        cells.append((agent, holdings.records.proposition[holdings.records.indptr[:-1][agent] + part.record]))
    return cells


def with_exposures(case: Case, exposures: Exposed) -> Case:
    """The same call with other exposures."""
    return replace(case, inputs=replace(case.inputs, exposures=exposures))


def shuffled_rows(exposures: Exposed, rng: np.random.Generator) -> Exposed:
    """The same exposures, in another order within each agent and proposition."""
    agent = agents_of(exposures.indptr)
    order = np.lexsort((rng.random(len(agent)), exposures.proposition, agent))
    return reorder(exposures, order, exposures.indptr)


def leaves(value: object, name: str = "") -> list[tuple[str, npt.NDArray[Any]]]:
    """Every array in a state, inputs or settings, with a name to report it by."""
    if isinstance(value, np.ndarray):
        return [(name, value)]
    if isinstance(value, Mapping):
        parts = list(value.items())
    elif isinstance(value, PairBlock):
        parts = list(value._asdict().items())
    elif is_dataclass(value):
        parts = [(field.name, getattr(value, field.name)) for field in fields(value)]
    else:
        return []
    return [leaf for field, part in parts for leaf in leaves(part, f"{name}.{field}" if name else str(field))]
