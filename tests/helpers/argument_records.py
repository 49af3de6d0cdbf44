"""Argument records of agents as plain rows, and states of the rules that read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from townsquare.beliefs.contract import BeliefState, Changes, Holdings, Records, no_holdings, per_agent
from townsquare.beliefs.log_odds import RULE
from townsquare.core.enums import Origin

Row = dict[str, Any]


def held(*agents: list[Row]) -> Holdings:
    """Records of some agents, each a row with at least ``polarity`` and ``strength``; ``change`` is one of the step."""
    rows = [(at, row) for agent in agents for at, row in enumerate(agent)]
    changed = [[(at, row) for at, row in enumerate(agent) if "change" in row] for agent in agents]
    flat = [pair for agent in changed for pair in agent]
    records = Records(
        indptr=np.cumsum([0, *(len(agent) for agent in agents)], dtype=np.int64),
        claim=np.array([row.get("claim", at) for at, row in rows], np.int32),
        proposition=np.array([row.get("proposition", 0) for _, row in rows], np.int16),
        polarity=np.array([row["polarity"] for _, row in rows], np.int8),
        strength=np.array([row["strength"] for _, row in rows], np.float64),
        origin=np.array([row.get("origin", Origin.PEER) for _, row in rows], np.uint8),
        active=np.array([row.get("active", True) for _, row in rows], np.bool_),
        agreed=np.array([row.get("agreed", False) for _, row in rows], np.bool_),
    )
    changes = Changes(
        indptr=np.cumsum([0, *(len(agent) for agent in changed)], dtype=np.int64),
        record=np.array([at for at, _ in flat], np.int32),
        kind=np.array([row["change"] for _, row in flat], np.uint8),
        post=np.array([100 + at for at, _ in flat], np.int32),
        rank=np.array([row.get("rank", at) for at, row in flat], np.int16),
    )
    return Holdings(records, changes, no_holdings(len(agents)).claim_exposures)


def params(n: int, rule: Any = RULE, **given_: Any) -> dict[str, Any]:
    out = dict(per_agent(rule.params(), n))
    for name, value in given_.items():
        plain = isinstance(value, str | bool | int)
        out[name] = value if plain else np.broadcast_to(np.asarray(value, np.float64), (n,))
    return out


def new(stance: Any, rule: Any = RULE, **given_: Any) -> BeliefState:
    table = np.array(stance, np.float64, ndmin=2)
    return rule.init(table, np.full(table.shape, 0.5), params(table.shape[0], rule, **given_))
