"""Random blocks for the conformance check of belief rules, and helpers that cut and reorder them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from townsquare.beliefs.arrays import gather, owners, take_state
from townsquare.beliefs.contract import (
    AgentParams,
    Authors,
    BeliefInputs,
    BeliefRule,
    BeliefState,
    Contents,
    Exposed,
    Holdings,
    Own,
    Rows,
    no_contents,
    no_exposures,
    no_holdings,
    no_own,
    per_agent,
)
from townsquare.core.array_types import Array, Int16, Int32, Int64
from townsquare.core.enums import Verdict
from townsquare.testing.belief_holdings import random_holdings

FIRST = 1000  # a block is rarely the first of the world
_AUTHORS = 12


class Case(NamedTuple):
    """Arguments of one call of a rule, without its draws."""

    state: BeliefState
    inputs: BeliefInputs
    params: AgentParams

    @property
    def n_agents(self) -> int:
        """Return how many agents the block has."""
        return int(self.state.stance.shape[0])


def random_params(rule: BeliefRule, n: int, rng: np.random.Generator) -> AgentParams:
    """Return settings that differ between agents, where the rule's ranges allow it."""
    out: dict[str, Any] = dict(per_agent(rule.params(), n))
    for name, value in out.items():
        if isinstance(value, np.ndarray) and n:
            wish = value * rng.uniform(0.5, 1.0, n) if value[0] else rng.uniform(0.0, 0.2, n)
            if _accepts(rule, name, float(wish.min())) and _accepts(rule, name, float(wish.max())):
                out[name] = wish
    return out


def _accepts(rule: BeliefRule, name: str, value: float) -> bool:
    with suppress(ValidationError):
        rule.params(**{name: value})
        return True
    return False


def random_inputs(
    rule: BeliefRule, n: int, n_propositions: int, rng: np.random.Generator, before: BeliefInputs | None = None
) -> BeliefInputs:
    """Return rows as a simulation would give them: some agents see nothing, authors repeat, labels weigh.

    ``before`` is what the step before was given: argument records go on from there.
    """
    holdings, authors = no_holdings(n), Authors()
    if "holdings" in rule.needs:
        holdings = random_holdings(n, n_propositions, before.holdings if before else None, rng)
    if "claim_exposures" not in rule.needs:
        holdings = replace(holdings, claim_exposures=no_holdings(n).claim_exposures)
    exposures = _random_exposed(n, n_propositions, rng) if "exposures" in rule.needs else no_exposures(n)
    own = _random_own(n, n_propositions, rng) if "own" in rule.needs else no_own(n, n_propositions)
    if rule.needs & {"authors", "ties", "groups"}:
        authors = _random_authors(n, exposures.author, rule.needs, rng)
    contents = _random_contents(exposures.post.size, rng) if "contents" in rule.needs else no_contents(0)
    return BeliefInputs(FIRST, exposures, own, holdings, authors, contents)


def _random_authors(n: int, author: Int32, needs: frozenset[str], rng: np.random.Generator) -> Authors:
    """Return what is known of authors; an author's stance and group are the same in all of its rows."""
    columns: dict[str, Array] = {}
    if "authors" in needs:
        stances = np.where(rng.random(_AUTHORS) < 0.2, np.nan, rng.uniform(-1, 1, _AUTHORS))
        columns["stance"] = stances[author]
    if "ties" in needs:
        columns["tie"] = (rng.random(author.size) < 0.5).astype(np.float64)
    if "groups" in needs:
        columns["group"] = rng.integers(-1, 3, _AUTHORS).astype(np.int16)[author]
        columns["reader_group"] = rng.integers(-1, 3, n).astype(np.int16)
    return Authors(columns)


def _random_rows(n: int, n_propositions: int, most: int, rng: np.random.Generator) -> tuple[Int64, Int16]:
    """Return a CSR of up to ``most`` rows an agent (a third of them have none), by proposition within an agent."""
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
        indptr=indptr, proposition=proposition, post=rng.permutation(m).astype(np.int32),
        rank=(np.arange(m) - np.repeat(indptr[:-1], np.diff(indptr))).astype(np.int16), author=author,
        credibility=credibility[author], stance=np.clip(rng.uniform(-1.2, 1.2, m), -1.0, 1.0),
        likes=rng.poisson(3, m).astype(np.int32), first_seen=rng.random(m) < 0.5,
        weight=rng.choice([0.0, 0.25, 0.5, 1.0], m, p=[0.1, 0.1, 0.1, 0.7]),
    )  # fmt: skip


def _random_contents(m: int, rng: np.random.Generator) -> Contents:
    plausibility = np.where(rng.random(m) < 0.5, np.nan, rng.random(m))
    claim = np.where(np.isnan(plausibility), -1, rng.integers(0, 40, m)).astype(np.int32)
    return Contents(claim, plausibility, rng.integers(0, len(Verdict), m).astype(np.uint8), rng.random(m) < 0.2)


def _random_own(n: int, n_propositions: int, rng: np.random.Generator) -> Own:
    indptr, proposition = _random_rows(n, n_propositions, 3, rng)
    k = len(proposition)
    likes, dislikes = (rng.poisson(2, (n, n_propositions)).astype(np.int32) for _ in range(2))
    post = (1_000_000 + rng.permutation(k)).astype(np.int32)
    return Own(likes, dislikes, indptr, proposition, post, rng.uniform(-1, 1, k))


def take_params(params: AgentParams, agents: Int64) -> AgentParams:
    """Return the settings of ``agents`` alone, in that order."""
    return {name: value[agents] if isinstance(value, np.ndarray) else value for name, value in params.items()}


def take(case: Case, agents: Int64, first: int) -> Case:
    """Return the same call for ``agents`` alone, in that order, as a block that begins at agent ``first``."""
    own, holdings = case.inputs.own, case.inputs.holdings
    taken = _take_rows(own, agents)._replace(likes=own.likes[agents], dislikes=own.dislikes[agents])
    records, changes = _take_rows(holdings.records, agents), _take_rows(holdings.changes, agents)
    records_taken = Holdings(records, changes, _take_rows(holdings.claim_exposures, agents))
    offsets, rows = gather(case.inputs.exposures.indptr, agents)
    exposures, authors = reorder(case.inputs.exposures, rows, offsets), _of_rows(case.inputs.authors, rows, agents)
    contents = _contents_of(case.inputs.contents, rows)
    inputs = BeliefInputs(first, exposures, taken, records_taken, authors, contents)
    return Case(take_state(case.state, agents), inputs, take_params(case.params, agents))


def _take_rows(part: Rows, agents: Int64) -> Rows:
    offsets, rows = gather(part.indptr, agents)
    return reorder(part, rows, offsets)


def reorder(part: Rows, rows: Int64, indptr: Int64) -> Rows:
    """Return the rows ``rows`` of a CSR by agent, in that order, under another ``indptr``."""
    columns: dict[str, Any] = part._asdict() | {"indptr": indptr}
    taken = {name: columns[name][rows] for name in part._fields if name != "indptr" and columns[name].ndim == 1}
    return part._replace(indptr=indptr, **taken)  # what is (n, P) is by agent


def _contents_of(contents: Contents, rows: Int64) -> Contents:
    """Return what some exposures say; nothing where the rule does not ask."""
    claim, plausibility, verdict, noted = contents
    return Contents(claim[rows], plausibility[rows], verdict[rows], noted[rows]) if noted.size else contents


def _of_rows(authors: Authors, rows: Int64, agents: Int64) -> Authors:
    """Return what is known of the authors of some rows, for readers ``agents``."""
    columns = authors.columns.items()
    return Authors({name: column[agents if name == "reader_group" else rows] for name, column in columns})


def spoken_to(case: Case) -> list[tuple[Int64, Int16]]:
    """Return agent and proposition of rows that can move a stance: exposures, own posts, changes, claim exposures."""
    exposures, own, holdings = case.inputs.exposures, case.inputs.own, case.inputs.holdings
    cells = [(owners(part.indptr), part.proposition) for part in (exposures, own)]
    for part in (holdings.changes, holdings.claim_exposures):
        agent = owners(part.indptr)
        cells.append((agent, holdings.records.proposition[holdings.records.indptr[:-1][agent] + part.record]))
    return cells


def with_exposures(case: Case, exposures: Exposed) -> Case:
    """Return the same call with other exposures."""
    return case._replace(inputs=replace(case.inputs, exposures=exposures))


def shuffled_rows(case: Case, rng: np.random.Generator) -> Case:
    """Return the same call with its exposures in another order within each agent and proposition."""
    exposures = case.inputs.exposures
    agent = owners(exposures.indptr)
    order = np.lexsort((rng.random(len(agent)), exposures.proposition, agent))
    authors = _of_rows(case.inputs.authors, order, np.arange(case.n_agents))
    contents = _contents_of(case.inputs.contents, order)
    shuffled = reorder(exposures, order, exposures.indptr)
    inputs = replace(case.inputs, exposures=shuffled, authors=authors, contents=contents)
    return case._replace(inputs=inputs)
