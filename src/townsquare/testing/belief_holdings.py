"""Random argument records for the conformance check of belief rules: each step follows from the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import chain

import numpy as np

from townsquare.beliefs.contract import DTYPES, Changes, ClaimExposures, Holdings, Records, Rows
from townsquare.core.enums import HoldingChange, Origin
from townsquare.core.schema import NONE

_CLAIMS, _MOST, _POSTS = 30, 8, 2_000_000


@dataclass(slots=True)
class _Record:
    origin: int
    active: bool
    agreed: bool


@dataclass(slots=True)
class _Agent:
    """Records by claim, changes of the step as (claim, kind, post, rank), claim exposures as (claim, post, rank)."""

    records: dict[int, _Record]
    changes: list[tuple[int, int, int, int]]
    claim_exposures: list[tuple[int, int, int]]


def random_holdings(n: int, n_propositions: int, before: Holdings | None, rng: np.random.Generator) -> Holdings:
    """Return records of ``n`` agents after a step that follows on ``before``; a third of them meet no claim.

    What a claim says (proposition, polarity, strength) is the same for everyone.
    """
    agents = [_Agent(_records_of(before, i) if before else {}, [], []) for i in range(n)]
    for i, agent in enumerate(agents):
        if n_propositions and rng.random() > 1 / 3:
            for rank in range(rng.integers(1, _MOST)):
                _meet(agent, rank, _POSTS + i * _MOST + rank, rng)
    return _gathered(agents, max(n_propositions, 1), rng)


def _records_of(holdings: Holdings, i: int) -> dict[int, _Record]:
    records = holdings.records
    rows = range(int(records.indptr[i]), int(records.indptr[i + 1]))
    columns = (records.claim, records.origin, records.active, records.agreed)
    cells = ([column[x].item() for column in columns] for x in rows)
    return {claim: _Record(*flags) for claim, *flags in cells}


def _meet(agent: _Agent, rank: int, post: int, rng: np.random.Generator) -> None:
    """Let an agent meet a claim, mostly in the feed and sometimes in an own post."""
    claim, own = int(rng.integers(_CLAIMS)), rng.random() < 0.2
    record = agent.records.get(claim)
    kind = None
    if record is None:
        accepted = bool(rng.random() < 0.8)
        agent.records[claim] = _Record(Origin.SELF if own else Origin.PEER, accepted, bool(rng.random() < 0.5))
        kind = HoldingChange.ACCEPTED if accepted else HoldingChange.REFUSED
    elif rng.random() < 0.4:
        kind = HoldingChange.ARCHIVED if record.active else HoldingChange.RESTORED
        record.active = not record.active
    if kind is not None:
        agent.changes.append((claim, int(kind), post, NONE if own else rank))
    if not own:
        agent.claim_exposures.append((claim, post, rank))


def _gathered(agents: list[_Agent], n_propositions: int, rng: np.random.Generator) -> Holdings:
    records, changes, claim_exposures = [], [], []
    m = sum(len(agent.claim_exposures) for agent in agents)
    columns = rng.integers(0, 12, m), [np.nan] * m, rng.poisson(3, m), rng.random(m) < 0.5
    shown_with = zip(*columns, rng.choice([0.25, 0.5, 1.0], m), strict=True)
    for agent in agents:
        by_claim = sorted(agent.records.items())
        position = {claim: at for at, (claim, _) in enumerate(by_claim)}
        records.append([(*_known(claim, n_propositions), *astuple(record)) for claim, record in by_claim])
        changes.append([(position[claim], *rest) for claim, *rest in agent.changes])
        claim_exposures.append([(position[claim], *rest, *next(shown_with)) for claim, *rest in agent.claim_exposures])
    return Holdings(_csr(Records, records), _csr(Changes, changes), _csr(ClaimExposures, claim_exposures))


def _known(claim: int, n_propositions: int) -> tuple[int, int, int, float]:
    """Return number, proposition, polarity and strength of a claim."""
    return claim, claim % n_propositions, 1 if claim % 7 < 4 else -1, (claim * 37 % 101) / 100.0


def _csr(kind: type[Rows], by_agent: Sequence[Sequence[tuple[float, ...]]]) -> Rows:
    """Return rows of each agent, in the order of the columns of ``kind``."""
    names = kind._fields[1:]
    columns = list(zip(*chain.from_iterable(by_agent), strict=True)) or [()] * len(names)
    indptr = np.cumsum([0, *map(len, by_agent)])
    return kind(indptr, *(np.array(column, DTYPES[name]) for name, column in zip(names, columns, strict=True)))
