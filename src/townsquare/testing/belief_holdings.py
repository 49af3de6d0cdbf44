"""Random argument records for the conformance check of belief rules: each step follows from the one before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from townsquare.beliefs.contract import Changes, Holdings, Records, Showings
from townsquare.core.schema import NONE, HoldingChange, Origin

_CLAIMS, _MOST, _POSTS = 30, 8, 2_000_000


@dataclass(slots=True)
class _Record:
    origin: int
    active: bool
    agreed: bool


@dataclass(slots=True)
class _Agent:
    """Records by claim, changes of the step as (claim, kind, post, rank), and showings as (claim, post, rank)."""

    records: dict[int, _Record]
    changes: list[tuple[int, int, int, int]]
    showings: list[tuple[int, int, int]]


def random_holdings(n: int, n_propositions: int, before: Holdings | None, rng: np.random.Generator) -> Holdings:
    """Records of ``n`` agents after a step that follows on ``before``; a third of them meet no claim.

    What a claim says (proposition, polarity, strength) is the same for everyone.
    """
    agents = [_Agent(_records_of(before, i) if before else {}, [], []) for i in range(n)]
    for i, agent in enumerate(agents):
        if n_propositions and rng.random() > 1 / 3:
            for rank in range(rng.integers(1, _MOST)):
                _meet(agent, rank, _POSTS + i * _MOST + rank, rng)
    return _gathered(agents, max(n_propositions, 1), rng)


def _records_of(holdings: Holdings, i: int) -> dict[int, _Record]:
    kept = holdings.records
    rows = range(int(kept.indptr[i]), int(kept.indptr[i + 1]))
    return {int(kept.claim[x]): _Record(int(kept.origin[x]), bool(kept.active[x]), bool(kept.agreed[x])) for x in rows}


def _meet(agent: _Agent, rank: int, post: int, rng: np.random.Generator) -> None:
    """A claim comes along, mostly in the feed and sometimes in an own post."""
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
        agent.showings.append((claim, post, rank))


def _gathered(agents: list[_Agent], n_propositions: int, rng: np.random.Generator) -> Holdings:
    claims = [sorted(agent.records) for agent in agents]
    place = [{claim: at for at, claim in enumerate(mine)} for mine in claims]
    kept = [agent.records[claim] for agent, mine in zip(agents, claims, strict=True) for claim in mine]
    claim = np.array([claim for mine in claims for claim in mine], dtype=np.int32)
    changes = [(place[i][row[0]], *row[1:]) for i, agent in enumerate(agents) for row in agent.changes]
    showings = [(place[i][row[0]], *row[1:]) for i, agent in enumerate(agents) for row in agent.showings]
    changed = np.array(changes, dtype=np.int64).reshape(-1, 4)
    shown = np.array(showings, dtype=np.int64).reshape(-1, 3)
    m = len(shown)
    return Holdings(
        records=Records(
            indptr=_offsets([len(mine) for mine in claims]),
            claim=claim,
            proposition=(claim % n_propositions).astype(np.int16),
            polarity=np.where(claim % 7 < 4, 1, -1).astype(np.int8),
            strength=(claim * 37 % 101) / 100.0,
            origin=np.array([record.origin for record in kept], dtype=np.uint8),
            active=np.array([record.active for record in kept], dtype=np.bool_),
            agreed=np.array([record.agreed for record in kept], dtype=np.bool_),
        ),
        changes=Changes(
            indptr=_offsets([len(agent.changes) for agent in agents]),
            record=changed[:, 0].astype(np.int32),
            kind=changed[:, 1].astype(np.uint8),
            post=changed[:, 2].astype(np.int32),
            rank=changed[:, 3].astype(np.int16),
        ),
        showings=Showings(
            indptr=_offsets([len(agent.showings) for agent in agents]),
            record=shown[:, 0].astype(np.int32),
            post=shown[:, 1].astype(np.int32),
            rank=shown[:, 2].astype(np.int16),
            author=np.asarray(rng.integers(0, 12, m), dtype=np.int32),
            credibility=np.full(m, np.nan),
            likes=np.asarray(rng.poisson(3, m), dtype=np.int32),
            first_seen=np.asarray(rng.random(m) < 0.5, dtype=np.bool_),
            weight=np.asarray(rng.choice([0.25, 0.5, 1.0], m), dtype=np.float64),
        ),
    )


def _offsets(counts: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
